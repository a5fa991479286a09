"""Pointwise kernels, stores, assertions and random numbers in tiles, against the scalar interpreter and
float64; sizes that do and do not fit blocks.
"""

import pytest
import torch
from tiling_cases import SOFTMAX, TILING, Case, axis, compare, lowered, pair, rows, run, tensor, tile

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.torch_types import TORCH_DTYPES
from fuse_mlir.passes.pass_base import PassError
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling


# --- pointwise --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 127, 128, 1000])
@pytest.mark.parametrize("block", [1, 16, 128])
def test_flat_pointwise(n: int, block: int) -> None:
    body = "load x[d0] -> v\n%w = arith.mulf %v, %v : f32\nstore w -> o[d0]"
    case = Case(
        {"d0": str(n)}, {"x": tensor(n)}, {"o": tensor(n)}, body, tile=tile(axis("d0", block, "grid"))
    )
    compare(case.text(), [rows(1, n)[0]], *TILING, exact=True)


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16", "i64", "i32", "i8", "ui8", "i1"])
def test_copy_of_every_element_type(element: str) -> None:
    body = "load x[d0] -> v\nstore v -> o[d0]"
    t = tensor(300, element=element)
    case = Case({"d0": "300"}, {"x": t}, {"o": t}, body)
    compare(case.text(), [(rows(1, 300)[0] * 50).to(TORCH_DTYPES[element])], *TILING, exact=True)


@pytest.mark.parametrize("sizes", [(1, 1), (5, 3), (64, 130), (3, 300)])
def test_dynamic_sizes(sizes: tuple[int, int]) -> None:
    t = tensor("s0", "s1")
    body = "load x[d0, d1] -> v\nload b[d1] -> w\n%y = arith.addf %v, %w : f32\nstore y -> o[d0, d1]"
    case = Case(
        {"d0": "s0", "d1": "s1"}, {"x": t, "b": tensor("s1")}, {"o": t}, body, sizes={"s0": 64, "s1": 200}
    )
    compare(case.text(), [rows(*sizes), rows(1, sizes[1])[0], *sizes], *TILING, exact=True)


@pytest.mark.parametrize(
    "t",
    [
        None,
        tile(axis("d0", 4, "grid"), axis("d1,d2", 16, "grid")),
        tile(axis("d0,d1,d2", 32, "grid")),
        tile(axis("d0,d1", 1, "grid"), axis("d2", 8, "grid")),
    ],
)
def test_broadcast_operands(t: str | None) -> None:
    body = """load x[d0, d1, d2] -> v
load b[d1] -> b1
load c[d0, d2] -> c1
%s = arith.addf %v, %b1 : f32
%y = arith.mulf %s, %c1 : f32
store y -> o[d0, d1, d2]"""
    inputs = {"x": tensor(6, 5, 7), "b": tensor(5), "c": tensor(6, 7)}
    case = Case({"d0": "6", "d1": "5", "d2": "7"}, inputs, {"o": tensor(6, 5, 7)}, body, tile=t)
    x = rows(6, 35).reshape(6, 5, 7)
    compare(case.text(), [x, rows(1, 5)[0], rows(6, 7)], *TILING, exact=True)


@pytest.mark.parametrize("shape", [(40, 50), (17, 100), (64, 64)])
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_transpose(shape: tuple[int, int], element: str) -> None:
    m, n = shape
    case = Case(
        {"d0": str(n), "d1": str(m)},
        {"x": tensor(m, n, element=element)},
        {"o": tensor(n, m, element=element)},
        "load x[d1, d0] -> v\nstore v -> o[d0, d1]",
    )
    assert '["d0"], kind = "grid"' in str(lowered(case.text(), ChooseTiling()))
    compare(case.text(), [rows(m, n).to(TORCH_DTYPES[element])], *TILING, exact=True)


def test_strided_input_and_negative_steps() -> None:
    t = tensor(10, 20, strides="40,2")
    case = Case(
        {"d0": "10", "d1": "20"},
        {"x": t},
        {"o": tensor(10, 20)},
        "load x[9 - d0, 19 - d1] -> v\nstore v -> o[d0, d1]",
    )
    compare(case.text(), [rows(10, 40)[:, ::2]], *TILING, exact=True)


def test_guards_and_other_of_a_padded_load() -> None:
    body = """%c1 = arith.constant 1 : i64
%c8 = arith.constant 8 : i64
%one = arith.constant 1.0 : f32
%i = "fuse.index"() {expr = "d0"} : () -> i64
%ge = arith.cmpi sge, %i, %c1 : i64
%le = arith.cmpi sle, %i, %c8 : i64
%in = arith.andi %ge, %le : i1
%v = "fuse.load"(%x, %in, %one) {at = ["d0 - 1", "d1"]} : (tensor<8x33xf32>, i1, f32) -> f32
store v -> o[d0, d1]"""
    case = Case({"d0": "10", "d1": "33"}, {"x": tensor(8, 33)}, {"o": tensor(10, 33)}, body)
    [got] = compare(case.text(), [rows(8, 33)], *TILING, exact=True)
    assert (got[0] == 1).all() and (got[9] == 1).all()


