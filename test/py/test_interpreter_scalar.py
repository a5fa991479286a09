"""Scalar kernels on the CPU, each op against an independent computation."""
# ruff: noqa: E501  (modules as text)

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scalar_kernel_text import module_text, pointwise, run_kernel

from fuse_mlir.compiler.analysis.index import parse
from fuse_mlir.compiler.codegen import libdevice
from fuse_mlir.compiler.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime import rng, scalar_math, scalar_ops
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, OutOfBounds, RaceError, RunError
from fuse_mlir.compiler.runtime.interpreter import run_module
from fuse_mlir.compiler.runtime.scalar_kernels import ScalarKernel
from fuse_mlir.compiler.runtime.strided import clipped, strided

F32 = torch.float32
POINTS = torch.tensor(
    [-3.5, -2.5, -1.0, -0.75, -0.5, -0.0, 0.0, 0.25, 0.5, 0.49999997, 1.0, 1.5, 2.5, 3.25, 10.0]
)
UNIT = torch.tensor([-0.99, -0.5, -0.1, 0.0, 0.1, 0.5, 0.99])
POSITIVE = torch.tensor([0.01, 0.3, 0.5, 1.0, 1.7, 4.0, 30.0])
ABOVE_ONE = torch.tensor([1.0, 1.5, 3.0, 100.0])


def close(actual: torch.Tensor, expected, rtol=3e-6) -> None:
    torch.testing.assert_close(
        actual.double(), torch.as_tensor(expected).double(), rtol=rtol, atol=3e-7, equal_nan=True
    )


def exact(function):
    """A function of mpmath on arrays."""
    return np.vectorize(lambda v: float(mpmath.re(function(mpmath.mpf(float(v))))), otypes=[float])


def half_away(v: float) -> float:
    return (
        math.copysign(math.floor(abs(v) + 0.5), v) if abs(v) != 0.49999997019767761 else math.copysign(0.0, v)
    )


UNARY = {
    "math.absf": (POINTS, np.abs), "math.acos": (UNIT, np.arccos), "math.acosh": (ABOVE_ONE, np.arccosh),
    "math.asin": (UNIT, np.arcsin), "math.asinh": (POINTS, np.arcsinh), "math.atan": (POINTS, np.arctan),
    "math.atanh": (UNIT, np.arctanh), "math.cbrt": (POINTS, np.cbrt), "math.ceil": (POINTS, np.ceil), "math.cos": (POINTS, np.cos),
    "math.cosh": (POINTS, np.cosh), "math.erf": (POINTS, exact(mpmath.erf)), "math.erfc": (POINTS, exact(mpmath.erfc)),
    "math.exp": (POINTS, np.exp), "math.exp2": (POINTS, np.exp2), "math.expm1": (POINTS, np.expm1), "math.floor": (POINTS, np.floor),
    "math.log": (POSITIVE, np.log), "math.log10": (POSITIVE, np.log10), "math.log1p": (POSITIVE, np.log1p),
    "math.log2": (POSITIVE, np.log2), "math.round": (POINTS, np.vectorize(half_away)), "math.roundeven": (POINTS, np.round),
    "math.rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)), "math.sin": (POINTS, np.sin), "math.sinh": (POINTS, np.sinh),
    "math.sqrt": (POSITIVE, np.sqrt), "math.tan": (POINTS, np.tan), "math.tanh": (POINTS, np.tanh), "math.trunc": (POINTS, np.trunc),
    "arith.negf": (POINTS, np.negative),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary_float(name):
    x, function = UNARY[name]
    y = pointwise([x], torch.empty_like(x), f"%v = {name} %a0 : f32")
    close(y, function(x.double().numpy()))


BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide, "arith.remf": np.fmod,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "math.atan2": np.arctan2, "math.copysign": np.copysign, "math.powf": np.power,
}  # fmt: skip
LEFT = torch.tensor([1.5, -2.0, 0.0, 7.0, float("nan"), 3.0, float("inf"), -4.0])
RIGHT = torch.tensor([2.0, 3.0, -0.5, 0.0, 1.0, float("nan"), 2.0, 0.5])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_float(name):
    y = pointwise([LEFT, RIGHT], torch.empty_like(LEFT), f"%v = {name} %a0, %a1 : f32")
    close(y, BINARY[name](LEFT.double().numpy(), RIGHT.double().numpy()))


PREDICATES = {
    "false": lambda a, b: False, "oeq": lambda a, b: a == b, "ogt": lambda a, b: a > b, "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b, "ole": lambda a, b: a <= b, "one": lambda a, b: a < b or a > b,
    "ord": lambda a, b: a == a and b == b, "ueq": lambda a, b: not (a < b or a > b), "ugt": lambda a, b: not a <= b,
    "uge": lambda a, b: not a < b, "ult": lambda a, b: not a >= b, "ule": lambda a, b: not a > b, "une": lambda a, b: a != b,
    "uno": lambda a, b: a != a or b != b, "true": lambda a, b: True,
}  # fmt: skip


@pytest.mark.parametrize("predicate", sorted(PREDICATES))
def test_cmpf(predicate):
    values = [-1.0, 0.0, 2.0, math.nan, math.inf]
    pairs = [(a, b) for a in values for b in values]
    a, b = (torch.tensor(v) for v in zip(*pairs, strict=True))
    y = pointwise([a, b], torch.empty(25, dtype=torch.bool), f"%v = arith.cmpf {predicate}, %a0, %a1 : f32")
    assert y.tolist() == [PREDICATES[predicate](p, q) for p, q in pairs]


INTS = [-128, -127, -7, -2, -1, 1, 2, 3, 7, 100, 127]
PAIRS = [(a, b) for a in INTS for b in INTS]


def wrap(value: int, bits: int) -> int:
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


