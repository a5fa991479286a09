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


def parts_of_a_mixture(a: Tensor, b: Tensor) -> Tensor:
    w, m, s = a.chunk(3, -1)
    return (w.log_softmax(-1) - s - (b - m).square() * (-s).exp()).logsumexp(-1).mean()


def rows_of_pieces(a: Tensor, b: Tensor) -> Tensor:
    s = (a @ b.t()).sin()
    return torch.stack([s, s * 2, s.softmax(-1)])


def read_again(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    c = torch.cat([a.sin(), b.cos()], 1)
    return c, c.sum(0)


@pytest.mark.parametrize("symbolic", [False, True])
def test_pieces_are_stored_by_the_kernel_that_makes_them(symbolic):
    """What the gradients of chunks share is computed once, and no kernel reads what another made of it."""
    a, b = torch.randn(24, 48, requires_grad=True), torch.randn(24, 16)
    compiled = Compiled(parts_of_a_mixture, dynamic=None)
    for given in (a, b) if symbolic else ():
        torch._dynamo.mark_dynamic(given, 0)
    found, exact = (torch.autograd.grad(f(a, b), a)[0] for f in (compiled, parts_of_a_mixture))
    torch.testing.assert_close(found, exact)
    backward = compiled.graphs[-1]
    assert backward.launches_after == 1
    assert any(r.rule == "stored" and ("pieces", 3) in r.numbers for r in backward.remarks.items)


@pytest.mark.parametrize(("function", "stored"), [(rows_of_pieces, True), (read_again, False)])
def test_only_what_no_kernel_reads_is_stored_in_pieces(function, stored):
    (graph,) = check(function, torch.randn(8, 16), torch.randn(8, 16)).graphs
    assert any(r.rule == "stored" for r in graph.remarks.items) == stored


def long_recurrence(a: Tensor, b: Tensor) -> Tensor:
    state, found = torch.zeros_like(b), []
    for row in a:
        state = torch.sigmoid(row) * state + b
        found.append(state)
    return torch.stack(found[::-1])


def test_more_pieces_than_a_concatenation_reads_are_stored_by_one_kernel():
    """Forty states of a recurrence: three concatenations, each of which writes behind the one before."""
    (graph,) = check(long_recurrence, torch.randn(40, 24), torch.randn(24)).graphs
    assert graph.launches_after == 1
    assert [dict(r.numbers)["pieces"] for r in graph.remarks.items if r.rule == "stored"] == [40]
