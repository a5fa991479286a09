"""``tt.reduce`` and ``tt.scan`` along axes of a tile.  The order of every fold is fixed by the tile shape, so
results do not vary from run to run.
"""

import math
from collections.abc import Callable, Sequence

from ...ir.dialects import tt
from ...ir.reductions import FOLD_KINDS
from ...mlir import ir
from ..tile_builder import Shape, TileBuilder, is_float, shape_of

Values = list[ir.Value]
Combine = Callable[[TileBuilder, Sequence[ir.Value], Sequence[ir.Value]], Values]


def combine_kind(kind: str) -> Combine:
    """The scalar operation of a reduction or scan by its kind; works on tiles too."""

    def combine(builder: TileBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Values:
        fold = FOLD_KINDS[kind]
        joins = fold.floats if is_float(tt.element_of(left[0].type)) else fold.integers
        return [builder.elementwise(joins, [left[0], right[0]])]

    return combine


def fold_axis(builder: TileBuilder, values: Sequence[ir.Value], axis: int, combine: Combine) -> Values:
    """``tt.reduce`` along one axis of the tile.  Results keep the rank, with extent 1 there; they are scalars
    when no other axis has an extent above 1.
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
    """``fold_axis`` along several axes.  When these are all axes, they are folded at once: each thread folds
    its elements before threads exchange anything.  Otherwise one by one, the innermost first.
    """
    result, shape = list(values), shape_of(values[0])
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    if len(long) > 1 and set(long) <= set(axes):
        return fold_axis(builder, [reshaped(builder, v, (math.prod(shape),)) for v in result], 0, combine)
    for axis in sorted(axes, reverse=True):
        result = fold_axis(builder, result, axis, combine)
    return result


def fold_tree(builder: TileBuilder, value: ir.Value, axis: int, combine: Combine) -> ir.Value:
    """``fold_axis`` along an axis that one thread holds, of an extent that is a power of two, as a tree.
    (Triton adds the elements of a thread one by one.)  The number of operations is the same, and the sum of
    equal numbers is exact.
    """
    shape = shape_of(value)
    for left in range(shape[axis].bit_length() - 2, -1, -1):
        halves = reshaped(builder, value, (*shape[:axis], 2, 1 << left, *shape[axis + 1 :]))
        [half] = fold_axis(builder, [halves], axis, combine)
        value = reshaped(builder, half, (*shape[:axis], 1 << left, *shape[axis + 1 :]))
    return value


def scan(
    builder: TileBuilder, values: Sequence[ir.Value], axis: int, combine: Combine, reverse: bool
) -> Values:
    """``tt.scan`` along one axis."""
    elements = [tt.element_of(v.type) for v in values]
    suffix = "" if len(values) == 1 else f"_{len(values)}"
    attributes = {"axis": builder.attribute(axis), "reverse": ir.BoolAttr.get(reverse)}
    op = builder.create(f"tt.scan{suffix}", [v.type for v in values], values, attributes, regions=1)
    _region(builder, op, elements, combine, f"tt.scan_return{suffix}")
    return list(op.results)


def last_along(builder: TileBuilder, value: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The last element along at most one axis, in the shape of ``fold_axis``: a sum of it and zeros."""
    shape = shape_of(value)
    for axis in axes:
        count = shape[axis]
        ends = {"start": builder.attribute(0), "end": builder.attribute(count)}
        i32 = ir.IntegerType.get_signless(32)
        lanes = builder.create("tt.make_range", [tt.tile_type([count], i32)], [], ends).results[0]
        lanes = builder.spread(lanes, tuple(count if i == axis else 1 for i in range(len(shape))))
        last = builder.cmpi("eq", lanes, builder.fill(count - 1, lanes))
        alone = builder.select(last, value, builder.fill(0, value))
        (value,) = fold_axis(builder, [alone], axis, combine_kind("sum"))
    return value


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


def reshaped(builder: TileBuilder, value: ir.Value, shape: Shape) -> ir.Value:
    """The same elements as a tile of another shape."""
    if shape_of(value) == shape:
        return value
    return builder.create("tt.reshape", [tt.tile_type(shape, tt.element_of(value.type))], [value]).results[0]
