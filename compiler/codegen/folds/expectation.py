"""The fold of a sum weighted by a softmax, which reads the row once.  With m and s, the maximum and the sum
of exponentials so far, it keeps t = sum(exp(x - m) * w), and rescales t as s when m grows.

The weight w may contain x - m itself, how far a value lies below its own maximum (a log-softmax).  Then t is
kept relative to the maxima so far: a maximum that grows by d takes d from each w, which is d * s from t.  If
t were kept relative to 0, a common offset of the logits would cancel only in the result, after it had made
the rounding errors large.
"""

import math
from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...mlir import ir
from ..tile_builder import TileBuilder
from .fold import Fold, Lanes, filled
from .online import Softmax, exp_of_nonpositive, lane_by_lane, lowest_finite
from .reduce import Values, combine_kind, fold, reshaped


@dataclass(frozen=True)
class Expectation(Fold):
    """sum(exp(x0 - m0) * w), m0, s0, m1, s1, ...  The weight w is the sum of signs[k] * (xk - mk) over k,
    plus the operands that have no sign.  State: the weighted sum, then the pairs (m, s).
    """

    signs: tuple[int, ...]

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        add, pairs, below = combine_kind("sum"), [], []
        for value in operands[: len(self.signs)]:
            pairs += (pair := Softmax().whole(builder, [value], lanes))
            below.append(builder.elementwise("arith.subf", [builder.to(value, lanes.shape), pair[0]]))
        power = builder.elementwise("math.exp", [below[0]])
        rest = [builder.to(v, lanes.shape) for v in operands[len(self.signs) :]]
        product = builder.elementwise("arith.mulf", [power, self._weight(builder, below, rest)])
        [total] = fold(builder, [filled(builder, product, 0.0, lanes)], lanes.axes, add)
        return [total, *pairs]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        zero = builder.constant(0.0, elements[0], lanes.folded)
        return [zero, *(v for _ in self.signs for v in Softmax().start(builder, elements, lanes))]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        own, add = [lanes.own_axis] if lanes.own > 1 else [], combine_kind("sum")
        after: Values = []
        below, grown, factors, powers = [], [], [], []
        for number in range(len(self.signs)):
            top, total = self._pair(state, number)
            value = reshaped(builder, filled(builder, operands[number], -math.inf, lanes), lanes.owned)
            [block] = fold(builder, [value], own, combine_kind("max"))
            higher = builder.elementwise("arith.maximumf", [top, block])
            below.append(builder.elementwise("arith.subf", [value, higher]))
            grown.append(builder.elementwise("arith.subf", [top, higher]))
            powers.append(exp_of_nonpositive(builder, below[-1]))
            factors.append(exp_of_nonpositive(builder, grown[-1]))
            [added] = fold(builder, [powers[-1]], own, add)
            kept = builder.elementwise("arith.mulf", [total, factors[-1]])
            after += [higher, builder.elementwise("arith.addf", [kept, added])]
        rest = [
            reshaped(builder, builder.to(v, lanes.shape), lanes.owned) for v in operands[len(self.signs) :]
        ]
        product = builder.elementwise("arith.mulf", [powers[0], self._weight(builder, below, rest)])
        if lanes.mask is not None:
            mask = reshaped(builder, builder.to(lanes.mask, lanes.shape), lanes.owned)
            product = builder.select(mask, product, builder.fill(0.0, product))
        [added] = fold(builder, [product], own, add)
        kept = self._kept(builder, state, grown, factors[0])
        return [builder.elementwise("arith.addf", [kept, added]), *after]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        held = lane_by_lane(builder, state, lanes)
        pairs: Values = []
        grown = []
        for number in range(len(self.signs)):
            pair = self._pair(state, number)
            top, _ = self._pair(held, number)
            [highest] = fold(builder, [top], lanes.axes, combine_kind("max"))
            grown.append(builder.elementwise("arith.subf", [top, highest]))
            pairs += Softmax().finish(builder, pair, lanes, seen)
        factor = builder.elementwise("math.exp", [grown[0]])
        [total] = fold(builder, [self._kept(builder, held, grown, factor)], lanes.axes, combine_kind("sum"))
        return [total, *pairs]

    @staticmethod
    def _pair(state: Values, number: int) -> Values:
        return state[1 + 2 * number : 3 + 2 * number]

    def _weight(self, builder: TileBuilder, below: Values, rest: Values) -> ir.Value:
        """The weight w of each exponential.  ``below``: x - m for each pair."""
        added = [*rest, *(v for sign, v in zip(self.signs, below, strict=True) if sign > 0)]
        taken = [v for sign, v in zip(self.signs, below, strict=True) if sign < 0]
        total = builder.fill(0.0, below[0]) if not added else added[0]
        for value in added[1:]:
            total = builder.elementwise("arith.addf", [total, value])
        for value in taken:
            total = builder.elementwise("arith.subf", [total, value])
        return total

    def _kept(self, builder: TileBuilder, state: Values, grown: Values, factor: ir.Value) -> ir.Value:
        """The weighted sum so far, made relative to the new maxima.  ``factor`` is what rescaling leaves of
        it.  ``grown``: the old maxima minus the new ones.  It is finite, at least the lowest finite number,
        so that it may be multiplied by a sum of exponentials that is still 0 (0 times infinity would be NaN).
        """
        total, (_, weight) = state[0], self._pair(state, 0)
        # The factor comes first: it may make a weight 0 whose product with ``grown`` would overflow.
        weight = builder.elementwise("arith.mulf", [weight, factor])
        total = builder.elementwise("arith.mulf", [total, factor])
        for sign, less in zip(self.signs, grown, strict=True):
            if sign == 0:
                continue
            lowest = lowest_finite(tt.element_of(less.type))
            less = builder.elementwise("arith.maximumf", [less, builder.fill(lowest, less)])
            moved = builder.elementwise("arith.mulf", [less, weight])
            total = builder.elementwise("arith.addf" if sign > 0 else "arith.subf", [total, moved])
        return total
