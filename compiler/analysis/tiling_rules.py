"""How a kernel is cut into tiles: small rules, each with its reason, over plain numbers.  ``choose`` is the
entry.

Hints choose block sizes only; a tile is right for every size: ``resident`` axes have a static bound, all
others are cut into blocks.
"""

from dataclasses import dataclass

from ..mlir import ir
from .hardware import Hardware
from .kernel import Access
from .kernel_shape import KernelShape
from .row_start import row_start
from .sizes import ceil_power, floor_power
from .tile import Axis, Tile

#: Lanes of a program of four warps.
_FOUR_WARPS = 128
#: A row in registers: above this, a program holds too much per thread.
ROW_ELEMENTS, ROW_BYTES = 32768, 131072
#: Rows above this take 32 warps, whose threads have 64 registers: few values may live then.
_LONG_ROW, _LONG_ROW_VALUES = 16384, 3
#: Programs of rows shorter than this are too short to keep memory busy alone: several rows share one.
SHORT_ROW_BYTES = 2048
#: Rows shorter than this are one program's: two warps meet at a barrier sooner than four that share two rows
#: (softmax with a mask, rows of 2 KB: 0.98 of a copy instead of 0.93).
_WARP_ROW_BYTES = 4096
#: Bytes of a line of memory, which is read as a whole.
_LINE_BYTES = 128
#: Rows of a program whose memory is contiguous across rows: two sectors of 16 bits, a line of 32.
_CROSSED_ROWS = 32
#: Bytes of a row that one warp handles: 64 a thread.
_WARP_BYTES = 2048
#: Registers for values that a thread may hold before tiles shrink, and before a row is looped over.
SMALL_REGISTERS, ROW_REGISTERS, LARGE_REGISTERS = 64, 128, 160
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
_MEETINGS = {"fuse.welford": 2, "fuse.online_softmax": 2}


class NoTiling(Exception):
    """A kernel that no tile fits: one sentence."""


@dataclass(frozen=True)
class Choice:
    """A tile and the name of the rule that made it."""

    tile: Tile
    rule: str


def choose(shape: KernelShape, hardware: Hardware) -> Choice:
    """The tile of a kernel.  Raises ``NoTiling``."""
    if not shape.kernel.dims:
        return Choice(Tile((), num_warps=1), "scalar")
    if not shape.reduced:
        return _pointwise(shape, hardware)
    if len(shape.reduced_classes) > 1:
        return _several_reductions(shape, hardware)
    if _is_inner(shape):
        return _row_reduction(shape, hardware)
    return _column_reduction(shape, hardware)


# --- pointwise --------------------------------------------------------------------------------------------
def _pointwise(shape: KernelShape, hardware: Hardware) -> Choice:
    crossed = _crossed_dims(shape)
    if crossed is not None:
        return _transposed(shape, *crossed, hardware)
    groups = shape.merge(shape.order)
    inner = shape.points(groups[-1])
    if len(groups) > 1 and inner >= _FOUR_WARPS and not _better_flat(shape, groups[-1]):
        return _rows_and_columns(shape, groups, hardware)
    return _moved_pieces(shape, hardware) or _flat(shape, hardware)


