"""The fold of a ``fuse.welford`` with weights: each value counts as often as its weight says, and not at all
where that is 0, whatever the value is.
"""

import math
from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...mlir import ir
from ..tile_builder import TileBuilder, shape_of
from .fold import FoldOfParts, Lanes, Part, filled, fold_parts
from .moments import Center, both, corrected, divide, minus, plus, times
from .reduce import Values, combine_kind, fold


@dataclass(frozen=True)
class WeightedWelford(FoldOfParts):
    """Mean and sum of squared deviations (m2), by weights.

    Over a resident axis: the mean, then the deviations from it, with the correction of ``corrected``.

    Over a looped axis: each lane keeps a mean, an m2, and the sum W of its weights, and adds a value x of
    weight w by West's update (1979, Updating mean and variance estimates, 532-535): with d = x - mean, the
    mean moves by d * w / (W + w), and m2 grows by w * d * (x - moved mean).  The means of lanes are then
    combined as values are over a resident axis; where there is one lane, its mean is the result.  Weights
    mostly vary along few axes: W has extent 1 along the others (``Lanes.weights``), and w / (W + w) is
    computed once for all elements there.
    """

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        values, weights = [], []
        for (value, weight), lanes in parts:
            weight = filled(builder, weight, 0.0, lanes)
            value = builder.to(value, lanes.shape)
            values.append(_where(builder, weight, value, builder.fill(0.0, value)))
            weights.append(weight)
        pairs = list(zip(values, weights, strict=True))
        sums = [[times(builder, v, w), w] for v, w in pairs]
        total, count = fold_parts(builder, sums, parts, both)
        about = Center.at(builder, divide(builder, total, count))
        sums = []
        for value, weight in pairs:
            apart = about.deviation(builder, value)
            weighted = times(builder, weight, apart)
            sums.append([weighted, times(builder, weighted, apart)])
        return corrected(builder, about, fold_parts(builder, sums, parts, both), count)

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
        after = plus(builder, before, weight)
        part, zero = builder.elementwise("arith.divf", [weight, after]), builder.fill(0.0, weight)
        # The first mean has to be exactly the value: on a GPU, w / w may be off by a unit in the last place.
        part = _where(builder, weight, _where(builder, before, part, builder.fill(1.0, part)), zero)
        value = _where(builder, weight, builder.to(value, lanes.shape), mean)
        apart = minus(builder, value, mean)
        moved = plus(builder, mean, times(builder, apart, part))
        rest = minus(builder, value, moved)
        grown = plus(builder, m2, times(builder, times(builder, weight, apart), rest))
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
        [total] = fold(builder, [times(builder, mean, weight)], lanes.axes, add)
        about = Center.at(builder, divide(builder, total, count))
        sums = fold(builder, about.sums(builder, mean, m2, weight), lanes.axes, both)
        return corrected(builder, about, sums, count)


def _where(builder: TileBuilder, weight: ir.Value, value: ir.Value, other: ir.Value) -> ir.Value:
    """``value`` where the weight is above 0, else ``other``."""
    return builder.select(builder.cmpf("ogt", weight, builder.fill(0.0, weight)), value, other)
