"""When a backward graph is compiled, and how often it may run."""

import pytest
import torch
from compiling import Compiled

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def gated(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (torch.sigmoid(x @ w) * x).sum(1)


def tensors(rows: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(rows, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)]


def test_it_is_compiled_with_the_forward_graph():
    compiled = Compiled(gated, {})
    compiled(*tensors(4))
    assert [graph.name for graph in compiled.graphs] == ["forward", "backward"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_it_runs_more_than_once_if_the_graph_is_retained(dynamic: bool):
    compiled = Compiled(gated, {}, dynamic=dynamic)
    for rows in (4, 6) if dynamic else (4,):
        x, w = tensors(rows)
        result = compiled(x, w).square().sum()
        result.backward(retain_graph=True)
        result.backward()
        exact = [t.detach().double().requires_grad_() for t in (x, w)]
        (2 * gated(*exact).square().sum()).backward()
        for given, want in zip((x, w), exact, strict=True):
            torch.testing.assert_close(given.grad.double(), want.grad, rtol=1e-5, atol=1e-5)
