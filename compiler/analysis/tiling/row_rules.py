"""Rules for kernels that reduce or scan rows, along which memory is contiguous.

A row is held in registers where it fits, so that it is read once; else a loop streams it.  Sizes are by
hints, bounds are proven.
"""

from functools import cached_property
from typing import Protocol

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.dialects import fuse
from ...ir.reductions import REDUCTION_OPS
from ...ir.sizes import ceil_power, floor_power
from ...ir.tile import Axis, Tile
from ...mlir import ir
from ..kernel.shape import KernelShape, is_sum_of_products
from .choice import (
    LARGE_REGISTERS,
    THREADS_OF_FOUR_WARPS,
    NoTiling,
    elements_per_program,
    full_accesses,
    grid,
)
from .row_parts import RowParts, row_parts

#: A row in registers: above this, a program holds too much per thread.
ROW_ELEMENTS, ROW_BYTES = 32768, 131072
#: A block of a row with more elements takes 32 warps, whose threads have 64 registers each.
_LONG_ROW = 16384
#: Most values of such a row that may live at once.
_LONG_ROW_VALUES = 3
#: Of a loop over rows that registers could hold: elements of a block, and warps.
_AGAIN_BLOCK, _AGAIN_WARPS = 8192, 16
#: Programs of rows shorter than this are too short to keep memory busy alone: several rows share one.
SHORT_ROW_BYTES = 2048
#: A row shorter than this gets a program of two warps.  They meet at a barrier sooner than four warps that
#: share two rows.
_WARP_ROW_BYTES = 4096
#: Rows of a program where memory is contiguous across rows.  32 neighbours are two sectors of 32 bytes with
#: elements of 16 bits, and a line of 128 bytes with elements of 32 bits.
_CROSSED_ROWS = 32
#: Bytes of a row that one warp handles: 64 a thread.
WARP_BYTES = 2048
#: Registers for values that a thread may hold before a row is looped over.
ROW_REGISTERS = 128
#: Elements of a row that a thread holds beside their positions, where the position of the largest is wanted.
_POSITIONS = 16
#: Bytes that all programs of an SM together read at a time, in loops that read their row twice.
_READ_BYTES = 65536
#: Most of a thread's 64 registers that what such a loop has read may take.
_STREAM_REGISTERS = 48
#: Most programs of an SM for which such a loop gets large blocks.  With more programs small blocks do as
#: well.
_FEW_PROGRAMS = 4
#: Of sums of products whose rows share an operand: rows and elements of a block, warps and stages.
_SHARING_ROWS, _SHARING_BLOCK, _SHARING_WARPS, _SHARING_STAGES = 4, 512, 2, 3
#: Most products in such a block.
_SHARED_POINTS = 4096
#: Of rows that share all that is read along them: rows, elements and warps of a block.
_CROSS_ROWS, _CROSS_BLOCK, _CROSS_WARPS = 8, 256, 4
#: Bytes of a thread's loads that are in flight at once: 16 of 16 bytes, 64 registers.
THREAD_BYTES = 256


def reduces_rows(shape: KernelShape) -> bool:
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


@dataclass
class ReducedRow:
    """The rows of a kernel that reduces one class of ``dims``: how many elements a row has by hints
    (``length``), at most (``bound``, None where no number is known), and as a power of two (``width``).
    """

    shape: KernelShape
    dims: tuple[str, ...]
    bound: int | None
    length: int
    width: int

    @staticmethod
    def of(shape: KernelShape) -> "ReducedRow":
        """Of a kernel with one class of reduced dims."""
        [dims] = shape.reduced_classes
        bound = shape.bound(dims)
        return ReducedRow(shape, dims, bound, max(1, shape.points(dims)), ceil_power(bound or 1))

    @cached_property
    def may_be_held(self) -> bool:
        """Whether registers are the place for a row, if they are enough: a long row that is read once gains
        nothing by them.
        """
        if self.bound is None or self.width > ROW_ELEMENTS or self.bound * self.shape.widest > ROW_BYTES:
            return False
        return self.width <= _LONG_ROW or self.shape.rereads

    @cached_property
    def filled(self) -> int:
        """The lanes by which warps are counted: the points of a row where it is aligned and has less than
        seven eighths of the block, else the block.  Triton leaves out lanes that are idle in all threads.
        """
        assert self.bound is not None
        few = self.shape.aligned(self.dims) and self.bound * 8 < self.width * 7
        return self.bound if few else self.width

    def resident(self, rows: int, warps: int) -> Tile:
        """Programs of ``rows`` rows in registers."""
        return Tile((*grid(self.shape.parallel, rows), Axis(self.dims, self.width, "resident")), warps)

    def looped(self, block: int, warps: int, rows: int = 1) -> Tile:
        """Programs that loop over blocks of ``rows`` rows."""
        return Tile((*grid(self.shape.parallel, rows), Axis(self.dims, block, "looped")), warps)


