"""Rows that start anywhere in memory: where they start, and why they are not read in whole vectors.

A row of an odd number of 16-bit elements starts at an odd address, so each access to it would be of a single
element.  ``row_start.py`` has what is done where such rows are looped over, ``row_parts.py`` where they are
held in registers.  Both say by a ``NoVectors`` why they leave a kernel alone.
"""

from enum import Enum

from ...index import Expr, sym
from ...index.facts import is_indirect
from ...ir.kernel import Access, Kernel
from ...ir.tile import Tile
from ..kernel.shape import KernelShape

#: Bytes of the widest access.
ACCESS_BYTES = 16


class NoVectors(Enum):
    """Why the rows of a kernel are not read in whole vectors from another start than their own."""

    NO_AXIS = "no axis of the tile is a row: one dim alone, and the only one that is held or looped over"
    SEVERAL_ROWS = "a program has several rows at a time"
    UNKNOWN_LENGTH = "the length of the row is not a constant"
    SCANNED = "the kernel scans"
    ASSERTED = "something is asserted of each element of the row"
    RANDOM = "a random number is drawn for each element, and four neighbours share a call"
    STORED = "something is stored along the row"
    ADDED = "what is stored along the row is added to what is there"
    UPDATED = "the kernel writes to the tensor that it reads along the row"
    NOT_READ = "nothing is read along the row"
    ALIGNED = "rows start at multiples of 16 bytes"
    FOLD = "a reduction has no form for lanes that are masked in front, or for a row in two parts"
    STEPS = "an access along the row does not step by one through elements of a size that gains by vectors"
    STARTS = "accesses along the row start in different places"
    EVEN_STARTS = "rows start at even elements: to shift what they share costs more than narrower accesses"
    BLOCK = "a block is no multiple of vectors"
    END = "the tensor does not end with a whole vector"
    FEW_VECTORS = "a thread would hold too few vectors to pay for the second tile"
    NO_SMALLER = "the whole vectors take a larger tile than the row"
    IDLE = "more than a fifth of the lanes would be idle"
    REGISTERS = "two programs would not fit on a multiprocessor"


def row_of(kernel: Kernel, tile: Tile, axis: int) -> tuple[str, int] | NoVectors:
    """The dim of the row that is an axis of a tile, and how many elements it has."""
    if len(tile.axes[axis].dims) != 1:
        return NoVectors.NO_AXIS
    if kernel.scans:
        return NoVectors.SCANNED
    if any(other.block > 1 for i, other in enumerate(tile.axes) if i != axis):
        return NoVectors.SEVERAL_ROWS
    [dim] = tile.axes[axis].dims
    extent = kernel.dims[dim].constant
    if extent is None:
        return NoVectors.UNKNOWN_LENGTH
    if any(dim in kernel.op_dims[op] for op in kernel.asserts):
        return NoVectors.ASSERTED
    return dim, extent


def start_of(kernel: Kernel, shapes: KernelShape, access: Access, dim: str) -> Expr | None:
    """Where in its storage the row of an access starts: an expression over the other dims, in elements.  None
    where the access does not step by one along ``dim``, where the tensor does not start at a multiple of 16
    bytes, and where a size or a loaded index decides.
    """
    spec = kernel.spec(access.argument)
    row = shapes.offset_of(access) - sym(dim)
    names = row.symbols()
    aligned = (
        spec.offset.constant is not None and spec.offset.constant * spec.element_bytes % ACCESS_BYTES == 0
    )
    if not aligned or dim in names:
        return None
    return None if any(is_indirect(n) or n not in kernel.dims for n in names) else row
