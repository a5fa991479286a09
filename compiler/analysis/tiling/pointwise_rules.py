"""Rules for kernels that reduce nothing: flat, rows and columns, moved pieces, or transposed."""

from ...cost.hardware import Hardware
from ...cost.slots import LOAD, slots
from ...ir.dialects import fuse
from ...ir.kernel import Access
from ...ir.sizes import ceil_power, floor_power
from ...ir.tile import Axis, Tile
from ..contraction.product import SHORT
from ..kernel.shape import KernelShape
from .choice import (
    LARGE_REGISTERS,
    THREADS_OF_FOUR_WARPS,
    elements_per_program,
    full_accesses,
    grid,
    segments,
)
from .vectors import reads_beside, vector_count

#: Bytes of a line of memory, which is read as a whole.
_LINE_BYTES = 128
#: Planes of a program whose points share what is read and computed for them, and its warps at most.
_PLANES, _PLANE_WARPS = 4, 4
#: Fewest and most columns whose rows share reads: the fewest make a vector of 16 bytes of float32.
_SHARED_READS = (4, 16)
#: Of rows that are added at loaded indices: most columns, fewest loads that a thread does once for a vector,
#: and its vectors.
_ADDED_COLUMNS, _ADDED_READS, _ADDED_VECTORS = 128, 4, 2
#: Columns at most that step over elements, and bytes of results of a thread of theirs.
_STEPPED_COLUMNS, _STEPPED_BYTES = 8, 8
#: Bytes of results of a thread that reads neighbours along memory one by one.
_BESIDE_BYTES = 4
#: Points of a program that reads one plane anywhere, and operands of a ``fuse.load`` in front of its indices.
_SCATTERED_POINTS, _WITHOUT_INDICES = 2048, 3


