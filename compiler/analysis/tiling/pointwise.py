"""Tiles of kernels that reduce nothing: flat, rows and columns, or transposed."""

from ...base.hardware import Hardware
from ...ir.sizes import ceil_power, floor_power
from ...ir.tile import Axis, Tile
from ..kernel.shape import KernelShape
from .choice import (
    FOUR_WARPS,
    LARGE_REGISTERS,
    Choice,
    elements_per_program,
    full_accesses,
    segments,
)

#: Bytes of a line of memory, which is read as a whole.
_LINE_BYTES = 128


def pointwise(shape: KernelShape, hardware: Hardware) -> Choice:
    crossed = _crossed_dims(shape)
    if crossed is not None:
        return _transposed(shape, *crossed, hardware)
    groups = shape.merge(shape.order)
    inner = shape.points(groups[-1])
    if len(groups) > 1 and inner >= FOUR_WARPS and not _better_flat(shape, groups[-1]):
        return _rows_and_columns(shape, groups, hardware)
    return _moved_pieces(shape, hardware) or _flat(shape, hardware)


def _better_flat(shape: KernelShape, inner: tuple[str, ...]) -> bool:
    """Whether rows of known length make poor tiles (they start at odd addresses, or no block covers them
    well) while the tensors that all dims address are whole: flat, these are accessed 16 bytes at a time, and
    only the indices of per-row or per-column operands cost a division.
    """
    if not all(shape.kernel.dims[d].is_constant for d in shape.order):
        return False
    columns = segments(shape.points(inner), 1024)
    covered = -(-shape.points(inner) // columns) * columns
    if shape.aligned(inner) and covered * 32 <= shape.points(inner) * 33:
        return False
    return all(shape.is_whole(a) for a in full_accesses(shape))


def _elements(shape: KernelShape) -> int:
    """Elements of a program: two of a thread where most reads step over elements from one point to the next,
    as those of a window with a stride do.  A thread reads one element at a time then, however many it has,
    and what a warp reads at once spans as many lines as a thread has elements (max pooling of 3 x 3 by 2 in
    bf16: 0.58 of a copy, with four 0.37, with eight 0.22; with one, whose programs are over before the next
    ones start, 0.48; by hand, with neighbours read as pairs, 0.83, 0.75, 0.48 and 0.49).
    """
    reads = [a for a in full_accesses(shape) if a in shape.kernel.loads]
    steps = [shape.steps(a).get(shape.order[-1]) for a in reads]
    skips = sum(step is not None and abs(step) > 1 for step in steps)
    elements = elements_per_program(shape)
    return min(elements, 2 * FOUR_WARPS) if 2 * skips > len(reads) else elements


def _shrunk(block: int, points: int, hardware: Hardware) -> int:
    """Halved while there are too few programs for the chip: small tensors are limited by latency, not by
    access width.
    """
    while block > FOUR_WARPS and -(-points // block) < hardware.full_grid:
        block //= 2
    return block


def _flat(shape: KernelShape, hardware: Hardware) -> Choice:
    """All dims in one axis: every access is as wide as it gets, and only the last program has masked
    lanes.
    """
    block = _shrunk(_elements(shape), shape.points(shape.order), hardware)
    return Choice(Tile((Axis(shape.order, block, "grid"),)), "flat")


def _rows_and_columns(shape: KernelShape, groups: list[tuple[str, ...]], hardware: Hardware) -> Choice:
    """Two axes: a per-column or per-row operand then needs no division of lanes and is loaded once a tile."""
    points = shape.points(shape.order)
    total = _shrunk(_elements(shape), points, hardware)
    outer, inner = tuple(d for g in groups[:-1] for d in g), groups[-1]
    columns = segments(shape.points(inner), min(total, 1024))
    rows = min(max(1, total // columns), ceil_power(shape.points(outer)))
    return Choice(Tile((Axis(outer, rows, "grid"), Axis(inner, columns, "grid"))), "rows-and-columns")


def _moved_pieces(shape: KernelShape, hardware: Hardware) -> Choice | None:
    """Pieces of memory change places (heads brought in front of tokens): two lines of what lies together
    where it is read, of several neighbours, which lie together where they are written (pieces of 128 bytes in
    four shapes: 1.08, 1.08, 1.15, 1.36 of a copy; flat in the order of the store 1.01, 1.07, 1.15, 1.32).
    None where more than one tensor over all dims is read, or written.
    """
    full = full_accesses(shape)
    loads = [a for a in full if a.op.name == "fuse.load"]
    dims = [d for d in shape.order if shape.size(d) > 1]
    if len(loads) != 1 or len(full) != 2 or len(dims) < 2:
        return None
    steps = shape.steps(loads[0])
    if not all(steps[d] for d in dims) or abs(steps[dims[-1]] or 0) != 1:
        return None
    read = sorted(dims, key=lambda d: -abs(steps[d] or 0))
    if read == dims:
        return None
    most, inner = 2 * _LINE_BYTES // shape.widest, [read.pop()]
    while len(read) > 1 and shape.points(tuple(inner)) < most:
        inner.insert(0, read.pop())
    total = _shrunk(elements_per_program(shape), shape.points(shape.order), hardware)
    columns = min(total, most, ceil_power(shape.points(tuple(inner))))
    outer, rest = read[-1], tuple(d for d in shape.order if d not in inner and d != read[-1])
    rows = min(total // columns, ceil_power(shape.size(outer)))
    axes = (Axis((outer,), rows, "grid"), Axis(tuple(inner), columns, "grid"))
    return Choice(Tile(((Axis(rest, 1, "grid"),) if rest else ()) + axes), "moved-pieces")


def _crossed_dims(shape: KernelShape) -> tuple[str, str, int] | None:
    """(contiguous dim of some load, contiguous dim of the main access, bytes) when they differ and both are
    long enough to matter.
    """
    main = shape.main_access
    if main is None:
        return None
    along = shape.contiguous_dim(main)
    if along is None:
        return None
    for access in shape.accesses:
        other = shape.contiguous_dim(access)
        if other is None or other == along or access.op is main.op:
            continue
        moves_too = shape.steps(access).get(along) not in (0, 1)
        if moves_too and min(shape.size(other), shape.size(along)) >= 16:
            return other, along, shape.element_bytes(access)
    return None


def _transposed(shape: KernelShape, other: str, along: str, bytes_: int, hardware: Hardware) -> Choice:
    """Tiles of 256 bytes a side: both the load and the store then touch whole lines, two at a time; Triton
    goes through shared memory in between.  Smaller where registers or programs would be too few, first along
    the other operand's lines (in bf16, 64 x 128 reach 0.98 of a copy where 64 x 64 reach 0.94).
    """
    down = across = max(16, min(128, floor_power(256 // bytes_)))
    rest = tuple(d for d in shape.order if d not in (other, along))

    def too_large() -> bool:
        tiles = -(-shape.size(other) // down) * -(-shape.size(along) // across)
        few = tiles * shape.points(rest) < hardware.full_grid
        return few or down * across // 256 * shape.live_values > LARGE_REGISTERS

    while across > 32 and too_large():
        if down == across:
            down //= 2
        else:
            across //= 2
    axes = (Axis(rest, 1, "grid"),) if rest else ()
    warps = 8 if down * across >= 4096 else 4
    tile = Tile((*axes, Axis((other,), down, "grid"), Axis((along,), across, "grid")), warps)
    return Choice(tile, "transposed")
