"""Concatenation and splitting move no element that they need not: producers write into the result, consumers
read through views.
"""

import pytest
import torch
from compiling import Compiled, check
from torch import Tensor

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def beside(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a.sin(), b.cos()], 1)


def consumed(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a.sin(), b.cos()], 1).exp()


def stacked(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([a.sin(), b.sin().cos()])


def crossed(a: Tensor, b: Tensor) -> Tensor:
    s = a.sin()
    return torch.cat([s, b], 1) + torch.cat([b, s], 1)


def swiglu(a: Tensor, b: Tensor) -> Tensor:
    gate, up = (a @ b.t()).chunk(2, -1)
    return F.silu(gate) * up


def products(a: Tensor, b: Tensor) -> list[Tensor]:
    return [part @ part.t() for part in (a @ b.t()).split(16, -1)]


#: (function, kernels, torch ops)
CASES = ((beside, 1, 0), (consumed, 1, 0), (stacked, 1, 0), (crossed, 1, 0), (swiglu, 1, 1), (products, 0, 5))


@pytest.mark.products("auto")  # some of what stays is a call
@pytest.mark.parametrize(("function", "kernels", "externs"), CASES, ids=[f.__name__ for f, _, _ in CASES])
def test_nothing_is_copied(function, kernels, externs):
    (graph,) = check(function, torch.randn(64, 32), torch.randn(64, 32)).graphs
    assert (graph.launches_after, graph.externs) == (kernels, externs)
    made = str(graph.module).count('"fuse.empty"')
    assert made == kernels, "every kernel writes a result: there is no buffer between"


def looked_up(table: Tensor, rows: Tensor, other: Tensor) -> Tensor:
    return torch.cat([other, table[rows].exp()], 1)


def looked_up_once(table: Tensor, rows: Tensor, other: Tensor) -> Tensor:
    return torch.cat([table[rows], other, table[rows.flip(0)] * 2], 1)


def test_the_index_of_a_row_is_loaded_once_for_the_row():
    """It is loaded and asserted without the guard of its piece, which differs from column to column."""
    rows, other = torch.tensor([3, -1, 0, 4]), torch.randn(4, 3)
    (graph,) = check(looked_up_once, torch.randn(5, 16), rows, other).graphs
    assert graph.launches_after == 1
    with pytest.raises(Exception, match="index out of bounds"):
        Compiled(looked_up_once)(torch.randn(4, 16), rows, other)
    (graph,) = check(looked_up_once, torch.randn(5, 16), rows[:0], other[:0]).graphs


def cut_off(table: Tensor, rows: Tensor, other: Tensor) -> Tensor:
    return torch.cat([other, table[rows].exp()], 1)[:, :5] * 2


@pytest.mark.parametrize(("function", "kernels"), [(looked_up, 1), (cut_off, 2)])
def test_rows_of_a_table_are_looked_up_where_they_are_concatenated(function, kernels):
    """The look-up asserts its indices: the concatenation does so if it reads every row that is looked up."""
    rows = torch.tensor([[3, -1, 0, 4]] * 6)
    (graph,) = check(function, torch.randn(5, 16), rows, torch.randn(6, 3, 16)).graphs
    assert graph.launches_after == kernels
    assert "index out of bounds" in str(graph.module)
    with pytest.raises(Exception, match="index out of bounds"):
        Compiled(function)(torch.randn(4, 16), rows, torch.randn(6, 3, 16))
