"""associative_scan: sums, products, extremes, linear recurrences become kernels, others run in torch."""

from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from interpreted_gpu import interpreted_gpu
from torch import Tensor
from torch._higher_order_ops.associative_scan import associative_scan_op, generic_associative_scan

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

#: Of the results of two runs, those of both.
Both = Callable[..., list[Tensor]]


def recurrence(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> list[Tensor]:
    return [a * b, x * b + y]


def several(a: Tensor, x: Tensor, m: Tensor, s: Tensor, b: Tensor, y: Tensor, n: Tensor, t: Tensor):
    return [b * a, y + b * x, torch.maximum(n, m), torch.logaddexp(s, t)]


def scanned(both: Both) -> Callable[..., tuple[Tensor, ...]]:
    def function(*xs: Tensor) -> tuple[Tensor, ...]:
        found = associative_scan_op(both, [x.movedim(1, 0) * 1.0 for x in xs], ())
        return tuple(each.movedim(0, 1).cos() for each in found)

    return function


def one_by_one(both: Both, *xs: Tensor) -> tuple[Tensor, ...]:
    """What ``scanned`` computes, in float64, step by step."""
    rows = [x.double().movedim(1, 0) for x in xs]
    steps = [[x[0] for x in rows]]
    for step in range(1, len(rows[0])):
        steps.append(both(*steps[-1], *(x[step] for x in rows)))
    return tuple(torch.stack(each, 1).cos() for each in zip(*steps, strict=True))


def drawn(count: int, *shape: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    make = torch.Generator().manual_seed(0)
    return [torch.rand(shape, generator=make).to(dtype) for _ in range(count)]


@pytest.mark.parametrize("shape", [(2, 3), (2, 1, 4), (3, 1500), (2, 300, 5)])
def test_a_linear_recurrence_is_one_kernel(shape):
    xs = drawn(2, *shape)
    with interpreted_gpu():
        compiled = Compiled(lambda *xs: scanned(recurrence)(*xs)[1])
        found = compiled(*xs)
    assert [graph.launches_after for graph in compiled.graphs] == [1]
    torch.testing.assert_close(found.double(), one_by_one(recurrence, *xs)[1], rtol=1e-5, atol=1e-5)


def test_each_result_has_a_kind_of_its_own():
    xs = drawn(4, 2, 70, 6)
    compiled = Compiled(scanned(several))
    for found, exact in zip(compiled(*xs), one_by_one(several, *xs), strict=True):
        torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)
    assert compiled.graphs[0].launches_after == 3  # of what shares inputs


def test_gates_without_a_state_before_them_do_not_matter():
    a, x = drawn(2, 2, 300, 16)
    a[0, 0, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    a[1, 200, 0], x[1, 250, 1] = torch.nan, torch.nan
    plain = a.clone()
    plain[:, 0] = 1.0
    with interpreted_gpu():
        compiled = Compiled(scanned(recurrence))
        found = compiled(a, x)[1]
    assert "-looped" in compiled.graphs[0].remarks.render("text")
    exact = one_by_one(recurrence, plain, x)[1]
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_16_bits_stay_float32_along_the_scan():
    xs = drawn(2, 4, 200, dtype=torch.bfloat16)
    found = Compiled(scanned(recurrence))(*xs)[1]
    torch.testing.assert_close(found.double(), one_by_one(recurrence, *xs)[1], rtol=1e-2, atol=1e-2)


def other(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> list[Tensor]:
    """A logarithm of a sum of exponentials as a maximum and a sum."""
    top = torch.maximum(a, b)
    return [top, x * torch.exp(a - top) + y * torch.exp(b - top)]


def test_other_functions_run_in_torch():
    xs = drawn(2, 2, 9, 3)
    compiled = Compiled(scanned(other))
    expected = generic_associative_scan(lambda *xs: other(*xs), [x.movedim(1, 0) for x in xs])
    for found, each in zip(compiled(*xs), expected, strict=True):
        torch.testing.assert_close(found, each.movedim(0, 1).cos())
    (graph,) = compiled.graphs
    assert "no sum, product, extreme or linear recurrence" in graph.remarks.render("text")


def test_integers_add_up_and_are_not_multiplied_by_gates():
    x = torch.arange(-8, 16).reshape(2, 12)
    compiled = Compiled(lambda x: associative_scan_op(lambda a, b: [a + b], [x.mT], ())[0])
    assert torch.equal(compiled(x), x.mT.cumsum(0))
    gated = Compiled(lambda a, x: associative_scan_op(recurrence, [a, x], ())[1])
    a = torch.ones(4, 3, dtype=torch.int64)
    assert torch.equal(gated(a, x[:, :6].reshape(4, 3)), x[:, :6].reshape(4, 3).cumsum(0))
    assert "a linear recurrence of integers" in gated.graphs[0].remarks.render("text")
