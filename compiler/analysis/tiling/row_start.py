"""Rows that start anywhere, read from the multiple of 16 bytes in front of them.

A row of 50257 elements of 16 bits starts at an odd address, so that each of its accesses would be of one
element.  Where a loop over such rows only folds them, its blocks may as well begin with up to 7 elements of
the row before, which every fold leaves out like those behind the end: all accesses are then of 16 bytes.
(Rows in registers: ``row_parts.py``.)
"""

from ...base.dataclass import dataclass
from ...index import Expr
from ...ir.kernel import Kernel
from ...ir.layout import TensorSpec
from ...ir.reductions import REDUCTION_OPS
from ...ir.tile import Tile
from ..kernel.shape import KernelShape
from .rows import ACCESS_BYTES, NoVectors, row_of, start_of


@dataclass(frozen=True)
class RowStart:
    """The ``axis`` of a tile along which rows are read early, where in the storage its ``row`` starts (over
    dims, in elements, below ``elements``), and how many elements a ``vector`` has.
    """

    axis: int
    row: Expr
    vector: int
    elements: int


def row_start(kernel: Kernel, tile: Tile) -> RowStart | NoVectors:
    """How the looped rows of a kernel are read in whole vectors although they do not start at one, or why
    they are not.
    """
    axis = tile.looped
    if axis is None:
        return NoVectors.NO_AXIS
    row = row_of(kernel, tile, axis)
    if isinstance(row, NoVectors):
        return row
    dim, _ = row
    if any(dim in kernel.op_dims[a.op] for a in kernel.stores):
        return NoVectors.STORED
    if any(REDUCTION_OPS[op.name].counts for op in kernel.reductions):
        return NoVectors.FOLD
    shapes = KernelShape.of(kernel)
    loads = [a for a in kernel.loads if dim in kernel.op_dims[a.op]]
    if shapes.aligned((dim,)):
        return NoVectors.ALIGNED
    if not loads:
        return NoVectors.NOT_READ
    starts = {(start_of(kernel, shapes, a, dim), kernel.spec(a.argument).element_bytes) for a in loads}
    if any(start is None for start, _ in starts):
        return NoVectors.STEPS
    if len(starts) != 1:
        return NoVectors.STARTS
    [(start, element)] = starts
    assert start is not None
    vector = ACCESS_BYTES // element
    if vector == 1:
        return NoVectors.STEPS
    if tile.axes[axis].block % vector:
        return NoVectors.BLOCK
    ends = [end for a in loads if (end := _end(kernel.spec(a.argument))) is not None]
    if len(ends) < len(loads) or any(end % vector for end in ends):
        return NoVectors.END
    return RowStart(axis, start, vector, max(ends))


def _end(spec: TensorSpec) -> int | None:
    """One more than the offset of the last element, from the first.  No vector that holds an element of the
    tensor ends behind it, if it is a multiple of vectors.
    """
    end = 1
    for size, stride in zip(spec.sizes, spec.strides, strict=True):
        if size.constant is None or stride.constant is None or stride.constant < 0:
            return None
        end += (size.constant - 1) * stride.constant
    return end
