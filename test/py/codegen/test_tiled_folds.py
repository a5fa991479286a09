"""Reductions and scans in tiles against the scalar interpreter and float64."""

import pytest
import torch
from tiling_cases import (
    NORM,
    ROW_TILES,
    SOFTMAX,
    TILING,
    Case,
    axis,
    compare,
    lowered,
    pair,
    rows,
    run,
    tensor,
    tile,
)

from fuse_mlir.compiler.runtime.torch_types import TORCH_DTYPES
from fuse_mlir.passes.kernels.combine_reductions import CombineReductions
from fuse_mlir.passes.products.expand_dots import ExpandDots


# --- reductions -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize("shape", [(5, 1), (3, 7), (6, 33), (5, 64)])
def test_softmax(name: str, shape: tuple[int, int]) -> None:
    compare(pair(*shape, SOFTMAX, ROW_TILES[name](shape[1])).text(), [rows(*shape)], *TILING)


@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize("shape", [(5, 1), (3, 7), (6, 33), (5, 64)])
def test_online_softmax(name: str, shape: tuple[int, int]) -> None:
    text = pair(*shape, SOFTMAX, ROW_TILES[name](shape[1])).text()
    x = rows(*shape)
    x[0, 0] = -float("inf") if shape[1] > 1 else 0.0
    assert "fuse.online_softmax" in str(lowered(text, CombineReductions()))
    compare(text, [x], CombineReductions(), *TILING)


@pytest.mark.parametrize("name", ["resident", "looped"])
def test_online_softmax_of_special_rows(name: str) -> None:
    inf = float("inf")
    x = rows(6, 20)
    x[0] = -inf
    x[1, :19] = -inf
    x[2, 3] = inf
    x[3, 4] = float("nan")
    x[4, :] = -3.4028234663852886e38
    [got] = compare(pair(6, 20, SOFTMAX, ROW_TILES[name](20)).text(), [x], CombineReductions(), *TILING)
    assert (
        got[[0, 2, 3]].isnan().all() and got[1, 19] == 1 and torch.allclose(got[4], torch.full((20,), 0.05))
    )


