"""Pointwise comparisons, logic, bits, and choices between values."""

import math

import torch

from ....fx.table import lowers
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from .elementwise import Kind, Pointwise, bound, lower, pointwise

K = KernelBuilder

# --- comparisons and logic ---------------------------------------------------------------------------------

for _how in ("eq", "ne", "lt", "le", "gt", "ge"):
    pointwise(f"aten.{_how}.Tensor", f"aten.{_how}.Scalar", kind=Kind.ALWAYS_BOOL, rounds=("other",))(
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
    x = x if low is None else k.maximum(x, bound(x, low))
    return x if high is None else k.minimum(x, bound(x, high))


@pointwise("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(k: K, x: Scalar, low: Operand) -> Scalar:
    return k.maximum(x, bound(x, low))


@pointwise("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(k: K, x: Scalar, high: Operand) -> Scalar:
    return k.minimum(x, bound(x, high))


@pointwise("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", over=("self", "other"))
def where(k: K, condition: Scalar, x: Operand, other: Operand) -> Scalar:
    return k.select(k.truth(condition), x, other)


@pointwise("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", over=("self",))
def masked_fill(k: K, x: Scalar, mask: Scalar, value: Operand) -> Scalar:
    """The value is converted to the tensor's dtype."""
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
    """The neighbour is one in the stored dtype, so only dtypes are possible that kernels compute in."""
    if call.value.dtype not in (torch.float32, torch.float64):
        call.refuse(f"the neighbour of a {call.value.dtype} is not computed in float32")
    return lower(call, Pointwise((), lambda k, x, other: k.libm("nextafter", x, other), Kind.NO_OPMATH))


lowers("aten.nextafter.default")(_nextafter)