def _better_flat(shape: KernelShape, inner: tuple[str, ...]) -> bool:
    """Whether rows of known length make poor tiles (they start at odd addresses, or no block covers them
    well) while the tensors that all dims address are whole: flat, these are accessed 16 bytes at a time, and
    only the indices of per-row or per-column operands cost a division.
    """
    if not all(shape.kernel.dims[d].is_constant for d in shape.order):
        return False
    columns = _segments(shape.points(inner), 1024)
    covered = -(-shape.points(inner) // columns) * columns
    if shape.aligned(inner) and covered * 32 <= shape.points(inner) * 33:
        return False
    return all(shape.is_whole(a) for a in _full_accesses(shape))


def _full_accesses(shape: KernelShape) -> list[Access]:
    """The accesses that run over all dims of more than one point: the others are small."""
    dims = {d for d in shape.order if shape.size(d) > 1}
    return [a for a in shape.accesses if dims <= shape.kernel.op_dims[a.op]]


def _elements_per_program(shape: KernelShape) -> int:
    """Four warps of 32 bytes a thread: two 16-byte accesses in flight hide latency.  Half with four or more
    inputs over all dims, and while the values that live at once need more than SMALL_REGISTERS.  What is read
    once a row does not make tiles smaller."""
    whole = _full_accesses(shape)
    widest = max((shape.element_bytes(a) for a in whole), default=shape.widest)
    per_thread = max(1, min(16, 32 // widest))
    if len(whole) - len(shape.kernel.stores) >= 4:
        per_thread = max(1, per_thread // 2)
    while per_thread > 1 and per_thread * shape.live_values > SMALL_REGISTERS:
        per_thread //= 2
    return _FOUR_WARPS * per_thread


def _shrunk(block: int, points: int, hardware: Hardware) -> int:
    """Halved while there are too few programs for the chip: small tensors are limited by latency, not by
    access width.
    """
    while block > _FOUR_WARPS and -(-points // block) < hardware.full_grid:
        block //= 2
    return block


def _flat(shape: KernelShape, hardware: Hardware) -> Choice:
    """All dims in one axis: every access is as wide as it gets, and only the last program has masked
    lanes.
    """
    block = _shrunk(_elements_per_program(shape), shape.points(shape.order), hardware)
    return Choice(Tile((Axis(shape.order, block, "grid"),)), "flat")


def _rows_and_columns(shape: KernelShape, groups: list[tuple[str, ...]], hardware: Hardware) -> Choice:
    """Two axes: a per-column or per-row operand then needs no division of lanes and is loaded once a tile."""
    points = shape.points(shape.order)
    total = _shrunk(_elements_per_program(shape), points, hardware)
    outer, inner = tuple(d for g in groups[:-1] for d in g), groups[-1]
    columns = _segments(shape.points(inner), min(total, 1024))
    rows = min(max(1, total // columns), ceil_power(shape.points(outer)))
    return Choice(Tile((Axis(outer, rows, "grid"), Axis(inner, columns, "grid"))), "rows-and-columns")


def _segments(extent: int, most: int, least: int = _FOUR_WARPS) -> int:
    """The largest block from ``least`` to ``most`` that wastes at most an eighth of its lanes on ``extent``,
    else the one that wastes least.
    """
    blocks = [b for b in (most >> k for k in range(most.bit_length())) if b >= min(least, most)]
    waste = {b: -(-max(extent, 1) // b) * b for b in blocks}
    good = [b for b in blocks if waste[b] * 8 <= max(extent, 1) * 9]
    return good[0] if good else min(blocks, key=lambda b: (waste[b], -b))


def _moved_pieces(shape: KernelShape, hardware: Hardware) -> Choice | None:
    """Pieces of memory change places (heads brought in front of tokens): two lines of what lies together
    where it is read, of several neighbours, which lie together where they are written (pieces of 128 bytes in
    four shapes: 1.08, 1.08, 1.15, 1.36 of a copy; flat in the order of the store 1.01, 1.07, 1.15, 1.32).
    None where more than one tensor over all dims is read, or written.
    """
    full = _full_accesses(shape)
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
    total = _shrunk(_elements_per_program(shape), shape.points(shape.order), hardware)
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


# --- reductions -------------------------------------------------------------------------------------------
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
            axis = Axis(dims, width, "resident")
            return Choice(
                Tile(_axes(shape.parallel, 1, (axis,)), 2 * hardware.max_warps), "long-row-resident"
            )
        filled = bound if shape.aligned(dims) and bound * 8 < width * 7 else width
        warps = _row_warps(filled, shape, hardware)
        if _finds_position(shape) and width // (warps * hardware.warp) > _POSITIONS:
            block = _FOUR_WARPS * max(1, 16 // shape.widest)
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
        for a in _full_accesses(shape)
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
        warps = min(warps, max(1, width // (32 * hardware.warp)))
    while warps < hardware.max_warps:
        if width // (warps * hardware.warp) * shape.live_values <= ROW_REGISTERS:
            break
        warps *= 2
    return warps


def _in_vectors(tile: Tile, shape: KernelShape) -> Tile:
    """The tile of a row in registers, with fewer warps where that lets it be accessed in whole vectors
    although it starts anywhere: a round of 256 threads for the last 8 of 4104 elements costs what another
    costs.
    """
    warps = tile.num_warps
    while warps >= 1:
        fewer = Tile(tile.axes, warps, tile.num_stages)
        if row_start(shape.kernel, fewer) is not None:
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
    wanted = rows = max(1, _elements_per_program(shape) // width)
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
    accumulators stay in registers.  Half of that where it leaves no mask to a fold that counts.  Rows that do
    not start at multiples of 16 bytes are read an element at a time, eight by a thread where rows are long,
    and 32 bytes of them where a position is searched (argmax of 50257 columns in bf16: 1.00 of a read with
    blocks of 4096, 0.94 with 2048).
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
    total = 8 * _FOUR_WARPS * 2
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
    least, most = hardware.warp * vector, _FOUR_WARPS * vector
    if bound is None or ceil_power(bound) * 16 > _THREAD_BYTES or shape.points(inner) < least:
        return None
    rows = ceil_power(bound)
    if rows * vector * shape.live_values * shape.widest // 4 > ROW_REGISTERS:  # 16 bits stay packed
        return None
    columns = _segments(shape.points(inner), most, least)
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
    return _WALK_STAGES if (_WALK_STAGES - 1) * step < hardware.shared_bytes else 1