SIGNED = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b, "divsi": truncated,
    "floordivsi": lambda a, b: a // b, "ceildivsi": lambda a, b: -(-a // b), "remsi": lambda a, b: a - truncated(a, b) * b,
    "maxsi": max, "minsi": min, "andi": lambda a, b: a & b, "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b,
}  # fmt: skip
UNSIGNED = {
    "divui": lambda a, b: a // b, "ceildivui": lambda a, b: -(-a // b), "remui": lambda a, b: a % b, "maxui": max, "minui": min,
}  # fmt: skip


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("name", sorted(SIGNED) + sorted(UNSIGNED))
def test_integers(name, bits):
    scale = 1 << (bits - 8)
    pairs = [(a * scale if abs(a) > 100 else a, b) for a, b in PAIRS]
    dtype = {8: torch.int8, 32: torch.int32, 64: torch.int64}[bits]
    a, b = (torch.tensor(v, dtype=dtype) for v in zip(*pairs, strict=True))
    y = pointwise([a, b], torch.empty_like(a), f"%v = arith.{name} %a0, %a1 : i{bits}")
    mask = (1 << bits) - 1
    if name in SIGNED:
        expected = [wrap(SIGNED[name](p, q), bits) for p, q in pairs]
    else:
        expected = [wrap(UNSIGNED[name](p & mask, q & mask), bits) for p, q in pairs]
    assert y.tolist() == expected


@pytest.mark.parametrize("name", ["divsi", "remsi", "divui", "remui", "floordivsi", "ceildivsi", "ceildivui"])
def test_division_by_zero_does_not_trap(name):
    a = torch.tensor([5, torch.iinfo(torch.int64).min])
    pointwise([a, torch.tensor([0, -1])], torch.empty_like(a), f"%v = arith.{name} %a0, %a1 : i64")


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_cmpi(predicate):
    a, b = (torch.tensor(v, dtype=torch.int8) for v in zip(*PAIRS, strict=True))
    y = pointwise(
        [a, b], torch.empty(len(PAIRS), dtype=torch.bool), f"%v = arith.cmpi {predicate}, %a0, %a1 : i8"
    )
    plain = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    if predicate in plain:
        expected = [eval(f"p {plain[predicate]} q") for p, q in PAIRS]
    else:
        mask = 255 if predicate[0] == "u" else -1
        compare = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}[predicate[1:]]
        expected = [compare(p & mask, q & mask) for p, q in PAIRS]
    assert y.tolist() == expected


@pytest.mark.parametrize("name", ["shli", "shrsi", "shrui"])
def test_shifts(name):
    a, b = torch.tensor([-128, -1, 5, 64], dtype=torch.int8), torch.tensor([1, 3, 2, 6], dtype=torch.int8)
    y = pointwise([a, b], torch.empty_like(a), f"%v = arith.{name} %a0, %a1 : i8")
    of = {"shli": lambda p, q: p << q, "shrsi": lambda p, q: p >> q, "shrui": lambda p, q: (p & 255) >> q}[
        name
    ]
    assert y.tolist() == [wrap(of(p, q), 8) for p, q in zip(a.tolist(), b.tolist(), strict=True)]


BITS = [0, 1, 2, 3, 8, 127, -1, -128, 96]


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("name", ["ctlz", "cttz", "ctpop", "absi"])
def test_bit_functions(name, bits):
    dtype = {8: torch.int8, 64: torch.int64}[bits]
    x = torch.tensor(BITS, dtype=dtype)
    y = pointwise([x], torch.empty_like(x), f"%v = math.{name} %a0 : i{bits}")
    texts = [format(v & ((1 << bits) - 1), f"0{bits}b") for v in BITS]
    expected = {
        "ctlz": [len(t) - len(t.lstrip("0")) for t in texts],
        "cttz": [len(t) - len(t.rstrip("0")) for t in texts],
        "ctpop": [t.count("1") for t in texts],
        "absi": [wrap(abs(v), bits) for v in BITS],
    }[name]
    assert y.tolist() == expected


@pytest.mark.parametrize("bits, dtype", [(8, torch.int8), (32, torch.int32), (64, torch.int64)])
def test_extended_products_and_sums(bits, dtype):
    low = -(1 << (bits - 1))
    pairs = [(a, b) for a in (low, -3, -1, 2, -low - 1) for b in (low, -3, -1, 2, -low - 1)]
    a, b = (torch.tensor(v, dtype=dtype) for v in zip(*pairs, strict=True))
    mask = (1 << bits) - 1
    for name, of in {
        "mului": lambda p, q: ((p & mask) * (q & mask)) >> bits,
        "mulsi": lambda p, q: (p * q) >> bits,
    }.items():
        y = pointwise([a, b], torch.empty_like(a), f"%l, %v = arith.{name}_extended %a0, %a1 : i{bits}")
        assert y.tolist() == [wrap(of(p, q), bits) for p, q in pairs], name
    carry = pointwise(
        [a, b], torch.empty(25, dtype=torch.bool), f"%s, %v = arith.addui_extended %a0, %a1 : i{bits}, i1"
    )
    assert carry.tolist() == [(p & mask) + (q & mask) > mask for p, q in pairs]


def test_booleans_are_one_bit():
    a, b = torch.tensor([0, 0, 1, 1]).bool(), torch.tensor([0, 1, 0, 1]).bool()
    for name, expected in {
        "addi": [0, 1, 1, 0],
        "muli": [0, 0, 0, 1],
        "maxui": [0, 1, 1, 1],
        "maxsi": [0, 0, 0, 1],
    }.items():
        y = pointwise([a, b], torch.empty_like(a), f"%v = arith.{name} %a0, %a1 : i1")
        assert y.int().tolist() == expected, name
    out = torch.empty(4, dtype=torch.int32)
    assert pointwise([a], out, "%v = arith.extsi %a0 : i1 to i32").tolist() == [0, 0, -1, -1]
    assert pointwise([a], out, "%v = arith.extui %a0 : i1 to i32").tolist() == [0, 0, 1, 1]
    assert pointwise([a], torch.empty(4), "%v = arith.uitofp %a0 : i1 to f32").tolist() == [0, 0, 1, 1]
    odd = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    assert pointwise(
        [odd], torch.empty(4, dtype=torch.bool), "%v = arith.trunci %a0 : i32 to i1"
    ).int().tolist() == [0, 1, 0, 1]