@pytest.mark.parametrize("combine", [False, True])
@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize("n", [1, 7, 33, 64])
def test_layer_norm(name: str, n: int, combine: bool) -> None:
    outputs = {"o": tensor(6, n), "mu": tensor(6)}
    text = pair(6, n, NORM.replace("COUNT", f"{n}.0"), ROW_TILES[name](n), outputs).text()
    passes = (CombineReductions(), *TILING) if combine else TILING
    assert ("fuse.welford" in str(lowered(text, CombineReductions()))) is True
    compare(text, [rows(6, n) * 3 + 100], *passes, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
def test_float_reductions(name: str, kind: str) -> None:
    body = f"load x[d0, d1] -> v\nfold {kind} v[d1] -> s : f32\nstore s -> o[d0]"
    x = rows(5, 21)
    if kind in ("max", "min"):
        x[1, 3] = float("nan")
        x[2] = -float("inf") if kind == "max" else float("inf")
    compare(pair(5, 21, body, ROW_TILES[name](21), {"o": tensor(5)}).text(), [x], *TILING)


@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize(
    ("kind", "element"),
    [
        ("sum", "i64"),
        ("prod", "i64"),
        ("max", "i64"),
        ("min", "i32"),
        ("xor", "i32"),
        ("max", "i8"),
        ("any", "i1"),
        ("all", "i1"),
    ],
)
def test_integer_reductions(name: str, kind: str, element: str) -> None:
    body = f"load x[d0, d1] -> v\nfold {kind} v[d1] -> s : {element}\nstore s -> o[d0]"
    case = Case(
        {"d0": "5", "d1": "21"},
        {"x": tensor(5, 21, element=element)},
        {"o": tensor(5, element=element)},
        body,
        tile=ROW_TILES[name](21),
    )
    x = torch.randint(
        -5 if element != "i1" else 0,
        6 if element != "i1" else 2,
        (5, 21),
        generator=torch.Generator().manual_seed(1),
    ).to(TORCH_DTYPES[element])
    if element == "i1":
        x[0], x[1] = True, False
    else:
        x[x == 0] = 1
        x[0] = -x[0].abs()
    compare(case.text(), [x], *TILING, exact=True)


@pytest.mark.parametrize("name", ROW_TILES)
@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_argreduce_takes_nan_and_the_first_of_equals(name: str, kind: str) -> None:
    body = f"""load x[d0, d1] -> v
%i = "fuse.index"() {{expr = "d1"}} : () -> i64
%e, %p = "fuse.argreduce"(%v, %i) {{kind = "{kind}", over = ["d1"]}} : (f32, i64) -> (f32, i64)
store e -> o[d0]
store p -> q[d0]"""
    x = torch.randint(0, 3, (6, 40), generator=torch.Generator().manual_seed(2)).float()
    x[1, [5, 30]] = float("nan")
    x[2] = 7
    x[3] = float("inf") if kind == "argmin" else -float("inf")
    _, position = compare(
        pair(6, 40, body, ROW_TILES[name](40), {"o": tensor(6), "q": tensor(6, element="i64")}).text(),
        [x],
        *TILING,
        exact=True,
    )
    expected = x.argmax(1) if kind == "argmax" else x.argmin(1)
    assert torch.equal(position, expected)


COLUMN_TILES = {
    "chosen": None,
    "resident": tile(axis("d0", 64, "resident"), axis("d1", 8, "grid")),
    "looped": tile(axis("d0", 4, "looped"), axis("d1", 8, "grid")),
    "looped by one": tile(axis("d0", 1, "looped"), axis("d1", 16, "grid")),
}


@pytest.mark.parametrize("name", COLUMN_TILES)
def test_column_sum(name: str) -> None:
    body = "load x[d0, d1] -> v\nfold sum v[d0] -> s : f32\nstore s -> o[d1]"
    compare(pair(50, 21, body, COLUMN_TILES[name], {"o": tensor(21)}).text(), [rows(50, 21)], *TILING)


FEW_ROWS_TILES = {
    "chosen": None,
    "in threads": tile(axis("d0", 1, "grid"), axis("d1", 8, "resident"), axis("d2", 32, "grid"), num_warps=1),
    "rows at once": tile(axis("d0", 2, "grid"), axis("d1", 8, "resident"), axis("d2", 16, "grid")),
    "looped": tile(axis("d0", 1, "grid"), axis("d1", 4, "looped"), axis("d2", 32, "grid")),
}


@pytest.mark.parametrize("name", FEW_ROWS_TILES)
def test_weighted_sum_of_a_few_rows(name: str) -> None:
    """Weights, one for each row, are read apart from the tile that they scale."""
    body = (
        "load x[d0, d1, d2] -> v\nload w[d0, d1] -> u\n%p = arith.mulf %v, %u : f32\n"
        "fold sum p[d1] -> s : f32\nstore s -> o[d0, d2]"
    )
    case = Case(
        {"d0": "5", "d1": "6", "d2": "40"},
        {"x": tensor(5, 6, 40), "w": tensor(5, 6)},
        {"o": tensor(5, 40)},
        body,
        tile=FEW_ROWS_TILES[name],
    )
    x, w = rows(30, 40).view(5, 6, 40), rows(5, 6)
    [found] = compare(case.text(), [x, w], *TILING)
    expected = (x.double() * w.double()[..., None]).sum(1)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "t",
    [
        None,
        tile(axis("d0", 8, "looped"), axis("d1", 32, "resident")),
        tile(axis("d0", 16, "resident"), axis("d1", 8, "looped")),
    ],
)
def test_row_and_column_sums_in_one_kernel(t: str | None) -> None:
    body = """load x[d0, d1] -> v
fold sum v[d1] -> r : f32
fold max v[d0] -> c : f32
store r -> o[d0]
store c -> p[d1]"""
    compare(pair(13, 21, body, t, {"o": tensor(13), "p": tensor(21)}).text(), [rows(13, 21)], *TILING)


def test_column_sums_of_row_normalised_values() -> None:
    body = """load x[d0, d1] -> v
fold sum v[d1] -> r : f32
%n = arith.subf %v, %r : f32
fold sum n[d0] -> c : f32
%y = arith.addf %n, %c : f32
store y -> o[d0, d1]"""
    for t in (None, tile(axis("d0", 4, "looped"), axis("d1", 32, "resident"))):
        compare(pair(13, 21, body, t).text(), [rows(13, 21)], *TILING, atol=1e-4)


