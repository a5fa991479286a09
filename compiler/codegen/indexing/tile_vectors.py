"""Neighbours in memory that are read and written at once, on an axis of their own, the last one of a tile.

A thread has all elements along that axis, so that to take a tile apart along it moves nothing.
"""

from collections.abc import Sequence

from ...ir.dialects import tt
from ...mlir import ir
from ..folds.reduce import reshaped
from ..tile_builder import TileBuilder, shape_of


def apart(builder: TileBuilder, value: ir.Value) -> list[ir.Value]:
    """The parts of a tile along its last axis, of a power of two, in order."""
    *outer, count = shape_of(value)
    if count > 2:
        value = reshaped(builder, value, (*outer, count // 2, 2))
    halves = builder.split(value)
    if count == 2:
        return list(halves)
    both = zip(*(apart(builder, half) for half in halves), strict=True)
    return [part for pair in both for part in pair]


def together(builder: TileBuilder, parts: Sequence[ir.Value]) -> ir.Value:
    """The tile of which these are the parts along its last axis."""
    if len(parts) == 1:
        return parts[0]
    value = builder.join(together(builder, parts[::2]), together(builder, parts[1::2]))
    return reshaped(builder, value, (*shape_of(parts[0]), len(parts)))


def neighbours(builder: TileBuilder, address: ir.Value, count: int) -> ir.Value:
    """The addresses of so many elements from each one of a tile on."""
    i32 = ir.IntegerType.get_signless(32)
    attributes = {"start": builder.attribute(0), "end": builder.attribute(count)}
    lanes = builder.create("tt.make_range", [tt.tile_type([count], i32)], [], attributes).results[0]
    lanes = builder.spread(lanes, (*[1] * len(shape_of(address)), count))
    return builder.elementwise("tt.addptr", [inner(builder, address), lanes])


def inner(builder: TileBuilder, value: ir.Value) -> ir.Value:
    """A tile with another axis behind its last one, of one point; a scalar as it is."""
    shape = shape_of(value)
    if not shape:
        return value
    type_ = tt.tile_type([*shape, 1], tt.element_of(value.type))
    attributes = {"axis": builder.attribute(len(shape))}
    return builder.create("tt.expand_dims", [type_], [value], attributes).results[0]