def test_conversions():
    big = torch.tensor([-1, 1 << 62, -(1 << 63), 5])
    close(pointwise([big], torch.empty(4, dtype=torch.float64), "%v = arith.uitofp %a0 : i64 to f64"),
          [2.0**64, 2.0**62, 2.0**63, 5.0])  # fmt: skip
    x = torch.tensor([-2.7, 2.7, 200.0, 0.0])
    assert pointwise(
        [x], torch.empty(4, dtype=torch.int32), "%v = arith.fptosi %a0 : f32 to i32"
    ).tolist() == [-2, 2, 200, 0]
    u = pointwise([x.abs()], torch.empty(4, dtype=torch.uint8), "%v = arith.fptoui %a0 : f32 to i8")
    assert u.tolist() == [2, 2, 200, 0]
    assert pointwise([u], torch.empty(4), "%v = arith.uitofp %a0 : i8 to f32").tolist() == [2, 2, 200, 0]
    assert pointwise([u], torch.empty(4), "%v = arith.sitofp %a0 : i8 to f32").tolist() == [2, 2, -56, 0]
    bits = pointwise([x], torch.empty(4, dtype=torch.int32), "%v = arith.bitcast %a0 : f32 to i32")
    assert torch.equal(bits.view(torch.float32), x)
    huge = torch.tensor([1.5 * 2**63, 7.0], dtype=torch.float64)
    wide = pointwise([huge], torch.empty(2, dtype=torch.int64), "%v = arith.fptoui %a0 : f64 to i64")
    assert [v & ((1 << 64) - 1) for v in wide.tolist()] == [3 << 62, 7]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_small_floats_round_at_the_store(dtype):
    x = torch.tensor([1.0, 1.37, -3.3, 0.1, float("nan")]).to(dtype)
    element = {
        torch.float16: "f16",
        torch.bfloat16: "bf16",
        torch.float8_e4m3fn: "f8E4M3FN",
        torch.float8_e5m2: "f8E5M2",
    }[dtype]
    steps = f"""
  %w = arith.extf %a0 : {element} to f32
  %d = arith.addf %w, %w : f32
  %e = arith.mulf %d, %w : f32
  %v = arith.truncf %e : f32 to {element}"""
    y = pointwise([x], torch.empty_like(x), steps)
    w = x.float()
    torch.testing.assert_close(y.float(), ((w + w) * w).to(dtype).float(), rtol=0, atol=0, equal_nan=True)
    (exact,) = [pointwise([x], torch.empty_like(x), steps, shadow=True)]
    assert exact.dtype == torch.float64
    torch.testing.assert_close(exact, 2 * x.double() ** 2, rtol=1e-15, atol=0, equal_nan=True)


def test_shadow_keeps_bitcasts_meaningful():
    x = torch.tensor([1.0, -2.5])
    steps = "%b = arith.bitcast %a0 : f32 to i32\n%c = arith.constant 2147483647 : i32\n%d = arith.andi %b, %c : i32\n%v = arith.bitcast %d : i32 to f32"
    assert pointwise([x], torch.empty(2), steps, shadow=True).tolist() == [1.0, 2.5]


def test_three_operands_and_flags():
    a, b, c = torch.tensor([1 + 2.0**-12]), torch.tensor([1 - 2.0**-12]), torch.tensor([-1.0])
    assert pointwise([a, b, c], torch.empty(1), "%v = math.fma %a0, %a1, %a2 : f32").item() == -(2.0**-24)
    x, n = torch.tensor([2.0, -3.0, 1.5]), torch.tensor([3, 2, -1], dtype=torch.int32)
    close(pointwise([x, n], torch.empty(3), "%v = math.fpowi %a0, %a1 : f32, i32"), [8, 9, 1 / 1.5])
    base, power = torch.tensor([2, -1, -1, 3, 1, 0]), torch.tensor([10, -3, -4, -1, -5, 3])
    assert pointwise([base, power], torch.empty_like(base), "%v = math.ipowi %a0, %a1 : i64").tolist() == [
        1024,
        -1,
        1,
        0,
        1,
        0,
    ]
    special = torch.tensor([1.0, math.inf, -math.inf, math.nan, 1e-40])
    for name, expected in {
        "isnan": [0, 0, 0, 1, 0],
        "isinf": [0, 1, 1, 0, 0],
        "isfinite": [1, 0, 0, 0, 1],
        "isnormal": [1, 0, 0, 0, 0],
    }.items():
        y = pointwise([special], torch.empty(5, dtype=torch.bool), f"%v = math.{name} %a0 : f32")
        assert y.int().tolist() == expected, name
    s = pointwise([x], torch.empty(3), "%s, %v = math.sincos %a0 : f32")
    close(s, np.cos(x.double().numpy()))


