"""Folds that read a row once: mean and squared deviations (Welford, Chan), maximum and sum of exponentials
(online softmax).  In a loop each thread keeps one pair for all elements of a block that it holds.  After the
loop the pairs of all threads are folded.
"""

import math
from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...mlir import ir
from .. import nvidia
from ..tile_builder import TileBuilder, ordinary_constant, shape_of
from .fold import SHORT, FoldOfParts, Lanes, Part, filled, fold_parts
from .moments import Center, both, corrected, divide, minus, plus, square, times
from .reduce import Values, combine_kind, fold, fold_tree, reshaped


@dataclass(frozen=True)
class Welford(FoldOfParts):
    """Mean and sum of squared deviations (m2).

    Over a resident axis: the mean, then the deviations from it, with the correction of ``corrected`` where
    the sum of equal elements is not exact.

    Over a looped axis: each step computes the mean and m2 of the elements of the block that one thread holds,
    and Chan's formula adds them to the running pair (for one element that is Welford's update).  After the
    loop the lanes are combined at once.  Each has a mean and an m2 of its n points; with their common mean M,
    M2 = sum(m2 + n*(mean - M)^2), corrected where the mean of equal lanes is not exact.  Where there is one
    lane, its mean and m2 are the results.

    ``exact``: up to this many equal elements, every sum is exact.  Two more kinds of sum of equal elements
    are exact.  One is a tree over a power of two of them: each of its sums is one element times a power of
    two.  The other is four added one by one: the sum of three is wrong by at most half a unit in the last
    place of four times the element; where it is exactly half, the last addition is a tie and rounds back.
    """

    exact: int = 2

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        """Returns the mean and m2.  Where these are corrected, two more values follow: the deviations from
        the uncorrected mean, and the correction (corrected minus uncorrected mean).  Their difference is x -
        mean.  It is 0 for equal elements, and x itself is no longer needed.
        """
        values = [builder.to(operands[0], lanes.shape) for operands, lanes in parts]
        add, count = combine_kind("sum"), parts[0][1].count(tt.element_of(values[0].type))
        held = [[filled(builder, v, 0.0, lanes)] for v, (_, lanes) in zip(values, parts, strict=True)]
        [total] = fold_parts(builder, held, parts, add)
        exact = self._holds(ordinary_constant(count))
        mean = divide(builder, total, count, exact)
        if exact:
            apart = [square(builder, minus(builder, v, mean)) for v in values]
            held = [[filled(builder, v, 0.0, lanes)] for v, (_, lanes) in zip(apart, parts, strict=True)]
            return [mean, *fold_parts(builder, held, parts, add)]
        about = Center.at(builder, mean)
        deviations = [about.deviation(builder, v) for v in values]
        apart = [filled(builder, v, 0.0, lanes) for v, (_, lanes) in zip(deviations, parts, strict=True)]
        held = [[v, square(builder, v)] for v in apart]
        better, m2 = corrected(builder, about, fold_parts(builder, held, parts, both), count)
        return [better, m2, times(builder, deviations[0], about.unit), minus(builder, better, mean)]

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
        weight = builder.elementwise("arith.divf", [one, plus(builder, before, one)])
        mean, m2 = state
        if lanes.own > 1:
            own, add = lanes.own_axis, combine_kind("sum")
            if lanes.own <= max(self.exact, SHORT):
                [total] = fold(builder, [value], [own], add)
            else:
                total = fold_tree(builder, value, own, add)
            center = times(builder, total, builder.constant(1.0 / lanes.own, element))
            squares = square(builder, minus(builder, value, center))
            [spread] = fold(builder, [squares], [own], add)
            deviation = minus(builder, center, mean)
            points = times(builder, before, builder.constant(float(lanes.own), element))
            # Of the first block, deviation * 0 is 0; the square of a large deviation, times 0, would be NaN.
            moved = times(builder, deviation, times(builder, points, weight))
            after = [
                plus(builder, mean, times(builder, deviation, weight)),
                plus(builder, plus(builder, m2, spread), times(builder, deviation, moved)),
            ]
            if lanes.mask is None:
                return after
            held = _all_held(builder, lanes)
            return [builder.select(held, new, old) for new, old in zip(after, state, strict=True)]
        deviation = minus(builder, value, mean)
        moved = plus(builder, mean, times(builder, deviation, weight))
        grown = plus(builder, m2, times(builder, deviation, minus(builder, value, moved)))
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
        if not lanes.axes:
            if ordinary_constant(count) is not None:
                return [mean, m2]
            some = builder.cmpf("ogt", count, builder.fill(0.0, count))
            return [builder.select(some, v, builder.fill(math.nan, v)) for v in (mean, m2)]
        add, held = combine_kind("sum"), math.prod(shape_of(mean)[axis] for axis in lanes.axes)
        if lanes.even:
            weight = times(builder, count, builder.constant(1.0 / held, element))
        elif lanes.own > 1:
            trips = [reshaped(builder, seen(element), lanes.owned)]
            trips = lane_by_lane(builder, fold(builder, trips, [lanes.own_axis], combine_kind("max")), lanes)
            weight = times(builder, trips[0], builder.fill(float(lanes.own), trips[0]))
        else:
            weight = seen(element)
        known = ordinary_constant(count)
        if known is not None and lanes.even and lanes.tree(shape_of(mean)):
            [total] = fold(builder, [mean], lanes.axes, add)
            first, exact = times(builder, total, builder.constant(1.0 / held, element)), True
        else:
            exact = self._holds(known)
            [total] = fold(builder, [times(builder, mean, weight)], lanes.axes, add)
            first = divide(builder, total, count, exact)
        if exact:
            apart = minus(builder, mean, first)
            squares = plus(builder, m2, times(builder, times(builder, apart, weight), apart))
            return [first, *fold(builder, [squares], lanes.axes, add)]
        about = Center.at(builder, first)
        sums = fold(builder, about.sums(builder, mean, m2, weight), lanes.axes, both)
        return corrected(builder, about, sums, count)

    def _holds(self, points: float | None) -> bool:
        """Whether sums of ``points`` equal elements are exact; ``points`` is None where it is not known."""
        return points is not None and points <= self.exact


