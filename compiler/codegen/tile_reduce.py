"""Reductions and scans on tiles, each in two forms: over a whole axis at once, and accumulated over the
iterations of a loop.

A reduction is a ``Fold``: how many running tiles it keeps, what they start from, how one block of operands is
added, and how they become the results.  Masked lanes hold the neutral element before anything is folded, NaN
wins in max, min, argmax and argmin.  The order of every fold is fixed by the tile shape, so results do not
vary from run to run.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis.index import Expr
from ..dialects import tt
from ..mlir import ir
from .tile_builder import Shape, TileBuilder, exact_inverse, is_float, shape_of
from .tile_ops import neutral_of, widen

Values = list[ir.Value]
Combine = Callable[[TileBuilder, Sequence[ir.Value], Sequence[ir.Value]], Values]

_FLOAT_OPS = {"sum": "arith.addf", "prod": "arith.mulf", "max": "arith.maximumf", "min": "arith.minimumf"}
_INTEGER_OPS = {
    "sum": "arith.addi",
    "prod": "arith.muli",
    "max": "arith.maxsi",
    "min": "arith.minsi",
    "xor": "arith.xori",
    "any": "arith.ori",
    "all": "arith.andi",
}
_BIG_INDEX = {"i32": (1 << 31) - 1, "i64": (1 << 63) - 1}


@dataclass(frozen=True)
class Lanes:
    """Where a reduction happens.  ``axes``: positions in tile shapes (none when all reduced axes have block
    1); ``mask``: lanes that exist, None for all; ``shape``: of operands before the reduction; ``count``:
    number of points folded, as an expression; ``size`` emits it as f32 or f64.

    ``own``: how many elements of a looped block one thread holds along the last axis, 1 where that is not
    known; ``apart``: they lie a thread count apart, not side by side.  ``narrow``: an index operand fits in
    32 bits; ``ordered``: it grows from iteration to iteration.
    """

    axes: tuple[int, ...]
    mask: ir.Value | None
    shape: Shape
    count: Callable[[ir.Type], ir.Value]
    own: int = 1
    apart: bool = False
    narrow: bool = False
    ordered: bool = False


def combine_kind(kind: str) -> Combine:
    """The scalar operation of a reduction or scan by its kind; works on tiles too."""

    def combine(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
        table = _FLOAT_OPS if is_float(tt.element_of(left[0].type)) else _INTEGER_OPS
        return [builder.elementwise(table[kind], [left[0], right[0]])]

    return combine


def fold_axis(builder: TileBuilder, values: Sequence[ir.Value], axis: int, combine: Combine) -> Values:
    """``tt.reduce`` along one axis of the tile; results keep the rank (extent 1 there), or are scalars when
    nothing else is left.
    """
    shape = shape_of(values[0])
    if not shape or shape[axis] == 1:
        return list(values)
    alone = all(extent == 1 for i, extent in enumerate(shape) if i != axis)
    if alone and len(shape) > 1:
        values = [
            builder.create("tt.reshape", [tt.tile_type([shape[axis]], tt.element_of(v.type))], [v]).results[0]
            for v in values
        ]
        shape, axis = (shape[axis],), 0
    rest = [*shape[:axis], *shape[axis + 1 :]]
    elements = [tt.element_of(v.type) for v in values]
    suffix = "" if len(values) == 1 else f"_{len(values)}"
    op = builder.create(
        f"tt.reduce{suffix}",
        [tt.tile_type(rest, e) for e in elements],
        values,
        {"axis": builder.attribute(axis)},
        regions=1,
    )
    _region(builder, op, elements, combine, f"tt.reduce_return{suffix}")
    if alone:
        return list(op.results)
    kept = [*rest[:axis], 1, *rest[axis:]]
    attributes = {"axis": builder.attribute(axis)}
    return [
        builder.create("tt.expand_dims", [tt.tile_type(kept, e)], [r], attributes).results[0]
        for r, e in zip(op.results, elements, strict=True)
    ]


def fold(builder: TileBuilder, values: Sequence[ir.Value], axes: Sequence[int], combine: Combine) -> Values:
    """``fold_axis`` along several axes: all at once where nothing else is left, as each thread then folds
    what it holds before threads exchange anything; else the innermost first.
    """
    result, shape = list(values), shape_of(values[0])
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    if len(long) > 1 and set(long) <= set(axes):
        return fold_axis(builder, [_reshaped(builder, v, (math.prod(shape),)) for v in result], 0, combine)
    for axis in sorted(axes, reverse=True):
        result = fold_axis(builder, result, axis, combine)
    return result


def scan(builder: TileBuilder, value: ir.Value, axis: int, kind: str, reverse: bool) -> ir.Value:
    """``tt.scan`` along one axis."""
    element = tt.element_of(value.type)
    attributes = {"axis": builder.attribute(axis), "reverse": ir.BoolAttr.get(reverse)}
    op = builder.create("tt.scan", [value.type], [value], attributes, regions=1)
    _region(builder, op, [element], combine_kind(kind), "tt.scan_return")
    return op.results[0]


def _region(
    builder: TileBuilder, op: ir.Operation, elements: Sequence[ir.Type], combine: Combine, terminator: str
) -> None:
    block = op.regions[0].blocks.append(
        *elements, *elements, arg_locs=[ir.Location.current] * (2 * len(elements))
    )
    arguments = list(block.arguments)
    with builder.inside(block):
        results = combine(builder, arguments[: len(elements)], arguments[len(elements) :])
        builder.create(terminator, [], results)


class Fold:
    """One reduction.  Resident: ``whole``.  Looped: ``start`` before the loop, ``step`` in each iteration,
    ``finish`` after it.
    """

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        """One block's operands, with neutral elements in the lanes that do not exist."""
        raise NotImplementedError

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        """Results from operands that hold the axis completely."""
        return self.finish(builder, self.prepare(builder, operands, lanes), lanes, None)

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        """Running tiles before the first block."""
        raise NotImplementedError

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """Running tiles after one more block; ``iteration`` counts blocks from 0."""
        raise NotImplementedError

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        """Results from the running tiles.  ``seen`` gives how many points each lane has folded."""
        raise NotImplementedError