def test_division_in_coordinates_of_negative_numerators() -> None:
    body = """%i = "fuse.index"() {expr = "(d0 - 5) floordiv 4 + (d0 - 9) mod 5"} : () -> i64
%f = arith.sitofp %i : i64 to f32
store f -> o[d0]"""
    case = Case({"d0": "37"}, {"x": tensor(1)}, {"o": tensor(37)}, body, tile=tile(axis("d0", 16, "grid")))
    [got] = compare(case.text(), [torch.zeros(1)], *TILING, exact=True)
    d = torch.arange(37)
    assert torch.equal(got, ((d - 5) // 4 + (d - 9) % 5).float())


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_gather(element: str) -> None:
    table = tensor(50, 24, element=element)
    body = f"""load idx[d0] -> i
%z = arith.constant 0.0 : {element}
%v = "fuse.load"(%w, %true, %z, %i) {{at = ["i0", "d1"]}} : ({table}, i1, {element}, i64) -> {element}
store v -> o[d0, d1]"""
    inputs = {"w": table, "idx": tensor(13, element="i64")}
    case = Case({"d0": "13", "d1": "24"}, inputs, {"o": tensor(13, 24, element=element)}, body)
    index = torch.tensor([49, 0, 3, 3, 17, 48, 1, 2, 5, 6, 7, 30, 12])
    compare(case.text(), [rows(50, 24).to(TORCH_DTYPES[element]), index], *TILING, exact=True)


def test_scatter_add() -> None:
    body = """load x[d0] -> v
load idx[d0] -> i
%new = "fuse.store"(%o0, %v, %true, %i) {at = ["i0"], mode = "add"} : (tensor<7xf32>, f32, i1, i64) ->
tensor<7xf32> %r_new = arith.constant true"""
    body = body.replace("%new", "%acc_new").replace("\n%r_new = arith.constant true", "")
    inputs = {"x": tensor(40), "idx": tensor(40, element="i64"), "o0": tensor(7)}
    case = Case(
        {"d0": "40"},
        inputs,
        {"acc": tensor(7)},
        body,
        in_place={"acc": "o0"},
        tile=tile(axis("d0", 16, "grid")),
    )
    compare(case.text(), [rows(1, 40)[0], torch.arange(40) % 7, torch.ones(7)], *TILING)


def test_scalars_alone() -> None:
    body = "load x[] -> v\n%w = math.exp %v : f32\nstore w -> o[]"
    case = Case({}, {"x": tensor()}, {"o": tensor()}, body)
    compare(case.text(), [torch.tensor(0.5)], *TILING)


def test_zero_points() -> None:
    case = Case({"d0": "0"}, {"x": tensor(0)}, {"o": tensor(0)}, "load x[d0] -> v\nstore v -> o[d0]")
    compare(case.text(), [torch.zeros(0)], *TILING, exact=True)


@pytest.mark.parametrize("element", ["f16", "bf16", "f8E4M3FN", "f8E5M2"])
def test_small_floats_round_and_overflow_as_in_torch(element: str) -> None:
    inf, nan = float("inf"), float("nan")
    edges = [
        0.0,
        -0.0,
        1.0,
        448.0,
        464.0,
        464.1,
        480.0,
        57344.0,
        61439.0,
        61440.0,
        65504.0,
        65520.0,
        1e30,
        inf,
    ]
    x = torch.tensor([*edges, *(-e for e in edges), nan, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 3.3e-5, 1e-45])
    case = Case(
        {"d0": str(len(x))},
        {"x": tensor(len(x))},
        {"o": tensor(len(x), element=element)},
        f"load x[d0] -> v\n%y = arith.truncf %v : f32 to {element}\nstore y -> o[d0]",
    )
    [got] = run(lowered(case.text(), *TILING), [x])
    expected = x.to(TORCH_DTYPES[element]).float()
    if element == "f8E4M3FN":  # PyTorch gave NaN until 2.11 and saturates since
        expected = torch.where(x.abs() > 464, torch.full((), nan), expected)
    torch.testing.assert_close(got.float(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("more", ["", ", fuse.max = 65535 : i64", ", fuse.max = 65536 : i64"])
def test_programs_are_counted_in_x_where_y_could_overflow(more: str) -> None:
    body = "load x[d0, d1] -> v\nstore v -> o[d0, d1]"
    t = tile(axis("d0", 1, "grid"), axis("d1", 1, "grid"))
    sized = tensor("s0", "s0")
    case = Case(
        {"d0": "s0", "d1": "s0"}, {"x": sized}, {"o": sized}, body, sizes={"s0": 5}, facts=more, tile=t
    )
    grid = 'fuse.grid = ["s0", "s0"]' if "65535" in more else 'fuse.grid = ["s0*s0"]'
    assert grid in str(lowered(case.text(), *TILING))
    compare(case.text(), [rows(7, 7), 7], *TILING, exact=True)


def test_offsets_are_wide_only_where_they_could_overflow() -> None:
    def text(n: int) -> str:
        body = "load x[d0, d1] -> v\nstore v -> o[d0, d1]"
        t = tile(axis("d0", 16, "grid"), axis("d1", 16, "grid"))
        case = Case({"d0": "64", "d1": str(n)}, {"x": tensor(64, n)}, {"o": tensor(64, n)}, body, tile=t)
        return str(lowered(case.text(), *TILING))

    assert "i64" not in text(1 << 20).split("get_program_id")[1]
    assert "tensor<16x1xi64>" not in text(1 << 26) and "!tt.ptr<f32>, i64" in text(1 << 26)
    assert "tensor<16x1xi64>" in text(1 << 29)


# --- stores that lack a dim -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "t",
    [
        None,
        tile(axis("d0,d1", 16, "grid")),
        tile(axis("d0", 4, "grid"), axis("d1", 8, "grid")),
        tile(axis("d0", 1, "grid"), axis("d1", 32, "resident")),
    ],
)
def test_an_atomic_store_happens_once_for_each_point_of_its_own_dims(t: str | None) -> None:
    body = """load x[d0, d1] -> v
store v -> o[d0, d1]
load y[d0] -> w
%a_new = "fuse.store"(%a0, %w, %true) {at = ["d0"], mode = "add"} : (tensor<5xf32>, f32, i1) ->
tensor<5xf32>
"""
    inputs = {"x": tensor(5, 20), "y": tensor(5), "a0": tensor(5)}
    case = Case(
        {"d0": "5", "d1": "20"},
        inputs,
        {"o": tensor(5, 20), "a": tensor(5)},
        body,
        in_place={"a": "a0"},
        tile=t,
    )
    compare(case.text(), [rows(5, 20), rows(1, 5)[0], torch.ones(5)], *TILING)


# --- asserts and randomness -------------------------------------------------------------------------------
def test_assert_ignores_lanes_beyond_the_end() -> None:
    body = """load x[d0] -> v
%ok = arith.cmpf ogt, %v, %zero : f32
cf.assert %ok, "positive"
store v -> o[d0]"""
    text = Case(
        {"d0": "40"}, {"x": tensor(40)}, {"o": tensor(40)}, body, tile=tile(axis("d0", 32, "grid"))
    ).text()
    compare(text, [torch.ones(40)], *TILING, exact=True)
    with pytest.raises(Exception, match="positive"):
        run(lowered(text, *TILING), [torch.ones(40) - (torch.arange(40) == 39) * 2.0])


@pytest.mark.parametrize("dist", ["uniform", "normal"])
def test_random_numbers_do_not_depend_on_the_tile(dist: str) -> None:
    body = f"""%c = "fuse.index"() {{expr = "d0*7 + d1"}} : () -> i64
%v = "fuse.rand"(%seed, %offset, %c) {{dist = "{dist}"}} : (i64, i64, i64) -> f32
store v -> o[d0, d1]"""
    seen = []
    for t in (None, tile(axis("d0,d1", 16, "grid")), tile(axis("d0", 2, "grid"), axis("d1", 8, "grid"))):
        case = Case(
            {"d0": "9", "d1": "7"},
            {"x": tensor(1)},
            {"o": tensor(9, 7)},
            body,
            scalars={"seed": "i64", "offset": "i64"},
            tile=t,
        )
        [got] = compare(
            case.text(), [torch.zeros(1), 0x1234567887654321, 1 << 33], *TILING, rtol=1e-5, atol=1e-6
        )
        seen.append(got)
    assert torch.equal(seen[0], seen[1]) and torch.equal(seen[0], seen[2])


# --- refusals ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("t", "message"),
    [
        (tile(axis("d0", 1, "grid"), axis("d1", 16, "grid")), "is cut across programs"),
        (tile(axis("d0,d1", 256, "resident")), "which is a part of the axis"),
        (tile(axis("d0", 1, "grid"), axis("d1", 16, "resident")), "holds 16 points, its extent is 20"),
        (tile(axis("d0", 1, "grid")), "expected every dim in exactly one axis"),
        (
            tile(axis("d0", 3, "grid"), axis("d1", 32, "resident")),
            "expected a block that is a power of two, got 3",
        ),
        (tile(axis("d0", 1, "looped"), axis("d1", 1, "looped")), "at most one looped axis"),
    ],
)
def test_a_tile_that_does_not_fit_is_refused(t: str, message: str) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(pair(5, 20, SOFTMAX, t).text())
        with pytest.raises(PassError, match=message):
            ApplyTiling().run(module, Remarks())
