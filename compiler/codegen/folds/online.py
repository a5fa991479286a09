"""Folds that read a row once: mean and squared deviations (Welford, Chan), maximum and sum of exponentials
(online softmax).  In a loop each thread keeps one pair for all elements of a block that it holds.  After the
loop the pairs of all threads are folded.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir.dialects import tt
from ...mlir import ir
from ..tile_builder import TileBuilder, exact_inverse, ordinary_constant, shape_of
from ..tile_math import quotient_by_row
from .fold import SHORT, Fold, Lanes, Part, filled, fold_parts
from .reduce import Values, combine_kind, fold, fold_tree, reshaped


@dataclass(frozen=True)
class Welford(Fold):
    """Mean and sum of squared deviations (m2).

    Over a resident axis: the mean, then the deviations from it, with the correction of ``corrected`` where
    the sum of equal elements is not exact.

    Over a looped axis: each step computes the mean and m2 of the elements of the block that one thread holds,
    and Chan's formula adds them to the running pair (for one element that is Welford's update).  After the
    loop the lanes are combined at once.  Each has a mean and an m2 of its n points; with their common mean M,
    M2 = sum(m2 + n*(mean - M)^2), corrected where the mean of equal lanes is not exact.

    ``exact``: up to this many equal elements, every sum is exact.  Two more kinds of sum of equal elements
    are exact.  One is a tree over a power of two of them: each of its sums is one element times a power of
    two.  The other is four added one by one: the sum of three is wrong by at most half a unit in the last
    place of four times the element; where it is exactly half, the last addition is a tie and rounds back.
    """

    exact: int = 2

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        """Returns the mean and m2.  Where these are corrected, two more values follow: the deviations from
        the uncorrected mean, and the correction (corrected minus uncorrected mean).  Their difference is x -
        mean.  It is 0 for equal elements, and x itself is no longer needed.
        """
        return self.of_parts(builder, [(operands, lanes)])

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        values = [builder.to(operands[0], lanes.shape) for operands, lanes in parts]
        add, count = combine_kind("sum"), parts[0][1].count(tt.element_of(values[0].type))
        held = [[filled(builder, v, 0.0, lanes)] for v, (_, lanes) in zip(values, parts, strict=True)]
        [total] = fold_parts(builder, held, parts, add)
        exact = self._holds(ordinary_constant(count))
        mean = divide(builder, total, count, exact)
        deviations = apart = [_minus(builder, v, mean) for v in values]
        if exact:
            apart = [_square(builder, v) for v in apart]
        apart = [filled(builder, v, 0.0, lanes) for v, (_, lanes) in zip(apart, parts, strict=True)]
        if exact:
            return [mean, *fold_parts(builder, [[v] for v in apart], parts, add)]
        held = [[v, _square(builder, v)] for v in apart]
        better, m2 = corrected(builder, mean, fold_parts(builder, held, parts, both), count)
        return [better, m2, deviations[0], _minus(builder, better, mean)]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        zero = builder.constant(0.0, elements[0], lanes.folded)
        return [zero, zero]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """The weight of a block is a quotient that is exact to two units in the last place.  Its error
        changes the mean by a tiny part of one deviation only.
        """
        value = reshaped(builder, builder.to(operands[0], lanes.shape), lanes.owned)
        element = tt.element_of(value.type)
        one, before = builder.constant(1.0, element), builder.cast("arith.sitofp", iteration, element)
        weight = builder.elementwise("arith.divf", [one, _plus(builder, before, one)])
        mean, m2 = state
        if lanes.own > 1:
            own, add = lanes.own_axis, combine_kind("sum")
            if lanes.own <= max(self.exact, SHORT):
                [total] = fold(builder, [value], [own], add)
            else:
                total = fold_tree(builder, value, own, add)
            center = _times(builder, total, builder.constant(1.0 / lanes.own, element))
            squares = _square(builder, _minus(builder, value, center))
            [spread] = fold(builder, [squares], [own], add)
            deviation = _minus(builder, center, mean)
            points = _times(builder, before, builder.constant(float(lanes.own), element))
            moved = _times(builder, _square(builder, deviation), _times(builder, points, weight))
            after = [
                _plus(builder, mean, _times(builder, deviation, weight)),
                _plus(builder, _plus(builder, m2, spread), moved),
            ]
            if lanes.mask is None:
                return after
            held = _all_held(builder, lanes)
            return [builder.select(held, new, old) for new, old in zip(after, state, strict=True)]
        deviation = _minus(builder, value, mean)
        moved = _plus(builder, mean, _times(builder, deviation, weight))
        grown = _plus(builder, m2, _times(builder, deviation, _minus(builder, value, moved)))
        if lanes.mask is None:
            return [moved, grown]
        return [builder.select(lanes.mask, moved, mean), builder.select(lanes.mask, grown, m2)]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        assert seen is not None
        mean, m2 = lane_by_lane(builder, state, lanes)
        element = tt.element_of(mean.type)
        count = lanes.count(element)
        add, held = combine_kind("sum"), math.prod(shape_of(mean)[axis] for axis in lanes.axes)
        if lanes.even:
            weight = _times(builder, count, builder.constant(1.0 / held, element))
        elif lanes.own > 1:
            trips = [reshaped(builder, seen(element), lanes.owned)]
            trips = lane_by_lane(builder, fold(builder, trips, [lanes.own_axis], combine_kind("max")), lanes)
            weight = _times(builder, trips[0], builder.fill(float(lanes.own), trips[0]))
        else:
            weight = seen(element)
        known = ordinary_constant(count)
        if known is not None and lanes.even and lanes.tree(shape_of(mean)):
            [total] = fold(builder, [mean], lanes.axes, add)
            first, exact = _times(builder, total, builder.constant(1.0 / held, element)), True
        else:
            exact = self._holds(known)
            [total] = fold(builder, [_times(builder, mean, weight)], lanes.axes, add)
            first = divide(builder, total, count, exact)
        apart = _minus(builder, mean, first)
        weighted = _times(builder, apart, weight)
        squares = _plus(builder, m2, _times(builder, weighted, apart))
        if exact:
            return [first, *fold(builder, [squares], lanes.axes, add)]
        return corrected(builder, first, fold(builder, [weighted, squares], lanes.axes, both), count)

    def _holds(self, points: float | None) -> bool:
        """Whether sums of ``points`` equal elements are exact; ``points`` is None where it is not known."""
        return points is not None and points <= self.exact


#: An m2 below this part of the sum of squares is rounding error only.  It is at least the error of two sums
#: of squares and a product, for threads that add up 250 elements each.
_ROUNDING = {"f32": 2.0**-14, "f64": 2.0**-43}


def corrected(builder: TileBuilder, first: ir.Value, sums: Values, count: ir.Value) -> Values:
    """The mean and m2 of n points, from a first approximation ``first`` of their mean and from ``sums``: the
    sum ``total`` of the deviations from ``first``, and the sum ``squares`` of their squares.  The results are
    first + total / n and squares - total^2 / n, the corrected two-pass algorithm (Chan, Golub and LeVeque
    1983, Algorithms for computing the sample variance, eq. 1.7).  ``count``: n.

    Errors.  Each thread adds k elements one by one; a tree adds the threads.  Let h be k plus the height of
    the tree, and u half a unit in the last place of 1.  The first mean is wrong by up to h * u * mean(|x|);
    for equal elements c, by k / 4 * u * |c| (``folds/simple.py``).  Without the correction, the square of
    that error is added to the variance, and may exceed it where the mean is far from 0; deviations of equal
    elements are then not 0.  With it, the mean is wrong by u * |mean| + h * u * mean(|x - first|), and m2 by
    2 * h * u * squares.

    Equal elements c have exact, equal deviations of a few units in the last place of c.  The mean of these is
    wrong by a small part (2 * h * u) of itself, so that first plus it rounds to c.  Their m2 is a difference
    of equal numbers, wrong by 2 * h * u * squares; so an m2 below that, or negative, becomes 0.  A row loses
    its true m2 by this only if its elements differ by less than half a unit in the last place.

    The mean is corrected only where it is at least the standard deviation.  Below that, the deviations cannot
    improve it: x - first drops the same low bits of first for all x of one exponent, so that the mean of the
    deviations is wrong by up to u * mean(|x|), which is many units of a mean near 0.  The first mean is then
    as accurate as its sum.

    If the sum of deviations is NaN or infinite, nothing is corrected: the mean is the first mean, which is
    infinite where the sum of the row is.
    """
    total, squares = sums
    finite = builder.cmpf("olt", builder.elementwise("math.absf", [total]), builder.fill(math.inf, total))
    total = builder.select(finite, total, builder.fill(0.0, total))
    known = ordinary_constant(count)
    inverse = None if known is None else builder.fill(1.0 / known, count)
    correction = divide(builder, total, count) if inverse is None else _times(builder, total, inverse)
    m2 = _minus(builder, squares, _times(builder, total, correction))
    rounding = _ROUNDING[str(tt.element_of(squares.type))]
    least = _times(builder, squares, builder.fill(rounding, squares))
    nothing, zero = builder.cmpf("olt", m2, least), builder.fill(0.0, m2)
    far = builder.cmpf("oge", _times(builder, _square(builder, first), count), squares)
    mean = _plus(builder, first, builder.select(far, correction, zero))
    return [mean, builder.select(nothing, zero, m2)]


def both(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
    """Adds two pairs elementwise, to fold two sums together."""
    return [_plus(builder, a, b) for a, b in zip(left, right, strict=True)]


def _all_held(builder: TileBuilder, lanes: Lanes) -> ir.Value:
    """For a block whose mask keeps all elements of a thread or none: a tile of shape ``folded`` that is true
    where it keeps them.
    """
    assert lanes.mask is not None
    mask = reshaped(builder, builder.to(lanes.mask, lanes.shape), lanes.owned)
    [held] = fold(builder, [builder.cast("arith.extui", mask, "i32")], [lanes.own_axis], combine_kind("min"))
    return builder.cmpi("ne", held, builder.fill(0, held))


def _square(builder: TileBuilder, value: ir.Value) -> ir.Value:
    return _times(builder, value, value)


def _plus(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.elementwise("arith.addf", [a, b])


def _minus(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.elementwise("arith.subf", [a, b])


def _times(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.elementwise("arith.mulf", [a, b])


def divide(builder: TileBuilder, a: ir.Value, b: ir.Value, precise: bool = False) -> ir.Value:
    """a / b, rounded once if ``precise``, else exact to two units in the last place.  A product with a
    rounded inverse would not do: Triton would contract it with a difference that follows, so that the number
    subtracted there would not be the number added later.
    """
    inverse = exact_inverse(b)
    if inverse is not None:
        return _times(builder, a, builder.fill(inverse, b))
    if precise and str(tt.element_of(a.type)) == "f32":
        return quotient_by_row(builder, a, b)
    return builder.elementwise("arith.divf", [a, b])


@dataclass(frozen=True)
class Softmax(Fold):
    """max and sum(exp(x - max)).  In a loop, the elements of a block that one thread holds share a maximum
    and a sum.  The sum is rescaled once for all of them: one exp for each element and one for the rescaling.
    The maximum starts from the lowest finite number, so that an element of minus infinity adds nothing.  A
    row of minus infinities gives (-inf, NaN), as exp(-inf + inf) does.
    """

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self.of_parts(builder, [(operands, lanes)])

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        values = [[filled(builder, operands[0], -math.inf, lanes)] for operands, lanes in parts]
        [top] = fold_parts(builder, values, parts, combine_kind("max"))
        held = []
        for operands, lanes in parts:
            below = builder.elementwise("arith.subf", [builder.to(operands[0], lanes.shape), top])
            held.append([filled(builder, builder.elementwise("math.exp", [below]), 0.0, lanes)])
        return [top, *fold_parts(builder, held, parts, combine_kind("sum"))]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        shape = lanes.folded
        return [
            builder.constant(lowest_finite(elements[0]), elements[0], shape),
            builder.constant(0.0, elements[0], shape),
        ]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        value = reshaped(builder, filled(builder, operands[0], -math.inf, lanes), lanes.owned)
        own = [lanes.own_axis] if lanes.own > 1 else []
        top, total = state
        [block] = fold(builder, [value], own, combine_kind("max"))
        higher = builder.elementwise("arith.maximumf", [top, block])
        power = exp_of_nonpositive(builder, builder.elementwise("arith.subf", [value, higher]))
        factor = exp_of_nonpositive(builder, builder.elementwise("arith.subf", [top, higher]))
        [added] = fold(builder, [power], own, combine_kind("sum"))
        kept = builder.elementwise("arith.mulf", [total, factor])
        return [higher, builder.elementwise("arith.addf", [kept, added])]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        lane_top, lane_total = lane_by_lane(builder, state, lanes)
        [top] = fold(builder, [lane_top], lanes.axes, combine_kind("max"))
        factor = builder.elementwise("math.exp", [builder.elementwise("arith.subf", [lane_top, top])])
        [total] = fold(
            builder,
            [builder.elementwise("arith.mulf", [lane_total, factor])],
            lanes.axes,
            combine_kind("sum"),
        )
        empty = builder.cmpf("oeq", total, builder.fill(0.0, total))
        return [
            builder.select(empty, builder.fill(-math.inf, top), top),
            builder.select(empty, builder.fill(math.nan, total), total),
        ]


def exp_of_nonpositive(builder: TileBuilder, x: ir.Value) -> ir.Value:
    """exp(x) for x <= 0.  Results below 2**-126 may become 0, since they are added to a sum of at least 1.
    In f32 this saves three of five instructions: libdevice's exp2 flushes to zero, ``math.exp`` rescales
    instead.
    """
    if str(tt.element_of(x.type)) != "f32":
        return builder.elementwise("math.exp", [x])
    scaled = builder.elementwise("arith.mulf", [x, builder.fill(math.log2(math.e), x)])
    return builder.extern("__nv_exp2f", [scaled])


def lane_by_lane(builder: TileBuilder, state: Values, lanes: Lanes) -> Values:
    """Running tiles of shape ``folded``, reshaped to the axes of the block."""
    if lanes.own == 1:
        return state
    shape = (*lanes.shape[:-1], lanes.shape[-1] // lanes.own)
    return [reshaped(builder, v, shape) for v in state]


def lowest_finite(element: ir.Type) -> float:
    return -3.4028234663852886e38 if str(element) == "f32" else -1.7976931348623157e308
