"""Pointwise arithmetic and mathematics; comparisons and selections are in ``comparisons.py``."""

import math
from functools import partial, reduce

import torch

from ....fx.table import lowers
from ....index import const
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor
from .elementwise import Kind, Pointwise, lower, pointwise

K = KernelBuilder

# --- one math op -------------------------------------------------------------------------------------------

#: Ops that are one op of the ``math`` dialect; integers become floats first.
MATH = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "erf": "erf", "erfc": "erfc", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "rsqrt": "rsqrt", "sin": "sin", "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan", "tanh": "tanh",
}  # fmt: skip

#: Ops that are one function of libdevice.  MLIR folds ``math.atan2`` of two zeros to NaN.
LIBM = {
    "atan2": "atan2",
    "lgamma": "lgamma", "erfinv": "erfinv", "i0": "cyl_bessel_i0", "hypot": "hypot",
    "special_i1": "cyl_bessel_i1", "special_bessel_j0": "j0", "special_bessel_j1": "j1",
    "special_bessel_y0": "y0",
    "special_bessel_y1": "y1", "special_erfcx": "erfcx", "special_ndtri": "normcdfinv",
}  # fmt: skip

#: Rounding: integers stay as they are.
ROUNDING = {"ceil": "ceil", "floor": "floor", "round": "roundeven", "trunc": "trunc"}

for _op, _function in MATH.items():
    pointwise(f"aten.{_op}.default", kind=Kind.INT_TO_FLOAT)(lambda k, *xs, f=_function: k.math(f, *xs))
for _op, _function in LIBM.items():
    pointwise(f"aten.{_op}.default", kind=Kind.INT_TO_FLOAT)(lambda k, *xs, f=_function: k.libm(f, *xs))
for _op, _function in ROUNDING.items():
    pointwise(f"aten.{_op}.default")(lambda k, x, f=_function: k.math(f, x) if x.is_float else x)


# --- arithmetic --------------------------------------------------------------------------------------------


def _plus_scaled(
    k: K, x: Operand, alpha: Operand, other: Operand, between: torch.dtype | None = None
) -> Scalar:
    """``x + alpha * other``; floats are rounded once, as eager's compilers contract it to an fma, unless the
    product is rounded to the dtype ``between``.
    """
    if not isinstance(alpha, Scalar):
        if isinstance(x, Scalar) and x.dtype == torch.bool:
            alpha = bool(alpha)  # as eager converts it: a bool less another is their sum
        if alpha == 1:
            return k.add(x, other)
        if alpha == -1:
            return k.sub(x, other)
        if not isinstance(other, Scalar):
            other = k.lift(other, x.dtype) if isinstance(x, Scalar) and between is not None else other
        if not isinstance(other, Scalar):
            return k.add(x, alpha * other)
    if between is not None and isinstance(other, Scalar) and other.is_float:
        return k.add(x, k.round_to(k.mul(alpha, other), between, implicit=True))
    return (
        k.math("fma", alpha, other, x)
        if isinstance(other, Scalar) and other.is_float
        else k.add(x, k.mul(alpha, other))
    )


def _negated(k: K, x: Operand) -> Operand:
    return k.neg(x) if isinstance(x, Scalar) else -x


#: Eager's kernels for the CPU take this many 16-bit numbers at once; of fewer each product is rounded.
_AT_ONCE = 32


def _between(k: K, dtype: torch.dtype) -> torch.dtype | None:
    """Where eager rounds a product before it is added, the dtype."""
    count = reduce(lambda a, b: a * b, k.dims.values(), const(1)).constant
    few = count is not None and count < _AT_ONCE
    return dtype if few and k.builder.device == "cpu" and dtype.itemsize == 2 else None


_SUMMANDS = ("self", "other", "alpha")


@pointwise("aten.add.Tensor", "aten.add.Scalar", rounds_on_cpu=_SUMMANDS, steps=True)
def add(k: K, dtype: torch.dtype, x: Scalar, other: Operand, alpha: Operand = 1) -> Scalar:
    return _plus_scaled(k, x, alpha, other, _between(k, dtype))


@pointwise("aten.sub.Tensor", "aten.sub.Scalar", rounds_on_cpu=_SUMMANDS, steps=True)
def sub(k: K, dtype: torch.dtype, x: Scalar, other: Operand, alpha: Operand = 1) -> Scalar:
    return _plus_scaled(k, x, _negated(k, alpha), other, _between(k, dtype))


