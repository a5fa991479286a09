"""Pointwise arithmetic, comparisons and mathematics."""

import math

import torch

from ..arithmetic import Operand, Scalar
from ..builder import KernelBuilder
from ..call import Call
from ..table import lowers
from .elementwise import Kind, Pointwise, lower, pointwise

K = KernelBuilder

# --- one math op -------------------------------------------------------------------------------------------

#: Ops that are one op of the ``math`` dialect; integers become floats first.
MATH = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atan2": "atan2",
    "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "erf": "erf", "erfc": "erfc", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "rsqrt": "rsqrt", "sin": "sin", "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan", "tanh": "tanh",
}  # fmt: skip

#: Ops that are one function of libdevice (it has no digamma).
LIBM = {
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


def _plus_scaled(k: K, x: Operand, alpha: Operand, other: Operand) -> Scalar:
    """``x + alpha * other``; of floats in one rounding, as eager's compilers contract it."""
    if not isinstance(alpha, Scalar):
        if alpha == 1:
            return k.add(x, other)
        if alpha == -1:
            return k.sub(x, other)
        if not isinstance(other, Scalar):
            return k.add(x, alpha * other)
    return (
        k.math("fma", alpha, other, x)
        if isinstance(other, Scalar) and other.is_float
        else k.add(x, k.mul(alpha, other))
    )


def _negated(k: K, x: Operand) -> Operand:
    return k.neg(x) if isinstance(x, Scalar) else -x


@pointwise("aten.add.Tensor", "aten.add.Scalar")
def add(k: K, x: Scalar, other: Operand, alpha: Operand = 1) -> Scalar:
    return _plus_scaled(k, x, alpha, other)


@pointwise("aten.sub.Tensor", "aten.sub.Scalar")
def sub(k: K, x: Scalar, other: Operand, alpha: Operand = 1) -> Scalar:
    return _plus_scaled(k, x, _negated(k, alpha), other)


@pointwise("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(k: K, x: Scalar, other: Operand, alpha: Operand = 1) -> Scalar:
    return _plus_scaled(k, other, _negated(k, alpha), x)


@pointwise("prims.fma.default")
def fma(k: K, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    return k.math("fma", x, y, z) if x.is_float else k.add(k.mul(x, y), z)


@pointwise("aten.mul.Tensor", "aten.mul.Scalar")
def mul(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.mul(x, other)


@pointwise("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", kind=Kind.INT_TO_FLOAT)
def div(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.div(x, other)


def _div_mode(call: Call) -> object:
    """Division as ``rounding_mode`` says; without one it is true division, which promotes integers to
    floats.
    """
    kind = Kind.INT_TO_FLOAT if call["rounding_mode"] is None else Kind.DEFAULT

    def body(k: K, x: Scalar, other: Operand, rounding_mode: str | None) -> Scalar:
        divide = {None: k.div, "trunc": k.trunc_div, "floor": k.floor_div}[rounding_mode]
        return divide(x, other)

    return lower(call, Pointwise((), body, kind))


lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode")(_div_mode)


@pointwise("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.floor_div(x, other)


@pointwise("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.fmod(x, other)


@pointwise("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(k: K, x: Operand, other: Operand) -> Scalar:
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


@pointwise("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar")
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


@pointwise("aten.pow.Scalar")
def pow_of_number(k: K, x: Operand, exponent: Scalar) -> Scalar:
    return k.power(k.lift(x, exponent.dtype), exponent)


@pointwise("aten.ldexp.Tensor", kind=Kind.INT_TO_FLOAT)
def ldexp(k: K, x: Scalar, other: Scalar) -> Scalar:
    return k.mul(x, k.math("exp2", other))


# --- comparisons and logic ---------------------------------------------------------------------------------

for _how in ("eq", "ne", "lt", "le", "gt", "ge"):
    pointwise(f"aten.{_how}.Tensor", f"aten.{_how}.Scalar", kind=Kind.ALWAYS_BOOL, rounds=True)(
        lambda k, x, other, how=_how: k.compare(how, x, other)
    )


def _logical(how: str, overload: str) -> None:
    pointwise(overload, own=True)(lambda k, x, other: k.binary(how, k.truth(x), k.truth(other)))


for _how in ("and", "or", "xor"):
    _logical(_how, f"aten.logical_{_how}.default")


@pointwise("aten.logical_not.default", own=True)
def logical_not(k: K, x: Scalar) -> Scalar:
    return k.bit_not(k.truth(x))


for _how in ("and", "or", "xor"):
    pointwise(
        *(f"aten.bitwise_{_how}.{o}" for o in ("Tensor", "Scalar", "Scalar_Tensor")),
        *(f"aten.__{_how}__.{o}" for o in ("Tensor", "Scalar")),
    )(lambda k, x, other, how=_how: k.binary(how, x, other))


@pointwise("aten.bitwise_not.default")
def bitwise_not(k: K, x: Scalar) -> Scalar:
    return k.bit_not(x)


@pointwise(
    "aten.bitwise_left_shift.Tensor",
    "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_left_shift.Scalar_Tensor",
    "aten.__lshift__.Tensor",
    "aten.__lshift__.Scalar",
)
def shift_left(k: K, x: Operand, other: Operand) -> Scalar:
    return k.shift_left(x, other)


@pointwise(
    "aten.bitwise_right_shift.Tensor",
    "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.bitwise_right_shift.Scalar_Tensor",
    "aten.__rshift__.Tensor",
    "aten.__rshift__.Scalar",
)
def shift_right(k: K, x: Operand, other: Operand) -> Scalar:
    return k.shift_right(x, other)


@pointwise("aten.isnan.default", kind=Kind.ALWAYS_BOOL)
def isnan(k: K, x: Scalar) -> Scalar:
    return k.is_nan(x)


@pointwise("aten.isinf.default", kind=Kind.ALWAYS_BOOL)
def isinf(k: K, x: Scalar) -> Scalar:
    return k.is_inf(x)


@pointwise("aten.isfinite.default", kind=Kind.ALWAYS_BOOL)
def isfinite(k: K, x: Scalar) -> Scalar:
    return k.compare("lt", k.abs(x), math.inf) if x.is_float else k.true()


@pointwise("aten.isposinf.default", kind=Kind.ALWAYS_BOOL)
def isposinf(k: K, x: Scalar) -> Scalar:
    return k.compare("eq", x, math.inf) if x.is_float else k.constant(False, torch.bool)


@pointwise("aten.isneginf.default", kind=Kind.ALWAYS_BOOL)
def isneginf(k: K, x: Scalar) -> Scalar:
    return k.compare("eq", x, -math.inf) if x.is_float else k.constant(False, torch.bool)


@pointwise("aten.signbit.default", kind=Kind.ALWAYS_BOOL)
def signbit(k: K, x: Scalar) -> Scalar:
    if not x.is_float:
        return k.compare("lt", x, 0) if x.kind == "signed" else k.constant(False, torch.bool)
    bits = k.bitcast(x, torch.int64 if x.bits == 64 else torch.int32)
    return k.compare("lt", bits, 0)


# --- choices -----------------------------------------------------------------------------------------------


@pointwise("aten.maximum.default", "aten.max.other")
def maximum(k: K, x: Scalar, other: Scalar) -> Scalar:
    return k.maximum(x, other)


@pointwise("aten.minimum.default", "aten.min.other")
def minimum(k: K, x: Scalar, other: Scalar) -> Scalar:
    return k.minimum(x, other)


@pointwise("aten.fmax.default")
def fmax(k: K, x: Scalar, other: Scalar) -> Scalar:
    return k.binary("fmax", x, other) if x.is_float else k.maximum(x, other)


@pointwise("aten.fmin.default")
def fmin(k: K, x: Scalar, other: Scalar) -> Scalar:
    return k.binary("fmin", x, other) if x.is_float else k.minimum(x, other)


@pointwise("aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default", "aten.clip.Tensor")
def clamp(k: K, x: Scalar, low: Operand | None = None, high: Operand | None = None) -> Scalar:
    """The upper bound wins over the lower; any NaN gives NaN."""
    x = x if low is None else k.maximum(x, low)
    return x if high is None else k.minimum(x, high)


@pointwise("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(k: K, x: Scalar, low: Operand) -> Scalar:
    return k.maximum(x, low)


@pointwise("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(k: K, x: Scalar, high: Operand) -> Scalar:
    return k.minimum(x, high)


@pointwise("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", over=("self", "other"))
def where(k: K, condition: Scalar, x: Operand, other: Operand) -> Scalar:
    return k.select(k.truth(condition), x, other)


@pointwise("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", over=("self",))
def masked_fill(k: K, x: Scalar, mask: Scalar, value: Operand) -> Scalar:
    """The value takes the tensor's dtype."""
    return k.select(mask, k.cast(k.lift(value, x.dtype), x.dtype), x)


def _nan_to_num(call: Call) -> object:
    dtype = call.tensor("self").dtype

    def body(k: K, x: Scalar, nan: float | None, posinf: float | None, neginf: float | None) -> Scalar:
        if not x.is_float:
            return x
        limits = torch.finfo(dtype)
        top, bottom = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)
        result = k.select(k.compare("eq", x, math.inf), top, x)
        result = k.select(k.compare("eq", x, -math.inf), bottom, result)
        return k.select(k.is_nan(x), 0.0 if nan is None else nan, result)

    return lower(call, Pointwise((), body))


lowers("aten.nan_to_num.default")(_nan_to_num)


@pointwise("aten.heaviside.default")
def heaviside(k: K, x: Scalar, values: Scalar) -> Scalar:
    step = k.cast(k.compare("gt", x, 0), x.dtype)
    return k.select(k.compare("eq", x, 0), values, step)


@pointwise("aten.copysign.Tensor", "aten.copysign.Scalar", kind=Kind.INT_TO_FLOAT)
def copysign(k: K, x: Scalar, other: Operand) -> Scalar:
    return k.math("copysign", x, other)


def _nextafter(call: Call) -> object:
    """The neighbour in the stored dtype, so only dtypes that kernels compute in."""
    if call.value.dtype not in (torch.float32, torch.float64):
        call.refuse(f"the neighbour of a {call.value.dtype} is not computed in float32")
    return lower(call, Pointwise((), lambda k, x, other: k.libm("nextafter", x, other), Kind.NO_OPMATH))


lowers("aten.nextafter.default")(_nextafter)


# --- combinations ------------------------------------------------------------------------------------------


@pointwise("aten.addcmul.default")
def addcmul(k: K, x: Scalar, first: Scalar, second: Scalar, value: Operand = 1) -> Scalar:
    if not isinstance(value, Scalar) and value == 1 and x.is_float:
        return k.math("fma", first, second, x)
    return _plus_scaled(k, x, value, k.mul(first, second))


@pointwise("aten.addcdiv.default")
def addcdiv(k: K, x: Scalar, first: Scalar, second: Scalar, value: Operand = 1) -> Scalar:
    return _plus_scaled(k, x, value, k.div(first, second))


@pointwise("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(k: K, start: Scalar, end: Scalar, weight: Operand) -> Scalar:
    """From the nearer end, so that the weights 0 and 1 are exact."""
    weight = k.lift(weight, start.dtype)
    difference = k.sub(end, start)
    near_start = k.math("fma", weight, difference, start)
    near_end = k.math("fma", k.neg(difference), k.sub(1, weight), end)
    return k.select(k.compare("lt", k.abs(weight), 0.5), near_start, near_end)


@pointwise("aten.xlogy.Tensor", "aten.xlogy.Scalar_Other", "aten.xlogy.Scalar_Self", kind=Kind.INT_TO_FLOAT)
def xlogy(k: K, x: Operand, other: Operand) -> Scalar:
    """0 where x is 0, unless the other is NaN."""
    x, other = k.pair(x, other)
    product = k.select(k.compare("eq", x, 0), 0, k.mul(x, k.math("log", other)))
    return k.select(k.is_nan(other), other, product)


@pointwise("aten.logaddexp.default", kind=Kind.DEFAULT)
def logaddexp(k: K, x: Scalar, other: Scalar) -> Scalar:
    return _log_of_sum(k, x, other, "exp", "log1p")


def _log_of_sum(k: K, x: Scalar, other: Scalar, exp: str, log1p: str) -> Scalar:
    """log(exp(x) + exp(other)) from the larger; two equal infinities give themselves."""
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
