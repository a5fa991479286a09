"""Numbers of 16 bits that are added at indices are added in float32: when, and how near to float64."""

from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.graph.wide_sums import add_in_float32

aten = torch.ops.aten
PLACES = torch.tensor([3, 0, 3, 5])
ROWS = torch.arange(12.0).view(4, 3) / 7


def put(table: Tensor, index: Tensor, rows: Tensor, accumulate: bool = True) -> Tensor:
    return aten.index_put(table, [index], rows, accumulate)


def rewritten(function: Callable[..., Tensor], dtype: torch.dtype = torch.bfloat16) -> int:
    """How often the rewrite fires on a function of places and rows; the graph gives the same types and sizes,
    and numbers no further from float64.
    """
    rows = ROWS.to(dtype)
    gm = make_fx(function, tracing_mode="fake")(PLACES, rows)
    count = add_in_float32(gm)
    found, before, exact = gm(PLACES, rows), function(PLACES, rows), function(PLACES, rows.double())
    assert (found.dtype, found.shape, found.stride()) == (before.dtype, before.shape, before.stride())
    assert (found - exact).norm() <= (before - exact).norm()
    return count


FIRES = {
    "new_zeros": lambda i, x: put(x.new_zeros(6, 3), i, x),
    "zeros": lambda i, x: put(torch.zeros(6, 3, dtype=x.dtype), i, x),
    "zeros_like": lambda i, x: put(torch.zeros_like(torch.cat([x, x])), i, x),
    "as_many_rows_as_the_table": lambda i, x: put(x + 1, i % 4, x),
    "columns": lambda i, x: aten.index_put(x.new_zeros(3, 6), [None, i], x.t(), True),
    "one_number": lambda i, x: put(x.new_zeros(6), i, x[0, 1]),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", FIRES)
def test_fires(name, dtype):
    assert rewritten(FIRES[name], dtype) == 1


LEFT_ALONE = {
    "overwritten": lambda i, x: put(x.new_zeros(6, 3), i, x, False),
    "one_place": lambda i, x: put(x.new_zeros(6, 3), i[:1], x[:1]),
    "a_mask": lambda i, x: put(x.new_zeros(4, 3), i > 1, x[0]),
    "few_rows_into_a_large_table": lambda i, x: put(torch.cat([x, x]), i, x),
    "index_add": lambda i, x: aten.index_add(x.new_zeros(6, 3), 0, i, x),
    "scatter_add": lambda i, x: aten.scatter_add(x.new_zeros(6, 3), 0, i[:, None].expand(4, 3), x),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_does_not_fire(name):
    assert rewritten(LEFT_ALONE[name]) == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_wider_numbers_are_left(dtype):
    assert rewritten(FIRES["new_zeros"], dtype) == 0


def test_torch_adds_where_algorithms_must_be_deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        assert rewritten(FIRES["new_zeros"]) == 0
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("fresh_dynamo", "one_thread")
@pytest.mark.parametrize("dynamic", [False, True])
def test_thousands_of_numbers_for_one_row(dynamic):
    """The gradient of a table of distances, of which each row is read by thousands of pairs."""

    def weighed(table: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        return (table[places] * weights).sum()

    places = (torch.arange(90)[:, None] - torch.arange(120)).clamp(-2, 2) + 2
    weights, table = torch.randn(90, 120, 4).bfloat16(), torch.randn(5, 4).bfloat16()

    def gradient(function: Callable[..., Tensor], dtype: torch.dtype) -> Tensor:
        some = table.to(dtype).requires_grad_()
        return torch.autograd.grad(function(some, places, weights.to(dtype)), some)[0]

    compiled = Compiled(weighed, dynamic=dynamic)
    exact = gradient(weighed, torch.float64)
    # The sums are rounded once: half a unit in the last place of 8 bits, and float32's own error.
    torch.testing.assert_close(
        gradient(compiled, torch.bfloat16).double(), exact, rtol=2**-8 + 1e-5, atol=1e-3
    )
