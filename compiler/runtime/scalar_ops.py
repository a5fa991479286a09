"""Tables of what ``arith``, ``math`` and ``fuse.libm`` compute, on torch tensors that broadcast.

Both interpreters use them: scalar kernels (one axis per dim) and tile code (axes of the tile after that of the programs).  Integers
have no sign: i8..i64 are torch's signed dtypes, i1 is bool.  ``elementwise(op, shadow)`` gives the function of one op.

What C leaves undefined is defined here without a trap, since a guarded-off point may compute it: a division by zero divides by one.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..mlir import ir
from .dtypes import value_dtype
from .errors import RunError

Tensor = torch.Tensor
Function = Callable[..., Any]
Maker = Callable[[ir.Operation, bool], Function]


def _table(*groups: dict[str, Any]) -> dict[str, Any]:
    """One table of several; a name that occurs twice is a mistake."""
    joined: dict[str, Any] = {}
    for group in groups:
        twice = sorted(joined.keys() & group.keys())
        assert not twice, f"defined twice: {twice}"
        joined.update(group)
    return joined


# --- integers ------------------------------------------------------------------------------------------------------------------


def _signed(function: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """Lets a function of signed integers take i1, whose one bit is the sign."""

    def apply(a: Tensor, b: Tensor) -> Tensor:
        if a.dtype != torch.bool:
            return function(a, b)
        return (function(-a.to(torch.int8), -b.to(torch.int8)) & 1).bool()

    return apply


_UNSIGNED_NUMPY = {
    torch.int8: np.uint8,
    torch.int16: np.uint16,
    torch.int32: np.uint32,
    torch.int64: np.uint64,
    torch.bool: np.uint8,
}


def _as_unsigned(x: Tensor) -> Any:
    return (
        (x.to(torch.int8) if x.dtype == torch.bool else x)
        .contiguous()
        .numpy()
        .view(_UNSIGNED_NUMPY[x.dtype])
        .reshape(x.shape)
    )


def _unsigned(function: Callable[[Any, Any], Any]) -> Function:
    """A function of unsigned NumPy arrays as one of signless tensors."""

    def apply(a: Tensor, b: Tensor) -> Tensor:
        result = np.ascontiguousarray(function(_as_unsigned(a), _as_unsigned(b)))
        shape = torch.broadcast_shapes(a.shape, b.shape)
        if a.dtype == torch.bool:
            return torch.from_numpy(result.view(np.int8)).reshape(shape).bitwise_and(1).bool()
        return torch.from_numpy(result.view(str(a.dtype).removeprefix("torch."))).reshape(shape)

    return apply


def _safe(divisor: Tensor) -> Tensor:
    """The divisor with 0 and -1 replaced by 1: those two trap in C (the latter for the smallest number)."""
    return torch.where((divisor == 0) | (divisor == -1), 1, divisor)


def _division(mode: str) -> Function:
    def divide(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(b == -1, -a, torch.div(a, _safe(b), rounding_mode=mode))

    return _signed(divide)


def _ceildivsi(a: Tensor, b: Tensor) -> Tensor:
    safe = _safe(b)
    quotient = torch.div(a, safe, rounding_mode="floor")
    return torch.where(b == -1, -a, quotient + (quotient * safe != a))


def _nonzero(b: Any) -> Any:
    return np.where(b == 0, b.dtype.type(1), b)


def _flip(x: Tensor) -> Tensor:
    """Maps unsigned order to signed order."""
    return x.to(torch.int8) if x.dtype == torch.bool else x ^ torch.iinfo(x.dtype).min


def _signed_order(x: Tensor) -> Tensor:
    return -x.to(torch.int8) if x.dtype == torch.bool else x


def _compare(order: Function, function: Function) -> Function:
    return lambda a, b: function(order(a), order(b))


#: Predicates of arith.cmpi by number: eq ne slt sle sgt sge ult ule ugt uge.
_CMPI: tuple[Function, ...] = (
    torch.eq,
    torch.ne,
    _compare(_signed_order, torch.lt),
    _compare(_signed_order, torch.le),
    _compare(_signed_order, torch.gt),
    _compare(_signed_order, torch.ge),
    _compare(_flip, torch.lt),
    _compare(_flip, torch.le),
    _compare(_flip, torch.gt),
    _compare(_flip, torch.ge),
)


def _unordered(a: Tensor, b: Tensor) -> Tensor:
    return torch.isnan(a) | torch.isnan(b)


def _or_unordered(function: Function) -> Function:
    return lambda a, b: function(a, b) | _unordered(a, b)


#: Predicates of arith.cmpf by number: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true.
_CMPF: tuple[Function, ...] = (
    lambda a, b: torch.zeros_like(torch.eq(a, b)),
    torch.eq,
    torch.gt,
    torch.ge,
    torch.lt,
    torch.le,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: ~_unordered(a, b),
    _or_unordered(torch.eq),
    _or_unordered(torch.gt),
    _or_unordered(torch.ge),
    _or_unordered(torch.lt),
    _or_unordered(torch.le),
    torch.ne,
    _unordered,
    lambda a, b: torch.ones_like(torch.eq(a, b)),
)


def _predicate(table: tuple[Function, ...]) -> Maker:
    return lambda op, shadow: table[ir.IntegerAttr(op.attributes["predicate"]).value]


def _high_unsigned(a: Tensor, b: Tensor) -> Tensor:
    """The upper half of an unsigned product."""
    if a.dtype != torch.int64:
        bits = torch.iinfo(a.dtype).bits
        mask = (1 << bits) - 1
        a_wide, b_wide = a.to(torch.int64) & mask, b.to(torch.int64) & mask
        if bits < 32:
            return ((a_wide * b_wide) >> bits).to(a.dtype)
        middle = a_wide * (b_wide >> 16) + ((a_wide * (b_wide & 0xFFFF)) >> 16)
        return (middle >> 16).to(a.dtype)
    a0, a1 = a & 0xFFFFFFFF, (a >> 32) & 0xFFFFFFFF
    b0, b1 = b & 0xFFFFFFFF, (b >> 32) & 0xFFFFFFFF
    low, cross, other = a0 * b0, a1 * b0, a0 * b1
    carry = ((low >> 32) & 0xFFFFFFFF) + (cross & 0xFFFFFFFF) + (other & 0xFFFFFFFF)
    high = a1 * b1 + ((cross >> 32) & 0xFFFFFFFF) + ((other >> 32) & 0xFFFFFFFF)
    return high + ((carry >> 32) & 0xFFFFFFFF)


def _high_signed(a: Tensor, b: Tensor) -> Tensor:
    return _high_unsigned(a, b) - torch.where(a < 0, b, 0) - torch.where(b < 0, a, 0)


def _add_carry(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    total = a + b
    return total, _flip(total) < _flip(a)


def _sub_borrow(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a - b, _flip(a) < _flip(b)


_INTEGER: dict[str, Function] = {
    "arith.addi": lambda a, b: a ^ b if a.dtype == torch.bool else a + b,
    "arith.subi": lambda a, b: a ^ b if a.dtype == torch.bool else a - b,
    "arith.muli": lambda a, b: a & b if a.dtype == torch.bool else a * b,
    "arith.divsi": _division("trunc"),
    "arith.floordivsi": _division("floor"),
    "arith.ceildivsi": _signed(_ceildivsi),
    "arith.remsi": _signed(lambda a, b: torch.fmod(a, _safe(b))),
    "arith.divui": _unsigned(lambda a, b: a // _nonzero(b)),
    "arith.ceildivui": _unsigned(lambda a, b: a // _nonzero(b) + (a % _nonzero(b) != 0).astype(a.dtype)),
    "arith.remui": _unsigned(lambda a, b: a % _nonzero(b)),
    "arith.maxsi": _signed(torch.maximum),
    "arith.minsi": _signed(torch.minimum),
    "arith.maxui": _unsigned(np.maximum),
    "arith.minui": _unsigned(np.minimum),
    "arith.andi": torch.bitwise_and,
    "arith.ori": torch.bitwise_or,
    "arith.xori": torch.bitwise_xor,
    "arith.shli": torch.bitwise_left_shift,
    "arith.shrsi": torch.bitwise_right_shift,
    "arith.shrui": _unsigned(np.right_shift),
    "arith.addui_extended": _add_carry,
    "arith.subui_extended": _sub_borrow,
    "arith.mului_extended": lambda a, b: (a * b, _high_unsigned(a, b)),
    "arith.mulsi_extended": lambda a, b: (a * b, _high_signed(a, b)),
}

# --- floats --------------------------------------------------------------------------------------------------------------------

_FLOAT: dict[str, Function] = {
    "arith.addf": torch.add,
    "arith.subf": torch.sub,
    "arith.mulf": torch.mul,
    "arith.divf": torch.div,
    "arith.remf": torch.fmod,
    "arith.negf": torch.neg,
    "arith.maximumf": torch.maximum,
    "arith.minimumf": torch.minimum,
    "arith.maxnumf": torch.fmax,
    "arith.minnumf": torch.fmin,
    "arith.select": torch.where,
}

# --- conversions ---------------------------------------------------------------------------------------------------------------


def _unsigned_wide(x: Tensor) -> Tensor:
    """Zero-extended to int64; an i64 stays as it is."""
    if x.dtype in (torch.bool, torch.int64):
        return x.to(torch.int64)
    return x.to(torch.int64) & ((1 << torch.iinfo(x.dtype).bits) - 1)


def _extsi(x: Tensor, to: torch.dtype) -> Tensor:
    return -x.to(to) if x.dtype == torch.bool else x.to(to)


def _trunci(x: Tensor, to: torch.dtype) -> Tensor:
    return x.bitwise_and(1).bool() if to == torch.bool else x.to(to)


def _sitofp(x: Tensor, to: torch.dtype) -> Tensor:
    return -x.to(to) if x.dtype == torch.bool else x.to(to)


def _uitofp(x: Tensor, to: torch.dtype) -> Tensor:
    if x.dtype != torch.int64:
        return _unsigned_wide(x).to(to)
    half = ((x >> 1) & ((1 << 63) - 1)) | (x & 1)  # the lowest bit sticks, so that the rounding is right
    return torch.where(x < 0, half.to(to) * 2, x.to(to))


def _fptosi(x: Tensor, to: torch.dtype) -> Tensor:
    return x.trunc().to(torch.int64).bitwise_and(1).bool() if to == torch.bool else x.to(to)


def _fptoui(x: Tensor, to: torch.dtype) -> Tensor:
    big = x >= float(1 << 63)
    wide = torch.where(big, x - float(1 << 63), x).to(torch.int64)
    return _trunci(torch.where(big, wide ^ torch.iinfo(torch.int64).min, wide), to)


def _index_cast(x: Tensor, to: torch.dtype) -> Tensor:
    return _trunci(x, to) if to == torch.bool else _extsi(x, to)


def _convert(function: Callable[[Tensor, torch.dtype], Tensor]) -> Maker:
    def make(op: ir.Operation, shadow: bool) -> Function:
        to = value_dtype(element_type(op.results[0].type), shadow)
        return lambda x: function(x, to)

    return make


def _bitcast(op: ir.Operation, shadow: bool) -> Function:
    source, result = element_type(op.operands[0].type), element_type(op.results[0].type)
    before, after = value_dtype(source), value_dtype(result)
    held = value_dtype(result, shadow)
    return lambda x: x.to(before).view(after).to(held)


_CONVERSION: dict[str, Maker] = {
    "arith.extf": _convert(lambda x, to: x.to(to)),
    "arith.truncf": _convert(lambda x, to: x.to(to)),
    "arith.convertf": _convert(lambda x, to: x.to(to)),
    "arith.extsi": _convert(_extsi),
    "arith.extui": _convert(lambda x, to: _unsigned_wide(x).to(to)),
    "arith.trunci": _convert(_trunci),
    "arith.sitofp": _convert(_sitofp),
    "arith.uitofp": _convert(_uitofp),
    "arith.fptosi": _convert(_fptosi),
    "arith.fptoui": _convert(_fptoui),
    "arith.index_cast": _convert(_index_cast),
    "arith.index_castui": _convert(
        lambda x, to: _unsigned_wide(x).to(to) if to != torch.bool else _trunci(x, to)
    ),
    "arith.bitcast": _bitcast,
    "arith.cmpi": _predicate(_CMPI),
    "arith.cmpf": _predicate(_CMPF),
}

# --- math ----------------------------------------------------------------------------------------------------------------------


def _round_away(x: Tensor) -> Tensor:
    """To the nearest integer, halves away from zero; exact, unlike floor(x + 0.5)."""
    whole = x.trunc()
    return torch.where((x - whole).abs() >= 0.5, whole + torch.copysign(torch.ones_like(x), x), whole)


def _fma(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """a*b + c through float64, where the product of two float32 is exact."""
    return (a.double() * b.double() + c.double()).to(a.dtype)


def _cbrt(x: Tensor) -> Tensor:
    root = torch.sign(x) * x.abs().double().pow(1.0 / 3.0).to(x.dtype)
    return torch.where(x == 0, x, root)


def _wide_float(function: Function) -> Function:
    """Computes a float32 function in float64, where torch's own float32 version is less exact than libm's."""
    return lambda x: function(x.double()).to(x.dtype)


def _leading_zeros(x: Tensor) -> Tensor:
    bits = torch.iinfo(x.dtype).bits
    smeared = x.clone()
    for step in (1, 2, 4, 8, 16, 32):
        if step < bits:
            smeared |= _shift_right(smeared, step)
    return bits - _popcount(smeared)


def _shift_right(x: Tensor, by: int) -> Tensor:
    return (x >> by) & ~(-1 << (torch.iinfo(x.dtype).bits - by))


def _trailing_zeros(x: Tensor) -> Tensor:
    return _popcount(~x & (x - 1))


def _popcount(x: Tensor) -> Tensor:
    total = torch.zeros_like(x)
    for bit in range(torch.iinfo(x.dtype).bits):
        total += (x >> bit) & 1
    return total


def _ipow(base: Tensor, exponent: Tensor) -> Tensor:
    positive = torch.pow(base, exponent.clamp(min=0))
    odd = torch.where(exponent % 2 == 0, torch.ones_like(base), base)
    inverse = torch.where(
        base == 1, torch.ones_like(base), torch.where(base == -1, odd, torch.zeros_like(base))
    )
    return torch.where(exponent >= 0, positive, inverse)


def _isnormal(x: Tensor) -> Tensor:
    return torch.isfinite(x) & (x.abs() >= torch.finfo(x.dtype).tiny)


def _clamp(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(x, low), high)


_MATH: dict[str, Function] = {
    "math.absf": torch.abs,
    "math.absi": torch.abs,
    "math.acos": torch.acos,
    "math.acosh": torch.acosh,
    "math.asin": torch.asin,
    "math.asinh": torch.asinh,
    "math.atan": torch.atan,
    "math.atan2": torch.atan2,
    "math.atanh": torch.atanh,
    "math.cbrt": _cbrt,
    "math.ceil": torch.ceil,
    "math.clampf": _clamp,
    "math.copysign": torch.copysign,
    "math.cos": torch.cos,
    "math.cosh": torch.cosh,
    "math.ctlz": _leading_zeros,
    "math.ctpop": _popcount,
    "math.cttz": _trailing_zeros,
    "math.erf": torch.erf,
    "math.erfc": torch.erfc,
    "math.exp": torch.exp,
    "math.exp2": torch.exp2,
    "math.expm1": torch.expm1,
    "math.floor": torch.floor,
    "math.fma": _fma,
    "math.fpowi": lambda x, n: torch.pow(x, n.to(x.dtype)),
    "math.ipowi": _ipow,
    "math.isfinite": torch.isfinite,
    "math.isinf": torch.isinf,
    "math.isnan": torch.isnan,
    "math.isnormal": _isnormal,
    "math.log": torch.log,
    "math.log10": torch.log10,
    "math.log1p": torch.log1p,
    "math.log2": torch.log2,
    "math.powf": torch.pow,
    "math.round": _round_away,
    "math.roundeven": torch.round,
    "math.rsqrt": torch.rsqrt,
    "math.sin": torch.sin,
    "math.sincos": lambda x: (torch.sin(x), torch.cos(x)),
    "math.sinh": torch.sinh,
    "math.sqrt": torch.sqrt,
    "math.tan": torch.tan,
    "math.tanh": torch.tanh,
    "math.trunc": torch.trunc,
}

# --- C functions ---------------------------------------------------------------------------------------------------------------


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    return torch.ldexp(x, exponent.to(torch.int32)).to(x.dtype)


def _tgamma(x: Tensor) -> Tensor:
    wide = x.double()
    reflected = math.pi / (torch.sin(math.pi * wide) * torch.exp(torch.lgamma(1 - wide)))
    result = torch.where(wide < 0.5, reflected, torch.exp(torch.lgamma(wide)))
    return torch.where((wide < 0) & (wide == wide.floor()), math.nan, result).to(x.dtype)


def _special(name: str) -> Function:
    return getattr(torch.special, name)


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    """IEEE 754's remainder: x - n*y with n the integer nearest to x/y, even where two are."""
    size = y.abs()
    rest = torch.fmod(x, 2 * size).abs()
    less = rest - size
    rest = torch.where(2 * rest > size, torch.where(2 * less >= size, less - size, less), rest)
    return torch.where(torch.signbit(x), -rest, rest)


