"""Sums weighted by a softmax: one read, in every tile, in slices, and against eager on special rows."""

import math

import pytest
import torch
from compiling import Compiled
from tiling_cases import ROW_TILES, TILING, Case, compare, lowered, rows, run, tensor

from fuse_mlir.passes.kernels.combine_reductions import CombineReductions
from fuse_mlir.passes.kernels.split_reductions import SplitReductions

LOG_SOFTMAX = """fold max {x}v[d1] -> {x}m : f32
%{x}c = arith.subf %{x}v, %{x}m : f32
%{x}e = math.exp %{x}c : f32
fold sum {x}e[d1] -> {x}s : f32
%{x}log = math.log %{x}s : f32
%{x}q = arith.subf %{x}c, %{x}log : f32
"""
FIRST = "load x[d0, d1] -> xv\nload y[d0, d1] -> yv\n" + LOG_SOFTMAX.format(x="x")
BOTH = FIRST + LOG_SOFTMAX.format(x="y")
DIVERGENCE = (
    BOTH
    + """%p = math.exp %xq : f32
%w = arith.subf %xq, %yq : f32
%t = arith.mulf %p, %w : f32
fold sum t[d1] -> r : f32
store r -> o[d0]"""
)
EXPECTATION = (
    FIRST
    + """%p = arith.divf %xe, %xs : f32
%t = arith.mulf %yv, %p : f32
fold sum t[d1] -> r : f32
store r -> o[d0]"""
)
CROSS_ENTROPY = (
    BOTH
    + """%p = arith.divf %xe, %xs : f32
%t = arith.mulf %p, %yq : f32
fold sum t[d1] -> n : f32
%r = arith.negf %n : f32
store r -> o[d0]"""
)
BODIES = {"divergence": DIVERGENCE, "expectation": EXPECTATION, "cross entropy": CROSS_ENTROPY}
FOLD = "fuse.online_expectation"


def case(m: int, n: int, body: str, tile: str | None = None) -> str:
    inputs = {"x": tensor(m, n), "y": tensor(m, n)}
    return Case({"d0": str(m), "d1": str(n)}, inputs, {"o": tensor(m)}, body, tile=tile).text()


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize("shape", [(5, 1), (3, 7), (6, 33), (5, 64)])
def test_in_every_tile(body: str, name: str, shape: tuple[int, int]) -> None:
    text = case(*shape, BODIES[body], ROW_TILES[name](shape[1]))
    assert FOLD in str(lowered(text, CombineReductions()))
    compare(text, [rows(*shape) * 4, rows(*shape, seed=1) * 4], CombineReductions(), *TILING)


