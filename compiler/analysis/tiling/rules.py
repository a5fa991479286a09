"""How a kernel is cut into tiles: small rules, each with its reason, over plain numbers.  ``choose`` is the
entry; the rules of reductions are here, those of other kernels in ``tiling/pointwise.py``.

Hints choose block sizes only; a tile is right for every size: ``resident`` axes have a static bound, all
others are cut into blocks.
"""

from ...base.hardware import Hardware
from ...ir.sizes import ceil_power, floor_power
from ...ir.tile import Axis, Tile
from ...mlir import ir
from ..kernel.shape import KernelShape
from .choice import (
    FOUR_WARPS,
    LARGE_REGISTERS,
    SMALL_REGISTERS,
    Choice,
    NoTiling,
    elements_per_program,
    full_accesses,
    segments,
)
from .pointwise import pointwise
from .row_parts import RowParts, row_parts

#: A row in registers: above this, a program holds too much per thread.
ROW_ELEMENTS, ROW_BYTES = 32768, 131072
#: Rows above this take 32 warps, whose threads have 64 registers: few values may live then.
_LONG_ROW, _LONG_ROW_VALUES = 16384, 3
#: Programs of rows shorter than this are too short to keep memory busy alone: several rows share one.
SHORT_ROW_BYTES = 2048
#: Rows shorter than this are one program's: two warps meet at a barrier sooner than four that share two rows
#: (softmax with a mask, rows of 2 KB: 0.98 of a copy instead of 0.93).
_WARP_ROW_BYTES = 4096
#: Rows of a program whose memory is contiguous across rows: two sectors of 16 bits, a line of 32.
_CROSSED_ROWS = 32
#: Bytes of a row that one warp handles: 64 a thread.
_WARP_BYTES = 2048
#: Registers for values that a thread may hold before a row is looped over.
ROW_REGISTERS = 128
#: A program that walks over rows and reduces each has few loads in flight beside a barrier in every step:
#: the next rows are loaded meanwhile, in three stages, by two programs of 8 warps for each multiprocessor.
#: Measured: two, three, four stages reach 0.64, 0.85, 0.85 of a copy in row mean + column variance (0.39,
#: 0.71, 0.72 in bf16; with 16 warps 0.84 and 0.69), and in layer norm's backward pass 0.69, 0.90, 0.90 (0.46,
#: 0.88, 0.84).
_WALK_STAGES, _WALK_WARPS = 3, 8
#: Elements of a row that a thread holds beside their positions, where the position of the largest is wanted:
#: with more, a loop that keeps one pair for many is faster (8192 columns in bf16: 0.97 of a copy with four
#: warps, 0.92 with eight, held 0.81).
_POSITIONS = 16
#: Of rows that a loop reads twice: bytes that the programs of an SM read at a time, the registers of a thread
#: for them, of 64, and up to how many programs: with more, the small blocks of other loops serve as well.
_READ_BYTES, _STREAM_REGISTERS, _FEW_PROGRAMS = 65536, 48, 4
#: Bytes of a thread's loads that are in flight at once: 16 of 16 bytes, 64 registers.
_THREAD_BYTES = 256
#: How often the warps of a row exchange partial results in a reduction, where not once.
_MEETINGS = {"fuse.welford": 2, "fuse.online_softmax": 2, "fuse.online_expectation": 3}


def choose(shape: KernelShape, hardware: Hardware) -> Choice:
    """The tile of a kernel.  Raises ``NoTiling``."""
    if not shape.kernel.dims:
        return Choice(Tile((), num_warps=1), "scalar")
    if not shape.reduced:
        return pointwise(shape, hardware)
    if len(shape.reduced_classes) > 1:
        return _several_reductions(shape, hardware)
    if _is_inner(shape):
        return _row_reduction(shape, hardware)
    return _column_reduction(shape, hardware)


def _is_inner(shape: KernelShape) -> bool:
    """Whether memory is contiguous along a reduced dim, judged by the access over the most points that has
    one.
    """
    candidates = [a for a in shape.accesses if shape.kernel.op_dims[a.op] & set(shape.reduced)]
    candidates.sort(key=lambda a: -shape.points(tuple(sorted(shape.kernel.op_dims[a.op]))))
    for access in candidates:
        along = shape.contiguous_dim(access)
        if along is not None:
            return along in shape.reduced
    return True


