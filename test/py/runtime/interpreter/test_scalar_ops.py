"""Ops of scalar kernels on the CPU, each against an independent computation."""
# ruff: noqa: E501  (modules as text)

import math

import mpmath
import numpy as np
import pytest
import torch
from scalar_kernel_text import close, pointwise

from fuse_mlir.compiler.codegen import libdevice
from fuse_mlir.compiler.runtime.errors import RunError
from fuse_mlir.compiler.runtime.interpreter.scalar import scalar_math, scalar_ops

F32 = torch.float32
POINTS = torch.tensor(
    [-3.5, -2.5, -1.0, -0.75, -0.5, -0.0, 0.0, 0.25, 0.5, 0.49999997, 1.0, 1.5, 2.5, 3.25, 10.0]
)
UNIT = torch.tensor([-0.99, -0.5, -0.1, 0.0, 0.1, 0.5, 0.99])
POSITIVE = torch.tensor([0.01, 0.3, 0.5, 1.0, 1.7, 4.0, 30.0])
ABOVE_ONE = torch.tensor([1.0, 1.5, 3.0, 100.0])


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
