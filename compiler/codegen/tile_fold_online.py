"""Folds of a row that is read once: mean and squared deviations (Welford, Chan), maximum and sum of
exponentials (online softmax).  In a loop each thread keeps a pair for what it holds of a block; the pairs are
folded once, after it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..dialects import tt
from ..mlir import ir
from .tile_builder import TileBuilder, exact_inverse, shape_of
from .tile_fold import Fold, Lanes, Part, filled, fold_parts
from .tile_reduce import Values, combine_kind, fold, reshaped


@dataclass(frozen=True)
class Welford(Fold):
    """Mean and sum of squared deviations.  Whole: the mean, then the deviations from it.  Looped: of what one
    thread holds of a block the same, which Chan's formula adds to the running pair (of one element that is
    Welford's update); then all lanes at once: M2 = sum(m2 + n*(mean - M)^2)."""

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self.of_parts(builder, [(operands, lanes)])

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        values = [builder.to(operands[0], lanes.shape) for operands, lanes in parts]
        add = combine_kind("sum")
        count = parts[0][1].count(tt.element_of(values[0].type))
        held = [filled(builder, v, 0.0, lanes) for v, (_, lanes) in zip(values, parts, strict=True)]
        mean = _divide(builder, fold_parts(builder, held, parts, add), count)
        squares = [_square(builder, builder.elementwise("arith.subf", [v, mean])) for v in values]
        held = [filled(builder, v, 0.0, lanes) for v, (_, lanes) in zip(squares, parts, strict=True)]
        return [mean, fold_parts(builder, held, parts, add)]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        zero = builder.constant(0.0, elements[0], lanes.folded)
        return [zero, zero]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """The weight of a block is a quotient within two units in the last place: what it is wrong by is a
        part of one deviation.
        """
        value = reshaped(builder, builder.to(operands[0], lanes.shape), lanes.owned)
        element = tt.element_of(value.type)
        one, before = builder.constant(1.0, element), builder.cast("arith.sitofp", iteration, element)
        weight = builder.elementwise("arith.divf", [one, builder.elementwise("arith.addf", [before, one])])
        mean, m2 = state
        if lanes.own > 1:
            own, add = [lanes.own_axis], combine_kind("sum")
            [total] = fold(builder, [value], own, add)
            center = _divide(builder, total, builder.constant(float(lanes.own), element))
            squares = _square(builder, builder.elementwise("arith.subf", [value, center]))
            [spread] = fold(builder, [squares], own, add)
            deviation = builder.elementwise("arith.subf", [center, mean])
            points = builder.elementwise("arith.mulf", [before, builder.constant(float(lanes.own), element)])
            apart = builder.elementwise("arith.mulf", [points, weight])
            moved = builder.elementwise("arith.mulf", [_square(builder, deviation), apart])
            after = [
                _plus(builder, mean, builder.elementwise("arith.mulf", [deviation, weight])),
                _plus(builder, _plus(builder, m2, spread), moved),
            ]
            if lanes.mask is None:
                return after
            held = _all_held(builder, lanes)
            return [builder.select(held, new, old) for new, old in zip(after, state, strict=True)]
        deviation = builder.elementwise("arith.subf", [value, mean])
        moved = _plus(builder, mean, builder.elementwise("arith.mulf", [deviation, weight]))
        again = builder.elementwise("arith.subf", [value, moved])
        grown = _plus(builder, m2, builder.elementwise("arith.mulf", [deviation, again]))
        if lanes.mask is None:
            return [moved, grown]
        return [builder.select(lanes.mask, moved, mean), builder.select(lanes.mask, grown, m2)]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        assert seen is not None
        mean, m2 = lane_by_lane(builder, state, lanes)
        element = tt.element_of(mean.type)
        add = combine_kind("sum")
        if lanes.own > 1 and lanes.even:
            held = math.prod(shape_of(mean)[axis] for axis in lanes.axes)
            weight = _divide(builder, lanes.count(element), builder.constant(float(held), element))
        elif lanes.own > 1:
            trips = [reshaped(builder, seen(element), lanes.owned)]
            trips = lane_by_lane(builder, fold(builder, trips, [lanes.own_axis], combine_kind("max")), lanes)
            weight = builder.elementwise("arith.mulf", [*trips, builder.fill(float(lanes.own), trips[0])])
        else:
            weight = seen(element)
        [total] = fold(builder, [builder.elementwise("arith.mulf", [mean, weight])], lanes.axes, add)
        center = _divide(builder, total, lanes.count(element))
        square = _square(builder, builder.elementwise("arith.subf", [mean, center]))
        spread = builder.elementwise("arith.mulf", [square, weight])
        [m2] = fold(builder, [_plus(builder, m2, spread)], lanes.axes, add)
        return [center, m2]


