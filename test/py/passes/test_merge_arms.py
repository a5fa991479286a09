"""Halves of rows that change places are read once: the answer is as before, and so are its gradients."""

import pytest
import torch
from compiling import check
from torch import Tensor

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


def normed_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    return halves(x * scale * cos[0], cos, sin)


def rotated_by_five(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return torch.cat((x[..., 5:], x[..., :5]), -1) * cos + sin


@pytest.mark.parametrize("function", [halves, normed_halves, rotated_by_five])
def test_one_read_of_the_exchanged_row(function) -> None:
    args = torch.randn(2, 3, 8, 16), torch.randn(8, 16), torch.randn(8, 16)
    (graph,) = check(function, *args, interpret_level="planned").graphs
    merged = [r for r in graph.remarks.items if r.pass_name == "merge-arms"]
    assert len(merged) == 1, graph.remarks.render("text")


def test_neighbours_of_an_odd_row_stay() -> None:
    """Columns 64 to 128 and 1 to 64: no one shift of the row, taken around its end, gives both."""

    def function(x: Tensor) -> Tensor:
        return torch.cat((-x[:, 64:], x[:, 1:65]), 1) * 2

    check(function, torch.randn(4, 129), interpret_level="planned")


def test_exchange_of_unequal_parts_of_two_tensors_stays() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return torch.cat((x[:, 4:], y[:, :4]), -1) * 2

    (graph,) = check(function, torch.randn(8, 16), torch.randn(8, 16), interpret_level="planned").graphs
    assert not [r for r in graph.remarks.items if r.pass_name == "merge-arms"]