#: ``fuse.libm`` by the C (or libdevice) name without the type suffix.
LIBM: dict[str, Function] = _table(
    {name.removeprefix("math."): f for name, f in _MATH.items() if name.removeprefix("math.") not in
     ("absf", "absi", "clampf", "ctlz", "ctpop", "cttz", "fpowi", "ipowi", "isfinite", "isnormal", "powf", "roundeven", "sincos")},
    {
        "airy_ai": _special("airy_ai"),
        "cyl_bessel_i0": torch.special.i0,
        "cyl_bessel_i1": torch.special.i1,
        "digamma": torch.digamma,
        "erfcinv": lambda x: torch.erfinv(1.0 - x.double()).to(x.dtype),
        "erfcx": torch.special.erfcx,
        "erfinv": torch.erfinv,
        "exp10": lambda x: torch.pow(10.0, x),
        "fabs": torch.abs,
        "fdim": lambda a, b: torch.where(a.isnan() | b.isnan(), math.nan, torch.clamp(a - b, min=0)).to(a.dtype),
        "fmax": torch.fmax,
        "fmin": torch.fmin,
        "fmod": torch.fmod,
        "hypot": torch.hypot,
        "i0": torch.special.i0,
        "i0e": torch.special.i0e,
        "i1": torch.special.i1,
        "i1e": torch.special.i1e,
        "igamma": torch.special.gammainc,
        "igammac": torch.special.gammaincc,
        "j0": torch.special.bessel_j0,
        "j1": torch.special.bessel_j1,
        "ldexp": _ldexp,
        "lgamma": torch.lgamma,
        "log_ndtr": torch.special.log_ndtr,
        "logb": lambda x: torch.floor(torch.log2(x.abs())),
        "ndtri": torch.special.ndtri,
        "nearbyint": torch.round,
        "nextafter": torch.nextafter,
        "normcdf": torch.special.ndtr,
        "normcdfinv": torch.special.ndtri,
        "pow": torch.pow,
        "remainder": _remainder,
        "rint": torch.round,
        "sigmoid": torch.sigmoid,
        "tgamma": _tgamma,
        "y0": torch.special.bessel_y0,
        "y1": torch.special.bessel_y1,
        "zeta": torch.special.zeta,
    },
)  # fmt: skip