@pytest.mark.parametrize(
    "t",
    [
        None,
        tile(axis("d0", 1, "grid"), axis("d1,d2", 16, "looped")),
        tile(axis("d0", 2, "grid"), axis("d1", 4, "resident"), axis("d2", 8, "resident")),
    ],
)
def test_reduction_over_two_dims(t: str | None) -> None:
    body = "load x[d0, d1, d2] -> v\nfold sum v[d1, d2] -> s : f32\nstore s -> o[d0]"
    case = Case({"d0": "5", "d1": "3", "d2": "7"}, {"x": tensor(5, 3, 7)}, {"o": tensor(5)}, body, tile=t)
    compare(case.text(), [rows(5, 21).reshape(5, 3, 7)], *TILING)


def test_dot_of_few_rows() -> None:
    """Multiplied and summed; ``test_products.py`` has products of tiles."""
    body = """load x[d0, d2] -> a
load y[d2, d1] -> b
%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
store c -> o[d0, d1]"""
    inputs = {"x": tensor(4, 33, element="bf16"), "y": tensor(33, 10, element="bf16")}
    for t in (
        None,
        tile(axis("d0", 4, "grid"), axis("d1", 8, "grid"), axis("d2", 16, "looped")),
        tile(axis("d0", 1, "grid"), axis("d1", 8, "grid"), axis("d2", 64, "resident")),
    ):
        case = Case({"d0": "4", "d1": "10", "d2": "33"}, inputs, {"o": tensor(4, 10)}, body, tile=t)
        operands = [rows(4, 33).bfloat16(), rows(33, 10, 1).bfloat16()]
        compare(case.text(), operands, ExpandDots(), *TILING, rtol=1e-4, atol=1e-4)


def test_empty_reduction() -> None:
    body = "load x[d0, d1] -> v\nfold sum v[d1] -> s : f32\nstore s -> o[d0]"
    case = Case({"d0": "4", "d1": "s0"}, {"x": tensor(4, "s0")}, {"o": tensor(4)}, body, sizes={"s0": 8})
    [got] = run(lowered(case.text(), *TILING), [torch.zeros(4, 0), 0])
    assert torch.equal(got, torch.zeros(4))


def test_in_place_softmax_keeps_the_old_contents_until_the_last_loop() -> None:
    body = """load x[d0, d1] -> v
fold sum v[d1] -> s : f32
%two = arith.addf %v, %v : f32
%n = arith.subf %v, %s : f32
store two -> o[d0, d1]
store n -> p[d0, d1]"""
    case = pair(
        3,
        40,
        body,
        tile(axis("d0", 1, "grid"), axis("d1", 16, "looped")),
        {"o": tensor(3, 40), "p": tensor(3, 40)},
        in_place={"o": "x"},
    )
    compare(case.text(), [rows(3, 40)], *TILING, atol=1e-4)


# --- scans ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["resident", "resident rows", "looped", "looped rows", "chosen"])
@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize("kind", ["sum", "max", "prod"])
def test_scan(name: str, reverse: str, kind: str) -> None:
    body = f"""load x[d0, d1] -> v
%s = "fuse.scan"(%v) {{kind = "{kind}", over = "d1", reverse = {reverse}}} : (f32) -> f32
store s -> o[d0, d1]"""
    compare(pair(5, 40, body, ROW_TILES[name](40)).text(), [rows(5, 40)], *TILING, atol=1e-4)


def test_scan_then_sum_and_use() -> None:
    body = """load x[d0, d1] -> v
%c = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
fold sum c[d1] -> t : f32
%y = arith.subf %c, %t : f32
store y -> o[d0, d1]"""
    for name in ("resident", "looped"):
        compare(pair(3, 40, body, ROW_TILES[name](40)).text(), [rows(3, 40)], *TILING, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["looped", "looped rows"])
def test_roundings_left_out_in_each_loop(name: str) -> None:
    """A ReLU of 16 bits that two loops read: each has the numbers of its own block."""
    body = """load x[d0, d1] -> n
%v = arith.extf %n : bf16 to f32
%positive = arith.maximumf %v, %zero : f32
%rounded = arith.truncf %positive : f32 to bf16
%r = arith.extf %rounded : bf16 to f32
fold sum r[d1] -> s : f32
%y = arith.subf %r, %s : f32
%yn = arith.truncf %y : f32 to bf16
store yn -> o[d0, d1]"""
    tensors = {"x": tensor(5, 21, element="bf16")}, {"o": tensor(5, 21, element="bf16")}
    case = Case({"d0": "5", "d1": "21"}, *tensors, body, tile=ROW_TILES[name](21))
    compare(case.text(), [rows(5, 21).bfloat16()], *TILING, rtol=8e-3)
