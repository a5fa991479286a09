"""Rows that start anywhere: which are read in whole vectors, and why those of other kernels are not."""

from dataclasses import replace

import pytest
from tiling_cases import Case, axis, parsed, tensor, tile

from fuse_mlir.compiler.analysis.tiling.row_parts import RowParts, row_parts
from fuse_mlir.compiler.analysis.tiling.row_start import RowStart, row_start
from fuse_mlir.compiler.analysis.tiling.rows import NoVectors
from fuse_mlir.compiler.index import parse
from fuse_mlir.compiler.ir.kernel import Kernel, string
from fuse_mlir.compiler.ir.tile import Tile

COLUMNS = 4097
FOLD = "load x[d0, d1] -> v\nfold max v[d1] -> m : bf16\n"
SHIFTED = FOLD + "%s = arith.subf %v, %m : bf16\nstore s -> o[d0, d1]"
MAXIMA = FOLD + "store m -> o[d0]"
INDEX = '%i = "fuse.index"() {expr = "d1"} : () -> i64\n'


def rows(columns=COLUMNS, element="bf16", number=64):
    return tensor(number, columns, element=element)


def held(columns=COLUMNS, body=SHIFTED, block=8192, warps=4, **more):
    """Rows in registers, a program each."""
    t = tile(axis("d0", 1, "grid"), axis("d1", block, "resident"), num_warps=warps)
    dims = {"d0": "64", "d1": str(columns)}
    return replace(Case(dims, {"x": rows(columns)}, {"o": rows(columns)}, body, tile=t), **more)


def looped(columns=COLUMNS, body=MAXIMA, block=2048, **more):
    """Rows that a loop folds, a program each."""
    t = tile(axis("d0", 1, "grid"), axis("d1", block, "looped"))
    dims = {"d0": "64", "d1": str(columns)}
    outputs = {"o": tensor(64, element="bf16")}
    return replace(Case(dims, {"x": rows(columns)}, outputs, body, tile=t), **more)


def of_tile(*axes):
    return {"tile": tile(*axes)}


def answer(question, case):
    module = parsed(case.text())
    [func] = [
        op.operation for op in module.body.operations if string(op.operation.attributes["sym_name"]) == "k"
    ]
    with module.context:
        return question(Kernel.of(func), Tile.of(func.attributes["fuse.tile"]))


def test_a_row_in_registers_is_its_whole_vectors_and_its_ends():
    parts = answer(row_parts, held())
    assert parts == RowParts(1, parse("d0*4097"), 8, 4088, 4097)
    assert parts.ends == 9


def test_what_rows_share_is_shifted():
    case = held(
        body=SHIFTED.replace("store s", "load w[d1] -> u\n%p = arith.mulf %s, %u : bf16\nstore p"),
        inputs={"x": rows(), "w": tensor(COLUMNS, element="bf16")},
    )
    assert answer(row_parts, case).shared == ((1, parse("0")),)


def test_a_looped_row_is_read_from_the_multiple_in_front_of_it():
    assert answer(row_start, looped()) == RowStart(1, parse("d0*4097"), 8, 64 * 4097)