def _libm(op: ir.Operation, shadow: bool) -> Function:
    name = ir.StringAttr(op.attributes["fn"]).value
    if name not in LIBM:
        raise RunError(f"fuse.libm knows no function {name!r}", op.location)
    return LIBM[name]


def _plain(function: Function) -> Maker:
    return lambda op, shadow: function


#: Ops that need no attribute: op name -> function.
FUNCTIONS: dict[str, Function] = _table(_INTEGER, _FLOAT, _MATH)

#: Op name -> (op, shadow) -> function of its operands' tensors; ops with several results return a tuple.
ELEMENTWISE: dict[str, Maker] = _table(
    {name: _plain(f) for name, f in FUNCTIONS.items()}, _CONVERSION, {"fuse.libm": _libm}
)


def element_type(type_: ir.Type) -> ir.Type:
    """The element type of a tile; a scalar type itself."""
    return ir.RankedTensorType(type_).element_type if isinstance(type_, ir.RankedTensorType) else type_


def elementwise(op: ir.Operation, shadow: bool) -> Function | None:
    """The function that ``op`` applies to its operands, or None for an op that is not elementwise."""
    make = ELEMENTWISE.get(op.name)
    return None if make is None else make(op, shadow)


def constant_value(op: ir.Operation) -> bool | int | float:
    """The number of an ``arith.constant`` (of a splat, its element)."""
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        attribute = attribute.get_splat_value()
    if isinstance(attribute, bool | int | float):
        return attribute
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr):
        return attribute.value
    return ir.FloatAttr(attribute).value