def _all_held(builder: TileBuilder, lanes: Lanes) -> ir.Value:
    """For a block whose mask keeps all elements of a thread or none: a tile of shape ``folded`` that is true
    where it keeps them.
    """
    assert lanes.mask is not None
    mask = reshaped(builder, builder.to(lanes.mask, lanes.shape), lanes.owned)
    [held] = fold(builder, [builder.cast("arith.extui", mask, "i32")], [lanes.own_axis], combine_kind("min"))
    return builder.cmpi("ne", held, builder.fill(0, held))


@dataclass(frozen=True)
class Softmax(FoldOfParts):
    """max and sum(exp(x - max)).  In a loop, the elements of a block that one thread holds share a maximum
    and a sum.  The sum is rescaled once for all of them: one exp for each element and one for the rescaling.
    The maximum starts from the lowest finite number, so that an element of minus infinity adds nothing.  A
    row of minus infinities gives (-inf, NaN), as exp(-inf + inf) does.
    """

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
    return builder.extern(nvidia.EXP2, [scaled])


def lane_by_lane(builder: TileBuilder, state: Values, lanes: Lanes) -> Values:
    """Running tiles of shape ``folded``, reshaped to the axes of the block."""
    if lanes.own == 1:
        return state
    shape = (*lanes.shape[:-1], lanes.shape[-1] // lanes.own)
    return [reshaped(builder, v, shape) for v in state]


def lowest_finite(element: ir.Type) -> float:
    return -3.4028234663852886e38 if str(element) == "f32" else -1.7976931348623157e308