# --- sums of products -------------------------------------------------------------------------------------
def products_share_a_row(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """Four rows a program, in blocks of 512 elements or fewer, which the loop loads three stages ahead.

    When: the kernel only sums products of a large tensor and of rows that all its rows share (the few rows of
    a matrix product and its weights), a row has a block of 256 elements or more, and there are rows for the
    whole chip.  Why: what is read of the shared rows serves four rows, and small programs leave registers for
    many of them on a multiprocessor.  Four short rows are less than a warp's work.
    """
    shape = row.shape
    if row.length < _SHARING_BLOCK // 2:
        return None
    loads = [a for a in shape.kernel.loads if set(row.dims) & shape.kernel.op_dims[a.op]]
    shared = [a for a in loads if not shape.kernel.op_dims[a.op] & set(shape.parallel)]
    if not shared or len(shared) == len(loads) or shape.kernel.scans or shape.rereads:
        return None
    if any(set(row.dims) & shape.kernel.op_dims[a.op] for a in shape.kernel.stores):
        return None
    if shape.points(shape.parallel) < _SHARING_ROWS * hardware.full_grid:
        return None
    if not all(map(is_sum_of_products, shape.kernel.reductions)):
        return None
    rows, block = _SHARING_ROWS, _SHARING_BLOCK
    while rows * block * len(shared) > _SHARED_POINTS and block > _SHARING_BLOCK // 2:
        block //= 2
    while rows * block * len(shared) > _SHARED_POINTS and rows > 1:
        rows //= 2
    tile = row.looped(min(block, ceil_power(row.length)), _SHARING_WARPS, rows)
    return Tile(tile.axes, tile.num_warps, _SHARING_STAGES)


def rows_share_operands(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """Eight rows a program, in blocks of 256 elements: 16 of a thread.

    When: what is read along a row is the same for all rows (every box of one list beside every box of
    another), or for all rows of a batch, of which there are eight; a loop goes through a row once, registers
    hold the values that live at once, and there are rows for the whole chip.  Why: a program of one row reads
    all of it from the cache and uses each element once; here each serves four elements of a thread.
    """
    shape = row.shape
    along = [dims for a in shape.kernel.loads if (dims := shape.kernel.op_dims[a.op]) & set(row.dims)]
    batch = tuple(d for d in shape.parallel if any(d in dims for dims in along))
    rows = tuple(d for d in shape.parallel if d not in batch)
    if not along or shape.rereads or shape.kernel.scans or row.length < 2 * _CROSS_BLOCK:
        return None
    if shape.points(rows) < _CROSS_ROWS or shape.points(shape.parallel) < _CROSS_ROWS * hardware.full_grid:
        return None
    elements = _CROSS_ROWS * _CROSS_BLOCK // (_CROSS_WARPS * hardware.warp)
    if elements * shape.live_values > LARGE_REGISTERS:
        return None
    axes = (*grid(batch, 1), *grid(rows, _CROSS_ROWS), Axis(row.dims, _CROSS_BLOCK, "looped"))
    return Tile(axes, _CROSS_WARPS)


# --- rows in registers ------------------------------------------------------------------------------------
def crossed_rows(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """32 rows a program, whose threads hold 256 bytes each.

    When: some tensor over all dims is contiguous across the rows (a transposed operand), a tile of 32 rows
    fits in registers, and the chip is full of such programs.  Why: each access is of whole sectors, and most
    of each reduction happens in the thread.
    """
    shape = row.shape
    across = [
        a
        for a in full_accesses(shape)
        if shape.contiguous_dim(a) in shape.parallel and shape.size(shape.contiguous_dim(a) or "") >= 16
    ]
    if not across or row.bound is None:
        return None
    element = max(shape.element_bytes(a) for a in across)
    elements = _CROSSED_ROWS * row.width
    if elements > ROW_ELEMENTS or -(-shape.points(shape.parallel) // _CROSSED_ROWS) < hardware.full_grid:
        return None
    warps = max(1, min(hardware.max_warps, elements * element // (THREAD_BYTES * hardware.warp)))
    registers = elements // (warps * hardware.warp) * shape.live_values * element // 4  # 16 bits stay packed
    return None if registers > LARGE_REGISTERS else row.resident(_CROSSED_ROWS, warps)


def short_rows(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """Several rows a program, a warp for 64 bytes a thread as for longer rows; up to four warps where the
    chip is not full.  Where values would not fit in registers or a thread would have too long a chain of
    operations, rows that fill a warp are fewer, and of shorter ones there are more warps.  The axis of the
    row comes first where every read steps over elements along it.

    When: a row has less than 2 KB.  Why: alone it reads too little to hide memory's latency.  Two warps would
    share each row that fills one: they meet to sum and to scan it, and both compute what belongs to the row.
    Where no axis of a tile is contiguous, Triton lays the lanes of a warp along the first one: along a row,
    they share lines.
    """
    if not row.may_be_held or (row.bound or 0) * row.shape.widest >= SHORT_ROW_BYTES:
        return None
    shape = row.shape
    wanted = rows = max(1, elements_per_program(shape, hardware) // row.width)
    while rows > 1 and -(-shape.points(shape.parallel) // rows) < hardware.full_grid:
        rows //= 2
    full = rows == wanted
    rows = min(rows, ceil_power(shape.points(shape.parallel)))
    lanes = WARP_BYTES // shape.widest if full else hardware.warp * 4
    warps = max(1, min(4, floor_power(rows * row.width // lanes)))
    while warps < hardware.max_warps and (each := rows * row.width // (warps * hardware.warp)) > 1:
        if each * shape.live_values <= ROW_REGISTERS and each * shape.slots <= hardware.thread_slots:
            break
        if rows > 1 and row.width >= hardware.warp:
            rows //= 2
        else:
            warps *= 2
    tile = row.resident(rows, warps)
    return Tile(tile.axes[::-1], tile.num_warps) if rows > 1 and _steps_over(row) else tile


def _steps_over(row: ReducedRow) -> bool:
    """Whether every read along the row steps over elements from one point to the next (a component of
    vectors), in the order of the row, and less far than from row to row.
    """
    shape, dims = row.shape, set(row.dims)
    reads = [shape.steps(a) for a in shape.kernel.loads if shape.kernel.op_dims[a.op] & dims]
    inner, outer = row.dims[-1], shape.parallel
    return (
        bool(reads and outer)
        and not shape.kernel.products
        and all(
            abs(step[inner] or 0) > 1 and all(abs(step[d] or 0) > abs(step[inner] or 0) for d in outer)
            for step in reads
        )
    )


def row_of_two_warps(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A row a program, of two warps.

    When: its block has less than 4 KB.  Why: two warps meet at a barrier sooner than four that share two
    rows.
    """
    if not row.may_be_held or row.width * row.shape.widest >= _WARP_ROW_BYTES:
        return None
    return _in_vectors(row.resident(1, 2), row.shape)


def long_row_read_again(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A loop of 16 warps over a row that registers could hold.

    When: the block of a row, a power of two, has more than 16384 elements of at most 16 bits; the row is
    read in vectors and needs few registers; there are two rows or more for each multiprocessor; no scan
    crosses the row; and the row is a multiple of the loop's block where a fold counts its points.  Why: a
    program that holds such a row takes all registers of a multiprocessor, so that nothing is read while it
    writes.  Several programs that loop do not, and their second read finds the row in the cache.
    """
    shape = row.shape
    if not _fills_32_warps(row) or not shape.aligned(row.dims) or shape.kernel.scans:
        return None
    if shape.widest > 2 or shape.points(shape.parallel) < hardware.full_grid:
        return None
    if _counts(shape) and row.length % _AGAIN_BLOCK:
        return None
    return row.looped(_AGAIN_BLOCK, _AGAIN_WARPS)


def long_row_resident(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A row a program, in the registers of 32 warps.

    When: the block of a row, a power of two, has more than 16384 elements, and few values live at once.
    Why: the row is read once, and the 64 registers that each thread then has are enough.
    """
    return row.resident(1, 2 * hardware.max_warps) if _fills_32_warps(row) else None


def _fills_32_warps(row: ReducedRow) -> bool:
    """Whether a row is long and its values fit into the 64 registers that each thread of 32 warps has."""
    return row.may_be_held and row.width > _LONG_ROW and row.shape.live_values <= _LONG_ROW_VALUES


def searched_row(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A loop of four warps over blocks of 16 bytes a thread.

    When: a row is only searched for its largest or smallest element, and a thread would hold more than 16
    elements beside their positions.  Why: a loop keeps one pair of element and position for many.
    """
    if not row.may_be_held or not _finds_position(row.shape):
        return None
    if row.width // (row_warps(row.filled, row.shape, hardware) * hardware.warp) <= _POSITIONS:
        return None
    return row.looped(THREADS_OF_FOUR_WARPS * max(1, 16 // row.shape.widest), 4)


def row_resident(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A row a program, in registers.

    When: registers hold all values that live at once.  Why: the row is read once, whatever reads it again.
    """
    if not row.may_be_held:
        return None
    warps = row_warps(row.filled, row.shape, hardware)
    if row.filled // (warps * hardware.warp) * row.shape.live_values > LARGE_REGISTERS:
        return None
    return _in_vectors(row.resident(1, warps), row.shape)


class Scanned(Protocol):
    """A row or columns of a kernel that scans ``dims``."""

    shape: KernelShape
    dims: tuple[str, ...]


def scanned(row: Scanned, hardware: Hardware) -> Tile | None:
    """A row or column a program, in registers, whatever it takes.

    When: the kernel scans forward and in reverse.  Why: one loop cannot run both ways.  Raises ``NoTiling``
    where the row is too long.
    """
    shape, dims, bound = row.shape, row.dims, row.shape.bound(row.dims)
    if not both_ways(shape):
        return None
    if bound is None or ceil_power(bound) > 4 * ROW_ELEMENTS:
        raise NoTiling(
            f"forward and reverse scans over {list(dims)} must hold the whole axis, "
            f"whose extent is {bound or 'not bounded'}"
        )
    axis = Axis(dims, ceil_power(bound), "resident")
    return Tile((*grid(shape.parallel, 1), axis), hardware.max_warps)


def both_ways(shape: KernelShape) -> bool:
    """Whether the kernel scans forward and in reverse."""
    return len({ir.BoolAttr(op.attributes["reverse"]).value for op in shape.kernel.scans}) > 1


def row_warps(width: int, shape: KernelShape, hardware: Hardware) -> int:
    """How many warps hold ``width`` elements.

    Each thread has 64 bytes, which are four accesses of 16 bytes in flight.  There are fewer warps, whose
    threads have 32 elements, where the warps meet three times or more to reduce: a meeting costs about 40
    instructions.  There are more where values would not fit in registers.
    """
    warps = min(max(floor_power(width * shape.widest // WARP_BYTES), 1), hardware.max_warps)
    if sum(REDUCTION_OPS[op.name].meetings for op in shape.kernel.reductions) >= 3:
        warps = min(warps, floor_power(max(1, width // (32 * hardware.warp))))
    while warps < hardware.max_warps:
        if width // (warps * hardware.warp) * shape.live_values <= ROW_REGISTERS:
            break
        warps *= 2
    return warps


def _in_vectors(tile: Tile, shape: KernelShape) -> Tile:
    """The tile of a row in registers, with as many warps as allow whole vectors.

    A row that starts anywhere is accessed in whole vectors only where each thread has enough of them
    (``row_parts.py``), so some rows get fewer warps than ``tile`` has.
    """
    warps = tile.num_warps
    while warps >= 1:
        fewer = Tile(tile.axes, warps, tile.num_stages)
        if isinstance(row_parts(shape.kernel, fewer), RowParts):
            return fewer
        warps //= 2
    return tile


# --- rows in loops ----------------------------------------------------------------------------------------
def few_rows_read_again(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A loop whose programs share 32 warps and 64 KB of reads at a time on each multiprocessor.

    There are as many programs on a multiprocessor as rows fit into three quarters of its share of the L2
    cache.  When: rows are read twice, in vectors; that number is at most four; and a thread reads at least
    one vector at a time.  Why: the second read finds the row in the cache.
    """
    shape, dims, length = row.shape, row.dims, row.length
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
    return row.looped(block, warps)


def unaligned_row_looped(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A loop over eight elements of a thread, or 32 bytes of them where a position is searched.

    When: a row has more than 8192 elements, and rows are not known to start at multiples of 16 bytes.
    Why: loads may be of one element, and eight of a thread are then in flight.  A loop that only folds reads
    vectors all the same (``row_start.py``).
    """
    shape = row.shape
    if shape.aligned(row.dims) or row.length <= 8192:
        return None
    return row.looped(8192 // max(2, shape.widest) if _finds_position(shape) else 2048, 8)


def counted_row_looped(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """A loop over half the block that ``row_looped`` takes.

    When: a fold counts its points, the row is no multiple of the block, but is one of half the block.
    Why: no mask is needed then, and without a mask a thread folds 16 bytes at once.
    """
    block = _streamed_block(row)
    half = block // 2
    counts = _counts(row.shape) and row.length % block != 0
    if not counts or row.length % half or half < THREADS_OF_FOUR_WARPS * max(1, 16 // row.shape.widest):
        return None
    return row.looped(half, 4)


def row_looped(row: ReducedRow, hardware: Hardware) -> Tile:
    """A loop over 16 bytes for each of 256 threads, or over the row when it is shorter; several rows a
    program where blocks are short.  Half of the threads where a position is searched in 16 bits: more
    programs run at once then, and the last ones leave less idle.

    When: in all other cases.  Why: the row is streamed, and accumulators stay in registers.
    """
    shape = row.shape
    block = _streamed_block(row)
    warps = max(1, min(8, block // (hardware.warp * 4)))
    if shape.widest <= 2 and _finds_position(shape) and block == 256 * max(1, 16 // shape.widest):
        block, warps = block // 2, 4
    rows = 1
    if shape.parallel and block < 256 and not shape.kernel.scans:
        rows = min(256 // block, ceil_power(shape.points(shape.parallel)))
        while rows > 1 and -(-shape.points(shape.parallel) // rows) < hardware.full_grid:
            rows //= 2
    return row.looped(block, warps, rows)


def _streamed_block(row: ReducedRow) -> int:
    """The elements of 16 bytes for each of 256 threads, or the row where it is shorter.

    Fewer where registers would be too few; at most 512 of rows that may start anywhere.
    """
    shape = row.shape
    block = min(256 * max(1, 16 // shape.widest), ceil_power(row.length))
    if not shape.aligned(row.dims):
        block = min(block, 512)
    while block > 256 and block // 256 * shape.live_values > LARGE_REGISTERS:
        block //= 2
    return block


def _counts(shape: KernelShape) -> bool:
    """Whether a fold needs the number of points: without a mask a thread folds 16 bytes at once."""
    return any(REDUCTION_OPS[op.name].counts for op in shape.kernel.reductions)


def _finds_position(shape: KernelShape) -> bool:
    """Whether rows are only searched for their largest or smallest element."""
    return not shape.rereads and any(isinstance(op, fuse.ArgReduce) for op in shape.kernel.reductions)


def _hardly_masked(shape: KernelShape, dims: tuple[str, ...], length: int, block: int) -> bool:
    """Whether at most an eighth of a loop's lanes are idle and the end of the row cuts no vector.

    Each thread then folds whole vectors, also where the fold counts its points.
    """
    covered = -(-length // block) * block
    return covered * 7 <= length * 8 and length % shape.vector(dims) == 0
