"""Folds over a row in a loop where a thread holds several elements of a block: side by side where rows start
at multiples of 16 bytes, apart from each other where they do not; with values that break a maximum.
"""

import pytest
import torch
from tiling_cases import ROW_TILES, SOFTMAX, Case, axis, compare, lowered, tensor, tile, updated

from fuse_mlir.passes.kernels.combine_reductions import CombineReductions
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling

ARGUMENT = """load x[d0, d1] -> v
%i = "fuse.index"() {expr = "INDEX"} : () -> i64
%m, %p = "fuse.argreduce"(%v, %i) {kind = "KIND", over = ["d1"]} : (f32, i64) -> (f32, i64)
store m -> e[d0]
store p -> q[d0]"""
SPREAD = """load x[d0, d1] -> v
%m, %s = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
store m -> e[d0]
store s -> q[d0]"""
FOLDS = """load x[d0, d1] -> v
%w = arith.extf %v : bf16 to f32
fold max w[d1] -> m : f32
%c = arith.subf %w, %m : f32
%e = math.exp %c : f32
fold sum e[d1] -> s : f32
%i = "fuse.index"() {expr = "d1"} : () -> i64
%t, %p = "fuse.argreduce"(%w, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
store s -> o[d0]
store p -> q[d0]"""
LOWEST = torch.finfo(torch.float32).min
LOOP = tile(axis("d0", 1, "grid"), axis("d1", 256, "looped"), num_warps=1)


def rows(columns: int) -> torch.Tensor:
    """Random rows, and rows of nothing but what a maximum finds hard."""
    x = torch.randn(9, columns, generator=torch.Generator().manual_seed(0)) * 10
    x[1] = LOWEST
    x[2] = -torch.inf
    x[3, 5] = torch.nan
    x[4, 7] = torch.inf
    x[5, ::2] = -torch.inf
    x[6] = 0.0
    x[7, -1] = 1000.0
    x[8, 300:] = -torch.inf
    return x