def _fill(builder: TileBuilder, value: ir.Value, neutral: int | float, lanes: Lanes) -> ir.Value:
    value = builder.to(value, lanes.shape)
    return value if lanes.mask is None else builder.select(lanes.mask, value, builder.fill(neutral, value))


@dataclass(frozen=True)
class Simple(Fold):
    """sum, prod, max, min, any, all, xor.  Booleans are folded as i32."""

    kind: str

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        value = operands[0]
        element = tt.element_of(value.type)
        neutral = neutral_of(self.kind, element)
        if str(element) == "i1":
            value = builder.cast("arith.extui", value, "i32")
        return [_fill(builder, value, neutral, lanes)]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        return [builder.constant(neutral_of(self.kind, elements[0]), _folded_type(elements[0]), lanes.shape)]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        return combine_kind(self.kind)(builder, state, self.prepare(builder, operands, lanes))

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        return fold(builder, state, lanes.axes, combine_kind(self.kind))


def _folded_type(element: ir.Type) -> ir.Type:
    return ir.IntegerType.get_signless(32) if str(element) == "i1" else element


@dataclass(frozen=True)
class Boolean(Simple):
    """A fold of i1 values: its result is i1 again."""

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        [value] = super().finish(builder, state, lanes, seen)
        return [builder.cmpi("ne", value, builder.fill(0, value))]