LIBM = {
    "lgamma": (POSITIVE, exact(mpmath.loggamma)), "digamma": (POSITIVE, exact(mpmath.digamma)), "erfinv": (UNIT, exact(mpmath.erfinv)),
    "i0": (POINTS, exact(lambda v: mpmath.besseli(0, v))), "i1": (POINTS, exact(lambda v: mpmath.besseli(1, v))), "i0e": (POINTS, exact(lambda v: mpmath.exp(-abs(v)) * mpmath.besseli(0, v))), "i1e": (POINTS, exact(lambda v: mpmath.exp(-abs(v)) * mpmath.besseli(1, v))),
    "erfcx": (UNIT, exact(lambda v: mpmath.exp(v * v) * mpmath.erfc(v))), "j0": (POSITIVE, exact(lambda v: mpmath.besselj(0, v))), "y1": (POSITIVE, exact(lambda v: mpmath.bessely(1, v))),
    "tgamma": (torch.tensor([0.5, 1.0, 4.5, -0.5, -1.5]), exact(mpmath.gamma)), "normcdf": (POINTS, exact(mpmath.ncdf)),
    "normcdfinv": (torch.tensor([0.01, 0.5, 0.9]), exact(lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1))), "erfcinv": (torch.tensor([0.1, 0.7, 1.5]), exact(lambda v: mpmath.erfinv(1 - v))),
    "exp10": (POINTS, lambda x: 10.0**x), "rint": (POINTS, np.round), "erfc": (POINTS, exact(mpmath.erfc)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LIBM))
def test_libm(name):
    x, function = LIBM[name]
    y = pointwise([x], torch.empty_like(x), f'%v = "fuse.libm"(%a0) {{fn = "{name}"}} : (f32) -> f32')
    close(y, function(x.double().numpy()), rtol=2e-5)


def test_libm_of_two():
    a, b = torch.tensor([3.0, -5.0, 1.0, 7.5, 5.0]), torch.tensor([4.0, 2.0, 2.0, 2.0, 3.0])
    for name, of in {
        "hypot": np.hypot,
        "nextafter": np.nextafter,
        "remainder": np.vectorize(math.remainder),
    }.items():
        y = pointwise(
            [a, b], torch.empty_like(a), f'%v = "fuse.libm"(%a0, %a1) {{fn = "{name}"}} : (f32, f32) -> f32'
        )
        close(y, of(a.numpy(), b.numpy()))
    with pytest.raises(RunError, match="knows no function 'nope'"):
        pointwise([a], torch.empty_like(a), '%v = "fuse.libm"(%a0) {fn = "nope"} : (f32) -> f32')


def test_every_function_of_code_generation_is_known():
    missing = [f.name for f in libdevice.FUNCTIONS if f.name not in scalar_math.LIBM]
    assert not missing


def test_every_op_of_arith_and_math_is_known():
    from fuse_mlir.compiler.mlir import arith
    from fuse_mlir.compiler.mlir import math as math_dialect

    names = {
        getattr(d, n).OPERATION_NAME
        for d in (arith, math_dialect)
        for n in dir(d)
        if n.endswith("Op") and hasattr(getattr(d, n), "OPERATION_NAME")
    }
    absent = sorted(names - scalar_ops.ELEMENTWISE.keys())
    assert absent == ["arith.constant", "arith.flush_denormals", "arith.scaling_extf", "arith.scaling_truncf"]


# --- accesses -----------------------------------------------------------------------------------------------


def copy_body(load_at: str, store_at: str = '["d0", "d1"]', guard: str = "%true") -> str:
    return f"""
  %v = "fuse.load"(%x0, {guard}, %z_f32) {{at = {load_at}}} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {{at = {store_at}, mode = "set"}} : (O0, f32, i1) -> O0"""


X = torch.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "at, dims, expected",
    [
        ('["d0", "d1"]', (4, 6), X),
        ('["d1", "d0"]', (6, 4), X.T),
        ('["d0 + 1", "d1*2"]', (3, 3), X[1:, ::2]),
        ('["3 - d0", "5 - d1"]', (4, 6), X.flip(0, 1)),
        ('["0", "d1"]', (3, 6), X[:1].expand(3, 6)),
        ('["(d0*6 + d1) mod 4", "(d0*6 + d1) floordiv 4"]', (4, 6), X.T.reshape(4, 6)),
        ('["d0", "d0 + d1"]', (4, 3), torch.stack([X[i, i : i + 3] for i in range(4)])),
        ('["d0*2 + d1", "d1"]', (2, 2), torch.stack([X[0, 0], X[1, 1], X[2, 0], X[3, 1]]).reshape(2, 2)),
    ],
)
@pytest.mark.parametrize("strided", [False, True])
def test_loads(at, dims, expected, strided):
    source = torch.full((5, 12), -1.0)[1:, ::2].copy_(X) if strided else X
    (y,) = run_kernel([source], [torch.empty(*dims)], {"d0": dims[0], "d1": dims[1]}, copy_body(at))
    assert torch.equal(y, expected)


@pytest.mark.parametrize(
    "at, dims, expected",
    [
        ('["d1", "d0"]', (6, 4), X.T),
        ('["3 - d0", "5 - d1"]', (4, 6), X.flip(0, 1)),
        ('["(d0*6 + d1) floordiv 4", "(d0*6 + d1) mod 4"]', (6, 4), X.reshape(6, 4)),
    ],
)
def test_stores(at, dims, expected):
    (y,) = run_kernel([X], [torch.empty(*dims)], {"d0": 4, "d1": 6}, copy_body('["d0", "d1"]', at))
    assert torch.equal(y, expected)


def test_partial_stores_leave_the_rest_alone():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0 + 1", "d1*2"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([X], [torch.empty(6, 12)], {"d0": 4, "d1": 6}, body)
    assert (
        torch.equal(y[1:5, ::2], X) and y[0].isnan().all() and y[5].isnan().all() and y[:, 1::2].isnan().all()
    )


