"""The fold of a ``fuse.welford`` with weights: each value counts as often as its weight says, and not at all
where that is 0, whatever the value is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import ir
from ..tile_builder import TileBuilder, shape_of
from .fold import Fold, Lanes, Part, filled, fold_parts
from .online import both, corrected, divide
from .reduce import Values, combine_kind, fold


@dataclass(frozen=True)
class WeightedWelford(Fold):
    """Mean and sum of squared deviations (m2), by weights.

    Over a resident axis: the mean, then the deviations from it, with the correction of ``corrected``.

    Over a looped axis: each lane keeps a mean, an m2, and the sum W of its weights, and adds a value x of
    weight w by West's update (1979, Updating mean and variance estimates, 532-535): with d = x - mean, the
    mean moves by d * w / (W + w), and m2 grows by w * d * (x - moved mean).  The means of lanes are then
    combined as values are over a resident axis; where there is one lane, its mean is the result.  Weights
    mostly vary along few axes: W has extent 1 along the others (``Lanes.weights``), and w / (W + w) is
    computed once for all elements there.
    """

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self.of_parts(builder, [(operands, lanes)])

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        values, weights = [], []
        for (value, weight), lanes in parts:
            weight = filled(builder, weight, 0.0, lanes)
            value = builder.to(value, lanes.shape)
            values.append(_where(builder, weight, value, builder.fill(0.0, value)))
            weights.append(weight)
        pairs = list(zip(values, weights, strict=True))
        sums = [[_times(builder, v, w), w] for v, w in pairs]
        total, count = fold_parts(builder, sums, parts, both)
        ends = fold_parts(builder, [_ends(builder, v, w) for v, w in pairs], parts, _extremes)
        mean = _mean(builder, total, count, ends)
        sums = []
        for value, weight in pairs:
            apart = _minus(builder, value, mean)
            weighted = _times(builder, weight, apart)
            sums.append([weighted, _times(builder, weighted, apart)])
        return corrected(builder, mean, fold_parts(builder, sums, parts, both), count)

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        zero = builder.constant(0.0, elements[0], lanes.shape)
        return [zero, zero, builder.constant(0.0, elements[1], lanes.weights)]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        (mean, m2, before), (value, weight) = state, operands
        weight = builder.to(weight, lanes.weights)
        if lanes.mask is not None:
            weight = builder.select(builder.to(lanes.mask, lanes.weights), weight, builder.fill(0.0, weight))
        after = builder.elementwise("arith.addf", [before, weight])
        part = _where(
            builder, weight, builder.elementwise("arith.divf", [weight, after]), builder.fill(0.0, weight)
        )
        value = _where(builder, weight, builder.to(value, lanes.shape), mean)
        apart = _minus(builder, value, mean)
        moved = builder.elementwise("arith.addf", [mean, _times(builder, apart, part)])
        rest = _minus(builder, value, moved)
        grown = builder.elementwise("arith.addf", [m2, _times(builder, _times(builder, weight, apart), rest)])
        return [moved, grown, after]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        mean, m2, weights = state
        if not lanes.axes:
            none = builder.fill(math.nan, mean)
            return [_where(builder, weights, mean, none), _where(builder, weights, m2, none)]
        add = combine_kind("sum")
        [count] = fold(builder, [weights], lanes.axes, add)
        weight = builder.to(weights, shape_of(mean))
        [total] = fold(builder, [_times(builder, mean, weight)], lanes.axes, add)
        ends = fold(builder, _ends(builder, mean, weight), lanes.axes, _extremes)
        first = _mean(builder, total, count, ends)
        apart = _minus(builder, mean, first)
        weighted = _times(builder, apart, weight)
        squares = builder.elementwise("arith.addf", [m2, _times(builder, weighted, apart)])
        return corrected(builder, first, fold(builder, [weighted, squares], lanes.axes, both), count)


def _mean(builder: TileBuilder, total: ir.Value, count: ir.Value, ends: Values) -> ir.Value:
    """The mean of values with the sums ``total`` and ``count``, the largest and the smallest of which are
    ``ends``.  Where these are equal, the mean is exactly that value: the square of a deviation that is only
    rounding may be too large for the type.
    """
    top, lowest = ends
    same = builder.cmpf("oeq", top, lowest)
    return builder.select(same, top, divide(builder, total, count))


def _ends(builder: TileBuilder, value: ir.Value, weight: ir.Value) -> Values:
    """Values for ``_extremes``, of which those of weight 0 are neutral."""
    return [_where(builder, weight, value, builder.fill(end, value)) for end in (-math.inf, math.inf)]


def _extremes(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
    """The larger of two numbers, and the smaller of two others."""
    names = ("arith.maximumf", "arith.minimumf")
    return [builder.elementwise(name, [a, b]) for name, a, b in zip(names, left, right, strict=True)]


def _where(builder: TileBuilder, weight: ir.Value, value: ir.Value, other: ir.Value) -> ir.Value:
    """``value`` where the weight is above 0, else ``other``."""
    return builder.select(builder.cmpf("ogt", weight, builder.fill(0.0, weight)), value, other)


def _minus(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.elementwise("arith.subf", [a, b])


def _times(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.elementwise("arith.mulf", [a, b])
