"""Which block of each grid axis a program works on."""

import math

from ..index import Expr, const
from ..ir.tile import Tile
from ..mlir import ir
from .indexing.tile_index import TileIndex
from .tile_builder import TileBuilder

#: CUDA's limit for y and z of a grid.
_GRID_YZ = 65535


def program_ids(
    tile: Tile, index: TileIndex, builder: TileBuilder, number: ir.Value | None = None
) -> list[Expr]:
    """Tells ``index`` the block number of every grid axis.  Returns the grid: up to three expressions over
    sizes.  Blocks are numbered so that the innermost axis varies fastest: programs that run at the same time
    then read neighbouring memory.  ``number``: that of the block among all, else the program's.
    """
    axes = [i for i, axis in enumerate(tile.axes) if axis.kind == "grid"]
    counts = [index.block_count(i) for i in axes]
    if tile.group > 1:
        return _grouped(tile.group, axes, counts, index, builder, number)
    if number is None and len(axes) <= 3 and all(_at_most(index, count, _GRID_YZ) for count in counts[:-1]):
        for position, axis in enumerate(reversed(axes)):
            index.blocks[axis] = program_id(builder, position)
        return counts[::-1] or [const(1)]
    rest = program_id(builder, 0) if number is None else number
    for axis, count in reversed(list(zip(axes[1:], counts[1:], strict=True))):
        size = index.scalar(count)
        index.blocks[axis] = builder.elementwise("arith.remsi", [rest, size])
        rest = builder.elementwise("arith.divsi", [rest, size])
    index.blocks[axes[0]] = rest
    return [math.prod(counts, start=const(1))]


def _grouped(
    group: int,
    axes: list[int],
    counts: list[Expr],
    index: TileIndex,
    builder: TileBuilder,
    number: ir.Value | None,
) -> list[Expr]:
    """Numbers programs so that those that run at the same time work on a compact part of the last two grid
    axes: they go through ``group`` blocks of the last but one, then do so for the next block of the last one.
    What such programs read of both operands of a product is then still in the L2 cache.
    """
    calculate = builder.elementwise
    pid = program_id(builder, 0) if number is None else number
    rows, columns = (index.scalar(count) for count in counts[-2:])
    if len(axes) > 2:
        each = index.scalar(counts[-2] * counts[-1])
        outer, pid = calculate("arith.divsi", [pid, each]), calculate("arith.remsi", [pid, each])
        for axis, count in reversed(list(zip(axes[1:-2], counts[1:-2], strict=True))):
            size = index.scalar(count)
            index.blocks[axis] = calculate("arith.remsi", [outer, size])
            outer = calculate("arith.divsi", [outer, size])
        index.blocks[axes[0]] = outer
    whole = builder.constant(group, "i32")
    several = calculate("arith.muli", [columns, whole])
    first = calculate("arith.muli", [calculate("arith.divsi", [pid, several]), whole])
    inside = calculate("arith.remsi", [pid, several])
    height = calculate("arith.minsi", [calculate("arith.subi", [rows, first]), whole])
    row = calculate("arith.addi", [first, calculate("arith.remsi", [inside, height])])
    index.blocks[axes[-2]], index.blocks[axes[-1]] = row, calculate("arith.divsi", [inside, height])
    return [math.prod(counts, start=const(1))]


def program_id(builder: TileBuilder, position: int) -> ir.Value:
    """The number of this program along x, y or z."""
    return builder.create(
        "tt.get_program_id",
        [ir.IntegerType.get_signless(32)],
        [],
        {"axis": builder.attribute(position)},
    ).results[0]


def _at_most(index: TileIndex, e: Expr, limit: int) -> bool:
    high = index.tight.interval(e)[1]
    return high is not None and high <= limit
