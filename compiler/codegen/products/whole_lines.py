"""Operands of batches of products that are read as whole lines of memory.

A batch comes first in the tile of an operand.  Where the batch is groups of neighbours in rows of weights,
the groups of a row are neighbours, too.  Read group by group, an access of a warp takes 16 or 32 bytes of
each of many rows, and stores them into few banks of shared memory.  Read row by row, as a tile of rows and of
all that a step takes of each, it takes whole lines.
"""

from collections.abc import Mapping
from dataclasses import replace

from ...analysis.contraction.tensor_cores import reads_lines
from ...analysis.kernel.shape import KernelShape
from ...ir.defining import is_true
from ...ir.kernel import Access, Kernel
from ...ir.tile import Axis, Tile
from ...mlir import ir
from .frames import Frame, Frames

#: The operands of a load without loaded indices: the tensor, the guard, and what it is elsewhere.
_OPERANDS = 3

Placed = tuple[ir.Operation, Frame]


def whole_lines(kernel: Kernel, tile: Tile, frames: Frames) -> Mapping[Placed, Tile]:
    """Of loads, each in a frame of a batch of neighbours: the tile with the batch and the neighbours on one
    axis, that of the batch.
    """
    shape = KernelShape.of(kernel)
    lefts = {operands.left for operands in frames.operands.values() if len(operands.left) == 3}
    found = dict[Placed, Tile]()
    for access in kernel.loads if lefts else ():
        plain = len(access.op.operands) == _OPERANDS and is_true(access.op.operands[1])
        for frame in frames.of.get(access.op, ()):
            if plain and frame in lefts and _is_line(shape, tile, access, frame):
                found[access.op, frame] = _joined(tile, frame[0], frame[2])
    return found


def _is_line(shape: KernelShape, tile: Tile, access: Access, frame: Frame) -> bool:
    """Whether a step reads the groups of a row as a line: all of each."""
    batch, _, summed = (tile.axes[axis] for axis in frame)
    whole = summed.block == shape.points(summed.dims)
    return whole and reads_lines(shape, access, batch.dims, summed.dims)


def _joined(tile: Tile, batch: int, summed: int) -> Tile:
    """The tile with the points of the axis ``summed`` on the axis ``batch``, as the fastest ones."""
    axes = list(tile.axes)
    outer, inner = axes[batch], axes[summed]
    axes[batch] = replace(outer, dims=(*outer.dims, *inner.dims), block=outer.block * inner.block)
    axes[summed] = Axis((), 1, "resident")
    return replace(tile, axes=tuple(axes))
