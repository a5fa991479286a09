"""Which block of each grid axis a program works on."""

import math

from ..index import Expr, const
from ..ir.tile import Tile
from ..mlir import ir
from .indexing.tile_index import TileIndex
from .tile_builder import TileBuilder

#: CUDA's limit for y and z of a grid.
_GRID_YZ = 65535


def program_ids(tile: Tile, index: TileIndex, builder: TileBuilder) -> list[Expr]:
    """Tells ``index`` the block number of every grid axis.  Returns the grid: up to three expressions over
    sizes.  Blocks are numbered so that the innermost axis varies fastest: programs that run at the same time
    then read neighbouring memory.
    """
    axes = [i for i, axis in enumerate(tile.axes) if axis.kind == "grid"]
    counts = [index.block_count(i) for i in axes]
    if len(axes) <= 3 and all(_at_most(index, count, _GRID_YZ) for count in counts[:-1]):
        for position, axis in enumerate(reversed(axes)):
            index.blocks[axis] = program_id(builder, position)
        return counts[::-1] or [const(1)]
    rest = program_id(builder, 0)
    for axis, count in reversed(list(zip(axes[1:], counts[1:], strict=True))):
        size = index.scalar(count)
        index.blocks[axis] = builder.elementwise("arith.remsi", [rest, size])
        rest = builder.elementwise("arith.divsi", [rest, size])
    index.blocks[axes[0]] = rest
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