def test_guarded_load_gives_other_and_does_not_access():
    """A pad: one element on each side."""
    body = """
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %one = arith.constant 1 : i64
  %five = arith.constant 5 : i64
  %a = arith.cmpi sge, %i, %one : i64
  %b = arith.cmpi slt, %i, %five : i64
  %g = arith.andi %a, %b : i1
  %v = "fuse.load"(%x0, %g, %z_f32) {at = ["d0 - 1", "d1"]} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([X], [torch.empty(6, 6)], {"d0": 6, "d1": 6}, body)
    assert torch.equal(y, torch.nn.functional.pad(X, (0, 0, 1, 1)))
    with pytest.raises(
        OutOfBounds, match=r"fuse\.load has coordinate 0 \(d0 - 1\) = -1 in a dim of size 4 at loc"
    ):
        run_kernel(
            [X],
            [torch.empty(6, 6)],
            {"d0": 6, "d1": 6},
            body.replace("%g, %z", "%a, %z").replace("sge", "sle"),
        )


def test_guarded_store():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %ten = arith.constant 10.0 : f32
  %g = arith.cmpf ogt, %v, %ten : f32
  %r0 = "fuse.store"(%o0, %v, %g) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([X], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, body)
    assert torch.equal(y.isnan(), X <= 10) and torch.equal(y[X > 10], X[X > 10])


INDICES = torch.tensor([3, 0, 0, 2])
GATHER = """
  %i = "fuse.load"(%x1, %true, %z_i64) {at = ["d0"]} : (X1, i1, i64) -> i64
  %v = "fuse.load"(%x0, %true, %z_f32, %i) {at = ["i0", "d1"]} : (X0, i1, f32, i64) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""


def test_indirect_load():
    (y,) = run_kernel([X, INDICES], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, GATHER)
    assert torch.equal(y, X[INDICES])
    with pytest.raises(OutOfBounds, match=r"coordinate 0 \(i0\) = 4 in a dim of size 4"):
        run_kernel([X, INDICES + 1], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, GATHER)


