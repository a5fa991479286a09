"""Rows that start anywhere, read from the multiple of 16 bytes in front of them.

A row of 50257 elements of 16 bits starts at an odd address, so that each of its accesses would be of one
element.  Where a loop over such rows only folds them, its blocks may as well begin with up to 7 elements of
the row before, which every fold leaves out like those behind the end: all accesses are then of 16 bytes.
(Rows in registers: ``row_parts.py``.)
"""

from dataclasses import dataclass

from ...index import Expr, sym
from ...index.facts import is_indirect
from ...ir.kernel import Access, Kernel
from ...ir.layout import TensorSpec
from ...ir.tile import Tile
from ..kernel.shape import KernelShape

#: Bytes of the widest access.
_WIDEST = 16
#: Folds that masked lanes leave as they are; Welford's counts its points.
PLAIN_FOLDS = (
    ("fuse.reduce", "fuse.dot", "fuse.argreduce")
    + ("fuse.online_softmax", "fuse.online_expectation")
)  # fmt: skip


@dataclass(frozen=True)
class RowStart:
    """The ``axis`` of a tile along which rows are read early, where in the storage its ``row`` starts (over
    dims, in elements, below ``elements``), and how many elements a ``vector`` has.
    """

    axis: int
    row: Expr
    vector: int
    elements: int


def row_start(kernel: Kernel, tile: Tile) -> RowStart | None:
    """How the looped rows of a kernel are read in whole vectors although they do not start at one; None where
    they do, or where something is scanned or stored along them.
    """
    axis = tile.looped
    if axis is None or len(tile.axes[axis].dims) != 1 or kernel.scans:
        return None
    [dim], block = tile.axes[axis].dims, tile.axes[axis].block
    if any(other.block > 1 for i, other in enumerate(tile.axes) if i != axis):
        return None
    extent = kernel.dims[dim].constant
    if extent is None or any(dim in kernel.op_dims[op] for op in kernel.asserts):
        return None
    if any(dim in kernel.op_dims[a.op] for a in kernel.stores):
        return None
    if not all(op.name in PLAIN_FOLDS for op in kernel.reductions):
        return None
    shapes = KernelShape.of(kernel)
    loads = [a for a in kernel.loads if dim in kernel.op_dims[a.op]]
    found = {_row(kernel, shapes, access, dim) for access in loads}
    if shapes.aligned((dim,)) or not loads or len(found) != 1 or None in found:
        return None
    if any(a.argument in kernel.ties for a in loads):
        return None
    [start] = found
    assert start is not None
    row, element = start
    vector = _WIDEST // element
    ends = {_end(kernel.spec(a.argument)) for a in loads}
    if vector == 1 or block % vector or any(end is None or end % vector for end in ends):
        return None
    return RowStart(axis, row, vector, max(end for end in ends if end is not None))


def _row(kernel: Kernel, shapes: KernelShape, access: Access, dim: str) -> tuple[Expr, int] | None:
    """Where a row of an access starts and the bytes of its elements; None where it does not step by one
    through what starts at a multiple of 16 bytes.
    """
    spec = kernel.spec(access.argument)
    offset = shapes.offset_of(access)
    row = offset - sym(dim)
    names = row.symbols()
    aligned = spec.offset.constant is not None and spec.offset.constant * spec.element_bytes % _WIDEST == 0
    if not aligned or dim in names:
        return None
    if any(is_indirect(n) or n not in kernel.dims for n in names):
        return None
    return row, spec.element_bytes


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