@dataclass(frozen=True)
class Dot(Fold):
    """sum(lhs * rhs) in the result's type."""

    element: ir.Type

    def _product(self, builder: TileBuilder, operands: Values) -> ir.Value:
        if is_float(self.element):
            return builder.elementwise("arith.mulf", [widen(builder, v, self.element) for v in operands])
        return builder.elementwise(
            "arith.muli", [builder.cast("arith.extsi", v, self.element) for v in operands]
        )

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return Simple("sum").prepare(builder, [self._product(builder, operands)], lanes)

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        return Simple("sum").start(builder, [self.element], lanes)

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        return Simple("sum").step(builder, state, [self._product(builder, operands)], lanes, iteration)

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        return Simple("sum").finish(builder, state, lanes, seen)


@dataclass(frozen=True)
class ArgExtreme(Fold):
    """argmax, argmin: value and smallest index of it; NaN wins.  Indices that were widened from i32 are
    folded as i32.
    """

    kind: str

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        value, index = operands[0], _narrow(operands[1])
        if lanes.narrow:
            index = builder.cast("arith.trunci", index, "i32")
        element = tt.element_of(value.type)
        neutral = neutral_of("max" if self.kind == "argmax" else "min", element)
        if str(element) == "i1":
            value = builder.cast("arith.extui", value, "i32")
        return [
            _fill(builder, value, neutral, lanes),
            _fill(builder, index, _BIG_INDEX[str(tt.element_of(index.type))], lanes),
        ]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        neutral = neutral_of("max" if self.kind == "argmax" else "min", elements[0])
        index = "i32" if lanes.narrow else "i64"
        return [
            builder.constant(neutral, _folded_type(elements[0]), lanes.shape),
            builder.constant(_BIG_INDEX[index], index, lanes.shape),
        ]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """Takes the new pair where it is more extreme; as the first pair in any case, as an equal one where
        its index is smaller, which a lane whose indices grow never sees.
        """
        (top, kept), (value, index) = state, self.prepare(builder, operands, lanes)
        if not lanes.narrow:
            index = builder.cast("arith.extsi", index, "i64")
        if is_float(tt.element_of(top.type)):
            more = builder.cmpf("ugt" if self.kind == "argmax" else "ult", value, top)  # also for a first NaN
            more = builder.elementwise("arith.andi", [more, builder.cmpf("ord", top, top)])
        else:
            more = builder.cmpi("sgt" if self.kind == "argmax" else "slt", value, top)
        if lanes.ordered:
            also = builder.cmpi("eq", iteration, builder.fill(0, iteration))
        else:
            earlier = builder.cmpi("slt", index, kept)
            also = builder.elementwise("arith.andi", [_equal(builder, value, top), earlier])
        take = builder.elementwise("arith.ori", [more, also])
        return [builder.select(take, value, top), builder.select(take, index, kept)]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        """The extreme first, then the smallest index that has it: fewer instructions for each element than
        folding pairs.
        """
        value, index = state
        [top] = fold(builder, [value], lanes.axes, combine_kind("max" if self.kind == "argmax" else "min"))
        beyond = builder.fill(_BIG_INDEX[str(tt.element_of(index.type))], index)
        candidates = builder.select(_equal(builder, value, top), index, beyond)
        [first] = fold(builder, [candidates], lanes.axes, combine_kind("min"))
        return [top, builder.cast("arith.extsi", first, "i64")]


def _equal(builder: TileBuilder, value: ir.Value, top: ir.Value) -> ir.Value:
    """Where ``value`` is the extreme ``top`` of a set that it belongs to: NaN wins, so a NaN is."""
    if not is_float(tt.element_of(value.type)):
        return builder.cmpi("eq", value, top)
    same, nan = builder.cmpf("oeq", value, top), builder.cmpf("uno", value, value)
    return builder.elementwise("arith.ori", [same, nan])


@dataclass(frozen=True)
class BooleanArgExtreme(ArgExtreme):
    """argmax, argmin of i1 values."""

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        value, index = super().finish(builder, state, lanes, seen)
        return [builder.cmpi("ne", value, builder.fill(0, value)), index]