@pytest.mark.parametrize("mode", ["add", "min", "max"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_scatter(mode, dtype):
    """Atomic modes fold into what the destination holds, whatever collides."""
    element = {torch.float32: "f32", torch.int64: "i64", torch.bfloat16: "bf16"}[dtype]
    zero = "0" if element == "i64" else "0.0"
    body = f"""
  %ze = arith.constant {zero} : {element}
  %i = "fuse.load"(%x1, %true, %z_i64) {{at = ["d0"]}} : (X1, i1, i64) -> i64
  %v = "fuse.load"(%x0, %true, %ze) {{at = ["d0", "d1"]}} : (X0, i1, {element}) -> {element}
  %r0 = "fuse.store"(%x2, %v, %true, %i) {{at = ["i0", "d1"], mode = "{mode}"}} : (X2, {element}, i1, i64) -> O0"""
    x, start = X.to(dtype), torch.full((4, 6), 5).to(dtype)
    text = module_text([x, INDICES, start], [start], {"d0": 4, "d1": 6}, body).replace(
        "array<i64: 3>", "array<i64: 2>"
    )
    (y,) = run_module(ir.Module.parse(text, make_context()), [x, INDICES, start.clone()])
    index = INDICES.unsqueeze(1).expand(4, 6)
    name = {"add": "sum", "min": "amin", "max": "amax"}[mode]
    assert torch.equal(y.double(), start.double().scatter_reduce(0, index, x.double(), name))


def test_two_different_values_for_one_element_are_a_race():
    body = copy_body('["d0", "d1"]', '["d1"]')
    with pytest.raises(RaceError, match=r"fuse\.store sets element 0 of its storage twice"):
        run_kernel([X], [torch.empty(6)], {"d0": 4, "d1": 6}, body)
    (y,) = run_kernel([X[:1].repeat(4, 1)], [torch.empty(6)], {"d0": 4, "d1": 6}, body)
    assert torch.equal(y, X[0])


def test_fp8_and_bool_and_unsigned_memory_gather():
    for dtype, element in ((torch.float8_e4m3fn, "f8E4M3FN"), (torch.bool, "i1"), (torch.uint16, "i16")):
        x = (
            torch.arange(5).to(torch.float32).to(dtype)
            if dtype != torch.uint16
            else torch.arange(5).to(dtype)
        )
        zero = {"i1": "false", "i16": "0"}.get(element, "0.0")
        body = f"""
  %ze = arith.constant {zero}{"" if element == "i1" else " : " + element}
  %i = "fuse.load"(%x1, %true, %z_i64) {{at = ["d0"]}} : (X1, i1, i64) -> i64
  %v = "fuse.load"(%x0, %true, %ze, %i) {{at = ["i0"]}} : (X0, i1, {element}, i64) -> {element}
  %r0 = "fuse.store"(%o0, %v, %true, %i) {{at = ["i0"], mode = "set"}} : (O0, {element}, i1, i64) -> O0"""
        (y,) = run_kernel([x, torch.tensor([4, 2, 0, 1, 3])], [torch.empty(5, dtype=dtype)], {"d0": 5}, body)
        assert y.dtype == dtype and y.float().tolist() == x.float().tolist()


def test_in_place_update_reads_the_old_contents():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0"]} : (X0, i1, f32) -> f32
  %d = arith.addf %v, %v : f32
  %r0 = "fuse.store"(%x0, %d, %true) {at = ["d0"], mode = "set"} : (X0, f32, i1) -> O0
  %r1 = "fuse.store"(%o1, %v, %true) {at = ["d0"], mode = "set"} : (O1, f32, i1) -> O1"""
    x = torch.arange(3.0)
    text = module_text([x], [x, x], {"d0": 3}, body).replace("array<i64: 1, 2>", "array<i64: 0, 2>")
    new, old = run_module(ir.Module.parse(text, make_context()), [x])
    assert new.tolist() == [0, 2, 4] and old.tolist() == [0, 1, 2] and x.tolist() == [0, 2, 4]


DIGITS = (
    "d0 floordiv 6", "d0 mod 6", "(d0 floordiv 3) mod 4", "d0 mod 3", "(d0 floordiv 2) mod 3", "5 - d1", "d1 + 2", "d1 floordiv 2",
    "(d0*2 + d1) mod 5", "3 - d0 floordiv 6", "d0 floordiv 24", "d0 mod 48", "d0 floordiv 5", "(d0 mod 12) floordiv 3", "0", "7",
)  # fmt: skip


@given(st.lists(st.sampled_from(DIGITS), min_size=2, max_size=2), st.sampled_from([6, 24, 23]), st.booleans())
def test_strides_agree_with_offsets(coordinates, extent, transposed):
    """Wherever an access becomes a strided view, it reads and writes what offsets computed point by point do."""
    tensor = torch.arange(64.0).reshape(8, 8)
    tensor = tensor.T if transposed else tensor
    names, counts = ("d0", "d1"), (extent, 3)
    exprs = [parse(c) for c in coordinates]
    found = strided(exprs, tensor, names, (0, 0), counts)
    points = {"d0": torch.arange(extent).reshape(-1, 1), "d1": torch.arange(3).reshape(1, -1)}
    where = [torch.as_tensor(e.evaluate(points)).broadcast_to(extent, 3) for e in exprs]
    inside = all(((w >= 0) & (w < 8)).all() for w in where)
    if found is None:
        return
    assert inside
    expected = tensor[where[0], where[1]]
    assert torch.equal(found.read(tensor).expand(extent, 3), expected)
    if found.is_injective and found.takes((extent, 3)):
        value = torch.rand(extent, 3)
        copy = tensor.clone()
        found.write(copy, value, None)
        other = tensor.clone()
        other[where[0], where[1]] = value
        assert torch.equal(copy, other)


@given(
    st.lists(
        st.sampled_from(DIGITS + ("d0 - 3", "d0 floordiv 6 - 2", "9 - d0", "d0*2 - 1")),
        min_size=2,
        max_size=2,
    ),
    st.sampled_from([6, 24]),
    st.integers(0, 1000),
)
def test_clipped_boxes_agree_with_offsets(coordinates, extent, seed):
    """A guarded load whose box is clipped gives what a load point by point gives; a guard outside the box is noticed."""
    tensor = torch.arange(64.0).reshape(8, 8)
    exprs = [parse(c) for c in coordinates]
    found = clipped(exprs, tensor, ("d0", "d1"), (0, 0), (extent, 3))
    if found is None:
        return
    points = {"d0": torch.arange(extent).reshape(-1, 1), "d1": torch.arange(3).reshape(1, -1)}
    where = [torch.as_tensor(e.evaluate(points)).broadcast_to(extent, 3) for e in exprs]
    inside = torch.stack([(w >= 0) & (w < 8) for w in where]).all(0)
    other = torch.full((1, 1), -1.0)
    expected = torch.where(inside, tensor[where[0].clamp(0, 7), where[1].clamp(0, 7)], other)
    assert torch.equal(found.read(tensor, inside, other), expected)
    some = inside & (torch.rand(extent, 3, generator=torch.Generator().manual_seed(seed)) < 0.5)
    assert torch.equal(found.read(tensor, some, other), torch.where(some, expected, other))
    if not inside.all():
        assert found.read(tensor, torch.ones(extent, 3, dtype=torch.bool), other) is None


@pytest.mark.parametrize(
    "coordinates", [("d0 floordiv 6", "d0 mod 6"), ("(d0 floordiv 3) mod 4", "5 - d1"), ("d0 mod 3", "0")]
)
def test_flattened_dims_have_strides(coordinates):
    assert (
        strided([parse(c) for c in coordinates], torch.zeros(8, 8), ("d0", "d1"), (0, 0), (24, 3)) is not None
    )


SHIFTED = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["LOAD"]} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%x1, %v, %true) {at = ["d0"], mode = "set"} : (X1, f32, i1) -> O0"""


def aliased(load_at: str, dims: int, x: torch.Tensor, y: torch.Tensor):
    """A kernel that stores to its second argument, run on two views of one storage."""
    text = module_text([x, y], [y], {"d0": dims}, SHIFTED.replace("LOAD", load_at)).replace(
        "array<i64: 2>", "array<i64: 1>"
    )
    return run_module(ir.Module.parse(text, make_context()), [x, y])[0]


def test_reading_what_another_point_stores_is_a_race():
    """All points at once would hide it: each reads its neighbour, which another point overwrites."""
    x = torch.arange(8.0)
    with pytest.raises(RaceError, match="reads elements that another point of the kernel stores"):
        aliased("d0 + 1", 7, x, x)
    assert aliased("d0", 8, x, x).tolist() == list(range(8))
    halves = torch.arange(8.0)
    assert aliased("d0 + 4", 4, halves, halves).tolist()[:4] == [4.0, 5.0, 6.0, 7.0]


def test_reading_after_the_store_is_refused():
    body = """
  %one = arith.constant 1.0 : f32
  %r0 = "fuse.store"(%x0, %one, %true) {at = ["d0"], mode = "set"} : (X0, f32, i1) -> O0
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0"]} : (X0, i1, f32) -> f32
  %r1 = "fuse.store"(%o1, %v, %true) {at = ["d0"], mode = "set"} : (O1, f32, i1) -> O1"""
    x = torch.arange(3.0)
    text = module_text([x], [x, x], {"d0": 3}, body).replace("array<i64: 1, 2>", "array<i64: 0, 2>")
    with pytest.raises(RaceError, match="or that are stored before"):
        run_module(ir.Module.parse(text, make_context()), [x])


# --- folds --------------------------------------------------------------------------------------------------


def fold_body(op: str, element: str = "f32", out: str | None = None) -> str:
    out = out or element
    return f"""
  %n0 = arith.constant {"0.0" if element[0] == "f" else "0"} : {element}
  %v = "fuse.load"(%x0, %true, %n0) {{at = ["d0", "d1", "d2"]}} : (X0, i1, {element}) -> {element}
  {op}
  %r0 = "fuse.store"(%o0, %s, %true) {{at = ["d1"], mode = "set"}} : (O0, {out}, i1) -> O0"""


FOLDS = {
    "sum": lambda x: x.sum((0, 2)), "prod": lambda x: x.prod(2).prod(0),
    "max": lambda x: x.amax((0, 2)), "min": lambda x: x.amin((0, 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(FOLDS))
def test_reduce(kind):
    x = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(1)) + 0.5
    op = f'%s = "fuse.reduce"(%v) {{kind = "{kind}", over = ["d0", "d2"]}} : (f32) -> f32'
    (y,) = run_kernel([x], [torch.empty(4)], {"d0": 3, "d1": 4, "d2": 5}, fold_body(op))
    close(y, FOLDS[kind](x.double()), rtol=1e-5)
    if kind in ("max", "min"):
        x[1, 2, 3] = math.nan
        (y,) = run_kernel([x], [torch.empty(4)], {"d0": 3, "d1": 4, "d2": 5}, fold_body(op))
        assert y.isnan().tolist() == [False, False, True, False]


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "any", "all", "xor"])
def test_reduce_of_integers(kind):
    x = torch.randint(-3, 4, (3, 4, 5), dtype=torch.int32, generator=torch.Generator().manual_seed(2))
    x[:, 1], x[:, 2] = 0, 7
    op = f'%s = "fuse.reduce"(%v) {{kind = "{kind}", over = ["d0", "d2"]}} : (i32) -> i32'
    (y,) = run_kernel(
        [x], [torch.empty(4, dtype=torch.int32)], {"d0": 3, "d1": 4, "d2": 5}, fold_body(op, "i32")
    )
    rows = x.permute(1, 0, 2).reshape(4, 15).numpy()
    of = {
        "sum": np.sum,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
        "any": np.any,
        "all": np.all,
        "xor": np.bitwise_xor.reduce,
    }[kind]
    assert y.tolist() == of(rows, 1).astype(np.int32).tolist()


@pytest.mark.parametrize("kind, empty", [("sum", 0.0), ("prod", 1.0), ("max", -math.inf), ("min", math.inf)])
def test_reduce_over_nothing(kind, empty):
    op = f'%s = "fuse.reduce"(%v) {{kind = "{kind}", over = ["d0", "d2"]}} : (f32) -> f32'
    (y,) = run_kernel([torch.empty(3, 4, 0)], [torch.empty(4)], {"d0": 3, "d1": 4, "d2": 0}, fold_body(op))
    assert y.tolist() == [empty] * 4


def test_reduce_counts_dims_that_the_value_lacks():
    body = """
  %one = arith.constant 1.0 : f32
  %s = "fuse.reduce"(%one) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {at = ["d0"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([X], [torch.empty(4)], {"d0": 4, "d1": 6}, body)
    assert y.tolist() == [6.0] * 4


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_argreduce(kind):
    x = torch.tensor([[1.0, 3.0, 3.0, -2.0], [math.nan, 9.0, math.nan, 0.0], [5.0, 5.0, 5.0, 5.0]])
    body = f"""
  %v = "fuse.load"(%x0, %true, %z_f32) {{at = ["d0", "d1"]}} : (X0, i1, f32) -> f32
  %i = "fuse.index"() {{expr = "d1"}} : () -> i64
  %b, %p = "fuse.argreduce"(%v, %i) {{kind = "{kind}", over = ["d1"]}} : (f32, i64) -> (f32, i64)
  %r0 = "fuse.store"(%o0, %b, %true) {{at = ["d0"], mode = "set"}} : (O0, f32, i1) -> O0
  %r1 = "fuse.store"(%o1, %p, %true) {{at = ["d0"], mode = "set"}} : (O1, i64, i1) -> O1"""
    best, place = run_kernel(
        [x], [torch.empty(3), torch.empty(3, dtype=torch.int64)], {"d0": 3, "d1": 4}, body
    )
    assert place.tolist() == ([1, 0, 0] if kind == "argmax" else [3, 0, 0])
    assert best[1].isnan() and best[0] == (3.0 if kind == "argmax" else -2.0)


def test_welford_and_online_softmax():
    x = torch.randn(4, 50, generator=torch.Generator().manual_seed(3)) + 100
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {{at = ["d0", "d1"]}} : (X0, i1, f32) -> f32
  %a, %b = "fuse.{0}"(%v) {{over = ["d1"]}} : (f32) -> (f32, f32)
  %r0 = "fuse.store"(%o0, %a, %true) {{at = ["d0"], mode = "set"}} : (O0, f32, i1) -> O0
  %r1 = "fuse.store"(%o1, %b, %true) {{at = ["d0"], mode = "set"}} : (O1, f32, i1) -> O1"""
    mean, m2 = run_kernel([x], [torch.empty(4), torch.empty(4)], {"d0": 4, "d1": 50}, body.format("welford"))
    close(mean, x.double().mean(1))
    close(m2, x.double().var(1, correction=0) * 50, rtol=1e-4)
    top, total = run_kernel(
        [x], [torch.empty(4), torch.empty(4)], {"d0": 4, "d1": 50}, body.format("online_softmax")
    )
    close(top, x.amax(1))
    close(total, (x.double() - x.double().amax(1, True)).exp().sum(1), rtol=1e-5)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_scan(kind, reverse):
    x = torch.rand(3, 5, generator=torch.Generator().manual_seed(4)) + 0.5
    body = f"""
  %v = "fuse.load"(%x0, %true, %z_f32) {{at = ["d0", "d1"]}} : (X0, i1, f32) -> f32
  %s = "fuse.scan"(%v) {{kind = "{kind}", over = "d1", reverse = {reverse}}} : (f32) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {{at = ["d0", "d1"], mode = "set"}} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([x], [torch.empty(3, 5)], {"d0": 3, "d1": 5}, body)
    of = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    rows = x.double().numpy()
    close(y, of.accumulate(rows[:, ::-1], 1)[:, ::-1].copy() if reverse == "true" else of.accumulate(rows, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dot(dtype):
    generator = torch.Generator().manual_seed(5)
    a, b = (
        torch.randn(2, 3, 5, generator=generator).to(dtype),
        torch.randn(2, 5, 4, generator=generator).to(dtype),
    )
    e = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
    body = f"""
  %n = arith.constant 0.0 : {e}
  %a = "fuse.load"(%x0, %true, %n) {{at = ["d0", "d1", "d3"]}} : (X0, i1, {e}) -> {e}
  %b = "fuse.load"(%x1, %true, %n) {{at = ["d0", "d3", "d2"]}} : (X1, i1, {e}) -> {e}
  %s = "fuse.dot"(%a, %b) {{over = ["d3"]}} : ({e}, {e}) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {{at = ["d0", "d1", "d2"], mode = "set"}} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([a, b], [torch.empty(2, 3, 4)], {"d0": 2, "d1": 3, "d2": 4, "d3": 5}, body)
    close(y, a.double() @ b.double(), rtol=1e-5)


def test_dot_where_an_operand_lacks_a_summed_dim():
    x = torch.arange(6.0).reshape(2, 3)
    body = """
  %a = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %two = arith.constant 2.0 : f32
  %s = "fuse.dot"(%a, %two) {over = ["d1", "d2"]} : (f32, f32) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {at = ["d0"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([x], [torch.empty(2)], {"d0": 2, "d1": 3, "d2": 5}, body)
    assert torch.equal(y, x.sum(1) * 2 * 5)


# --- the rest -----------------------------------------------------------------------------------------------

MASK = 0xFFFFFFFF


def philox_reference(seed: int, offset: int, counter: int) -> list[int]:
    """Philox 4x32-10 in Python integers."""
    key = [seed & MASK, seed >> 32 & MASK]
    c = [counter & MASK, counter >> 32 & MASK, offset & MASK, offset >> 32 & MASK]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b & MASK, a >> 32 ^ c[3] ^ key[1], a & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return c


def test_philox():
    """Random123's own vectors are in the reference's reach: the all-zero and the all-one block."""
    assert philox_reference(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = (1 << 64) - 1
    assert philox_reference(ones, ones, ones) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    for seed, offset, counter in [(0, 0, 0), (-1, -1, -1), (123456789012345, 8, 77), (-5, 1 << 40, 1 << 33)]:
        words = rng.philox(*(torch.tensor(v) for v in (seed, offset, counter)))
        assert [w.item() for w in words] == philox_reference(seed % 2**64, offset % 2**64, counter % 2**64)


def test_rand_is_uniform_and_normal():
    body = """
  %i = "fuse.index"() {{expr = "d0"}} : () -> i64
  %seed = arith.constant 42 : i64
  %v = "fuse.rand"(%seed, %z_i64, %i) {{dist = "{0}"}} : (i64, i64, i64) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {{at = ["d0"], mode = "set"}} : (O0, f32, i1) -> O0"""
    (u,) = run_kernel([X], [torch.empty(20000)], {"d0": 20000}, body.format("uniform"))
    word = philox_reference(42, 0, 7 // 4)[7 % 4]
    signed = word - (1 << 32) if word >> 31 else word
    expected = np.float32(signed if signed >= 0 else -signed - 1) * np.float32(4.6566127342e-10)
    assert u[7].item() == expected and u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.01
    (n,) = run_kernel([X], [torch.empty(20000)], {"d0": 20000}, body.format("normal"))
    assert abs(n.mean()) < 0.03 and abs(n.std() - 1) < 0.03 and n.isfinite().all()


def test_device_assert_counts_only_guarded_points():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %lim = arith.constant 20.0 : f32
  %c = arith.cmpf olt, %v, %lim : f32
  %g = arith.cmpf olt, %v, GUARD : f32
  "fuse.device_assert"(%c, %g) {message = "too large"} : (i1, i1) -> ()
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    run_kernel([X], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, body.replace("GUARD", "%lim"))
    with pytest.raises(DeviceAssertError, match="too large at loc"):
        thirty = "%b = arith.constant 30.0 : f32\n  %c = "
        run_kernel(
            [X], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, body.replace("%c = ", thirty).replace("GUARD", "%b")
        )


def test_large_kernels_run_in_parts():
    """Cut along a dim that every store has and no fold crosses; a dim that is folded is never cut."""
    x = torch.randn(37, 50, generator=torch.Generator().manual_seed(6))
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["36 - d0", "d1"]} : (X0, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %f = arith.sitofp %i : i64 to f32
  %w = arith.addf %s, %f : f32
  %r0 = "fuse.store"(%o0, %w, %true) {at = ["36 - d0"], mode = "set"} : (O0, f32, i1) -> O0"""
    module = ir.Module.parse(module_text([x], [torch.empty(37)], {"d0": 37, "d1": 50}, body), make_context())
    kernel = ScalarKernel(
        next(o for o in module.body.operations if "fuse.kernel" in o.attributes).operation, part_elements=128
    )
    assert len(kernel._parts([37, 50])) > 10
    (y,) = kernel([x, torch.full((37,), math.nan)])
    close(y, x.double().sum(1) + 36 - torch.arange(37), rtol=1e-5)


def test_unknown_ops_are_refused():
    with pytest.raises(RunError, match=r"scalar code cannot have: arith\.flush_denormals at loc"):
        pointwise([torch.zeros(2)], torch.empty(2), "%v = arith.flush_denormals %a0 : f32")
