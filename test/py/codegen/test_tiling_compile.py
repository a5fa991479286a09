"""Tiled kernels through Triton to sm_90 without a GPU: they compile, do not spill, and access memory 16 bytes
at a time where they can.
"""

import re
from pathlib import Path

import pytest
from cubins import dumped, usage, widths
from rule_cases import one_by_one, weighed
from tiled_cubins import compiled
from tiling_cases import NORM, SOFTMAX, Case, axis, tensor, tile

pytest.importorskip("triton")


ADD = "load x[d0] -> v\nload y[d0] -> w\n%s = arith.addf %v, %w : f32\nstore s -> o[d0]"
BIAS = "load x[d0, d1] -> v\nload b[d1] -> w\n%s = arith.addf %v, %w : f32\nstore s -> o[d0, d1]"
COLUMN = "load x[d0, d1] -> v\nfold sum v[d0] -> s : f32\nstore s -> o[d1]"


def matrix(m: int | str, n: int | str, body: str, outputs: dict[str, str] | None = None, **more) -> Case:
    """A kernel over an m x n float32 tensor."""
    return Case(
        {"d0": str(m), "d1": str(n)}, {"x": tensor(m, n)}, outputs or {"o": tensor(m, n)}, body, **more
    )


WIDE = {
    "add": Case(
        {"d0": "16777216"}, {"x": tensor(1 << 24), "y": tensor(1 << 24)}, {"o": tensor(1 << 24)}, ADD
    ),
    "bias": Case(
        {"d0": "8192", "d1": "768"},
        {"x": tensor(8192, 768), "b": tensor(768)},
        {"o": tensor(8192, 768)},
        BIAS,
    ),
    "softmax 1024": matrix(4096, 1024, SOFTMAX),
    "softmax 8192": matrix(4096, 8192, SOFTMAX),
    "softmax 131072": matrix(4096, 131072, SOFTMAX),
    "softmax 64": matrix(65536, 64, SOFTMAX),
    "softmax 1000, rows not known": Case(
        {"d0": "s0", "d1": "1000"},
        {"x": tensor("s0", 1000)},
        {"o": tensor("s0", 1000)},
        SOFTMAX,
        sizes={"s0": 4096},
    ),
    "softmax of the first columns": Case(
        {"d0": "4096", "d1": "50257"},
        {"x": tensor(4096, 50304)},
        {"o": tensor(4096, 50257)},
        SOFTMAX,
    ),
    "layer norm 1024": matrix(
        8192, 1024, NORM.replace("COUNT", "1024.0"), {"o": tensor(8192, 1024), "mu": tensor(8192)}
    ),
    "layer norm 65536": matrix(
        512, 65536, NORM.replace("COUNT", "65536.0"), {"o": tensor(512, 65536), "mu": tensor(512)}
    ),
    "column sum": matrix(4096, 4096, COLUMN, {"o": tensor(4096)}),
    "vectors times a matrix each": weighed(16384, 64, 64, "bf16"),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_accesses_and_no_spills(name: str, tmp_path: Path) -> None:
    cubin = compiled(WIDE[name])
    assert "v4.b32" in widths(cubin), widths(cubin)
    used = usage(cubin, tmp_path)
    assert used.spilled == 0 and used.registers <= 128, used


def test_a_product_that_is_multiplied_one_by_one_exchanges_nothing(tmp_path: Path) -> None:
    """Each thread loads eight vectors and eight numbers for its vector of results."""
    cubin = compiled(one_by_one(1000000, 8, 8))
    assert usage(cubin, tmp_path).spilled == 0
    assert "bar.sync" not in cubin.ptx
    loads = [line for line in cubin.ptx.splitlines() if "ld.global" in line]
    assert len(loads) == 16 and sum("v4.b32" in line for line in loads) == 8


def test_weights_are_loaded_once_for_two_rows(tmp_path: Path) -> None:
    """Each thread loads 16 vectors of weights (ptxas merges equal addresses) and 16 numbers of either row."""
    cubin = compiled(one_by_one(1000000, 16, 16))
    assert usage(cubin, tmp_path).spilled == 0
    loads = re.findall(r"LDG\S*", dumped(cubin, "-sass", tmp_path))
    assert len(loads) == 48 and sum(".128" in load for load in loads) == 16


TRANSPOSE = "load x[d1, d0] -> v\nstore v -> o[d0, d1]"
ARGMAX = """load x[d0, d1] -> v
%i = "fuse.index"() {expr = "d1"} : () -> i64
%m, %p = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
store m -> e[d0]
store p -> q[d0]"""
CUMSUM = """load x[d0, d1] -> v
%s = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = REVERSE} : (f32) -> f32
store s -> o[d0, d1]"""
NORMAL = """%c = "fuse.index"() {expr = "d0"} : () -> i64
%v = "fuse.rand"(%seed, %seed, %c) {dist = "normal"} : (i64, i64, i64) -> f32
store v -> o[d0]"""
SCATTER = """load x[d0] -> v
load idx[d0] -> i
%a_new = "fuse.store"(%a0, %v, %true, %i) {at = ["i0"], mode = "MODE"} : (SIG) -> tensor<7xELEMENT>"""
ASSERT = """load x[d0] -> v
%ok = arith.cmpf ogt, %v, %zero : f32
cf.assert %ok, "positive"
store v -> o[d0]"""
BOTH = """load x[d0, d1] -> v
fold sum v[d1] -> r : f32
fold sum v[d0] -> c : f32
store r -> o[d0]
store c -> p[d1]"""
DOT = """load x[d0, d2] -> a
load y[d2, d1] -> b
%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
store c -> o[d0, d1]"""
LOOPED = tile(axis("d0", 1, "grid"), axis("d1", 256, "looped"))


def scatter(mode: str, element: str) -> Case:
    """Atomic stores through a loaded index."""
    inputs = {
        "x": tensor(4096, element=element),
        "idx": tensor(4096, element="i64"),
        "a0": tensor(7, element=element),
    }
    body = SCATTER.replace("MODE", mode).replace("SIG", f"tensor<7x{element}>, {element}, i1, i64")
    outputs = {"a": tensor(7, element=element)}
    return Case({"d0": "4096"}, inputs, outputs, body.replace("ELEMENT", element), in_place={"a": "a0"})


def fold(kind: str, element: str) -> Case:
    """A row reduction."""
    body = f"load x[d0, d1] -> v\nfold {kind} v[d1] -> s : {element}\nstore s -> o[d0]"
    tensors = {"x": tensor(512, 1000, element=element)}, {"o": tensor(512, element=element)}
    return Case({"d0": "512", "d1": "1000"}, *tensors, body)


OTHER = {
    "transpose": Case(
        {"d0": "2048", "d1": "4096"},
        {"x": tensor(4096, 2048, element="bf16")},
        {"o": tensor(2048, 4096, element="bf16")},
        TRANSPOSE,
    ),
    "argmax": matrix(512, 1000, ARGMAX, {"e": tensor(512), "q": tensor(512, element="i64")}),
    "cumsum": matrix(512, 1000, CUMSUM.replace("REVERSE", "true")),
    "cumsum looped": matrix(512, 1000, CUMSUM.replace("REVERSE", "false"), tile=LOOPED),
    "dynamic": matrix("s0", "s1", SOFTMAX, sizes={"s0": 100, "s1": 5000}),
    "any": fold("any", "i1"),
    "max of i8": fold("max", "i8"),
    "max of f64": fold("max", "f64"),
    "sum of i64": fold("sum", "i64"),
    "normal": Case({"d0": "4096"}, {"x": tensor(1)}, {"o": tensor(4096)}, NORMAL, scalars={"seed": "i64"}),
    "add f32": scatter("add", "f32"),
    "add bf16": scatter("add", "bf16"),
    "add f16": scatter("add", "f16"),
    "add i64": scatter("add", "i64"),
    "max f32": scatter("max", "f32"),
    "min f64": scatter("min", "f64"),
    "assert": Case({"d0": "4000"}, {"x": tensor(4000)}, {"o": tensor(4000)}, ASSERT),
    "rows and columns": matrix(64, 1000, BOTH, {"o": tensor(64), "p": tensor(1000)}),
    "dot": Case(
        {"d0": "64", "d1": "64", "d2": "512"},
        {"x": tensor(64, 512, element="bf16"), "y": tensor(512, 64, element="bf16")},
        {"o": tensor(64, 64)},
        DOT,
    ),
}


@pytest.mark.parametrize("name", OTHER)
def test_compiles_without_spills(name: str, tmp_path: Path) -> None:
    used = usage(
        compiled(OTHER[name]), tmp_path
    )  # the message of an assert and libdevice's cosine live on the stack
    assert name in ("assert", "normal") or used.spilled == 0, used


UNARY = [
    "absf",
    "ceil",
    "floor",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "round",
    "roundeven",
    "trunc",
    "cbrt",
]
BINARY = [
    "math.atan2",
    "math.powf",
    "math.copysign",
    "arith.addf",
    "arith.subf",
    "arith.mulf",
    "arith.divf",
    "arith.remf",
    "arith.maximumf",
    "arith.minimumf",
    "arith.maxnumf",
    "arith.minnumf",
]


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_every_float_op_compiles(element: str) -> None:
    body = "load x[d0] -> v\n%acc0 = arith.addf %v, %v : T\n"
    names = ["acc0"]
    for i, op in enumerate(UNARY):
        body += f"%u{i} = math.{op} %v : T\n"
        names.append(f"u{i}")
    for i, op in enumerate(BINARY):
        body += f"%b{i} = {op} %v, %acc0 : T\n"
        names.append(f"b{i}")
    body += "%neg = arith.negf %v : T\n%fma = math.fma %v, %acc0, %neg : T\n"
    for i, op in enumerate(("isnan", "isinf", "isfinite")):
        body += f"%c{i} = math.{op} %v : T\n%w{i} = arith.select %c{i}, %v, %neg : T\n"
    for i, fn in enumerate(("lgamma", "erfinv", "j0", "cyl_bessel_i0")):
        body += f'%l{i} = "fuse.libm"(%v) {{fn = "{fn}"}} : (T) -> T\n'
        names.append(f"l{i}")
    names += ["fma", "w0", "w1", "w2"]
    for i, name in enumerate(names[1:]):
        body += f"%acc{i + 1} = arith.addf %acc{i}, %{name} : T\n"
    body += f"store acc{len(names) - 1} -> o[d0]"
    compiled(
        Case(
            {"d0": "256"},
            {"x": tensor(256, element=element)},
            {"o": tensor(256, element=element)},
            body.replace(": T", f": {element}").replace("(T) -> T", f"({element}) -> {element}"),
        )
    )


@pytest.mark.parametrize("small", ["f16", "bf16", "f8E4M3FN", "f8E5M2"])
def test_conversions_compile(small: str) -> None:
    body = f"""load x[d0] -> v
%w = arith.extf %v : {small} to f32
%d = arith.extf %v : {small} to f64
%t = arith.truncf %d : f64 to f32
%s = arith.addf %w, %t : f32
%y = arith.truncf %s : f32 to {small}
store y -> o[d0]"""
    compiled(
        Case({"d0": "1024"}, {"x": tensor(1024, element=small)}, {"o": tensor(1024, element=small)}, body)
    )


def test_integer_ops_compile() -> None:
    ops = [
        "subi",
        "muli",
        "divsi",
        "divui",
        "remsi",
        "remui",
        "andi",
        "ori",
        "xori",
        "shli",
        "shrsi",
        "shrui",
        "maxsi",
        "maxui",
        "minsi",
        "minui",
        "floordivsi",
        "ceildivsi",
    ]
    chain = "\n".join(f"%a{i + 1} = arith.{op} %a{i}, %v : i64" for i, op in enumerate(ops))
    body = f"""load x[d0] -> v
%a0 = arith.addi %v, %v : i64
{chain}
%p = math.ctpop %a{len(ops)} : i64
%z = math.ctlz %p : i64
%ab = math.absi %z : i64
%f = arith.sitofp %ab : i64 to f32
%g = arith.fptosi %f : f32 to i64
%h = arith.bitcast %g : i64 to f64
%k = arith.fptoui %h : f64 to i64
store k -> o[d0]"""
    compiled(Case({"d0": "256"}, {"x": tensor(256, element="i64")}, {"o": tensor(256, element="i64")}, body))