@pytest.mark.parametrize("columns", [1024, 1001, 2311])
def test_softmax_in_a_loop(columns: int) -> None:
    x = rows(columns)
    shape = tensor(9, columns)
    case = Case({"d0": "9", "d1": str(columns)}, {"x": shape}, {"o": shape}, SOFTMAX, tile=LOOP)
    text = str(lowered(case.text(), CombineReductions(), ApplyTiling()))
    assert ("tensor<64x4xf32>" if columns == 1024 else "tensor<8x32xf32>") in text
    [got] = compare(case.text(), [x], CombineReductions(), ApplyTiling())
    exact = torch.softmax(x.double(), -1)
    torch.testing.assert_close(got.double(), exact, rtol=1e-5, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize("index", ["d1", "1000000 - d1", "d1 * 3000000"])
@pytest.mark.parametrize("columns", [1024, 1001, 2311])
def test_argument_in_a_loop(columns: int, index: str, kind: str) -> None:
    """Indices that grow along the loop, that fall, and that need 64 bits."""
    x = rows(columns) if kind == "argmax" else -rows(columns)
    body = ARGUMENT.replace("KIND", kind).replace("INDEX", index)
    outputs = {"e": tensor(9), "q": tensor(9, element="i64")}
    case = Case({"d0": "9", "d1": str(columns)}, {"x": tensor(9, columns)}, outputs, body, tile=LOOP)
    _, got = compare(case.text(), [x], ApplyTiling(), exact=True)
    if index == "d1":
        assert torch.equal(got, getattr(torch, kind)(x, -1))


@pytest.mark.parametrize("columns", [1024, 1001, 300, 516, 1000, 1532, 2308, 2311])
def test_mean_and_spread_in_a_loop(columns: int) -> None:
    """A thread folds its four elements first where no mask leaves out some of them alone: with masks in one
    block of two, and in the last of several.  Rows far from zero, of one value, which may be too large to be
    squared, and with one value that is far away.
    """
    x = torch.randn(9, columns, generator=torch.Generator().manual_seed(0))
    x[1] += 1000.0
    x[2], x[6] = 3.0, 1e30
    x[3, -1] = 1e6
    x[4, 0] = 1e6
    x[5, 10] = torch.nan
    outputs = {"e": tensor(9), "q": tensor(9)}
    case = Case({"d0": "9", "d1": str(columns)}, {"x": tensor(9, columns)}, outputs, SPREAD, tile=LOOP)
    text = str(lowered(case.text(), ApplyTiling()))
    assert ("tensor<64x4xf32>" in text) == (columns % 4 == 0)
    mean, spread = compare(case.text(), [x], ApplyTiling())
    exact = x.double()
    deviation = exact - exact.mean(-1, keepdim=True)
    torch.testing.assert_close(mean.double(), exact.mean(-1), rtol=1e-6, atol=1e-6, equal_nan=True)
    squares = deviation.square().sum(-1)
    torch.testing.assert_close(spread.double(), squares, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", ["looped", "looped by one"])
@pytest.mark.parametrize("columns", [0, 1, 7])
def test_mean_and_spread_of_an_unknown_number_of_columns(name: str, columns: int) -> None:
    """Of none, both are missing."""
    outputs = {"e": tensor(9), "q": tensor(9)}
    case = Case(
        {"d0": "9", "d1": "s0"}, {"x": tensor(9, "s0")}, outputs, SPREAD, {"s0": 40}, tile=ROW_TILES[name](40)
    )
    x = torch.randn(9, columns, generator=torch.Generator().manual_seed(0))
    mean, spread = compare(case.text(), [x, columns], ApplyTiling())
    assert mean.isnan().all() == spread.isnan().all() == (columns == 0)


@pytest.mark.parametrize("weights", ["y[d0, d1]", "y[d1]", "y[d0]", "y[]"])
@pytest.mark.parametrize("name", ROW_TILES)
def test_mean_and_spread_by_weights(name: str, weights: str) -> None:
    """Weights that vary along everything, along rows, from row to row, and not at all.  What has weight 0 may
    be missing or infinite.
    """
    body = SPREAD.replace("-> v\n", f"-> v\nload {weights} -> w\n", 1).replace("(%v) {", "(%v, %w) {")
    body = body.replace(": (f32) ->", ": (f32, f32) ->")
    shape = {"y[d0, d1]": (9, 40), "y[d1]": (40,), "y[d0]": (9,), "y[]": ()}[weights]
    source = torch.Generator().manual_seed(0)
    x = torch.randn(9, 40, generator=source)
    x[1] += 1000.0
    x[2], x[3, -1], x[4], x[5] = 0.1, 1e6, 1e30, 5e19 * (1 + x[5] / 60)
    w = torch.randint(0, 4, shape, generator=source).float() if shape else torch.tensor(3.0)
    x = torch.where((w if weights != "y[d0]" else w[:, None]) == 0, torch.nan, x)
    tensors = {"x": tensor(9, 40), "y": tensor(*shape)}
    case = Case(
        {"d0": "9", "d1": "40"}, tensors, {"e": tensor(9), "q": tensor(9)}, body, tile=ROW_TILES[name](40)
    )
    passes = (ApplyTiling(),) if ROW_TILES[name](40) else (ChooseTiling(), ApplyTiling())
    mean, spread = compare(case.text(), [x, w], *passes)
    counts = (w if weights != "y[d0]" else w[:, None]).double().expand(9, 40)
    exact = torch.where(counts == 0, 0.0, x.double())
    middle = (exact * counts).sum(1) / counts.sum(1)
    torch.testing.assert_close(mean.double(), middle, rtol=1e-6, atol=1e-6, equal_nan=True)
    squares = ((exact - middle[:, None]).square() * counts).sum(1)
    torch.testing.assert_close(spread.double(), squares, rtol=1e-5, atol=1e-6, equal_nan=True)
    if weights != "y[d0]":
        assert mean[2] == x[2, -1] and mean[4] == x[4, -1] and spread[2] == spread[4] == 0.0


@pytest.mark.parametrize("columns", [1000, 1001, 1022])
def test_mean_and_spread_of_the_front_of_longer_rows(columns: int) -> None:
    """Whole vectors are read, but the mean may end inside of the last one: what follows does not count."""
    x = torch.zeros(9, 1024)
    x[:, columns - 1] = last = torch.arange(1.0, 10.0)
    x[:, columns:] = 1e3
    outputs = {"e": tensor(9), "q": tensor(9)}
    case = Case({"d0": "9", "d1": str(columns)}, {"x": tensor(9, 1024)}, outputs, SPREAD, tile=LOOP)
    assert ("tensor<64x4xf32>" in str(lowered(case.text(), ApplyTiling()))) == (columns % 4 == 0)
    mean, spread = compare(case.text(), [x], ApplyTiling())
    last = last.double()
    torch.testing.assert_close(mean.double(), last / columns, rtol=1e-6, atol=0)
    torch.testing.assert_close(spread.double(), last.square() * (1 - 1 / columns), rtol=1e-6, atol=0)


@pytest.mark.parametrize("pixels", [64, 196, 49])
def test_mean_and_spread_of_pieces(pixels: int) -> None:
    """Channels of images: pieces of memory, of which vectors of 16 bytes are a part, of 8, of none.  The
    steps from lane to lane are one element (and not a product with what a division leaves), so that Triton
    sees vectors.
    """
    x = torch.randn(12, 3, pixels, generator=torch.Generator().manual_seed(0)) + 10.0
    x = x.bfloat16()
    body = SPREAD.replace("x[d0, d1]", "x[d1, d0, d2]").replace('["d1"]', '["d1", "d2"]')
    body = body.replace("-> v\n", "-> v\n%w = arith.extf %v : bf16 to f32\n", 1).replace("(%v) {", "(%w) {")
    tiles = tile(axis("d0", 1, "grid"), axis("d1,d2", 256, "looped"), num_warps=1)
    dims, source = {"d0": "3", "d1": "12", "d2": str(pixels)}, tensor(12, 3, pixels, element="bf16")
    case = Case(dims, {"x": source}, {"e": tensor(3), "q": tensor(3)}, body, tile=tiles)
    text = str(lowered(case.text(), ApplyTiling()))
    shape = {64: "tensor<32x8xf32>", 196: "tensor<64x4xf32>", 49: "tensor<256xf32>"}[pixels]
    assert shape in text and "arith.constant dense<-" not in text
    mean, spread = compare(case.text(), [x], ApplyTiling())
    exact = x.double()
    centre = exact.mean((0, 2), keepdim=True)
    torch.testing.assert_close(mean.double(), centre.flatten(), rtol=1e-6, atol=1e-6)
    squares = (exact - centre).square().sum((0, 2))
    torch.testing.assert_close(spread.double(), squares, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("columns", [1001, 1022, 1023, 1025, 1031, 2303, 2311, 2559])
def test_rows_that_start_anywhere(columns: int) -> None:
    """Blocks begin with the end of the row before and end with the start of the next one, which are larger:
    every start modulo 8, rows that need one block more or less for it, and rows that are long enough for the
    blocks at their ends to have code of their own.
    """
    x = torch.randn(16, columns, generator=torch.Generator().manual_seed(0))
    x[:, 0] += 100.0 * torch.arange(16).flip(0)
    x[:, -1] += 100.0 * torch.arange(16)
    x[5] = -torch.inf
    x[7, 3] = torch.nan
    x = x.bfloat16()
    outputs = {"o": tensor(16), "q": tensor(16, element="i64")}
    source = tensor(16, columns, element="bf16")
    case = Case({"d0": "16", "d1": str(columns)}, {"x": source}, outputs, FOLDS, tile=LOOP)
    assert "arith.remsi" in str(lowered(case.text(), CombineReductions(), ApplyTiling()))
    total, position = compare(case.text(), [x], CombineReductions(), ApplyTiling())
    exact = x.double()
    sums = (exact - exact.amax(-1, keepdim=True)).exp().sum(-1)
    torch.testing.assert_close(total.double(), sums, rtol=1e-5, atol=0, equal_nan=True)
    assert torch.equal(position, x.argmax(-1))


@pytest.mark.parametrize("rows", [15, 16])
def test_no_vector_ends_behind_the_tensor(rows: int) -> None:
    """15 rows of 1001 are no multiple of 8: the last vector would not be the tensor's."""
    outputs = {"o": tensor(rows), "q": tensor(rows, element="i64")}
    source = tensor(rows, 1001, element="bf16")
    case = Case({"d0": str(rows), "d1": "1001"}, {"x": source}, outputs, FOLDS, tile=LOOP)
    assert ("arith.remsi" in str(lowered(case.text(), ApplyTiling()))) == (rows == 16)


@pytest.mark.parametrize(("columns", "blocks"), [(2047, 0), (2048 + 8, 8), (2559, 9), (2560, 0)])
def test_whole_blocks_have_no_mask(columns: int, blocks: int) -> None:
    """From 8 whole blocks on, what masks cut is folded outside of the loop."""
    outputs = {"o": tensor(9), "q": tensor(9, element="i64")}
    source = tensor(9, columns, element="bf16")
    case = Case({"d0": "9", "d1": str(columns)}, {"x": source}, outputs, FOLDS, tile=LOOP)
    text = str(lowered(case.text(), CombineReductions(), ApplyTiling()))
    loop = text[text.index("scf.for") : text.index("scf.yield")]
    masked = "arith.cmpi slt" in loop or "arith.cmpi ult" in loop
    assert masked == (columns == 2047)
    behind = text[text.index("scf.yield") :]
    assert behind.count('"tt.load"') == (1 if blocks else 0)


def test_an_update_in_place_waits_for_the_loop_that_reads_the_old_contents() -> None:
    x, first = rows(1024)[:1], torch.ones(1)
    [_, new] = compare(updated(1, 1024, LOOP).text(), [x, first], ApplyTiling())
    assert new.tolist() == [2.0]


@pytest.mark.parametrize(("block", "columns"), [(4, 40), (8, 64), (1, 40), (32, 3)])
def test_rows_and_columns_on_the_way_down(block: int, columns: int) -> None:
    """A warp walks down 17 rows of each of 3 shares, several at a time: the last step has fewer, and lanes
    behind the end of a row add nothing, neither to its sum nor to those of columns.
    """
    body = """load x[d0, d1, d2] -> v
%w = arith.addf %v, %v : f32
fold sum w[d2] -> m : f32
%q = arith.subf %w, %m : f32
fold sum q[d1] -> c : f32
fold max v[d1] -> t : f32
store q -> o[d0, d1, d2]
store c -> b[d0, d2]
store t -> e[d0, d2]"""
    held = 1 << (columns - 1).bit_length()
    axes = axis("d0", 1, "grid"), axis("d1", block, "looped"), axis("d2", held, "resident")
    whole, each = tensor(3, 17, columns), tensor(3, columns)
    case = Case(
        {"d0": "3", "d1": "17", "d2": str(columns)},
        {"x": whole},
        {"o": whole, "b": each, "e": each},
        body,
        tile=tile(*axes, num_warps=1),
    )
    x = -1.0 - torch.rand(3, 17, columns, generator=torch.Generator().manual_seed(0))
    centred, sums, largest = compare(case.text(), [x], ApplyTiling())
    wide = 2 * x.double()
    wide = wide - wide.sum(2, keepdim=True)
    torch.testing.assert_close(centred.double(), wide, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(sums.double(), wide.sum(1), rtol=1e-5, atol=1e-5)
    assert torch.equal(largest, x.amax(1))
