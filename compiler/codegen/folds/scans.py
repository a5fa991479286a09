"""Scans of tiles: what state a running fold keeps for each kind of ``fuse.scan``."""

import math
from collections.abc import Sequence

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...ir.reductions import LINEAR, LOG_SUM_EXP, identity_of
from ...mlir import ir
from ..tile_builder import Shape, TileBuilder
from .online import exp_of_nonpositive, lowest_finite
from .reduce import Combine, Values, combine_kind, fold, last_along


@dataclass(frozen=True)
class Running:
    """A scan by one scalar operation: sum, prod, max, min.  Its state is the result."""

    kind: str

    def start(self, builder: TileBuilder, element: ir.Type, shape: Shape) -> Values:
        """The state in front of the first element."""
        return [builder.constant(identity_of(self.kind, element), element, shape)]

    def state(self, builder: TileBuilder, values: Values, mask: ir.Value | None) -> Values:
        """The state of each element alone; where ``mask`` is false, one that changes nothing."""
        (value,) = values
        neutral = identity_of(self.kind, tt.element_of(value.type))
        return [value if mask is None else builder.select(mask, value, builder.fill(neutral, value))]

    @property
    def combine(self) -> Combine:
        """The state of two runs of elements that follow each other."""
        return combine_kind(self.kind)

    def behind(self, builder: TileBuilder, carry: Values, prefix: Values) -> Values:
        """The states of a block's prefixes behind all blocks before it."""
        return self.combine(builder, carry, prefix)

    def carried(
        self, builder: TileBuilder, carry: Values, state: Values, behind: Values, axes: Sequence[int]
    ) -> Values:
        """The state after a block.  state: of each of its elements; behind: what the method of this name has
        given; axes: those of the tile along which the block lies.
        """
        return self.combine(builder, carry, fold(builder, state, axes, self.combine))

    def result(self, builder: TileBuilder, state: Values) -> ir.Value:
        """The result of a state."""
        return state[0]


@dataclass(frozen=True)
class RunningLogSumExp(Running):
    """log(sum(exp(x))) of floats.  The state is m, a finite number that is at least the maximum of all
    finite x, and s, the sum of exp(x - m); the result is m + log(s).  An infinite x has the finite number
    next to it as its m, so that no two infinities are subtracted: s then is 0 or infinite.  NaN comes
    through both.
    """

    def start(self, builder: TileBuilder, element: ir.Type, shape: Shape) -> Values:
        return [builder.constant(v, element, shape) for v in (lowest_finite(element), 0.0)]

    def state(self, builder: TileBuilder, values: Values, mask: ir.Value | None) -> Values:
        (value,) = values
        if mask is not None:
            value = builder.select(mask, value, builder.fill(-math.inf, value))
        lowest = lowest_finite(tt.element_of(value.type))
        top = builder.elementwise("arith.maximumf", [value, builder.fill(lowest, value)])
        top = builder.elementwise("arith.minimumf", [top, builder.fill(-lowest, value)])
        return [top, exponential(builder, value, top)]

    @property
    def combine(self) -> Combine:
        return _join

    def result(self, builder: TileBuilder, state: Values) -> ir.Value:
        return builder.elementwise("arith.addf", [state[0], builder.elementwise("math.log", [state[1]])])


@dataclass(frozen=True)
class RunningLinear(Running):
    """h[t] = gate[t] * h[t - 1] + value[t].  The state of a run of elements is its h where nothing comes
    before it, and the product of its gates.  What blocks carry is h, and whether there was a block: 0 times
    a product of gates is NaN where that is infinite, so the first block takes nothing.
    """

    def start(self, builder: TileBuilder, element: ir.Type, shape: Shape) -> Values:
        return [builder.constant(0.0, element, shape), builder.constant(0, "i1", shape)]

    def state(self, builder: TileBuilder, values: Values, mask: ir.Value | None) -> Values:
        if mask is not None:
            neutral = zip(values, (0.0, 1.0), strict=True)
            values = [builder.select(mask, v, builder.fill(number, v)) for v, number in neutral]
        return list(values)

    @property
    def combine(self) -> Combine:
        return _advance

    def behind(self, builder: TileBuilder, carry: Values, prefix: Values) -> Values:
        (before, any_before), (own, gates) = carry, prefix
        reached, _ = _advance(builder, [before, gates], prefix)
        return [builder.select(any_before, reached, own), gates]

    def carried(
        self, builder: TileBuilder, carry: Values, state: Values, behind: Values, axes: Sequence[int]
    ) -> Values:
        return [last_along(builder, behind[0], axes), builder.fill(1, carry[1])]


def _advance(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
    carried = builder.elementwise("arith.mulf", [left[0], right[1]])
    gates = builder.elementwise("arith.mulf", [left[1], right[1]])
    return [builder.elementwise("arith.addf", [carried, right[0]]), gates]


def _join(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
    top = builder.elementwise("arith.maximumf", [left[0], right[0]])
    parts = [
        builder.elementwise("arith.mulf", [total, exponential(builder, own, top)])
        for own, total in (left, right)
    ]
    return [top, builder.elementwise("arith.addf", parts)]


def exponential(builder: TileBuilder, x: ir.Value, top: ir.Value) -> ir.Value:
    """exp(x - top)."""
    return exp_of_nonpositive(builder, builder.elementwise("arith.subf", [x, top]))


def running(kind: str) -> Running:
    """The scan of a kind."""
    special = {LOG_SUM_EXP: RunningLogSumExp, LINEAR: RunningLinear}
    return special.get(kind, Running)(kind)


__all__ = ["Running", "RunningLinear", "RunningLogSumExp", "running"]