def transposed(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """Tiles of 256 bytes a side; smaller where registers or programs would be too few, first along the other
    operand's lines.

    When: an access is contiguous along another long dim than the main access.  Why: both touch whole lines,
    two at a time; Triton goes through shared memory in between.
    """
    crossed = _crossed_dims(shape)
    if crossed is None:
        return None
    other, along, element_bytes = crossed
    down = across = max(16, min(128, floor_power(256 // element_bytes)))
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
    warps = 8 if down * across >= 4096 else 4
    return Tile((*grid(rest, 1), Axis((other,), down, "grid"), Axis((along,), across, "grid")), warps)


def planes_share_points(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """An axis of its own for a dim of planes: a thread takes four planes of each of its points, 16 bytes of
    a plane.  Of more than four planes that are read at loaded indices, a program of 16 warps takes 2048
    points of one.

    When: planes are read at loaded indices, more is loaded and computed for a point of all planes together
    than for the point of one plane (where to read an image of several channels, and with which weights),
    blocks cover the points well, and there are programs for the whole chip.  Why: the former is then done
    once for four planes.  Where planes are read in order, all of a point's are in the cache.  The axis of
    the planes is the last one: where a tile is read at loaded indices, Triton lays lanes along its first
    axis, and threads keep the planes.  Indices may point anywhere in a plane: the first-level cache keeps
    what other points of the program have read of one plane, and not of many.
    """
    inner = shape.merge(shape.order)[-1]
    planes = next((d for d in shape.order if d not in inner and _shares_points(shape, d, inner)), None)
    if planes is None or not _reads_anywhere(shape, planes, inner):
        return None
    together, lanes = min(_PLANES, ceil_power(shape.size(planes))), hardware.warp * max(1, 16 // shape.widest)
    most = _PLANE_WARPS * lanes
    if together < shape.size(planes):
        together, most = 1, _SCATTERED_POINTS
        if shape.points(inner) < most:
            return None
    columns = segments(shape.points(inner), most, lanes)
    covered = -(-shape.points(inner) // columns) * columns
    if covered * 7 > shape.points(inner) * 8:
        return None
    rest = tuple(d for d in shape.order if d != planes and d not in inner)
    programs = shape.points(rest) * -(-shape.size(planes) // together) * -(-shape.points(inner) // columns)
    if programs < hardware.full_grid:
        return None
    points, warps = Axis(inner, columns, "grid"), max(1, columns // lanes)
    if together == 1:
        return Tile((*grid((*rest, planes), 1), points), warps)
    return Tile((*grid(rest, 1), points, Axis((planes,), together, "grid")), warps)


def planes_share_weights(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """One program for a part of a plane: 4 bytes of a thread or a vector, in as many warps as waste none.

    When: at least five loads are the same for a whole plane of 64 points or more (the weights of a channel's
    stencil), and most others read neighbours, or the kernel computes vectors of them.  Why: the former are
    numbers of the program then, and are loaded and widened once.
    """
    inner = tuple(d for d in shape.order if d not in _dims_of_weights(shape))
    planes = tuple(d for d in shape.order if d not in inner)
    vectors = vector_count(shape) is not None
    per_thread = 1 if vectors else max(1, _BESIDE_BYTES // shape.widest)
    least = hardware.warp * per_thread
    if not planes or not inner or shape.points(inner) < least or not (vectors or reads_beside(shape)):
        return None
    shared = [a for a in shape.kernel.loads if set(inner).isdisjoint(shape.kernel.op_dims[a.op])]
    if len(shared) <= SHORT:
        return None
    columns = segments(shape.points(inner), 4 * least, least)
    return Tile((*grid(planes, 1), Axis(inner, columns, "grid")), columns // least)


def _dims_of_weights(shape: KernelShape) -> frozenset[str]:
    """The dims of loads without the innermost dim."""
    last = shape.order[-1]
    dims = [shape.kernel.op_dims[a.op] for a in shape.kernel.loads]
    return frozenset().union(*(own for own in dims if last not in own))


def _reads_anywhere(shape: KernelShape, planes: str, inner: tuple[str, ...]) -> bool:
    """Whether a load of a plane takes indices that vary along ``inner``."""
    return any(
        access.indirect
        and planes in shape.kernel.op_dims[access.op]
        and any(
            not shape.kernel.value_dims.get(index, frozenset()).isdisjoint(inner)
            for index in list(access.op.operands)[_WITHOUT_INDICES:]
        )
        for access in shape.kernel.loads
    )


def _shares_points(shape: KernelShape, planes: str, inner: tuple[str, ...]) -> bool:
    """Whether more issue slots vary along ``inner`` without ``planes`` than with it."""
    if shape.size(planes) < 2:
        return False
    shared = own = 0
    for op, dims in shape.kernel.op_dims.items():
        if not dims.isdisjoint(inner):
            cost = LOAD if isinstance(op, (fuse.Load, fuse.Store)) else slots(op.name)
            shared, own = (shared, own + cost) if planes in dims else (shared + cost, own)
    return shared > own


def rows_and_columns(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """Two axes.

    When: dims do not merge into one, the innermost ones have 128 points, and blocks cover them well or some
    tensor has gaps.  Why: an operand of the rows or of the columns needs no division of lanes, and is loaded
    once a tile.
    """
    groups = shape.merge(shape.order)
    outer, inner = tuple(d for g in groups[:-1] for d in g), groups[-1]
    if not outer or shape.points(inner) < THREADS_OF_FOUR_WARPS or _better_flat(shape, inner):
        return None
    total = _shrunk(_elements(shape, hardware), shape.points(shape.order) * shape.calls, hardware)
    columns = segments(shape.points(inner), min(total, 1024))
    rows = min(max(1, total // columns), ceil_power(shape.points(outer)))
    return Tile((Axis(outer, rows, "grid"), Axis(inner, columns, "grid")))


def columns_step_over(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """All dims in one axis, 8 bytes of a thread.

    When: as ``rows-share-reads`` says, there are 4 or 8 columns, and from one to the next at least five loads
    step over elements of a matrix that each point of a batch has for itself (a transposed right factor).
    Why: no load of these is a vector, and what a warp reads at once lies in the fewer lines, the fewer
    columns a thread has.  Of 16 columns each line is read by several warps, whatever a thread has.
    """
    if not _shares_reads(shape) or shape.size(shape.order[-1]) > _STEPPED_COLUMNS:
        return None
    own = [a for a in _loads_of_columns(shape) if not _is_for_all_rows(shape, a)]
    if sum(shape.steps(a)[shape.order[-1]] not in (0, 1) for a in own) <= SHORT:
        return None
    return Tile((Axis(shape.order, THREADS_OF_FOUR_WARPS * max(1, _STEPPED_BYTES // shape.widest), "grid"),))


def rows_share_reads(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """An axis of its own for a few columns: four warps, a vector of a thread.

    When: the last dim has 4 to 16 points in whole vectors, and at least five loads are read once for a row (a
    product of small matrices whose sums are multiplied one by one); or rows of up to 128 points are added at
    loaded indices, and four loads are read once for a row (messages of edges with the weights of both ends).
    Why: a thread loads such an element once for its vector; on a flat axis it loads it for each element.  A
    thread has two vectors where rows are added.  It has one of two rows where all rows share what is read of
    the columns (weights), and loads the weights once.  A program has fewer rows than threads, as Triton then
    loads what is read once for a row in the layout of the tile; else they are exchanged through shared
    memory.
    """
    adds = _adds_rows(shape)
    if not adds and not _shares_reads(shape):
        return None
    last, outer = shape.order[-1], shape.order[:-1]
    block = ceil_power(shape.size(last))
    vector = min(block, max(1, 16 // shape.widest))
    rows = THREADS_OF_FOUR_WARPS * vector // block
    if adds:
        rows *= _ADDED_VECTORS
    elif 2 * rows < THREADS_OF_FOUR_WARPS and _shares_weights(shape):
        rows *= 2
    return Tile((Axis(outer, rows, "grid"), Axis((last,), block, "grid")))


def _adds_rows(shape: KernelShape) -> bool:
    """Whether rows of up to 128 columns, in whole vectors, are added at loaded indices, and enough is read
    once for each of them.
    """
    last, columns = shape.order[-1], shape.size(shape.order[-1])
    if not _SHARED_READS[1] < columns <= _ADDED_COLUMNS or columns % _SHARED_READS[0]:
        return False
    dims = shape.kernel.op_dims
    added = [a for a in shape.kernel.stores if a.indirect and last in dims[a.op]]
    reads = [dims[a.op] for a in shape.kernel.loads]
    return bool(added) and sum(bool(own) and last not in own for own in reads) >= _ADDED_READS


def _shares_reads(shape: KernelShape) -> bool:
    """Whether the last dim has 4 to 16 points in whole vectors, and at least five loads are read once for a
    row, of which there are enough."""
    last, columns = shape.order[-1], shape.size(shape.order[-1])
    if not _SHARED_READS[0] <= columns <= _SHARED_READS[1] or columns % _SHARED_READS[0]:
        return False
    if shape.points(shape.order[:-1]) < THREADS_OF_FOUR_WARPS:
        return False
    dims = [shape.kernel.op_dims[a.op] for a in shape.kernel.loads]
    return sum(bool(own) and last not in own for own in dims) > SHORT


def _loads_of_columns(shape: KernelShape) -> list[Access]:
    """The loads that vary along the last dim."""
    return [a for a in shape.kernel.loads if shape.order[-1] in shape.kernel.op_dims[a.op]]


def _is_for_all_rows(shape: KernelShape, load: Access) -> bool:
    return shape.kernel.op_dims[load.op] == {shape.order[-1]}


def _shares_weights(shape: KernelShape) -> bool:
    """Whether at least five loads of columns are the same for all rows."""
    return sum(_is_for_all_rows(shape, a) for a in _loads_of_columns(shape)) > SHORT


def moved_pieces(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """Two lines of what lies together where it is read, of several neighbours, which lie together where they
    are written.

    When: one tensor over all dims is read and one written, and pieces of memory change places (heads brought
    in front of tokens).  Why: each line is then read by one program, and written by one.
    """
    full = full_accesses(shape)
    loads = [a for a in full if isinstance(a.op, fuse.Load)]
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
    total = _shrunk(elements_per_program(shape, hardware), shape.points(shape.order) * shape.calls, hardware)
    columns = min(total, most, ceil_power(shape.points(tuple(inner))))
    outer, rest = read[-1], tuple(d for d in shape.order if d not in inner and d != read[-1])
    rows = min(total // columns, ceil_power(shape.size(outer)))
    return Tile((*grid(rest, 1), Axis((outer,), rows, "grid"), Axis(tuple(inner), columns, "grid")))


def flat(shape: KernelShape, hardware: Hardware) -> Tile:
    """All dims in one axis.

    When: in all other cases.  Why: every access is as wide as it gets, and only the last program has masked
    lanes.
    """
    block = _shrunk(_elements(shape, hardware), shape.points(shape.order) * shape.calls, hardware)
    return Tile((Axis(shape.order, block, "grid"),))


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


def _elements(shape: KernelShape, hardware: Hardware) -> int:
    """Elements of a program: two of a thread where most reads step over elements from one point to the next,
    as those of a window with a stride do.  A thread reads one element at a time then, however many it has,
    and what a warp reads at once spans as many lines as a thread has elements.

    A last dim of a few points that a read steps over (one of the images that a pixel shuffle weaves together)
    does not count: a thread's elements go through it and on, and lie together in each of these images.

    4 bytes of a thread where most reads are neighbours along memory (the taps of a stencil): a read in the
    middle of a vector is none, and what a warp reads at once then lies together.  One point of a thread where
    a point is a vector of such neighbours.
    """
    elements = elements_per_program(shape, hardware)
    if vector_count(shape) is not None:
        return THREADS_OF_FOUR_WARPS
    if reads_beside(shape):
        elements = min(elements, THREADS_OF_FOUR_WARPS * max(1, _BESIDE_BYTES // shape.widest))
    if shape.size(shape.order[-1]) * 2 * THREADS_OF_FOUR_WARPS <= elements:
        return elements
    reads = [a for a in full_accesses(shape) if a in shape.kernel.loads]
    steps = [shape.steps(a).get(shape.order[-1]) for a in reads]
    skips = sum(step is not None and abs(step) > 1 for step in steps)
    return min(elements, 2 * THREADS_OF_FOUR_WARPS) if 2 * skips > len(reads) else elements


def _shrunk(block: int, points: int, hardware: Hardware) -> int:
    """Halved while there are too few programs for the chip: small tensors are limited by latency, not by
    access width.  ``points``: of all calls that may share a launch.
    """
    while block > THREADS_OF_FOUR_WARPS and -(-points // block) < hardware.full_grid:
        block //= 2
    return block


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
