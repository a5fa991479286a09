"""Short instruction sequences for float32 functions and quotients.  Each says how accurate it is, and where
it may be used.

They matter where a kernel is limited by the instructions that it issues for each element.  IEEE's quotient
and libdevice's functions cost 12 to 30 instructions and a branch for every element.  The basic blocks of
these branches also keep ptxas from packing conversions.
"""

import math
import struct
from collections.abc import Sequence
from fractions import Fraction

from ..ir.dialects import tt
from ..mlir import ir
from . import nvidia
from .tile_bounds import at_least, splat_constant
from .tile_builder import TileBuilder, shape_of

#: erf(x) = 1 - (a1 t + .. + a5 t**5) exp(-x*x), t = 1 / (1 + p x), for x >= 0: Abramowitz and Stegun, 7.1.26.
_ERF_P = 0.3275911
_ERF_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
#: log2(1 - erf(x)) = x (b1 + b2 x + .. + b5 x**4) for x >= 0, fitted by reweighted least squares to the least
#: maximum of the error of 1 - erf(x), relative to it and 6e-3 more: 1.5e-5.  Beyond 4, where 1 - erf(x) is
#: less than a unit in the last place of 1, the polynomial falls on.
_LOG_ERFC = (-1.62751579, -0.920521021, -0.145351931, 2.74807457e-2, -2.49094376e-3)
#: tanh(x) = x * over(x*x) / under(x*x) up to _TANH_END, fitted by reweighted least squares to the least
#: maximum of the relative error: 1.0e-5, which is also 1 - tanh(_TANH_END).
_TANH_END = 6.3
_TANH_OVER = (0.999989945, 0.114258434, 1.47788013e-3)
_TANH_UNDER = (1.0, 0.447525402, 1.73948025e-2, 5.39560662e-5)


def _times(builder: TileBuilder, a: ir.Value, b: ir.Value | float) -> ir.Value:
    return builder.elementwise("arith.mulf", [a, builder.fill(b, a) if isinstance(b, float) else b])


def _plus(builder: TileBuilder, a: ir.Value, b: float) -> ir.Value:
    return builder.elementwise("arith.addf", [a, builder.fill(b, a)])


def _minus(builder: TileBuilder, a: ir.Value) -> ir.Value:
    return builder.elementwise("arith.subf", [builder.fill(-0.0, a), a])


def _reciprocal(builder: TileBuilder, b: ir.Value) -> ir.Value:
    """1 / b, exact to a unit in the last place, in one instruction; 0 for b above 2**126."""
    return builder.extern(nvidia.RECIPROCAL, [b])


# --- quotients --------------------------------------------------------------------------------------------
#: Divisors of at least this size count as ordinary: not small.
_ORDINARY = 2.0**-60
#: Divisors of at least this size have a reciprocal of full precision.
_INVERTIBLE = 2.0**-100


def coarse_quotient(builder: TileBuilder, a: ir.Value, b: ir.Value, *, is_moderate: bool = False) -> ir.Value:
    """a / b, exact to 4 units in the last place, without the branch for every element that the IEEE form has.

    Where one divisor serves many elements, these are multiplied by its reciprocal.  A divisor whose
    reciprocal could overflow is scaled up first, and so are the elements.  An ordinary divisor (``ordinary``)
    needs no scaling: above 2**126 it gives 0, where the quotient is less than ``a`` times 2**-126.
    Neither does a moderate one (``quotient_by_moderate``).
    """
    if math.prod(shape_of(b)) >= math.prod(shape_of(a)):
        if is_moderate:
            return _times(builder, a, _reciprocal(builder, b))
        if ordinary(b):
            return builder.extern(nvidia.FAST_DIVIDE, [a, b])
        return builder.elementwise("arith.divf", [a, b])
    one = builder.fill(1.0, b)
    if is_moderate or at_least(b) >= _INVERTIBLE:
        return _times(builder, a, builder.elementwise("arith.divf", [one, b]))
    small = builder.cmpf("olt", builder.elementwise("math.absf", [b]), builder.fill(_INVERTIBLE, b))
    scale = builder.select(small, builder.fill(2.0**64, b), one)
    reciprocal = builder.elementwise("arith.divf", [one, _times(builder, b, scale)])
    return _times(builder, _times(builder, a, scale), reciprocal)