def _narrow(index: ir.Value) -> ir.Value:
    """The i32 value that an index was extended from, if it was."""
    owner = index.owner
    if isinstance(owner, ir.Block):
        return index
    op = owner.operation
    if op.name == "arith.extsi" and str(tt.element_of(op.operands[0].type)) == "i32":
        return op.operands[0]
    return index


@dataclass(frozen=True)
class Welford(Fold):
    """Mean and sum of squared deviations.  Whole: the mean, then the deviations from it.  Looped: of what one
    thread holds of a block the same, which Chan's formula adds to the running pair (of one element that is
    Welford's update); then all lanes at once: M2 = sum(m2 + n*(mean - M)^2)."""

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        value = builder.to(operands[0], lanes.shape)
        add = combine_kind("sum")
        count = lanes.count(tt.element_of(value.type))
        [total] = fold(builder, [_fill(builder, value, 0.0, lanes)], lanes.axes, add)
        mean = _divide(builder, total, count)
        square = _square(builder, builder.elementwise("arith.subf", [value, mean]))
        [m2] = fold(builder, [_fill(builder, square, 0.0, lanes)], lanes.axes, add)
        return [mean, m2]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        zero = builder.constant(0.0, elements[0], _folded(lanes))
        return [zero, zero]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """The weight of a block is a quotient within two units in the last place: what it is wrong by is a
        part of one deviation.
        """
        value = _reshaped(builder, builder.to(operands[0], lanes.shape), _owned(lanes))
        element = tt.element_of(value.type)
        one, before = builder.constant(1.0, element), builder.cast("arith.sitofp", iteration, element)
        weight = builder.elementwise("arith.divf", [one, builder.elementwise("arith.addf", [before, one])])
        mean, m2 = state
        if lanes.own > 1:
            assert lanes.mask is None, "threads would hold different numbers of points"
            own, add = [_own_axis(lanes)], combine_kind("sum")
            [total] = fold(builder, [value], own, add)
            center = _divide(builder, total, builder.constant(float(lanes.own), element))
            squares = _square(builder, builder.elementwise("arith.subf", [value, center]))
            [spread] = fold(builder, [squares], own, add)
            deviation = builder.elementwise("arith.subf", [center, mean])
            points = builder.elementwise("arith.mulf", [before, builder.constant(float(lanes.own), element)])
            apart = builder.elementwise("arith.mulf", [points, weight])
            moved = builder.elementwise("arith.mulf", [_square(builder, deviation), apart])
            return [
                _plus(builder, mean, builder.elementwise("arith.mulf", [deviation, weight])),
                _plus(builder, _plus(builder, m2, spread), moved),
            ]
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
        mean, m2 = _lane_by_lane(builder, state, lanes)
        element = tt.element_of(mean.type)
        add = combine_kind("sum")
        if lanes.own > 1:
            held = math.prod(shape_of(mean)[axis] for axis in lanes.axes)
            weight = _divide(builder, lanes.count(element), builder.constant(float(held), element))
        else:
            weight = seen(element)
        [total] = fold(builder, [builder.elementwise("arith.mulf", [mean, weight])], lanes.axes, add)
        center = _divide(builder, total, lanes.count(element))
        square = _square(builder, builder.elementwise("arith.subf", [mean, center]))
        spread = builder.elementwise("arith.mulf", [square, weight])
        [m2] = fold(builder, [_plus(builder, m2, spread)], lanes.axes, add)
        return [center, m2]


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
        value = _fill(builder, operands[0], -math.inf, lanes)
        [top] = fold(builder, [value], lanes.axes, combine_kind("max"))
        power = builder.elementwise(
            "math.exp", [builder.elementwise("arith.subf", [builder.to(operands[0], lanes.shape), top])]
        )
        [total] = fold(builder, [_fill(builder, power, 0.0, lanes)], lanes.axes, combine_kind("sum"))
        return [top, total]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        shape = _folded(lanes)
        return [
            builder.constant(_lowest_finite(elements[0]), elements[0], shape),
            builder.constant(0.0, elements[0], shape),
        ]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        value = _reshaped(builder, _fill(builder, operands[0], -math.inf, lanes), _owned(lanes))
        own = [_own_axis(lanes)] if lanes.own > 1 else []
        top, total = state
        [block] = fold(builder, [value], own, combine_kind("max"))
        higher = builder.elementwise("arith.maximumf", [top, block])
        power = _exp_of_nonpositive(builder, builder.elementwise("arith.subf", [value, higher]))
        factor = _exp_of_nonpositive(builder, builder.elementwise("arith.subf", [top, higher]))
        [added] = fold(builder, [power], own, combine_kind("sum"))
        kept = builder.elementwise("arith.mulf", [total, factor])
        return [higher, builder.elementwise("arith.addf", [kept, added])]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        lane_top, lane_total = _lane_by_lane(builder, state, lanes)
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


