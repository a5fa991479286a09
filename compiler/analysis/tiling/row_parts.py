"""Rows of 16 bits in registers that start anywhere: the whole vectors of a row, and the elements at its ends.

A row of 4097 elements of bf16 starts at an odd address, so that each of its accesses would be of one element.
All but a few of its elements lie in vectors of 16 bytes.  They are one tile of a power of two (4096, where a
tile of the whole row had 8192 lanes, a third of them idle in each thread), and what is left, 8 to 15 elements
in front of them and behind, is a second tile that every warp computes with.  An element for each thread is
what that costs; both accesses of a row are then of whole vectors and masks are constant.

What all rows share, as a weight for each column, starts at a multiple of 16 bytes, and the vectors of a row
meet it anywhere: it is read as the two vectors that each one meets, and shifted (``codegen/tile_shift.py``).
Not where all rows start at even elements: accesses of 4 or 8 bytes cost less than shifting.  The last vector
but one of a row is therefore the last that belongs to the first tile: no access ends behind the row.
"""

from ...base.dataclass import dataclass
from ...index import Expr
from ...ir.defining import is_true
from ...ir.dialects import fuse
from ...ir.kernel import Access, Kernel, string
from ...ir.reductions import REDUCTION_OPS
from ...ir.sizes import ceil_power
from ...ir.tile import Tile
from ..kernel.shape import KernelShape
from .rows import ACCESS_BYTES, NoVectors, row_of, start_of

#: Bytes of the elements whose rows gain: lanes side by side that read 4 bytes each are fast enough.
_NARROW = 2
#: Fewest vectors of a thread, beside which the one element of the ends is little.
_FEWEST_VECTORS = 4
#: A thread's registers for what is not the row, and those of a program, of which two share an SM.
_OTHER_REGISTERS, _PROGRAM_REGISTERS = 24, 32768


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


def row_parts(kernel: Kernel, tile: Tile) -> RowParts | NoVectors:
    """How the rows of a kernel that are held in registers are cut, or why they are not."""
    held = [i for i, axis in enumerate(tile.axes) if axis.kind == "resident"]
    if tile.looped is not None or len(held) != 1:
        return NoVectors.NO_AXIS
    [axis] = held
    row = row_of(kernel, tile, axis)
    if isinstance(row, NoVectors):
        return row
    dim, extent = row
    if any(isinstance(op, fuse.Rand) and dim in dims for op, dims in kernel.op_dims.items()):
        return NoVectors.RANDOM
    if not all(REDUCTION_OPS[op.name].in_parts for op in kernel.reductions):
        return NoVectors.FOLD
    shapes = KernelShape.of(kernel)
    loads = {i: a for i, a in enumerate(kernel.loads) if dim in kernel.op_dims[a.op]}
    stores = [a for a in kernel.stores if dim in kernel.op_dims[a.op]]
    if shapes.aligned((dim,)):
        return NoVectors.ALIGNED
    if not loads:
        return NoVectors.NOT_READ
    if any(a.argument in kernel.ties for a in loads.values()):
        return NoVectors.UPDATED
    if any(string(a.op.attributes["mode"]) != "set" for a in stores):
        return NoVectors.ADDED
    vector = ACCESS_BYTES // _NARROW
    read = {number: _narrow_start(kernel, shapes, access, dim) for number, access in loads.items()}
    shared = tuple(
        (n, start)
        for n, start in read.items()
        if start is not None and kernel.facts.divides(vector, start) and is_true(loads[n].op.operands[1])
    )
    starts = {start for n, start in read.items() if n not in dict(shared)}
    starts |= {_narrow_start(kernel, shapes, access, dim) for access in stores}
    if None in starts:
        return NoVectors.STEPS
    if len(starts) != 1:
        return NoVectors.STARTS
    [start] = starts
    assert start is not None
    if shared and kernel.facts.divides(2, start):
        return NoVectors.EVEN_STARTS
    parts = RowParts(axis, start, vector, extent // vector * vector - vector, extent, shared)
    return _loss(shapes, tile, parts) or parts


def _loss(shapes: KernelShape, tile: Tile, parts: RowParts) -> NoVectors | None:
    """Why two tiles are slower than one of single elements; None where they are faster."""
    threads = 32 * tile.num_warps
    held = -(-parts.whole // (threads * parts.vector)) * parts.vector
    registers = held * shapes.live_values + _OTHER_REGISTERS
    if held < _FEWEST_VECTORS * parts.vector:
        return NoVectors.FEW_VECTORS
    if ceil_power(parts.whole) > tile.elements:
        return NoVectors.NO_SMALLER
    if parts.whole * 5 < held * threads * 4:
        return NoVectors.IDLE
    return NoVectors.REGISTERS if threads * registers > _PROGRAM_REGISTERS else None


def _narrow_start(kernel: Kernel, shapes: KernelShape, access: Access, dim: str) -> Expr | None:
    """Where a row of an access starts; None also where its elements have not 16 bits."""
    narrow = kernel.spec(access.argument).element_bytes == _NARROW
    return start_of(kernel, shapes, access, dim) if narrow else None