GRID = axis("d0", 1, "grid")
DRAWN = (
    "%n = arith.constant 1 : i64\n"
    + INDEX
    + '%u = "fuse.rand"(%n, %n, %i) {dist = "uniform"} : (i64, i64, i64) -> f32\n'
    + "%t = arith.truncf %u : f32 to bf16\n"
)
ADDED = (
    f'%o_new = "fuse.store"(%o, %s, %true) {{at = ["d0", "d1"], mode = "add"}} : ({rows()}, bf16, i1)'
    f" -> {rows()}"
)
COUNTED = (
    "load x[d0, d1] -> v\n"
    '%m, %c = "fuse.welford"(%v) {over = ["d1"]} : (bf16) -> (bf16, bf16)\n'
    "store m -> o[d0]"
)
SUMMED = '%s = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (bf16) -> bf16\n'
SEARCH = (
    INDEX
    + '%b, %w = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (bf16, i64) -> (bf16, i64)\n'
)
#: Of row_parts: the reason, and a kernel for it.
NOT_CUT = {
    "looped over": (NoVectors.NO_AXIS, held(**of_tile(GRID, axis("d1", 512, "looped")))),
    "none held": (
        NoVectors.NO_AXIS,
        held(body="load x[d0, d1] -> v\nstore v -> o[d0, d1]", **of_tile(GRID, axis("d1", 512, "grid"))),
    ),
    "a row of two dims": (
        NoVectors.NO_AXIS,
        Case(
            {"d0": "4", "d1": "16", "d2": "33"},
            {"x": tensor(4, 16, 33, element="bf16")},
            {"o": tensor(4, 16, 33, element="bf16")},
            "load x[d0, d1, d2] -> v\nfold max v[d1, d2] -> m : bf16\n%s = arith.subf %v, %m : bf16\n"
            "store s -> o[d0, d1, d2]",
            tile=tile(GRID, axis("d1,d2", 1024, "resident")),
        ),
    ),
    "two rows": (
        NoVectors.SEVERAL_ROWS,
        held(**of_tile(axis("d0", 2, "grid"), axis("d1", 8192, "resident"))),
    ),
    "a size": (
        NoVectors.UNKNOWN_LENGTH,
        held(
            dims={"d0": "64", "d1": "s0"},
            inputs={"x": tensor(64, "s0", element="bf16")},
            outputs={"o": tensor(64, "s0", element="bf16")},
            sizes={"s0": 4097},
            facts=", fuse.max = 8192 : i64",
        ),
    ),
    "a scan": (
        NoVectors.SCANNED,
        held(body=FOLD + SUMMED + "store s -> o[d0, d1]"),
    ),
    "an assertion": (
        NoVectors.ASSERTED,
        held(
            body=SHIFTED + "\n%c = arith.cmpf oge, %v, %m : bf16\n"
            '"fuse.device_assert"(%c, %true) {message = "no"} : (i1, i1) -> ()'
        ),
    ),
    "drawn": (
        NoVectors.RANDOM,
        held(body=FOLD + DRAWN + "%s = arith.subf %t, %m : bf16\nstore s -> o[d0, d1]"),
    ),
    "a search": (
        NoVectors.FOLD,
        held(body="load x[d0, d1] -> v\n" + SEARCH + "%s = arith.subf %v, %b : bf16\nstore s -> o[d0, d1]"),
    ),
    "at vectors": (NoVectors.ALIGNED, held(4096)),
    "nothing read": (
        NoVectors.NOT_READ,
        held(body="load w[d0] -> v\nstore v -> o[d0, d1]", inputs={"w": tensor(64, element="bf16")}),
    ),
    "in place": (NoVectors.UPDATED, held(in_place={"o": "x"})),
    "added": (NoVectors.ADDED, held(body=SHIFTED.replace("store s -> o[d0, d1]", ADDED))),
    "32 bits": (
        NoVectors.STEPS,
        held(
            body=SHIFTED.replace("bf16", "f32"),
            inputs={"x": rows(element="f32")},
            outputs={"o": rows(element="f32")},
        ),
    ),
    "every second": (
        NoVectors.STEPS,
        held(inputs={"x": tensor(64, COLUMNS, element="bf16", strides="8194,2")}),
    ),
    "an offset": (
        NoVectors.STEPS,
        held(inputs={"x": rows().replace("bf16>", 'bf16, #fuse.layout<"64,4097", "4097,1", "3", "">>')}),
    ),
    "stored elsewhere": (
        NoVectors.STARTS,
        held(outputs={"o": tensor(64, COLUMNS, element="bf16", strides="4098,1")}),
    ),
    "weights and even rows": (
        NoVectors.EVEN_STARTS,
        held(
            4098,
            body=SHIFTED.replace("store s", "load w[d1] -> u\n%p = arith.mulf %s, %u : bf16\nstore p"),
            inputs={"x": rows(4098), "w": tensor(4098, element="bf16")},
        ),
    ),
    "many warps": (NoVectors.FEW_VECTORS, held(warps=8)),
    "a tile that is smaller": (NoVectors.NO_SMALLER, held(block=2048)),
    "idle lanes": (NoVectors.IDLE, held(3201)),
    "many registers": (NoVectors.REGISTERS, held(16385, block=32768, warps=8)),
}
#: The same of row_start.
NOT_EARLY = {
    "held": (NoVectors.NO_AXIS, looped(**of_tile(GRID, axis("d1", 8192, "resident")))),
    "stored": (NoVectors.STORED, held(**of_tile(GRID, axis("d1", 512, "looped")))),
    "a count": (
        NoVectors.FOLD,
        looped(body=COUNTED),
    ),
    "at vectors": (NoVectors.ALIGNED, looped(4096)),
    "nothing read": (
        NoVectors.NOT_READ,
        looped(body=DRAWN + "fold max t[d1] -> m : bf16\nstore m -> o[d0]"),
    ),
    "backwards": (NoVectors.STEPS, looped(body=MAXIMA.replace("d1]", f"{COLUMNS - 1} - d1]", 1))),
    "two starts": (
        NoVectors.STARTS,
        looped(
            body=FOLD.replace("m :", "m0 :") + "load x[d0 + 1, d1] -> w\nfold max w[d1] -> m1 : bf16\n"
            "%m = arith.maximumf %m0, %m1 : bf16\nstore m -> o[d0]",
            inputs={"x": rows(number=65)},
        ),
    ),
    "a short block": (NoVectors.BLOCK, looped(block=4)),
    "an end": (NoVectors.END, looped(inputs={"x": rows(number=63)}, dims={"d0": "63", "d1": str(COLUMNS)})),
    "an end that a size moves": (
        NoVectors.END,
        looped(
            inputs={"x": tensor("s0", COLUMNS, element="bf16")},
            dims={"d0": "s0", "d1": str(COLUMNS)},
            outputs={"o": tensor("s0", element="bf16")},
            sizes={"s0": 64},
        ),
    ),
}


@pytest.mark.parametrize(("reason", "case"), NOT_CUT.values(), ids=NOT_CUT)
def test_a_row_in_registers_is_not_cut(reason, case):
    assert answer(row_parts, case) is reason


@pytest.mark.parametrize(("reason", "case"), NOT_EARLY.values(), ids=NOT_EARLY)
def test_a_looped_row_is_read_from_its_start(reason, case):
    assert answer(row_start, case) is reason


def test_every_reason_has_a_kernel():
    assert {reason for reason, _ in (*NOT_CUT.values(), *NOT_EARLY.values())} == set(NoVectors)