def _exp_of_nonpositive(builder: TileBuilder, x: ir.Value) -> ir.Value:
    """exp(x), where what is below 2**-126 may become 0: it is added to a sum of at least 1.  In f32 that
    saves three of five instructions: libdevice's exp2 flushes, ``math.exp`` scales.
    """
    if str(tt.element_of(x.type)) != "f32":
        return builder.elementwise("math.exp", [x])
    scaled = builder.elementwise("arith.mulf", [x, builder.fill(math.log2(math.e), x)])
    return builder.extern("__nv_exp2f", [scaled])


def _owned(lanes: Lanes) -> Shape:
    """The shape of a block with what one thread holds along an axis of its own."""
    if lanes.own == 1:
        return lanes.shape
    *outer, last = lanes.shape
    return (*outer, lanes.own, last // lanes.own) if lanes.apart else (*outer, last // lanes.own, lanes.own)


def _own_axis(lanes: Lanes) -> int:
    """The axis of ``_owned`` along which one thread holds everything."""
    return len(lanes.shape) - 1 if lanes.apart else len(lanes.shape)


def _folded(lanes: Lanes) -> Shape:
    """``_owned`` with what one thread holds folded into one."""
    shape = _owned(lanes)
    if lanes.own == 1:
        return shape
    axis = _own_axis(lanes)
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _lane_by_lane(builder: TileBuilder, state: Values, lanes: Lanes) -> Values:
    """Running tiles of shape ``_folded`` with the axes of the block."""
    if lanes.own == 1:
        return state
    shape = (*lanes.shape[:-1], lanes.shape[-1] // lanes.own)
    return [_reshaped(builder, v, shape) for v in state]


def _reshaped(builder: TileBuilder, value: ir.Value, shape: Shape) -> ir.Value:
    if shape_of(value) == shape:
        return value
    return builder.create("tt.reshape", [tt.tile_type(shape, tt.element_of(value.type))], [value]).results[0]


def _lowest_finite(element: ir.Type) -> float:
    return -3.4028234663852886e38 if str(element) == "f32" else -1.7976931348623157e308


def fold_of(op: ir.Operation) -> Fold:
    """The fold of a ``fuse`` reduction."""
    boolean = len(op.operands) > 0 and str(op.operands[0].type) == "i1"
    if op.name == "fuse.reduce":
        kind = ir.StringAttr(op.attributes["kind"]).value
        return Boolean(kind) if boolean else Simple(kind)
    if op.name == "fuse.argreduce":
        kind = ir.StringAttr(op.attributes["kind"]).value
        return BooleanArgExtreme(kind) if boolean else ArgExtreme(kind)
    if op.name == "fuse.dot":
        return Dot(op.results[0].type)
    return {"fuse.welford": Welford, "fuse.online_softmax": Softmax}[op.name]()


def point_count(extents: Sequence[Expr]) -> Expr:
    """Number of points of several axes."""
    total = extents[0]
    for extent in extents[1:]:
        total = total * extent
    return total