def _axes(outer: tuple[str, ...], rows: int, rest: tuple[Axis, ...]) -> tuple[Axis, ...]:
    return ((Axis(outer, rows, "grid"),) if outer else ()) + rest


def _row_reduction(shape: KernelShape, hardware: Hardware) -> Choice:
    [dims] = shape.reduced_classes
    bound, length = shape.bound(dims), max(1, shape.points(dims))
    width = ceil_power(bound or 1)
    crossed = _crossed_rows(shape, dims, width, hardware)
    if crossed is not None:
        return crossed
    if bound is not None and width <= ROW_ELEMENTS and bound * shape.widest <= ROW_BYTES:
        if bound * shape.widest < SHORT_ROW_BYTES:
            return _short_rows(shape, dims, width, hardware)
        if width * shape.widest < _WARP_ROW_BYTES:
            tile = Tile(_axes(shape.parallel, 1, (Axis(dims, width, "resident"),)), 2)
            return Choice(_in_vectors(tile, shape), "row-resident")
        if width > _LONG_ROW and not shape.rereads:
            return _looped_rows(shape, dims, length, hardware)
        if width > _LONG_ROW and shape.live_values <= _LONG_ROW_VALUES:
            if _shares_cache(shape, dims, hardware):
                return _halves_read_again(shape, dims)
            axis = Axis(dims, width, "resident")
            return Choice(
                Tile(_axes(shape.parallel, 1, (axis,)), 2 * hardware.max_warps), "long-row-resident"
            )
        filled = bound if shape.aligned(dims) and bound * 8 < width * 7 else width
        warps = _row_warps(filled, shape, hardware)
        if _finds_position(shape) and width // (warps * hardware.warp) > _POSITIONS:
            block = FOUR_WARPS * max(1, 16 // shape.widest)
            return Choice(Tile(_axes(shape.parallel, 1, (Axis(dims, block, "looped"),))), "row-looped")
        if filled // (warps * hardware.warp) * shape.live_values <= LARGE_REGISTERS:
            tile = Tile(_axes(shape.parallel, 1, (Axis(dims, width, "resident"),)), warps)
            return Choice(_in_vectors(tile, shape), "row-resident")
    if both_ways(shape):
        return _resident_scan(shape, dims, hardware)
    return _looped_rows(shape, dims, length, hardware)


def _crossed_rows(shape: KernelShape, dims: tuple[str, ...], width: int, hardware: Hardware) -> Choice | None:
    """32 rows a program, where some tensor over all dims is contiguous across the rows (a transposed operand)
    and a tile of them fits in registers: whole sectors for each access, and most of each reduction in the
    thread, which holds 256 bytes.  (In bf16, over 256 channels, 2 warps reach 0.96 of a copy; 64 rows of 4
    warps, whole lines, 0.85, and 0.66 of 2 warps.)
    """
    across = [
        a
        for a in full_accesses(shape)
        if shape.contiguous_dim(a) in shape.parallel and shape.size(shape.contiguous_dim(a) or "") >= 16
    ]
    if not across or shape.bound(dims) is None:
        return None
    element = max(shape.element_bytes(a) for a in across)
    rows, elements = _CROSSED_ROWS, _CROSSED_ROWS * width
    if elements > ROW_ELEMENTS or -(-shape.points(shape.parallel) // rows) < hardware.full_grid:
        return None
    warps = max(1, min(hardware.max_warps, elements * element // (_THREAD_BYTES * hardware.warp)))
    registers = elements // (warps * hardware.warp) * shape.live_values * element // 4  # 16 bits stay packed
    if registers > LARGE_REGISTERS:
        return None
    return Choice(Tile(_axes(shape.parallel, rows, (Axis(dims, width, "resident"),)), warps), "crossed-rows")


def _row_warps(width: int, shape: KernelShape, hardware: Hardware) -> int:
    """A warp for 64 bytes a thread, four 16-byte accesses in flight; more warps where values would not fit in
    registers, fewer of them (of 32 elements a thread) where each meets the others three times: about 40
    instructions every time (layer norm and int8 by groups: 0.91 of a copy in float32 instead of 0.85).
    ``width`` is what there is where that is less than seven eighths of the block: lanes that are idle in all
    threads are left out by the compiler (layer norm of 12288 columns in bf16: 0.97 of a copy with 8 warps,
    with the 16 of 16384 columns 0.80).
    """
    warps = min(max(floor_power(width * shape.widest // _WARP_BYTES), 1), hardware.max_warps)
    if sum(_MEETINGS.get(op.name, 1) for op in shape.kernel.reductions) >= 3:
        warps = min(warps, floor_power(max(1, width // (32 * hardware.warp))))
    while warps < hardware.max_warps:
        if width // (warps * hardware.warp) * shape.live_values <= ROW_REGISTERS:
            break
        warps *= 2
    return warps


def _in_vectors(tile: Tile, shape: KernelShape) -> Tile:
    """The tile of a row in registers, with fewer warps where that lets it be accessed in whole vectors
    although it starts anywhere.
    """
    warps = tile.num_warps
    while warps >= 1:
        fewer = Tile(tile.axes, warps, tile.num_stages)
        if isinstance(row_parts(shape.kernel, fewer), RowParts):
            return fewer
        warps //= 2
    return tile


def _counts(shape: KernelShape) -> bool:
    """Whether a fold needs the number of points: without a mask a thread folds 16 bytes at once."""
    return any(op.name == "fuse.welford" for op in shape.kernel.reductions)


def _finds_position(shape: KernelShape) -> bool:
    """Whether rows are only searched for their largest or smallest element."""
    return not shape.rereads and any(op.name == "fuse.argreduce" for op in shape.kernel.reductions)


def _short_rows(shape: KernelShape, dims: tuple[str, ...], width: int, hardware: Hardware) -> Choice:
    """Several rows a program: a short row alone reads too little to hide memory's latency.  A warp for 64
    bytes a thread, as for longer rows (norm and rotary embedding of heads of 128: two warps a program reach
    0.97 of a copy in bf16, four 0.94); up to four warps where the chip is not full.
    """
    wanted = rows = max(1, elements_per_program(shape) // width)
    while rows > 1 and -(-shape.points(shape.parallel) // rows) < hardware.full_grid:
        rows //= 2
    full = rows == wanted
    rows = min(rows, ceil_power(shape.points(shape.parallel)))
    lanes = _WARP_BYTES // shape.widest if full else hardware.warp * 4
    warps = max(1, min(4, floor_power(rows * width // lanes)))
    return Choice(
        Tile(_axes(shape.parallel, rows if shape.parallel else 1, (Axis(dims, width, "resident"),)), warps),
        "short-rows",
    )


def _looped_rows(shape: KernelShape, dims: tuple[str, ...], length: int, hardware: Hardware) -> Choice:
    """Blocks of 16 bytes for each of 256 threads, or of the row when it is shorter: the row is streamed, the
    accumulators stay in registers.  Half of that where it leaves no mask to a fold that counts, and in 16
    bits where a position is searched, so that more programs run at once and the last ones leave less idle
    (argmax of 1024 rows of 128256 columns: 0.93 and 0.99 of a copy instead of 0.80 and 0.82; logarithms of
    sums of exponentials lose 2 to 5%).  Rows that do not start at multiples of 16 bytes are read an element
    at a time, eight by a thread where rows are long, and 32 bytes of them where a position is searched
    (argmax of 50257 columns in bf16: 1.00 of a read with blocks of 4096, 0.94 with 2048).
    """
    block = min(256 * max(1, 16 // shape.widest), ceil_power(length))
    again = _rows_read_again(shape, dims, length, hardware)
    if again is not None:
        return again
    if not shape.aligned(dims) and length > 8192:
        block = 8192 // max(2, shape.widest) if _finds_position(shape) else 2048
        return Choice(Tile(_axes(shape.parallel, 1, (Axis(dims, block, "looped"),)), 8), "row-looped")
    if not shape.aligned(dims):
        block = min(block, 512)
    while block > 256 and block // 256 * shape.live_values > LARGE_REGISTERS:
        block //= 2
    per_thread = max(1, 16 // shape.widest)
    if _counts(shape) and length % block and length % (block // 2) == 0 and block // 2 >= 128 * per_thread:
        block //= 2
        return Choice(Tile(_axes(shape.parallel, 1, (Axis(dims, block, "looped"),)), 4), "row-looped")
    warps = max(1, min(8, block // (hardware.warp * 4)))
    if shape.widest <= 2 and _finds_position(shape) and block == 256 * per_thread:
        block, warps = block // 2, 4
    rows = 1
    if shape.parallel and block < 256 and not shape.kernel.scans:
        rows = min(256 // block, ceil_power(shape.points(shape.parallel)))
        while rows > 1 and -(-shape.points(shape.parallel) // rows) < hardware.full_grid:
            rows //= 2
    return Choice(Tile(_axes(shape.parallel, rows, (Axis(dims, block, "looped"),)), warps), "row-looped")


def _rows_read_again(
    shape: KernelShape, dims: tuple[str, ...], length: int, hardware: Hardware
) -> Choice | None:
    """Few rows at a time where a loop reads them twice, so that the second read finds them in the cache: as
    many programs for each SM as three quarters of it hold rows, with 32 warps between them that read 64 KB at
    a time (softmax of 131072 columns in bf16: 0.79 of a copy where blocks half as long, of which two programs
    share an SM, reach 0.76; group norm of 65536 points a group: 0.80, in bf16 0.75, where six or eight
    programs of 8 warps share an SM 0.65 and 0.63).  None where small programs do not exceed the cache.
    """
    if not shape.rereads or shape.kernel.scans or not shape.aligned(dims):
        return None
    loads = [a for a in shape.kernel.loads if set(dims) <= shape.kernel.op_dims[a.op]]
    point = max(1, sum(shape.element_bytes(a) for a in loads))
    held = hardware.l2_bytes * 3 // 4 // hardware.sm_count
    programs = max(1, floor_power(held // (length * point)))
    warps, block = 2 * hardware.max_warps // programs, floor_power(_READ_BYTES // programs // point)
    threads = warps * hardware.warp
    while block // threads * shape.live_values * shape.widest // 4 > _STREAM_REGISTERS:  # 16 bits stay packed
        block //= 2
    while _counts(shape) and length % block and not _hardly_masked(shape, dims, length, block):
        block //= 2
    if programs > _FEW_PROGRAMS or block < threads * max(1, 16 // shape.widest):
        return None
    return Choice(Tile(_axes(shape.parallel, 1, (Axis(dims, block, "looped"),)), warps), "row-looped")


def _shares_cache(shape: KernelShape, dims: tuple[str, ...], hardware: Hardware) -> bool:
    """Whether there are rows of 16 bits for several programs of each SM, which are read in vectors."""
    plain = shape.aligned(dims) and not shape.kernel.scans and not _counts(shape)
    return plain and shape.widest <= 2 and shape.points(shape.parallel) >= hardware.full_grid


def _halves_read_again(shape: KernelShape, dims: tuple[str, ...]) -> Choice:
    """Rows of up to 64 KB of 16 bits: a program that holds one has all registers of an SM, and none reads
    while it writes.  Three programs of 16 warps read theirs again from the cache (softmax of 32000 columns:
    0.90 of a copy instead of 0.76; with 8 warps each 0.81, with 32 warps 0.87).
    """
    axes = _axes(shape.parallel, 1, (Axis(dims, 8192, "looped"),))
    return Choice(Tile(axes, 16), "row-looped")


def _hardly_masked(shape: KernelShape, dims: tuple[str, ...], length: int, block: int) -> bool:
    """Whether a loop whose fold counts its points leaves at most an eighth of its lanes idle, and out of no
    vector a part: each thread then folds whole vectors (batch norm of 256 images of 14x14 pixels: 0.67 of a
    copy with blocks of 8192, 0.44 with those of 1024 that leave no mask).
    """
    covered = -(-length // block) * block
    return covered * 7 <= length * 8 and length % shape.vector(dims) == 0


def both_ways(shape: KernelShape) -> bool:
    """Whether the kernel scans forward and in reverse: one loop cannot run both ways."""
    return len({ir.BoolAttr(op.attributes["reverse"]).value for op in shape.kernel.scans}) > 1


def _resident_scan(shape: KernelShape, dims: tuple[str, ...], hardware: Hardware) -> Choice:
    bound = shape.bound(dims)
    if bound is None or ceil_power(bound) > 4 * ROW_ELEMENTS:
        raise NoTiling(
            f"forward and reverse scans over {list(dims)} must hold the whole axis, "
            f"whose extent is {bound or 'not bounded'}"
        )
    axis = Axis(dims, ceil_power(bound), "resident")
    return Choice(Tile(_axes(shape.parallel, 1, (axis,)), hardware.max_warps), "scan-resident")


def _column_reduction(shape: KernelShape, hardware: Hardware) -> Choice:
    """The contiguous parallel dims give whole lines; rows are walked through, or held when there are few."""
    [dims] = shape.reduced_classes
    groups = shape.merge(shape.parallel)
    outer, inner = tuple(d for g in groups[:-1] for d in g), groups[-1]
    in_threads = _columns_in_threads(shape, dims, outer, inner, hardware)
    if in_threads is not None:
        return in_threads
    columns = min(128, max(1, ceil_power(shape.points(inner))))
    while columns > 32 and shape.points(outer) * -(-shape.points(inner) // columns) < hardware.full_grid:
        columns //= 2
    total = 8 * FOUR_WARPS * 2
    while total > 512 and total // 256 * shape.live_values > SMALL_REGISTERS:
        total //= 2
    bound = shape.bound(dims)
    most = max(1, total // columns)
    if bound is not None and ceil_power(bound) <= most:
        axis, rule = Axis(dims, ceil_power(bound), "resident"), "column-resident"
    else:
        axis, rule = Axis(dims, min(most, ceil_power(max(1, shape.points(dims)))), "looped"), "column-looped"
    warps = max(1, min(8, columns * axis.block // 256))
    if both_ways(shape) and axis.kind == "looped":
        return _resident_scan(shape, dims, hardware)
    return Choice(Tile((*_axes(outer, 1, (axis,)), Axis(inner, columns, "grid")), warps), rule)


def _columns_in_threads(
    shape: KernelShape,
    dims: tuple[str, ...],
    outer: tuple[str, ...],
    inner: tuple[str, ...],
    hardware: Hardware,
) -> Choice | None:
    """A few rows (the answers of a token's experts): every thread holds 16 bytes of all of them.  Warps then
    lie side by side along the columns, nothing is exchanged, and a thread has a load in flight for each row;
    narrower blocks leave warps over that share the rows, and meet at a barrier after one load each.  None
    where a warp's columns are more than there are, programs too few, or registers.
    """
    bound = shape.bound(dims)
    vector = max(1, 16 // shape.widest)
    least, most = hardware.warp * vector, FOUR_WARPS * vector
    if bound is None or ceil_power(bound) * 16 > _THREAD_BYTES or shape.points(inner) < least:
        return None
    rows = ceil_power(bound)
    if rows * vector * shape.live_values * shape.widest // 4 > ROW_REGISTERS:  # 16 bits stay packed
        return None
    columns = segments(shape.points(inner), most, least)
    while columns > least and shape.points(outer) * -(-shape.points(inner) // columns) < hardware.full_grid:
        columns //= 2
    if shape.points(outer) * -(-shape.points(inner) // columns) < hardware.full_grid:
        return None
    axes = (*_axes(outer, 1, (Axis(dims, rows, "resident"),)), Axis(inner, columns, "grid"))
    return Choice(Tile(axes, columns // least), "columns-in-threads")


def _several_reductions(shape: KernelShape, hardware: Hardware) -> Choice:
    """Reductions over different dims: each class of dims is an axis; one is looped over, the others are held.
    That one is the largest along which memory is not contiguous, so that rows are read as wholes.
    """
    classes = shape.reduced_classes
    walk = _warp_walks(shape, hardware)
    if walk is not None:
        return walk
    bounds = [shape.bound(c) for c in classes]
    unbounded = [i for i, b in enumerate(bounds) if b is None]
    if len(unbounded) > 1:
        raise NoTiling(
            f"reductions over {[list(classes[i]) for i in unbounded]} have no static bound, "
            "and only one axis can be looped over"
        )
    total = 1
    for b in bounds:
        total *= ceil_power(b) if b is not None else 1
    looped = unbounded[0] if unbounded else None
    if looped is None and total > ROW_ELEMENTS // 2:
        along = shape.contiguous_dim(shape.main_access) if shape.main_access is not None else None
        fits = {
            i: along not in c and total // ceil_power(bounds[i] or 1) <= ROW_ELEMENTS // 2
            for i, c in enumerate(classes)
        }
        looped = max(range(len(classes)), key=lambda i: (fits[i], bounds[i] or 0))
    if looped is not None and both_ways(shape):
        raise NoTiling(
            "forward and reverse scans must hold the whole axis, "
            f"and {[list(c) for c in classes]} do not fit together"
        )
    held = 1
    for i, b in enumerate(bounds):
        held *= ceil_power(b) if i != looped and b is not None else 1
    if held > 2 * ROW_ELEMENTS:
        raise NoTiling(f"reductions over {[list(c) for c in classes]} would hold {held} elements at once")
    axes = []
    for i, dims in enumerate(classes):
        if i == looped:
            block = max(1, min(4096 // held, ceil_power(max(1, shape.points(dims)))))
            axes.append(Axis(dims, block, "looped"))
        else:
            axes.append(Axis(dims, ceil_power(bounds[i] or 1), "resident"))
    elements = 1
    for axis in axes:
        elements *= axis.block
    # at most 8 warps while a thread holds few elements: one program loads while the other's warps meet
    warps = max(min(_WALK_WARPS, floor_power(elements // 512)), floor_power(elements // 1024), 1)
    warps = min(warps, hardware.max_warps)
    if looped is None and shape.parallel:
        warps = _row_warps(elements, shape, hardware)
    stages = 1 if looped is None else _walk_stages(shape, elements, hardware)
    return Choice(Tile(_axes(shape.parallel, 1, tuple(axes)), warps, stages), "several-reductions")


def _warp_walks(shape: KernelShape, hardware: Hardware) -> Choice | None:
    """Each program is a warp that walks over rows of its own, where it holds one and programs are enough.  No
    warp then waits for another (layer norm's gradient over 768 columns in bf16: 0.85 of a copy; with eight
    warps that meet for each four rows 0.56, and 0.24 with 16 rows held by 16 warps).
    """
    walked = shape.walked
    if walked is None or shape.points(shape.parallel) < hardware.sm_count:
        return None
    [held] = [dims for dims in shape.reduced_classes if dims != walked]
    row = Axis(held, ceil_power(shape.bound(held) or 1), "resident")
    stages = _walk_stages(shape, row.block, hardware)
    return Choice(Tile(_axes(shape.parallel, 1, (Axis(walked, 1, "looped"), row)), 1, stages), "warp-walks")


def _walk_stages(shape: KernelShape, elements: int, hardware: Hardware) -> int:
    """Stages of a loop: all but one hold a block of every load at all reduced points in shared memory.  Two
    would load what the next step waits for: where three do not fit, one.  A program alone on its
    multiprocessor is better than two without them (layer norm's gradient over 5120 columns in float32: 0.93
    of a copy; two programs of two stages 0.74, of one 0.78).
    """
    loads = [a for a in shape.kernel.loads if set(shape.reduced) <= shape.kernel.op_dims[a.op]]
    step = elements * sum(shape.element_bytes(a) for a in loads)
    buffers = (_WALK_STAGES - 1) * step + step // 2  # a row of results passes through shared memory too
    return _WALK_STAGES if buffers < hardware.shared_bytes else 1
