"""Scans of tiles: what state a running fold keeps for each kind of ``fuse.scan``."""

import math
from collections.abc import Sequence

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...ir.reductions import LOG_SUM_EXP, identity_of
from ...mlir import ir
from ..tile_builder import Shape, TileBuilder
from .online import exp_of_nonpositive, lowest_finite
from .reduce import Combine, Values, combine_kind


@dataclass(frozen=True)
class Running:
    """A scan by one scalar operation: sum, prod, max, min.  Its state is the result."""

    kind: str

    def start(self, builder: TileBuilder, element: ir.Type, shape: Shape) -> Values:
        """The state in front of the first element."""
        return [builder.constant(identity_of(self.kind, element), element, shape)]

    def state(self, builder: TileBuilder, value: ir.Value, mask: ir.Value | None) -> Values:
        """The state of each element alone; where ``mask`` is false, one that changes nothing."""
        neutral = identity_of(self.kind, tt.element_of(value.type))
        return [value if mask is None else builder.select(mask, value, builder.fill(neutral, value))]

    @property
    def combine(self) -> Combine:
        """The state of two runs of elements that follow each other."""
        return combine_kind(self.kind)

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

    def state(self, builder: TileBuilder, value: ir.Value, mask: ir.Value | None) -> Values:
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
    return RunningLogSumExp(kind) if kind == LOG_SUM_EXP else Running(kind)


__all__ = ["Running", "RunningLogSumExp", "running"]
