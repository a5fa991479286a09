"""Rows of 16 bits in registers that start anywhere: the whole vectors of a row, and the elements at its ends.

A row of 4097 elements of bf16 starts at an odd address, so that each of its accesses would be of one element.
All but a few of its elements lie in vectors of 16 bytes.  They are one tile of a power of two (4096, where a
tile of the whole row had 8192 lanes, a third of them idle in each thread), and what is left, 8 to 15 elements
in front of them and behind, is a second tile that every warp computes with.  An element for each thread is
what that costs; both accesses of a row are then of whole vectors and masks are constant.

What all rows share, as a weight for each column, starts at a multiple of 16 bytes, and the vectors of a row
meet it anywhere: it is read as the two vectors that each one meets, and shifted (``codegen/tile_shift.py``).
Not where all rows start at even elements: accesses of 8 bytes cost less than that (layer norm of 1500 columns
takes 49.5 us with them and 52.9 with shifts, of 4097 columns, where they are of 2 bytes, 47.2 and 42.7).  The
last vector but one of a row is therefore the last that belongs to the first tile: no access ends behind
the row.
"""

from dataclasses import dataclass

from ...index import Expr, sym
from ...index.facts import is_indirect
from ...ir.defining import is_true
from ...ir.kernel import Access, Kernel, string
from ...ir.sizes import ceil_power
from ...ir.tile import Tile
from ..kernel.shape import KernelShape

#: Bytes of the widest access, and of the elements whose rows gain: lanes side by side that read 4 bytes each
#: are fast enough.
_WIDEST, _NARROW = 16, 2
#: Fewest vectors of a thread, beside which the one element of the ends is little.
_FEWEST_VECTORS = 4
#: A thread's registers for what is not the row, and those of a program, of which two share an SM.
_OTHER_REGISTERS, _PROGRAM_REGISTERS = 24, 32768
#: Reductions whose results for several parts of a row are combined (``Fold.of_parts``).
_IN_PARTS = ("fuse.reduce", "fuse.dot", "fuse.welford", "fuse.online_softmax")


@dataclass(frozen=True)
class RowParts:
    """The ``axis`` of a tile that holds a row, where in the storage the ``row`` starts (over dims, in
    elements), how many elements a ``vector`` has, and how many the first tile has in ``whole`` vectors, of
    ``extent``.  ``shared``: of loads along the row, by number, where those start that start at vectors.
    """

    axis: int
    row: Expr
    vector: int
    whole: int
    extent: int
    shared: tuple[tuple[int, Expr], ...] = ()

    @property
    def ends(self) -> int:
        """Elements of the second tile."""
        return self.extent - self.whole


def row_parts(kernel: Kernel, tile: Tile) -> RowParts | None:
    """How the rows of a kernel that are held in registers are cut.  None where they start at vectors, or are
    not alone in a program; where something is scanned along them, drawn at random (four neighbours share a
    call), checked, or searched; where accesses do not step through rows, or threads would hold too little or
    too much.
    """
    held = [i for i, axis in enumerate(tile.axes) if axis.kind == "resident"]
    if tile.looped is not None or len(held) != 1 or len(tile.axes[held[0]].dims) != 1 or kernel.scans:
        return None
    [axis], [dim] = held, tile.axes[held[0]].dims
    if any(other.block > 1 for i, other in enumerate(tile.axes) if i != axis):
        return None
    extent = kernel.dims[dim].constant
    if extent is None or any(dim in kernel.op_dims[op] for op in kernel.asserts):
        return None
    if any(op.name == "fuse.rand" and dim in dims for op, dims in kernel.op_dims.items()):
        return None
    if not all(op.name in _IN_PARTS for op in kernel.reductions):
        return None
    shapes = KernelShape.of(kernel)
    loads = {i: a for i, a in enumerate(kernel.loads) if dim in kernel.op_dims[a.op]}
    stores = [a for a in kernel.stores if dim in kernel.op_dims[a.op]]
    if shapes.aligned((dim,)) or not loads:
        return None
    if any(a.argument in kernel.ties for a in loads.values()):
        return None
    if any(string(a.op.attributes["mode"]) != "set" for a in stores):
        return None
    vector = _WIDEST // _NARROW
    read = {number: _row(kernel, shapes, access, dim) for number, access in loads.items()}
    shared = tuple(
        (n, row)
        for n, row in read.items()
        if row is not None and kernel.facts.divides(vector, row) and is_true(loads[n].op.operands[1])
    )
    starts = {row for n, row in read.items() if n not in dict(shared)}
    starts |= {_row(kernel, shapes, access, dim) for access in stores}
    if len(starts) != 1:
        return None
    [start] = starts
    if start is None or (shared and kernel.facts.divides(2, start)):
        return None
    parts = RowParts(axis, start, vector, extent // vector * vector - vector, extent, shared)
    return parts if _gains(shapes, tile, parts) else None


def _gains(shapes: KernelShape, tile: Tile, parts: RowParts) -> bool:
    """Whether threads hold enough, and hardly a lane is idle, and several programs share an SM."""
    threads = 32 * tile.num_warps
    held = -(-parts.whole // (threads * parts.vector)) * parts.vector
    registers = held * shapes.live_values + _OTHER_REGISTERS
    return (
        held >= _FEWEST_VECTORS * parts.vector
        and parts.whole <= ceil_power(parts.whole) <= tile.elements
        and parts.whole * 5 >= held * threads * 4
        and threads * registers <= _PROGRAM_REGISTERS
    )


def _row(kernel: Kernel, shapes: KernelShape, access: Access, dim: str) -> Expr | None:
    """Where a row of an access starts; None where it does not step by one through elements of 16 bits that
    start at a multiple of 16 bytes.
    """
    spec = kernel.spec(access.argument)
    row = shapes.offset_of(access) - sym(dim)
    names = row.symbols()
    aligned = spec.offset.constant is not None and spec.offset.constant * spec.element_bytes % _WIDEST == 0
    if not aligned or spec.element_bytes != _NARROW or dim in names:
        return None
    return None if any(is_indirect(n) or n not in kernel.dims for n in names) else row
