"""Means and squared deviations from a first approximation of a mean: how they are corrected, and how the
squares are kept inside the range of the type.
"""

import math
from collections.abc import Sequence

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...mlir import ir
from ..tile_builder import TileBuilder, exact_inverse, ordinary_constant
from ..tile_math import quotient_by_row
from .reduce import Values

#: A power of two for each type, from which on a mean is large.
_LARGE = {"f32": 2.0**64, "f64": 2.0**512}


@dataclass(frozen=True)
class Center:
    """A first approximation of a mean, and the unit of the deviations from it.

    Deviations of equal elements are the rounding of that approximation.  For elements of 1e30 in f32 they may
    be 1e23, and their squares infinite, though m2 is 0.  So deviations from a large mean are divided by
    ``unit``, a power of two: that rounds nothing, and the unit is 1 for a mean that is not large.  Triton
    contracts the product with the inverse and the difference that follows, so that such a deviation is one
    instruction, as one that is not scaled.

    ``mean``: the approximation, not in units.  ``inverse``: 1 / ``unit``.  All have one shape.
    """

    mean: ir.Value
    unit: ir.Value
    inverse: ir.Value

    @staticmethod
    def at(builder: TileBuilder, mean: ir.Value) -> "Center":
        """The center ``mean``."""
        size = _LARGE[str(tt.element_of(mean.type))]
        large = builder.cmpf("oge", builder.elementwise("math.absf", [mean]), builder.fill(size, mean))
        one = builder.fill(1.0, mean)
        unit, inverse = (builder.select(large, builder.fill(v, mean), one) for v in (size, 1.0 / size))
        return Center(mean, unit, inverse)

    def deviation(self, builder: TileBuilder, value: ir.Value) -> ir.Value:
        """The deviation of ``value``, in units."""
        return minus(builder, times(builder, value, self.inverse), times(builder, self.mean, self.inverse))

    def sums(self, builder: TileBuilder, mean: ir.Value, m2: ir.Value, weight: ir.Value) -> Values:
        """Of lanes that have a mean and an m2 of ``weight`` points each: the sum of the deviations of these
        points, and the sum of the squares of the deviations, in units.
        """
        apart = self.deviation(builder, mean)
        weighted = times(builder, apart, weight)
        own = times(builder, times(builder, m2, self.inverse), self.inverse)
        return [weighted, plus(builder, own, times(builder, weighted, apart))]


#: An m2 below this part of the sum of squares is rounding error only.  It is at least the error of two sums
#: of squares and a product, for threads that add up 250 elements each.
_ROUNDING = {"f32": 2.0**-14, "f64": 2.0**-43}


def corrected(builder: TileBuilder, about: Center, sums: Values, count: ir.Value) -> Values:
    """The mean and m2 of n points, from a first approximation of their mean, ``about.mean``, and from
    ``sums``: the sum ``total`` of the deviations from it, and the sum ``squares`` of their squares, both in
    units of ``about``.  The results are about.mean + total / n and squares - total^2 / n, the corrected
    two-pass algorithm (Chan, Golub and LeVeque 1983, Algorithms for computing the sample variance, eq. 1.7),
    no longer in units.  ``count``: n.

    Errors.  Each thread adds k elements one by one; a tree adds the threads.  Let h be k plus the height of
    the tree, and u half a unit in the last place of 1.  The first mean is wrong by up to h * u * mean(|x|);
    for equal elements c, by k / 4 * u * |c| (``folds/simple.py``).  Without the correction, the square of
    that error is added to the variance, and may exceed it where the mean is far from 0; deviations of equal
    elements are then not 0.  With it, the mean is wrong by u * |mean| + h * u * mean(|x - about.mean|), and
    m2 by 2 * h * u * squares.

    Equal elements c have exact, equal deviations of a few units in the last place of c.  The mean of these is
    wrong by a small part (2 * h * u) of itself, so that about.mean plus it rounds to c.  Their m2 is a
    difference of equal numbers, wrong by 2 * h * u * squares; so an m2 below that, or negative, becomes 0.
    A row loses its true m2 by this only if its elements differ by less than half a unit in the last place.

    The mean is corrected only where it is at least the standard deviation.  Below that, the deviations cannot
    improve it: x - about.mean drops the same low bits of about.mean for all x of one exponent, so that the
    mean of the deviations is wrong by up to u * mean(|x|), which is many units of a mean near 0.  The first
    mean is then as accurate as its sum.  (A large mean, whose square is infinite, is always corrected.)

    If the sum of squares is NaN or infinite, nothing is corrected: the mean is the first mean, which is
    infinite where the sum of the row is, and m2 is the sum of squares.
    """
    total, squares = sums
    finite = builder.cmpf("olt", squares, builder.fill(math.inf, squares))
    total = builder.select(finite, total, builder.fill(0.0, total))
    known = ordinary_constant(count)
    inverse = None if known is None else builder.fill(1.0 / known, count)
    correction = divide(builder, total, count) if inverse is None else times(builder, total, inverse)
    m2 = minus(builder, squares, times(builder, total, correction))
    rounding = _ROUNDING[str(tt.element_of(squares.type))]
    least = times(builder, squares, builder.fill(rounding, squares))
    nothing, zero = builder.cmpf("olt", m2, least), builder.fill(0.0, m2)
    far = builder.cmpf("oge", times(builder, square(builder, about.mean), count), squares)
    correction = times(builder, builder.select(far, correction, zero), about.unit)
    m2 = times(builder, builder.select(nothing, zero, m2), about.unit)
    return [plus(builder, about.mean, correction), times(builder, m2, about.unit)]


def both(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
    """Adds two pairs elementwise, to fold two sums together."""
    return [plus(builder, a, b) for a, b in zip(left, right, strict=True)]


def plus(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """a + b."""
    return builder.elementwise("arith.addf", [a, b])


def minus(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """a - b."""
    return builder.elementwise("arith.subf", [a, b])


def times(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """a * b."""
    return builder.elementwise("arith.mulf", [a, b])


def square(builder: TileBuilder, a: ir.Value) -> ir.Value:
    """a * a."""
    return times(builder, a, a)


def divide(builder: TileBuilder, a: ir.Value, b: ir.Value, precise: bool = False) -> ir.Value:
    """a / b, rounded once if ``precise``, else exact to two units in the last place.  A product with a
    rounded inverse would not do: Triton would contract it with a difference that follows, so that the number
    subtracted there would not be the number added later.
    """
    inverse = exact_inverse(b)
    if inverse is not None:
        return times(builder, a, builder.fill(inverse, b))
    if precise and str(tt.element_of(a.type)) == "f32":
        return quotient_by_row(builder, a, b)
    return builder.elementwise("arith.divf", [a, b])
