"""Rules for kernels that reduce or scan columns: memory is contiguous along a dim that stays.

The contiguous dims give whole lines.  The rows that are reduced are walked through, or held when there are
few.
"""

from collections.abc import Collection
from dataclasses import replace

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.sizes import ceil_power
from ...ir.tile import Axis, Tile
from ..contraction.small import WEIGHED_COLUMNS
from ..kernel.shape import KernelShape
from .choice import SMALL_REGISTERS, THREADS_OF_FOUR_WARPS, elements_per_program, grid, segments
from .row_rules import ROW_REGISTERS, THREAD_BYTES, both_ways

#: Most columns of a program, and most of its warps where these columns share a number for each row.
_COLUMNS, _SHARING_WARPS = 128, 4
#: Elements of a thread in a block of eight warps.
_THREAD_ELEMENTS = 8
#: Bytes of a line of memory: the least of a row that a program reads.
_LINE_BYTES = 128
#: Columns, warps, and elements of a thread where one program a multiprocessor reads its columns twice.
_AGAIN_COLUMNS, _AGAIN_WARPS, _AGAIN_ELEMENTS = 32, 16, 32

#: Elements of a warp that holds several small matrices, 16 of a thread.
_MATRIX_ELEMENTS = 512
#: Bytes of a row that a program scans down.
_SCANNED_BYTES = 64
#: Bytes of a warp that weighs the rows of matrices, 128 of a thread, and of the shortest row.
_WEIGHED_BYTES, _WEIGHED_ROW = 4096, 64