@pytest.mark.parametrize("name", ["resident", "looped", "chosen"])
def test_offsets_cost_no_accuracy(name: str) -> None:
    """Logits mean the same wherever they lie."""
    x, y = rows(4, 100) + 2.0**13, rows(4, 100, seed=1) - 2.0**12
    text = case(4, 100, DIVERGENCE, ROW_TILES[name](100))
    compare(text, [x, y], CombineReductions(), *TILING, rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize("body", BODIES)
def test_in_slices(body: str) -> None:
    """Few long rows; each slice counts from maxima of its own."""
    x, y = rows(2, 1 << 16) * 3, rows(2, 1 << 16, seed=1) * 3
    x[1, : 1 << 12] = y[0, 1 << 12 : 1 << 13] = 30.0
    passes = (CombineReductions(), SplitReductions(hardware="h200"))
    text = case(2, 1 << 16, BODIES[body])
    assert str(lowered(text, *passes)).count(FOLD) == 1 and "@k_slices" in str(lowered(text, *passes))
    compare(text, [x, y], *passes, *TILING, rtol=1e-5, atol=1e-5)


def test_uneven_rows_stay_whole() -> None:
    passes = (CombineReductions(), SplitReductions(hardware="h200"))
    assert "@k_slices" not in str(lowered(case(2, 65537, DIVERGENCE), *passes))


@pytest.mark.parametrize("name", ["resident", "looped", "looped rows"])
@pytest.mark.parametrize("body", BODIES)
def test_special_rows(name: str, body: str) -> None:
    """Infinite, missing and huge logits give what they give in three reads."""
    inf, huge = math.inf, 3.0e38
    x, y = rows(12, 40), rows(12, 40, seed=1)
    x[0] = -inf  # no softmax
    x[1, 5] = inf
    x[2, 7] = math.nan
    x[3, 9] = -inf  # of probability 0
    x[4, 9] = y[4, 9] = -inf
    y[5, 3] = -inf
    y[6] = -inf
    y[7, 39] = math.nan
    x[8, 20] = huge
    y[8, 30] = 1e36
    x[9, 0], x[9, 39] = -huge, 1.0
    y[10, 0], y[10, 39] = -1e30, 1e3
    text = case(12, 40, BODIES[body], ROW_TILES[name](40))
    [want], [got] = run(lowered(text), [x, y]), run(lowered(text, CombineReductions(), *TILING), [x, y])
    torch.testing.assert_close(got, want, rtol=2e-5, atol=2e-5, equal_nan=True)
    assert got[[0, 1, 2]].isnan().all() and got[11].isfinite()


@pytest.mark.parametrize("op", ["addf", "subf"])
def test_a_weight_that_is_there_twice(op: str) -> None:
    """What becomes dead has one operand twice."""
    weight = f"%p = math.exp %xq : f32\n%w = arith.{op} %xq, %xq : f32\n%t = arith.mulf %w, %p : f32\n"
    text = case(5, 33, BOTH + weight + "fold sum t[d1] -> r : f32\nstore r -> o[d0]")
    assert FOLD in str(lowered(text, CombineReductions()))
    compare(text, [rows(5, 33), rows(5, 33, seed=1)], CombineReductions(), *TILING)


def test_a_sum_divided_by_another_number_of_its_row() -> None:
    """What divides need not be the sum of the softmax, nor come from a softmax at all."""
    inputs = {"x": tensor(4, 100), "y": tensor(4, 100), "z": tensor(4)}
    body = EXPECTATION.replace("%yv, %p : f32", "%yv, %p : f32\n%u = arith.divf %t, %zv : f32").replace(
        "fold sum t", "fold sum u"
    )
    text = Case({"d0": "4", "d1": "100"}, inputs, {"o": tensor(4)}, "load z[d0] -> zv\n" + body).text()
    assert FOLD in str(lowered(text, CombineReductions()))
    compare(
        text, [rows(4, 100), rows(4, 100, seed=1), rows(4, 1, seed=2)[:, 0] + 9], CombineReductions(), *TILING
    )


def test_from_torch() -> None:
    """Losses as they are written: one read of each row, as good as eager."""

    def divergence(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        p, q = a.log_softmax(-1), b.log_softmax(-1)
        return (p.exp() * (p - q)).sum(-1)

    def entropy(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        p = (a + b).log_softmax(-1)
        return -(p.exp() * p).sum(-1)

    def soft(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return -(a.softmax(-1) * b.log_softmax(-1)).sum(-1)

    def library(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        p, q = a.log_softmax(-1), b.log_softmax(-1)
        return torch.nn.functional.kl_div(q, p, reduction="none", log_target=True).sum(-1)

    a, b = rows(6, 3000) * 3, rows(6, 3000, seed=1) * 3
    for function in (divergence, entropy, soft, library):
        compiled = Compiled(function, {"interpret_level": "tiled"})
        got, eager, exact = compiled(a, b), function(a, b), function(a.double(), b.double())
        [graph] = compiled.graphs
        assert "online-expectation" in [remark.rule for remark in graph.remarks.items], function.__name__
        assert (got.double() - exact).abs().max() <= 2 * (eager.double() - exact).abs().max() + 1e-6
