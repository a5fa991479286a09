"""Products of rows in segments, each with a matrix of its own, against float64: the tokens of experts."""

import random

import pytest
import torch
from random_offsets import drawn
from tiling_cases import TILING, Case, axis, lowered, run, tensor

#: The segment of row d0, of ends at d3, of which there are ``COUNT``; and what is looked up there.
SEGMENT = """load ends[d3] -> end
%wide = arith.extsi %end : i32 to i64
%row = "fuse.index"() {expr = "d0"} : () -> i64
%before = arith.cmpi sle, %wide, %row : i64
%one = arith.extui %before : i1 to i64
fold sum one[d3] -> segment : i64
%count = arith.constant COUNT : i64
%known = arith.cmpi slt, %segment, %count : i64
%nothing = arith.constant 0.0 : bf16
load x[d0, d2] -> a
%b = "fuse.load"(%w, %known, %nothing, %segment) {at = ["i0", "d2", "d1"]} : (WEIGHTS, i1, bf16, i64) -> bf16
%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
"""


def grouped(m: int, n: int, k: int, count: int, more: str = "", result: str = "c", **given) -> Case:
    """``w[s]`` times the rows of segment s."""
    weights = tensor(count, k, n, element="bf16")
    body = SEGMENT.replace("COUNT", str(count)).replace("WEIGHTS", weights)
    inputs = {"x": tensor(m, k, element="bf16"), "w": weights, "ends": tensor(count, element="i32")}
    dims = {"d0": str(m), "d1": str(n), "d2": str(k), "d3": str(count)}
    body += f"{more}\nstore {result} -> o[d0, d1]"
    return Case(dims, inputs | given.pop("inputs", {}), {"o": tensor(m, n)}, body, **given)


def tile(rows: int, columns: int, summed: str, ends: int, more: str = "") -> str:
    axes = (axis("d0", rows, "grid"), axis("d1", columns, "grid"), summed, axis("d3", ends, "resident"))
    return f"{{axes = [{', '.join(axes)}], num_warps = 4 : i64, num_stages = 1 : i64, segmented{more}}}"


def expected(x: torch.Tensor, w: torch.Tensor, ends: list[int]) -> torch.Tensor:
    """In float64; 0 behind the last end."""
    made = torch.zeros(x.shape[0], w.shape[2], dtype=torch.float64)
    for number, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
        made[first:last] = x[first:last].double() @ w[number].double()
    return made


def values(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(torch.bfloat16)


TILES = (
    (16, 16, axis("d2", 32, "looped")),
    (32, 16, axis("d2", 128, "resident")),
    (64, 32, axis("d2", 16, "looped")),
)


@pytest.mark.parametrize("shape", TILES)
@pytest.mark.parametrize("count", [1, 3, 8])
def test_any_ends(shape: tuple[int, int, str], count: int) -> None:
    m, n, k = 75, 37, 70
    x, w = values(m, k), values(count, k, n)
    rows, columns, summed = shape
    module = lowered(grouped(m, n, k, count, tile=tile(rows, columns, summed, 8)).text(), *TILING)
    assert '"tt.dot"' in str(module)
    for ends in drawn(m, count, 6, seed=count):
        [got] = run(module, [x, w, torch.tensor(ends, dtype=torch.int32)])
        torch.testing.assert_close(got.double(), expected(x, w, ends), rtol=0, atol=1e-4)


def test_tiles_are_chosen_for_one_segment() -> None:
    text = str(lowered(grouped(512, 128, 256, 8).text(), TILING[0]))
    assert "segmented" in text and '{block = 8 : i64, dims = ["d3"], kind = "resident"}' in text


def test_graph_level_agrees() -> None:
    m, n, k, count = 40, 6, 9, 4
    x, w = values(m, k), values(count, k, n)
    for ends in drawn(m, count, 4, seed=1):
        [got] = run(lowered(grouped(m, n, k, count).text()), [x, w, torch.tensor(ends, dtype=torch.int32)])
        torch.testing.assert_close(got.double(), expected(x, w, ends), rtol=0, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_read_beyond_tensors(seed: int) -> None:
    """Ends that decrease, are negative or pass the last row: rows are of some segment or of none, and each is
    computed at most once by its block; the interpreter raises where anything is read outside of a tensor.
    """
    draw = random.Random(seed)
    m, n, k, count = 75, 17, 33, 5
    module = lowered(grouped(m, n, k, count, tile=tile(16, 16, TILES[0][2], 8)).text(), *TILING)
    ends = [
        draw.randint(-(2**31), 2**31 - 1) if draw.random() < 0.5 else draw.randint(-3, m + 3)
        for _ in range(count)
    ]
    [got] = run(module, [values(m, k), values(count, k, n), torch.tensor(ends, dtype=torch.int32)])
    assert got.shape == (m, n)