@pointwise("aten.rsub.Tensor", "aten.rsub.Scalar", rounds_on_cpu=_SUMMANDS, steps=True)
def rsub(k: K, dtype: torch.dtype, x: Scalar, other: Operand, alpha: Operand = 1) -> Scalar:
    return _plus_scaled(k, other, _negated(k, alpha), x, _between(k, dtype))


@pointwise("prims.fma.default")
def fma(k: K, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    return k.math("fma", x, y, z) if x.is_float else k.add(k.mul(x, y), z)


@pointwise("aten.mul.Tensor", "aten.mul.Scalar", rounds_on_cpu=("self",))
def mul(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.mul(x, other)


@pointwise(
    "aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", kind=Kind.INT_TO_FLOAT,
    rounds_on_cpu=("self",),
)  # fmt: skip
def div(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.div(x, other)


def _assert_divisor(k: K, x: Operand, divisor: Operand) -> None:
    """As eager on the CPU, which raises for an integer divided by zero; on a GPU nothing is raised."""
    nothing = any(extent.constant == 0 for extent in k.dims.values())
    if k.builder.device != "cpu" or nothing or (not isinstance(divisor, Scalar) and divisor != 0):
        return
    _, right = k.pair(x, divisor)
    if not right.is_float:
        k.assert_(k.compare("ne", right, 0), "ZeroDivisionError")


def _div_mode(call: Call) -> object:
    """Division as ``rounding_mode`` says; without it, true division, which promotes integers to floats.  By
    more than one number, a quotient is rounded before it is truncated.
    """
    by = call["other"]
    by_one = not isinstance(by, Tensor) or all(size.constant == 1 for size in by.sizes)
    kind = Kind.INT_TO_FLOAT if call["rounding_mode"] is None else Kind.DEFAULT

    def body(k: K, dtype: torch.dtype, x: Scalar, other: Operand, rounding_mode: str | None) -> Scalar:
        _assert_divisor(k, x, other)
        if rounding_mode == "trunc" and dtype.is_floating_point and not by_one:
            return k.math("trunc", k.round_to(k.div(x, other), dtype))
        divide = {None: k.div, "trunc": k.trunc_div, "floor": k.floor_div}[rounding_mode]
        return divide(x, other)

    return lower(call, Pointwise((), body, kind, rounds=("self",), steps=True))


lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode")(_div_mode)


@pointwise("aten.floor_divide.default", "aten.floor_divide.Scalar", rounds=("self",))
def floor_divide(k: K, x: Scalar, other: Operand) -> Scalar:
    _assert_divisor(k, x, other)
    return k.floor_div(x, other)


@pointwise("aten.fmod.Tensor", "aten.fmod.Scalar", rounds=("self", "other"))
def fmod(k: K, x: Scalar, other: Operand) -> Scalar:
    _assert_divisor(k, x, other)
    return k.fmod(x, other)


@pointwise(
    "aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor",
    rounds=("self", "other"),
)  # fmt: skip
def remainder(k: K, x: Operand, other: Operand) -> Scalar:
    _assert_divisor(k, x, other)
    return k.remainder(x, other)


@pointwise("aten.reciprocal.default", kind=Kind.INT_TO_FLOAT)
def reciprocal(k: K, x: Scalar) -> Scalar:
    return k.div(1, x)


@pointwise("aten.neg.default")
def neg(k: K, x: Scalar) -> Scalar:
    return k.neg(x)


@pointwise("aten.positive.default", "aten.conj_physical.default", "aten.real.default")
def same(k: K, x: Scalar) -> Scalar:
    return x


@pointwise("aten.abs.default", kind=Kind.COMPLEX_TO_FLOAT)
def abs_(k: K, x: Scalar) -> Scalar:
    return k.abs(x)


@pointwise("aten.square.default", kind=Kind.BOOL_TO_LONG)
def square(k: K, x: Scalar) -> Scalar:
    x = k.cast(x, torch.int64) if x.dtype == torch.bool else x
    return k.mul(x, x)


@pointwise("aten.sign.default", "aten.sgn.default")
def sign(k: K, x: Scalar) -> Scalar:
    """1, 0 or -1; 0 for NaN."""
    if x.kind == "bool":
        return x
    positive = k.cast(k.compare("gt", x, 0), x.dtype)
    return positive if x.kind == "unsigned" else k.sub(positive, k.cast(k.compare("lt", x, 0), x.dtype))


@pointwise("aten.frac.default")
def frac(k: K, x: Scalar) -> Scalar:
    return k.sub(x, k.math("trunc", x)) if x.is_float else k.sub(x, x)


@pointwise("aten.round.decimals")
def round_decimals(k: K, x: Scalar, decimals: int) -> Scalar:
    if not x.is_float:
        return x
    power = 10.0 ** abs(decimals)
    if decimals >= 0:
        return k.div(k.math("roundeven", k.mul(x, power)), power)
    return k.mul(k.math("roundeven", k.div(x, power)), power)


@pointwise("aten.gcd.default")
def gcd(k: K, x: Scalar, other: Scalar) -> Scalar:
    """By as many divisions as the largest pair of the type takes, two Fibonacci numbers.  The smallest
    integer has no absolute value: remainders have its sign, as in eager.
    """
    divisor, dividend = k.abs(x), k.abs(other)
    for _ in range(_divisions(x)):
        done = k.compare("eq", divisor, 0)
        rest = k.binary("rem", dividend, k.select(done, 1, divisor))
        divisor, dividend = k.select(done, 0, rest), k.select(done, dividend, divisor)
    return dividend


@pointwise("aten.lcm.default")
def lcm(k: K, x: Scalar, other: Scalar) -> Scalar:
    """The product by the greatest common divisor; as in C, small integers are multiplied as 32 bits."""
    divisor = gcd(k, x, other)
    wide = torch.int32 if x.bits < 32 else x.dtype
    x, other, wider = (k.cast(each, wide) for each in (x, other, divisor))
    parts, _ = k.quotient(x, wider)
    return k.select(k.compare("eq", divisor, 0), 0, k.cast(k.abs(k.mul(parts, other)), divisor.dtype))


def _divisions(x: Scalar) -> int:
    """How often a remainder is taken until it is 0, at most."""
    largest, a, b, steps = 1 << (x.bits - (x.kind == "signed")), 1, 1, 1
    while b <= largest:
        a, b, steps = b, a + b, steps + 1
    return steps


# --- powers ------------------------------------------------------------------------------------------------

#: Exponents for which eager does not call pow.
_SPECIAL_POWERS = {
    2.0: lambda k, x: k.mul(x, x),
    3.0: lambda k, x: k.mul(k.mul(x, x), x),
    0.5: lambda k, x: k.math("sqrt", x),
    -0.5: lambda k, x: k.math("rsqrt", x),
    -1.0: lambda k, x: k.div(1, x),
    -2.0: lambda k, x: k.div(1, k.mul(x, x)),
}


@pointwise("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", rounds=("self", "exponent"))
def pow_(k: K, x: Scalar, exponent: Operand) -> Scalar:
    if isinstance(exponent, Scalar):
        return k.power(x, exponent)
    if exponent == 0:
        return k.constant(1, x.dtype)
    if exponent == 1:
        return x
    if x.is_float and exponent in _SPECIAL_POWERS:
        return _SPECIAL_POWERS[exponent](k, x)
    return k.power(x, exponent)


@pointwise("aten.pow.Scalar", rounds=("self", "exponent"))
def pow_of_number(k: K, x: Operand, exponent: Scalar) -> Scalar:
    return k.power(k.lift(x, exponent.dtype), exponent)


@lowers("aten.ldexp.Tensor")
def ldexp(call: Call) -> object:
    """``x * 2**other``.  Of a float, ``2**other`` has its dtype: infinite beyond it, and rounded."""
    dtype = call.tensor("other").dtype
    body = partial(_times_power, dtype) if dtype in (torch.float16, torch.bfloat16) else _scaled
    return lower(call, Pointwise((), body, Kind.INT_TO_FLOAT))


def _times_power(dtype: torch.dtype, k: K, x: Scalar, other: Scalar) -> Scalar:
    return k.mul(x, k.round_to(k.math("exp2", other), dtype))


def _scaled(k: K, x: Scalar, other: Scalar) -> Scalar:
    """``x * 2**other``, also where ``2**other`` is no number of the dtype: each of the three factors is, and
    no factor is subnormal, which a GPU may flush to 0.
    """
    largest = 3 * (700 if x.dtype == torch.float64 else 99)
    exponent = k.minimum(k.maximum(other, -largest), largest)
    part = k.math("trunc", k.div(exponent, 3))
    factor = k.math("exp2", part)
    scaled = k.mul(k.mul(k.mul(x, factor), factor), k.math("exp2", k.sub(exponent, k.mul(part, 2))))
    # eager of floats as exponents multiplies by 2**other, which gives NaN where that is infinite and x is 0
    is_small = k.compare("lt", k.math("absf", other), 1024)
    return k.select(is_small, scaled, k.mul(x, k.math("exp2", other)))


# --- combinations ------------------------------------------------------------------------------------------


@pointwise("aten.addcmul.default")
def addcmul(k: K, x: Scalar, first: Scalar, second: Scalar, value: Operand = 1) -> Scalar:
    if x.is_float:
        scaled = first if not isinstance(value, Scalar) and value == 1 else k.mul(value, first)
        return k.math("fma", scaled, second, x)
    return _plus_scaled(k, x, value, k.mul(first, second))


@pointwise("aten.addcdiv.default")
def addcdiv(k: K, x: Scalar, first: Scalar, second: Scalar, value: Operand = 1) -> Scalar:
    return _plus_scaled(k, x, value, k.div(first, second))


@pointwise("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(k: K, start: Scalar, end: Scalar, weight: Operand) -> Scalar:
    """Interpolates from the nearer end, so that the weights 0 and 1 give exact results."""
    weight = k.lift(weight, start.dtype)
    difference = k.sub(end, start)
    near_start = k.math("fma", weight, difference, start)
    near_end = k.math("fma", k.neg(difference), k.sub(1, weight), end)
    return k.select(k.compare("lt", k.abs(weight), 0.5), near_start, near_end)


def _times_log(k: K, dtype: torch.dtype, x: Operand, other: Operand, log: str) -> Scalar:
    """0 where x is 0, unless the other operand is NaN.  Eager's kernels for the CPU round the logarithm."""
    x, other = k.pair(x, other)
    logarithm = k.math(log, other)
    if k.builder.device == "cpu":
        logarithm = k.round_to(logarithm, dtype, implicit=True)
    product = k.select(k.compare("eq", x, 0), 0, k.mul(x, logarithm))
    return k.select(k.is_nan(other), other, product)


_OPERANDS = ("self", "other")


@pointwise(
    "aten.xlogy.Tensor", "aten.xlogy.Scalar_Other", "aten.xlogy.Scalar_Self", kind=Kind.INT_TO_FLOAT,
    rounds_on_cpu=_OPERANDS, steps=True,
)  # fmt: skip
def xlogy(k: K, dtype: torch.dtype, x: Operand, other: Operand) -> Scalar:
    return _times_log(k, dtype, x, other, "log")


@pointwise(
    "aten.special_xlog1py.default", "aten.special_xlog1py.other_scalar", "aten.special_xlog1py.self_scalar",
    kind=Kind.INT_TO_FLOAT, rounds_on_cpu=_OPERANDS, steps=True,
)  # fmt: skip
def xlog1py(k: K, dtype: torch.dtype, x: Operand, other: Operand) -> Scalar:
    return _times_log(k, dtype, x, other, "log1p")


@pointwise("aten.logaddexp.default", kind=Kind.DEFAULT)
def logaddexp(k: K, x: Scalar, other: Scalar) -> Scalar:
    return _log_of_sum(k, x, other, "exp", "log1p")


def _log_of_sum(k: K, x: Scalar, other: Scalar, exp: str, log1p: str) -> Scalar:
    """log(exp(x) + exp(other)), relative to the larger one; two equal infinities give that infinity."""
    high = k.maximum(x, other)
    gap = k.neg(k.abs(k.sub(x, other)))
    total = k.add(high, k.math(log1p, k.math(exp, gap)))
    same_infinity = k.bit_and(k.compare("eq", x, other), k.is_inf(x))
    return k.select(same_infinity, x, total)


@pointwise("aten.deg2rad.default", kind=Kind.INT_TO_FLOAT)
def deg2rad(k: K, x: Scalar) -> Scalar:
    return k.mul(x, math.pi / 180)


@pointwise("aten.rad2deg.default", kind=Kind.INT_TO_FLOAT)
def rad2deg(k: K, x: Scalar) -> Scalar:
    return k.mul(x, 180 / math.pi)


@pointwise("aten.sinc.default", kind=Kind.INT_TO_FLOAT)
def sinc(k: K, x: Scalar) -> Scalar:
    turned = k.mul(x, math.pi)
    return k.select(k.compare("eq", x, 0), 1, k.div(k.math("sin", turned), turned))


@pointwise("aten.logit.default", kind=Kind.INT_TO_FLOAT)
def logit(k: K, x: Scalar, eps: float | None = None) -> Scalar:
    if eps is not None:
        x = k.minimum(k.maximum(x, eps), 1 - eps)
    return k.math("log", k.div(x, k.sub(1, x)))