def ordinary(b: ir.Value) -> bool:
    """Whether a divisor is known to be at least 2**-60."""
    return at_least(b) >= _ORDINARY


def quotient_by_ordinary(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """a / b for ``ordinary`` b.  An approximate quotient is corrected by the remainder, what it leaves of
    ``a``.  The result is IEEE's, except for about one rounding in a million.

    A divisor above 2**126 gives 0, where IEEE's quotient is less than ``a`` times 2**-126.
    """
    constant = splat_constant(a)
    if constant is None or not math.isfinite(constant):
        return _corrected(builder, a, b, _reciprocal(builder, b))
    b = builder.elementwise("arith.minimumf", [b, builder.fill(2.0**127, b)])  # infinity times 0 is NaN
    return _corrections(builder, a, b, _reciprocal(builder, b))[1]


def quotient_by_constant(builder: TileBuilder, a: ir.Value, divisor: float) -> ir.Value:
    """a / ``divisor``, a constant far from the ends of the range, and no power of two.

    The product of ``a`` with 1 / ``divisor``, which is held as the sum of two float32 numbers: one
    multiplication, and one multiplication and addition that rounds once.  The result is IEEE's, except for
    about one rounding in a million, and for subnormal results, which may be off by a unit in the last place.

    The first number is 1 / ``divisor`` rounded towards 0, so that the second has its sign: an infinite ``a``
    gives the sum of two infinities of the same sign.  Source: Brisebarre, Muller and Raina, Accelerating
    correctly rounded floating-point division when the divisor is known in advance, 2004.
    """
    high, low = _inverse(divisor)
    rest = _times(builder, a, low)
    return builder.elementwise("math.fma", [a, builder.fill(high, a), rest])


def _inverse(divisor: float) -> tuple[float, float]:
    """1 / ``divisor`` as two float32 numbers of one sign: rounded towards 0, and what that leaves."""
    exact = 1 / Fraction(divisor)
    (bits,) = struct.unpack("<i", struct.pack("<f", 1.0 / divisor))
    (high,) = struct.unpack("<f", struct.pack("<i", bits))
    if abs(Fraction(high)) > abs(exact):
        (high,) = struct.unpack("<f", struct.pack("<i", bits - 1))  # the number next to it, towards 0
    return high, float(exact - Fraction(high))


def quotient_by_row(builder: TileBuilder, a: ir.Value, b: ir.Value, *, is_moderate: bool = False) -> ir.Value:
    """a / b where one divisor serves many elements, as ``quotient_by_constant``: the sum of the products with
    the two parts of 1 / b.  The result is IEEE's, except for about one rounding in some millions, and for
    quotients below 2**-100, which may be off by a unit in the last place.

    A divisor near the ends of the range is scaled so that both parts are accurate, and ``a`` is scaled with
    it.  A moderate one (``quotient_by_moderate``) is not.  The first part is rounded towards 0, so that the
    second has its sign; of a divisor that is 0 or infinite, both are its reciprocal.
    """
    if not is_moderate:
        scale = _divisor_scale(builder, b)
        a, b = _times(builder, a, scale), _times(builder, b, scale)
    reciprocal = builder.elementwise("tt.precise_divf", [builder.fill(1.0, b), b])
    high = _times(builder, reciprocal, 1 - 2.0**-23)
    left = builder.elementwise("math.fma", [_minus(builder, b), high, builder.fill(1.0, b)])
    low = _times(builder, left, reciprocal)
    finite = builder.cmpf("ord", low, low)  # infinity times 0 is NaN
    low = builder.select(finite, low, reciprocal)
    return builder.elementwise("math.fma", [a, high, _times(builder, a, low)])


def quotient(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """a / b as IEEE has it, element by element, without a branch: as ``quotient_by_row``, with an approximate
    reciprocal, which is exact to a unit in the last place.  About one rounding in some millions differs.
    Numerators below 2**-100 may give two units in the last place more or less.

    IEEE's own form is shorter by two instructions, but each element has a basic block of its own, so that
    a thread waits for one after the other.  It also calls a function of about 60 instructions for a warp in
    which any numerator is 0: relus, differences that are clamped, and lanes beyond the end of a row.
    """
    scale = _divisor_scale(builder, b)
    a, b = _times(builder, a, scale), _times(builder, b, scale)
    return _corrected(builder, a, b, _reciprocal(builder, b))


def quotient_by_moderate(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """``quotient`` by a divisor that needs no scale: its size is 0, infinite, or between 2**-100 and 2**100
    (``analysis/kernel/moderate.py``).
    """
    return _corrected(builder, a, b, _reciprocal(builder, b))


def quotient_of_constant(builder: TileBuilder, a: float, b: ir.Value) -> ir.Value:
    """a / b for a constant ``a`` far from the ends of the range: as ``quotient``.  The numerator has bits to
    spare, so that one scale serves divisors that are not small, of which the largest needs it.
    """
    size = builder.elementwise("math.absf", [b])
    small = builder.cmpf("olt", size, builder.fill(1.0, b))
    scale = builder.select(small, builder.fill(2.0**24, b), builder.fill(0.25, b))
    over = builder.select(small, builder.fill(a * 2.0**24, b), builder.fill(a * 0.25, b))
    b = _times(builder, b, scale)
    return _corrected(builder, over, b, _reciprocal(builder, b))


def _divisor_scale(builder: TileBuilder, b: ir.Value) -> ir.Value:
    """By what a divisor near the ends of the range is multiplied so that its reciprocal is accurate: a power
    of two.
    """
    size = builder.elementwise("math.absf", [b])
    small = builder.cmpf("olt", size, builder.fill(_INVERTIBLE, b))
    large = builder.cmpf("ogt", size, builder.fill(2.0**100, b))
    scale = builder.select(small, builder.fill(2.0**64, b), builder.fill(1.0, b))
    return builder.select(large, builder.fill(2.0**-64, b), scale)


def _corrected(builder: TileBuilder, a: ir.Value, b: ir.Value, reciprocal: ir.Value) -> ir.Value:
    """a * reciprocal, plus the reciprocal times the remainder of ``a``.  This is a / b rounded once, if
    ``reciprocal`` is 1 / b to a unit in the last place.  Infinities and NaN are those of the product, and so
    is a quotient of 0 with its sign: a remainder of 0 would add a 0 of the reciprocal's sign.
    """
    guess, corrected = _corrections(builder, a, b, reciprocal)
    return builder.select(builder.cmpf("one", corrected, builder.fill(0.0, a)), corrected, guess)


def _corrections(
    builder: TileBuilder, a: ir.Value, b: ir.Value, reciprocal: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """a * reciprocal, and that corrected by what it leaves of ``a``, which is NaN for what is not finite."""
    guess = _times(builder, a, reciprocal)
    left = builder.elementwise("math.fma", [b, guess, _minus(builder, a)])
    return guess, builder.elementwise("math.fma", [_minus(builder, left), reciprocal, guess])


def remainder_by_power(builder: TileBuilder, a: ir.Value, divisor: float) -> ir.Value:
    """What a division by a power of two of at least 1, rounded to 0, leaves of a float32: exact, and in four
    instructions, where libdevice's function has loops.  Smaller divisors would make quotients overflow.
    """
    whole = builder.extern(nvidia.TRUNC, [_times(builder, a, 1 / divisor)])
    rest = builder.elementwise("math.fma", [whole, builder.fill(-divisor, a), a])
    return builder.extern(nvidia.COPYSIGN, [rest, a])


def square_root(builder: TileBuilder, x: ir.Value) -> ir.Value:
    """The root as IEEE has it, element by element, without a branch: x times an approximate reciprocal root,
    corrected by half of what its square leaves of ``x``.  A rounding in some millions differs.

    As ``quotient`` does, it spares the call for a warp in which any element is 0.  A small ``x`` is scaled so
    that what is left is exact.
    """
    small = builder.cmpf("olt", x, builder.fill(_INVERTIBLE, x))
    scaled = _times(builder, x, builder.select(small, builder.fill(2.0**64, x), builder.fill(1.0, x)))
    over = builder.extern(nvidia.RSQRT, [scaled])
    guess = _times(builder, scaled, over)
    left = builder.elementwise("math.fma", [_minus(builder, guess), guess, scaled])
    root = builder.elementwise("math.fma", [left, _times(builder, over, 0.5), guess])
    root = _times(builder, root, builder.select(small, builder.fill(2.0**-32, x), builder.fill(1.0, x)))
    zero = builder.cmpf("oeq", x, builder.fill(0.0, x))  # the reciprocal root of it, or of infinity, times it
    kept = builder.elementwise("arith.ori", [zero, builder.cmpf("oeq", x, builder.fill(math.inf, x))])
    return builder.select(kept, x, root)


# --- functions --------------------------------------------------------------------------------------------
def exponential(builder: TileBuilder, x: ir.Value, flushes: bool) -> ir.Value:
    """exp(x).  If ``flushes``, results below 2**-126 may be 0, which saves 3 of 5 instructions."""
    if not flushes or str(tt.element_of(x.type)) != "f32":
        return builder.elementwise("math.exp", [x])
    return builder.extern(nvidia.EXP2, [_times(builder, x, math.log2(math.e))])


def erf(builder: TileBuilder, x: ir.Value, beside_one: bool) -> ir.Value:
    """erf(x).  If ``beside_one``, an absolute error of 3e-7 is allowed, which takes half the instructions of
    libdevice's function; that one has a small relative error also for small arguments.
    """
    if not beside_one:
        return builder.elementwise("math.erf", [x])
    size = builder.elementwise("math.absf", [x])
    t = _reciprocal(builder, _plus(builder, _times(builder, size, _ERF_P), 1.0))
    power = exponential(builder, _times(builder, x, _minus(builder, x)), True)
    rest = _times(builder, _times(builder, _polynomial(builder, t, _ERF_A), t), power)
    one = builder.fill(1.0, x)
    return builder.extern(nvidia.COPYSIGN, [builder.elementwise("arith.subf", [one, rest]), x])


def coarse_erf(builder: TileBuilder, x: ir.Value) -> ir.Value:
    """erf(x) for a use that adds it to 1 or takes it from 1, and is rounded to 16 bits: an error of up to
    2**-16 of 1 - erf(|x|), and of four roundings of 1.  It takes a special-function instruction less than
    ``erf``, and half of the others.
    """
    size = builder.elementwise("math.absf", [x])
    rest = builder.extern(nvidia.EXP2, [_times(builder, _polynomial(builder, size, _LOG_ERFC), size)])
    one = builder.fill(1.0, x)
    return builder.extern(nvidia.COPYSIGN, [builder.elementwise("arith.subf", [one, rest]), x])


def coarse_tanh(builder: TileBuilder, x: ir.Value) -> ir.Value:
    """tanh(x) with a relative error of up to 2**-16: a rational function, without a branch and with one
    special-function instruction.  libdevice's function takes up to 25 instructions and two special ones.
    """
    ends = [builder.fill(-_TANH_END, x), builder.fill(_TANH_END, x)]
    nan = {"propagateNan": builder.attribute(0xFFFF)}
    x = builder.elementwise("tt.clampf", [x, *ends], None, nan)
    square = _times(builder, x, x)
    over, under = (_polynomial(builder, square, c) for c in (_TANH_OVER, _TANH_UNDER))
    return builder.extern(nvidia.FAST_DIVIDE, [_times(builder, x, over), under])


def tanh_beside_one(builder: TileBuilder, x: ir.Value) -> ir.Value:
    """tanh(x) with an absolute error of up to 3e-7, for a use that adds it to 1: 1 - 2 / (1 + exp(2x))."""
    power = exponential(builder, _times(builder, x, 2.0), True)
    part = _reciprocal(builder, _plus(builder, power, 1.0))
    return _plus(builder, _times(builder, part, -2.0), 1.0)


def _polynomial(builder: TileBuilder, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A polynomial in x; the constant coefficient comes first."""
    total = builder.fill(coefficients[-1], x)
    for c in reversed(coefficients[:-1]):
        total = _plus(builder, _times(builder, total, x), c)
    return total
