"""When a backward graph is compiled, and how often it may run."""

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.utils import _pytree as pytree

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


class Pair(Tensor):
    """Two tensors that are computed side by side."""

    @staticmethod
    def __new__(cls, first: Tensor, second: Tensor) -> "Pair":
        return Tensor._make_wrapper_subclass(cls, first.shape, dtype=first.dtype, strides=first.stride())

    def __init__(self, first: Tensor, second: Tensor) -> None:
        self.first, self.second = first, second

    def __repr__(self) -> str:  # torch's own computes
        return f"Pair({self.first}, {self.second})"

    def __tensor_flatten__(self):
        return ["first", "second"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Pair(inner["first"], inner["second"])

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        first = op(*pytree.tree_map_only(Pair, lambda p: p.first, args), **(kwargs or {}))
        second = op(*pytree.tree_map_only(Pair, lambda p: p.second, args), **(kwargs or {}))
        return Pair(first, second) if isinstance(first, Tensor) else first


@torch._dynamo.allow_in_graph
def pair(first: Tensor, second: Tensor) -> Pair:
    return Pair(first, second)


def test_a_retained_graph_may_give_a_subclass_made_inside():
    """torch would refuse the second run if it were told that what was saved may be written over."""

    def both(x: Tensor, w: Tensor) -> Tensor:
        return gated(pair(x.detach(), 2 * x.detach()), w)

    x, w = tensors(4)
    result = Compiled(both, {})(x, w).square().sum()
    assert isinstance(result, Pair)
    result.backward(retain_graph=True)
    result.backward()
    for index, scale in enumerate((1, 2)):
        xe, we = x.detach().double(), w.detach().double().requires_grad_()
        (2 * gated(scale * xe, we).square().sum()).backward()
        got = (w.grad.first, w.grad.second)[index]
        torch.testing.assert_close(got.double(), we.grad, rtol=1e-5, atol=1e-5)
