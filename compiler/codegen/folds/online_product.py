"""The fold of a ``fuse.online_dot``: a product of tiles whose left factor is a softmax's exponentials."""

import math
from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...mlir import ir
from ..tile_builder import TileBuilder
from .fold import Fold, Lanes
from .online import exp_of_nonpositive, lowest_finite
from .product import TileProduct
from .reduce import Values, combine_kind, fold_axis

#: The axis of a tile of the left factor along which it is summed.
_SUMMED = 1


@dataclass(frozen=True)
class OnlineProduct(Fold):
    """sum(exp(x - m) * v), m = max(x) and l = sum(exp(x - m)), of tiles x and v of i x j and j x e elements.
    x is -inf behind the end of j, and v is 0.

    State: the sums of i x e elements, and m and l of i x 1, of the blocks of j so far.  A maximum that grows
    by g makes the sums smaller by exp(-g), as ``Softmax`` does.  It starts from the lowest finite number, so
    that g is never NaN: a row of which all blocks so far are -inf has a sum of 0.  If it stays so, the
    results are those of the row at once: m is -inf, and l and the sums are NaN.
    """

    product: TileProduct

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        state = self.start(builder, [], lanes)
        state = self.step(builder, state, operands, lanes, builder.constant(0, "i32"))
        return self.finish(builder, state, lanes, None)

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        rows, element = (lanes.shape[0], 1), self.product.element
        return [
            *self.product.start(builder, [], lanes),
            builder.constant(lowest_finite(element), element, rows),
            builder.constant(0.0, element, rows),
        ]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        (sums, top, total), (value, factor) = state, operands
        [block] = fold_axis(builder, [value], _SUMMED, combine_kind("max"))
        higher = builder.elementwise("arith.maximumf", [top, block])
        power = exp_of_nonpositive(builder, builder.elementwise("arith.subf", [value, higher]))
        shrunk = exp_of_nonpositive(builder, builder.elementwise("arith.subf", [top, higher]))
        [added] = fold_axis(builder, [power], _SUMMED, combine_kind("sum"))
        total = builder.elementwise("arith.addf", [builder.elementwise("arith.mulf", [total, shrunk]), added])
        sums = builder.elementwise("arith.mulf", [sums, shrunk])
        power = builder.cast("arith.truncf", power, str(tt.element_of(factor.type)))
        sums, *_ = self.product.step(builder, [sums], [power, factor], lanes, iteration)
        return [sums, higher, total]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        sums, top, total = state
        empty = builder.cmpf("oeq", total, builder.fill(0.0, total))
        total = builder.select(empty, builder.fill(math.nan, total), total)
        spread = builder.to(empty, lanes.shape)
        return [
            builder.select(spread, builder.fill(math.nan, sums), sums),
            builder.select(empty, builder.fill(-math.inf, top), top),
            total,
        ]