def _all_held(builder: TileBuilder, lanes: Lanes) -> ir.Value:
    """Of a block with a mask that leaves out all of what a thread holds or nothing: where it holds something,
    as a tile of shape ``folded``.
    """
    assert lanes.mask is not None
    mask = reshaped(builder, builder.to(lanes.mask, lanes.shape), lanes.owned)
    [held] = fold(builder, [builder.cast("arith.extui", mask, "i32")], [lanes.own_axis], combine_kind("min"))
    return builder.cmpi("ne", held, builder.fill(0, held))


def _square(builder: TileBuilder, value: ir.Value) -> ir.Value:
    return builder.elementwise("arith.mulf", [value, value])


def _plus(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.elementwise("arith.addf", [a, b])


def _divide(builder: TileBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    inverse = exact_inverse(b)
    if inverse is not None:
        return builder.elementwise("arith.mulf", [a, builder.fill(inverse, b)])
    precise = str(tt.element_of(a.type)) == "f32"
    return builder.elementwise("tt.precise_divf" if precise else "arith.divf", [a, b])


@dataclass(frozen=True)
class Softmax(Fold):
    """max and sum(exp(x - max)).  Looped: what one thread holds of a block shares a maximum and a sum, so
    that the sum is rescaled once for all of it; exp is called once an element and once for the rescaling.
    The maximum starts from the lowest finite number, so that an element of minus infinity adds nothing; a row
    of nothing else gives (-inf, NaN), as exp(-inf + inf) does.
    """

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self.of_parts(builder, [(operands, lanes)])

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        values = [filled(builder, operands[0], -math.inf, lanes) for operands, lanes in parts]
        top = fold_parts(builder, values, parts, combine_kind("max"))
        held = []
        for operands, lanes in parts:
            below = builder.elementwise("arith.subf", [builder.to(operands[0], lanes.shape), top])
            held.append(filled(builder, builder.elementwise("math.exp", [below]), 0.0, lanes))
        return [top, fold_parts(builder, held, parts, combine_kind("sum"))]

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
    """exp(x), where what is below 2**-126 may become 0: it is added to a sum of at least 1.  In f32 that
    saves three of five instructions: libdevice's exp2 flushes, ``math.exp`` scales.
    """
    if str(tt.element_of(x.type)) != "f32":
        return builder.elementwise("math.exp", [x])
    scaled = builder.elementwise("arith.mulf", [x, builder.fill(math.log2(math.e), x)])
    return builder.extern("__nv_exp2f", [scaled])


def lane_by_lane(builder: TileBuilder, state: Values, lanes: Lanes) -> Values:
    """Running tiles of shape ``folded`` with the axes of the block."""
    if lanes.own == 1:
        return state
    shape = (*lanes.shape[:-1], lanes.shape[-1] // lanes.own)
    return [reshaped(builder, v, shape) for v in state]


def lowest_finite(element: ir.Type) -> float:
    return -3.4028234663852886e38 if str(element) == "f32" else -1.7976931348623157e308