@dataclass
class ReducedColumns:
    """The columns of a kernel that reduces one class of ``dims``, of at most ``bound`` points (None where no
    number is known).  ``inner`` are the dims along which memory lies together, ``outer`` the others that
    stay.  ``least``: programs that there must be, if no block has more than a warp's columns.
    """

    shape: KernelShape
    dims: tuple[str, ...]
    bound: int | None
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    least: int = 0

    @staticmethod
    def of(shape: KernelShape) -> "ReducedColumns":
        """Of a kernel with one class of reduced dims and some that stay."""
        [dims] = shape.reduced_classes
        groups = shape.merge(shape.parallel)
        outer = tuple(d for g in groups[:-1] for d in g)
        return ReducedColumns(shape, dims, shape.bound(dims), outer, groups[-1])

    @property
    def widest(self) -> int:
        """Bytes of the widest element of what has columns; a number for each row, such as where to look it
        up, does not fill vectors.
        """
        shape, inner = self.shape, {d for d in self.inner if self.shape.size(d) > 1}
        have = [a for a in shape.accesses if inner & shape.kernel.op_dims[a.op]]
        return max(map(shape.element_bytes, have), default=shape.widest)

    def programs(self, columns: int) -> int:
        """How many programs there are of so many columns each, by hints."""
        return self.shape.points(self.outer) * -(-self.shape.points(self.inner) // columns)

    def widened(self, hardware: Hardware) -> "ReducedColumns":
        """With more dims in ``inner`` while a warp has more lanes than these have points: the neighbours that
        lie in front of them in memory without a gap, by the access over the most points of those that have
        the inner dims.  Another over more points says nothing of them: weights of each pair and head, whose
        rows of points are summed.  Each multiprocessor keeps the eight programs of eight warps that it runs
        at a time: 320 programs of capsules' 64 numbers take 1.7 times as long as 1280 of 16.
        """
        shape, wider = self.shape, self
        steps, least = self._steps(), 4 * hardware.full_grid
        while wider.outer and shape.points(wider.inner) < hardware.warp:
            *outer, dim = wider.outer
            more = replace(wider, outer=tuple(outer), inner=(dim, *wider.inner), least=least)
            inside = steps.get(wider.inner[0])
            without_gap = inside and steps[dim] == inside * shape.size(wider.inner[0])
            if not without_gap or more.programs(hardware.warp) < least:
                break
            wider = more
        return wider

    def _steps(self) -> dict[str, int | None]:
        """How far the largest access that has all of ``inner`` moves along each dim; nothing if none has."""
        shape, inner = self.shape, set(self.inner)
        have = [a for a in shape.accesses if inner <= shape.kernel.op_dims[a.op]]
        if shape.main_access in have:
            return shape.steps(shape.main_access)
        most = max(have, key=lambda a: shape.points(tuple(shape.kernel.op_dims[a.op])), default=None)
        return {} if most is None else shape.steps(most)

    def tile(self, rows: Axis, columns: int, warps: int, matrices: int = 1) -> Tile:
        """Programs of so many columns of so many points of ``outer`` each."""
        return Tile((*grid(self.outer, matrices), rows, Axis(self.inner, columns, "grid")), warps)


def columns_in_threads(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """Every thread holds 16 bytes of all rows.

    When: there are a few rows (the answers of a token's experts), at least a warp's columns, and enough
    programs and registers.  Why: warps lie side by side along the columns, nothing is exchanged, and a thread
    has a load in flight for each row; narrower blocks leave warps over that share the rows, and meet at a
    barrier after one load each.
    """
    shape, bound = reduced.shape, reduced.bound
    widest = reduced.widest
    vector = max(1, 16 // widest)
    least, most = hardware.warp * vector, THREADS_OF_FOUR_WARPS * vector
    if bound is None or ceil_power(bound) * 16 > THREAD_BYTES or shape.points(reduced.inner) < least:
        return None
    rows = ceil_power(bound)
    if rows * vector * shape.live_values * widest // 4 > ROW_REGISTERS:  # 16 bits stay packed
        return None
    columns = segments(shape.points(reduced.inner), most, least)
    while columns > least and reduced.programs(columns) < hardware.full_grid:
        columns //= 2
    if reduced.programs(columns) < hardware.full_grid:
        return None
    return reduced.tile(Axis(reduced.dims, rows, "resident"), columns, columns // least)


def weighed_rows(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """A warp holds 4 KB of the rows of a matrix, of up to 128 columns, or several matrices of fewer bytes.

    When: there are several matrices, all columns share a number for each row (a vector times its own matrix),
    rows have at least 64 bytes and start at multiples of 16, each row is read once, and there are 30 programs
    for each multiprocessor.  Why: one warp exchanges the numbers and its sums, and waits for no other.  A
    matrix has few rows, so that programs of more warps meet after one load each: of 64 x 64 elements of
    bfloat16, eight warps take 2.7 times as long.
    """
    shape = reduced.shape
    row = ceil_power(shape.points(reduced.inner)) * shape.widest
    if shape.points(reduced.outer) < 2 or not _numbers_of_rows(reduced) or shape.rereads:
        return None
    if row < _WEIGHED_ROW or not shape.aligned(reduced.inner):
        return None
    if _WEIGHED_BYTES // hardware.warp // 4 * shape.live_values > ROW_REGISTERS:  # 16 bits stay packed
        return None
    columns = min(WEIGHED_COLUMNS, row // shape.widest)
    length = ceil_power(max(1, shape.points(reduced.dims)))
    rows = min(length, _WEIGHED_BYTES // (columns * shape.widest))
    held = reduced.bound is not None and ceil_power(reduced.bound) <= rows
    matrices = _WEIGHED_BYTES // (rows * columns * shape.widest) if held else 1
    if reduced.programs(columns) < matrices * hardware.weighed_grid:
        return None
    return reduced.tile(Axis(reduced.dims, rows, "resident" if held else "looped"), columns, 1, matrices)


def small_matrices(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """A warp holds all columns of several points of ``outer``: up to 512 elements.

    When: the columns of one point have at most 256 elements (the sum over an atom's 32 neighbours of a
    force of three components), and there are programs for the whole chip.  Why: a program of one point
    loads a few elements a thread and then waits; as each multiprocessor has but 32 programs, little is in
    flight.
    """
    shape, bound = reduced.shape, reduced.bound
    if bound is None or not reduced.outer or both_ways(shape):
        return None
    rows, columns = ceil_power(bound), ceil_power(shape.points(reduced.inner))
    matrices = min(_MATRIX_ELEMENTS, elements_per_program(shape, hardware)) // (rows * columns)
    if matrices < 2 or shape.points(reduced.outer) < matrices * hardware.full_grid:
        return None
    return reduced.tile(Axis(reduced.dims, rows, "resident"), columns, 1, matrices)


def column_resident(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """Up to 128 columns a program, which holds all rows, by a warp for each 4 KB where there are 30 programs
    for each multiprocessor and a thread has registers.

    When: the block of ``column_looped`` covers the rows, or does with fewer columns, a line of memory at
    least, where a loop would read the rows again.  Why: they are read once.  Programs of more warps meet
    after a load or two each, as in ``weighed_rows``: the gradient of the largest of 20 rows of 64 columns
    takes 397 us by eight warps, and 160 us by Inductor; that of 25 rows of 128 columns takes 404 us in a
    loop, and 231 us by Inductor.
    """
    reduced = reduced.widened(hardware)
    columns, most = _block(reduced, hardware)
    if reduced.bound is None:
        return None
    rows = Axis(reduced.dims, ceil_power(reduced.bound), "resident")
    fewer_columns = columns * most // rows.block
    if rows.block > most and reduced.shape.rereads and fewer_columns * reduced.shape.widest >= _LINE_BYTES:
        columns = fewer_columns
    elif rows.block > most:
        return None
    warps, elements = _warps(columns, rows), columns * rows.block
    fewer = max(1, elements * reduced.shape.widest // _WEIGHED_BYTES)
    registers = elements // (fewer * hardware.warp) * reduced.shape.live_values
    if reduced.programs(columns) >= hardware.weighed_grid and registers <= ROW_REGISTERS:
        warps = min(warps, fewer)
    return reduced.tile(rows, columns, warps)


def scan_looped(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """64 bytes of a row a program of four warps, which loops over blocks of 128 rows, of 64 where more than
    four values live at a time.

    When: the kernel scans.  Why: the threads of a program exchange what they have scanned, and wait for each
    other, in each block: more programs of fewer warps have more in flight.  A linear recurrence of 4096 steps
    of 8192 columns takes 169 us, and 237 by ``column-looped``; three running sums of as many steps 278 and
    424, and one behind another, with logarithms, 484 and 600 (H200).
    """
    if not reduced.shape.kernel.scans:
        return None
    reduced = reduced.widened(hardware)
    columns = min(
        _SCANNED_BYTES // reduced.shape.widest, ceil_power(max(1, reduced.shape.points(reduced.inner)))
    )
    elements = 16 if 16 * reduced.shape.live_values <= SMALL_REGISTERS else 8
    most = max(1, elements * THREADS_OF_FOUR_WARPS // columns)
    length = ceil_power(max(1, reduced.shape.points(reduced.dims)))
    rows = Axis(reduced.dims, min(most, length), "looped")
    return reduced.tile(rows, columns, min(4, _warps(columns, rows)))


def many_sums(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """A thread has one of 128 columns, and loops over the rows one by one.

    When: a loop over blocks of rows would carry more sums of a thread than registers hold, and there are
    programs for the whole chip.  Why: nothing is exchanged behind the loop.  48 sums over 32 channels of
    products with neighbours take 239 barriers there if the warps share the rows.
    """
    shape, columns = reduced.shape, _COLUMNS
    sums = sum(len(op.results) for op in shape.kernel.reductions)
    if _THREAD_ELEMENTS * (shape.live_values + sums) <= ROW_REGISTERS or shape.rereads:
        return None
    if shape.points(reduced.inner) < columns or reduced.programs(columns) < hardware.full_grid:
        return None
    return reduced.tile(Axis(reduced.dims, 1, "looped"), columns, 4)


def columns_read_again(reduced: ReducedColumns, hardware: Hardware) -> Tile | None:
    """32 columns a program of 16 warps, of 32 where it has two multiprocessors to itself.  It holds the rows,
    or loops over blocks of 512 or 1024: 32 elements of a thread, fewer while their values need more than
    SMALL_REGISTERS.

    When: columns are read again once they are reduced; there is such a program for seven of eight
    multiprocessors, or of their pairs, and none has two; and the L2 cache holds all that is read.
    Why: slices would take three launches, each of which waits for the one before it, and read as often.  So
    few programs have enough in flight with more warps, and more loads of a thread: 15 us for 23 of 32 x 2048
    x 128 numbers in bfloat16 (H200), 17 with half the warps.  192 programs took less time with eight warps.
    """
    shape = reduced.shape
    programs = reduced.programs(_AGAIN_COLUMNS)
    if not shape.rereads or shape.kernel.scans or programs > hardware.sm_count:
        return None
    warps = next((n * _AGAIN_WARPS for n in (1, 2) if programs * n >= hardware.sm_count * 7 // 8), None)
    if warps is None or not stays_in_cache(shape, reduced.dims, hardware):
        return None
    elements = _AGAIN_ELEMENTS
    while elements > _THREAD_ELEMENTS and elements * shape.live_values > SMALL_REGISTERS:
        elements //= 2
    most = elements * warps * hardware.warp // _AGAIN_COLUMNS
    if reduced.bound is not None and ceil_power(reduced.bound) <= most:
        rows = Axis(reduced.dims, ceil_power(reduced.bound), "resident")
    else:
        length = ceil_power(max(1, shape.points(reduced.dims)))
        rows = Axis(reduced.dims, min(most, length), "looped")
    return reduced.tile(rows, _AGAIN_COLUMNS, warps)


def stays_in_cache(shape: KernelShape, crossed: Collection[str], hardware: Hardware) -> bool:
    """Whether the L2 cache holds all that is loaded along ``crossed`` until it is read again."""
    loads = [a for a in shape.kernel.loads if {*crossed} <= shape.kernel.op_dims[a.op]]
    read = shape.points(shape.order) * sum(map(shape.element_bytes, loads))
    return read <= hardware.l2_bytes * 3 // 4


def column_looped(reduced: ReducedColumns, hardware: Hardware) -> Tile:
    """Up to 128 columns a program, which loops over blocks of rows.

    When: in all other cases.  Why: each row of a block is whole lines of memory, and accumulators stay in
    registers.  Columns of several dims lie side by side where those of the last one would not fill a warp (24
    numbers of each head, of which a loss reads every three on their own).  Four warps at most where whole
    blocks of columns share a number for each row (the mask of a masked mean): a thread then reads two vectors
    at a time.  Without such numbers eight warps were faster.
    """
    reduced = reduced.widened(hardware)
    columns, most = _block(reduced, hardware)
    length = ceil_power(max(1, reduced.shape.points(reduced.dims)))
    rows = Axis(reduced.dims, min(most, length), "looped")
    warps = _warps(columns, rows)
    if columns == _COLUMNS and _numbers_of_rows(reduced):
        warps = min(warps, _SHARING_WARPS)
    return reduced.tile(rows, columns, warps)


def _numbers_of_rows(reduced: ReducedColumns) -> bool:
    """Whether something is read for each row that all of its columns share."""
    dims = [reduced.shape.kernel.op_dims[a.op] for a in reduced.shape.kernel.loads]
    return any(own & set(reduced.dims) and not own & set(reduced.inner) for own in dims)


def _block(reduced: ReducedColumns, hardware: Hardware) -> tuple[int, int]:
    """Columns of a program, fewer than 128 where there would be too few programs, and the most rows of a
    block: 2048 elements between them, fewer while their values need more than SMALL_REGISTERS.
    """
    columns = min(_COLUMNS, max(1, ceil_power(reduced.shape.points(reduced.inner))))
    while columns > 32 and reduced.programs(columns) < max(hardware.full_grid, reduced.least):
        columns //= 2
    total = _THREAD_ELEMENTS * THREADS_OF_FOUR_WARPS * 2
    while total > 512 and total // 256 * reduced.shape.live_values > SMALL_REGISTERS:
        total //= 2
    return columns, max(1, total // columns)


def _warps(columns: int, rows: Axis) -> int:
    return max(1, min(8, columns * rows.block // 256))
