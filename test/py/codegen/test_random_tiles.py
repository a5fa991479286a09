"""Random numbers in tile code: one call of Philox gives four neighbours their numbers, where it can."""

import pytest
import torch
from tiling_cases import Case, axis, lowered, run, tensor, tile

from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling

BODY = """%seed = arith.constant 5 : i64
%i = "fuse.index"() {expr = "COUNTER"} : () -> i64
%u = "fuse.rand"(%seed, %seed, %i) {dist = "uniform"} : (i64, i64, i64) -> f32
store u -> o[d0, d1]"""


@pytest.mark.parametrize(
    ("counter", "block", "fours"),
    [
        ("d0*8 + d1", 8, True),
        ("d0*8 + d1", 4, True),
        ("d0*8 + d1 + 12", 8, True),
        ("d0*8 + d1 + 2", 8, False),
        ("d0*7 + d1", 8, False),
        ("d0*8 - d1 + 64", 8, False),
        ("d0*8 + d1*2", 8, False),
        ("d0*8 + d1", 2, False),  # a row of two: all counters start at a multiple of 4
    ],
)
def test_four_neighbours_share_a_call(counter: str, block: int, fours: bool) -> None:
    """Where counters go up by one from a multiple of 4.  The numbers are those of scalar code."""
    tiles = tile(axis("d0", 1, "grid"), axis("d1", block, "grid"))
    columns = 2 if block == 2 else 8
    body = BODY.replace("COUNTER", counter)
    case = Case({"d0": "4", "d1": f"{columns}"}, {}, {"o": tensor(4, columns)}, body, tile=tiles)
    scalar, tiled = lowered(case.text()), lowered(case.text(), ApplyTiling())
    assert torch.equal(run(scalar, [])[0], run(tiled, [])[0])
    assert (f"end = {block // 4} : i32" in str(tiled)) == fours
