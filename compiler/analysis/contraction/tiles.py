"""Which blocks of rows, columns and summed elements a product is cut into, on a GPU: an analytical ranking.

Plain numbers in, blocks out.  The time of a tile is that of its products on tensor cores or that of reading
its operands from the L2 cache, whichever is longer.  The time of a kernel is that of its waves of tiles, or
that of its bytes.  Such a ranking reaches 95% of an exhaustive search (tritonBLAS, arXiv 2512.04226).

Blocks whose sums do not fit in registers are no candidates, as Triton would spill them.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ...base.dataclass import dataclass
from ...cost.clock import microseconds as clock
from ...cost.hardware import Hardware
from ...cost.rates import SegmentRates
from ...cost.work import Work
from ...ir.contractions import FAST_TYPES
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import ceil_power, floor_power
from .product import OTHER_FACTOR

#: The smallest extents of a tile that is multiplied; of what is summed in elements of 8 bits.
LEAST_EXTENT, LEAST_BYTES = 16, 32
#: Rows that count as few: one block can hold them all, so that large weights are read once.
MOST_FEW = 64
#: Blocks of rows and of columns, and the largest one.
_ROWS, _COLUMNS = (128, 64, 32, 16), (256, 128, 64, 32, 16)
LARGEST_BLOCK = max(*_ROWS, *_COLUMNS)
#: Bytes of a row of operands in shared memory: the widest swizzle of Hopper's products.
ROW_BYTES = 128
#: Rows that the tensor cores of a group of four warps multiply at once.
_TENSOR_ROWS = 64
#: 32-bit registers of a thread for sums, and where further tensors are read or the right operand is computed.
_BARE, _BESIDE = 128, 64
#: So many operations on the results and one tensor that is read beside them need no registers of their own.
_LITTLE = 4
#: Bytes of a result, as a rule.
_RESULT_BYTES = 2
#: Shared memory that Triton keeps beside the operands.
SPARE_BYTES = 4096
#: Registers of a thread beside the sums.
OTHER_REGISTERS = 40
#: Stages of the loop, the first one of equal ones; two where shared memory holds no more.
_STAGES, _LEAST_STAGES = (4, 3, 6), 2
#: Results of a tiny block, whose steps take as long for each row of shared memory, whatever they multiply.
_TINY = 256
#: Blocks of what is summed, in rows of shared memory; of 16 rows and so many columns, more, too: the same
#: product took 33.0 us.
_SUMMED_ROWS, _NARROW_ROWS, _NARROW_COLUMNS = (1, 2), 4, 32
#: Products without tensor cores (f64, and f32 that may not be rounded): blocks; summed elements; warps.
_SCALAR_BLOCKS = (64, 32, 16)
_SCALAR_SUMMED, _SCALAR_WARPS = 16, 4
#: Rows of weights of a block that has all of few rows, summed elements of a step, warps and stages; and the
#: fewest rows of weights of which such blocks were measured.
_WHOLE_ROWS, LEAST_OF_WHOLE_ROWS = (128, 128, 8, 4), 4096
#: The most rows that other blocks multiply by weights that are made of bytes (``few_row_blocks.py``).
_FEW_OF_BYTES = 16
#: Issue slots that an element of a factor takes which is read along windows: it is loaded, and stored to
#: shared memory, by itself; a multiprocessor begins one such access in the time of four other instructions.
_SLOTS_OF_WINDOWS = 8
#: Of factors that are read along windows: rows and the most columns of a block, summed elements of a step,
#: and the longest sum that is written out.
_ROWS_OF_WINDOWS, _COLUMNS_OF_WINDOWS, _STEPS_OF_WINDOWS, MOST_STEPS_OF_WINDOWS = 128, 128, (32, 16), 256
#: Blocks of m, n and k, warps, stages and group of programs that go through several blocks; the fewest steps
#: of one.
_IN_TURN, _LEAST_STEPS = (128, 256, 64, 8, 3, 8), 4


@dataclass(frozen=True)
class ProductForm:
    """A product of ``batch`` times m x k by k x n elements.

    ``element``: of the operands, as they are multiplied; ``exact``: f32 operands may not be rounded.
    ``left_bytes``, ``right_bytes``: of what is read in memory for an element, of all ``sums``.
    ``left_slots``, ``right_slots``: scalar operations on each element of an operand before it is multiplied.
    ``sums``: products that share the blocks.  ``beside``: tensors of m x n elements that are read.
    ``behind``: scalar operations on each result.  ``streams``: whether descriptors can copy both factors and
    the result.  ``border``: tensors that are concatenated to an operand have multiples of so many summed
    elements; 0: none are.  ``images``: whether the left factor is images, whose points are the rows.
    ``turned``: whether the right factor does not lie along its columns; of a matrix times a vector, whether
    the matrix does not lie along the sum.  ``fast_accum``: of all products, see ``fuse.dot``.  ``packed``: as
    ``Moved`` says.  ``segments``: rows are in so many segments, each of which has a right factor of its own;
    a block has rows of one.  ``windows``: "left" or "right" where that factor is read along overlapping
    windows (``kernel/windows.py``), else "".  ``uneven``: rows of a small factor of a batch do not start at
    multiples of 16 bytes.
    """

    m: int
    n: int
    k: int
    batch: int = 1
    element: str = "bf16"
    exact: bool = True
    left_bytes: int = 2
    right_bytes: int = 2
    left_slots: int = 0
    right_slots: int = 0
    sums: int = 1
    beside: int = 0
    behind: int = 0
    streams: bool = False
    border: int = 0
    images: bool = False
    turned: bool = False
    fast_accum: bool = False
    packed: str = ""
    segments: int = 1
    uneven: bool = False
    windows: str = ""

    @property
    def on_tensor_cores(self) -> bool:
        """Whether tensor cores multiply such elements."""
        return self.element != "f64" and not (self.element == "f32" and self.exact)

    def row_blocks(self, block: int) -> int:
        """How many blocks of rows there are: of segments that end anywhere, half a block of each is empty."""
        return -(-self.m // block) + self.segments // 2

    @property
    def transposed(self) -> "ProductForm":
        """The same product with rows and columns exchanged."""
        assert self.segments == 1, "the rows of a block are of one segment"
        return replace(
            self,
            m=self.n,
            n=self.m,
            left_bytes=self.right_bytes,
            right_bytes=self.left_bytes,
            left_slots=self.right_slots,
            right_slots=self.left_slots,
            windows=OTHER_FACTOR.get(self.windows, ""),
        )

    @property
    def registers(self) -> int:
        """32-bit registers of a thread that its sums may take.  Without ``fast_accum``, sums of
        8-bit floats exist twice: what tensor cores have added up, and the sum in f32 that it is added to now
        and then.
        """
        little = self.beside == 0 or (self.beside == 1 and self.behind <= _LITTLE)
        return _BARE if little and not self.right_slots and not self.twice else _BESIDE

    @property
    def twice(self) -> bool:
        """Whether its sums exist twice."""
        return self.element in FAST_TYPES and not self.fast_accum

    @property
    def summed(self) -> tuple[int, ...]:
        """Blocks of what is summed: those that lie in one tensor of an operand, if there are any."""
        wide = ELEMENT_BYTES[self.element]
        least = LEAST_BYTES if wide == 1 else LEAST_EXTENT
        blocks = (rows * ROW_BYTES // wide for rows in _SUMMED_ROWS)
        found = dict.fromkeys(max(least, min(block, ceil_power(self.k))) for block in blocks)
        return tuple(block for block in found if self.border % block == 0) or tuple(found)


@dataclass(frozen=True)
class Blocks:
    """Blocks of m, n and k, and how a program works on them.  ``swap``: tiles have the columns first.
    ``programs``: so many programs go through all blocks (``streams.py``); 0: a program for each block.
    ``written_out``: as ``Tile`` says.
    """

    m: int
    n: int
    k: int
    num_warps: int
    num_stages: int
    group: int = 1
    swap: bool = False
    programs: int = 0
    written_out: bool = False

    @property
    def thread_sums(self) -> int:
        """Elements of a sum that a thread holds."""
        return self.m * self.n // (32 * self.num_warps)


def blocks_for(form: ProductForm, hardware: Hardware, spills: int = 0) -> Blocks:
    """The blocks with the shortest estimated time.  ``spills``: so often the blocks chosen so far have
    spilled; those with the shortest time are taken of which a thread holds less, as long as there are any.
    """
    whole = None if spills else blocks_of_whole_rows(form, hardware) or blocks_of_windows(form)
    if whole is not None:
        return whole
    found = list(_estimated(form, hardware))
    in_turn = None if spills else blocks_in_turn(form, hardware)
    if in_turn is not None:
        found.append((microseconds_in_turn(form, in_turn, hardware), in_turn))
    while True:
        chosen = min(found, key=_rank)[1]
        found = [(time, b) for time, b in found if b.thread_sums < chosen.thread_sums]
        if not spills or not found:
            return chosen
        spills -= 1


def planned(points: int, most: int | None) -> int:
    """For how many rows, or columns, blocks are chosen, where there are ``points`` by hints and at most
    ``most``, None for no bound: for a bound of at most 64, as weights are read again for each further block
    of rows.
    """
    return points if most is None or most > MOST_FEW else most


def microseconds_whole(form: ProductForm, hardware: Hardware) -> float:
    """Estimated time of the kernel of ``blocks_for``."""
    blocks = blocks_for(form, hardware)
    if blocks.swap:
        form, blocks = form.transposed, replace(blocks, m=blocks.n, n=blocks.m)
    return microseconds(form, blocks, hardware)


def ranked_blocks(form: ProductForm, hardware: Hardware, most: int) -> list[Blocks]:
    """At most so many blocks, those with the shortest estimated time first."""
    found = [blocks for _, blocks in sorted(_estimated(form, hardware), key=_rank)]
    whole = blocks_of_whole_rows(form, hardware) or blocks_of_windows(form)
    return (found if whole is None else [whole, *found])[:most]


@lru_cache(maxsize=1 << 7)
def _estimated(form: ProductForm, hardware: Hardware) -> tuple[tuple[float, Blocks], ...]:
    """Blocks that fit, each with its estimated time.  Remembered, as several estimates ask for one form."""
    upright = [(microseconds(form, b, hardware), b) for b in _candidates(form, hardware)]
    if form.segments > 1:
        return tuple(upright)
    turned = form.transposed
    swapped = [(microseconds(turned, b, hardware), b) for b in _candidates(turned, hardware)]
    return (*upright, *((time, replace(b, m=b.n, n=b.m, swap=True)) for time, b in swapped))


def _rank(pair: tuple[float, Blocks]) -> tuple[float, bool, int]:
    return pair[0], pair[1].swap, -pair[1].m * pair[1].n


def microseconds(form: ProductForm, blocks: Blocks, hardware: Hardware) -> float:
    """Estimated time of a kernel of such blocks, whose tiles have the rows first."""
    if blocks.programs:
        return microseconds_in_turn(form, blocks, hardware)
    tiles = form.row_blocks(blocks.m) * -(-form.n // blocks.n) * form.batch
    if not tiles:
        return 0.0
    form = _read_in_caches(form)
    rates, sms = hardware.rates.blocks, hardware.sm_count
    at_once = min(_at_once(form, blocks, hardware), -(-tiles // sms))
    points = sms * at_once * blocks.m * blocks.n  # of a wave
    behind = points * form.behind * (rates.overlapped if at_once > 1 else 1.0)
    stored = points * _RESULT_BYTES * (1 + form.beside)
    stage = _stage_bytes(form, blocks.m, blocks.n, blocks.k)
    steps, waves = -(-max(form.k, 1) // blocks.k), math.ceil(tiles / (sms * at_once))
    wave = steps * _step_microseconds(form, blocks, at_once, stage, hardware)
    wave += clock(Work(written=stored, slots=behind), hardware, rates.behind)
    moved = form.m * form.k * form.left_bytes + form.segments * form.k * form.n * form.right_bytes
    moved = form.batch * (moved + form.m * form.n * _RESULT_BYTES * (1 + form.beside))
    in_flight = min(tiles, sms * at_once) * max(1, blocks.num_stages - 1) * stage
    whole = Work(
        moved,
        cached=moved * sms / min(tiles, sms),
        steps=0 if form.windows else moved / in_flight,
        busy=waves * (wave + rates.whole.starts) - rates.whole.starts,
    )
    return clock(whole, hardware, rates.whole) * _in_segments(form, blocks, hardware)


def _read_in_caches(form: ProductForm) -> ProductForm:
    """The form with a factor that is read along windows: what a block reads of it is in the first cache, as
    windows share it, so that instructions count, and neither its bytes nor how many are in flight.
    """
    if form.windows == "left":
        return replace(form, left_bytes=0, left_slots=form.left_slots + _SLOTS_OF_WINDOWS)
    if form.windows == "right":
        return replace(form, right_bytes=0, right_slots=form.right_slots + _SLOTS_OF_WINDOWS)
    return form


def segment_rates(form: ProductForm, hardware: Hardware) -> SegmentRates:
    """Of products in segments of such elements."""
    rates = hardware.rates
    if form.element not in FAST_TYPES:
        return rates.segments
    return rates.byte_segments if form.twice else rates.fast_byte_segments


def _in_segments(form: ProductForm, blocks: Blocks, hardware: Hardware) -> float:
    """How many times as long as the estimate such blocks take of rows in segments."""
    if form.segments == 1:
        return 1.0
    rates, sums = segment_rates(form, hardware), blocks.m * blocks.n * form.sums
    narrow = blocks.thread_sums * form.sums < _BARE
    registers = 2 * sums + OTHER_REGISTERS * hardware.warp * blocks.num_warps
    alone = form.twice and hardware.registers < 2 * registers
    return (rates.narrow if narrow else 1.0) * (rates.alone if alone else 1.0)


def _step_microseconds(
    form: ProductForm, blocks: Blocks, at_once: int, stage: int, hardware: Hardware
) -> float:
    """Of a block of what is summed, whose operands have ``stage`` bytes, in a wave of ``at_once`` programs on
    each multiprocessor.
    """
    rates, programs = hardware.rates.blocks, hardware.sm_count * at_once
    multiplications = blocks.m * blocks.n * blocks.k * form.sums
    right_slots = form.right_slots * form.sums * rates.right_computed
    slots, flops = (blocks.m * form.left_slots + blocks.n * right_slots) * blocks.k, 0
    if not form.on_tensor_cores:
        scalar = {64: rates.scalar_64, 32: rates.scalar_32, 16: rates.scalar_16}
        slots += multiplications / scalar[blocks.m]
    else:
        flops = 2 * multiplications
    tiny = form.on_tensor_cores and blocks.m * blocks.n <= _TINY
    shared_rows = blocks.k * ELEMENT_BYTES[form.element] / ROW_BYTES
    step = Work(
        slots=programs * slots,
        flops=programs * flops,
        element=form.element,
        cached=programs * stage,
        steps=1 / max(1, blocks.num_stages - 1),
        busy=at_once * rates.tiny_step * shared_rows if tiny else 0,
    )
    return clock(step, hardware, rates.step if blocks.m >= _TENSOR_ROWS else rates.step_of_few_rows)


def _stage_bytes(form: ProductForm, rows: int, columns: int, summed: int) -> int:
    """Of the operands of a block."""
    return (rows * form.left_bytes + columns * form.right_bytes) * summed


def _at_once(form: ProductForm, blocks: Blocks, hardware: Hardware) -> int:
    """Programs that an SM runs at once, as far as shared memory and registers go."""
    shared = blocks.num_stages * _stage_bytes(form, blocks.m, blocks.n, blocks.k) + SPARE_BYTES
    threads = hardware.warp * blocks.num_warps
    registers = blocks.m * blocks.n * form.sums + OTHER_REGISTERS * threads
    most_warps = hardware.max_warps // blocks.num_warps
    return max(1, min(hardware.shared_bytes // shared, hardware.registers // registers, most_warps))


def _candidates(form: ProductForm, hardware: Hardware) -> Iterator[Blocks]:
    """Blocks that fit: shared memory holds two stages, and registers the sums."""
    if not form.on_tensor_cores:
        for block in _SCALAR_BLOCKS:
            if block <= max(LEAST_EXTENT, ceil_power(min(form.m, form.n))):
                yield _grouped(form, Blocks(block, block, _SCALAR_SUMMED, _SCALAR_WARPS, 1), hardware)
        return
    each = -(-form.m // form.segments)
    most_rows, most_columns = (max(LEAST_EXTENT, ceil_power(extent)) for extent in (each, form.n))
    for rows in (r for r in _ROWS if r <= most_rows):
        for columns in (c for c in _COLUMNS if c <= most_columns):
            warps = 8 if rows * columns * form.sums > 128 * 64 and rows >= 2 * _TENSOR_ROWS else 4
            if rows * columns * form.sums // (32 * warps) > form.registers:
                continue
            for summed in _summed(form, columns, hardware):
                for stages in stages_of(form, rows, columns, summed, hardware):
                    yield _grouped(form, Blocks(rows, columns, summed, warps, stages), hardware)


def _summed(form: ProductForm, columns: int, hardware: Hardware) -> tuple[int, ...]:
    """Blocks of what is summed, for blocks of so many columns.  Longer ones were measured of more weights
    than the L2 cache holds.
    """
    long = _NARROW_ROWS * ROW_BYTES // ELEMENT_BYTES[form.element]
    plain = ELEMENT_BYTES[form.element] == 2 and not form.left_slots + form.right_slots and form.sums == 1
    large = form.n * form.k * form.right_bytes > hardware.l2_bytes and form.batch == 1
    narrow = plain and large and form.m <= LEAST_EXTENT and columns == _NARROW_COLUMNS
    return (*form.summed, long) if narrow else form.summed


def stages_of(form: ProductForm, rows: int, columns: int, summed: int, hardware: Hardware) -> tuple[int, ...]:
    """How many blocks of operands shared memory is to hold: at least two, or one where there is only one, and
    no more than there are.
    """
    if form.k <= summed:
        return (1,)
    stage = _stage_bytes(form, rows, columns, summed)
    most = min((hardware.shared_bytes - SPARE_BYTES) // stage, -(-form.k // summed))
    return tuple(n for n in _STAGES if n <= most) or ((most,) if most >= _LEAST_STAGES else ())


def _grouped(form: ProductForm, blocks: Blocks, hardware: Hardware) -> Blocks:
    """With as many blocks of rows, before the next columns, as make what all programs read at once least: as
    many bytes of rows as of columns.
    """
    rows, columns = -(-form.m // blocks.m), -(-form.n // blocks.n)
    programs = hardware.sm_count * _at_once(form, blocks, hardware)
    square = math.sqrt(programs * blocks.n * form.right_bytes / (blocks.m * form.left_bytes))
    group = min(floor_power(max(1, int(square))), ceil_power(rows))
    return replace(blocks, group=group if columns > 1 else 1)


def blocks_of_whole_rows(form: ProductForm, hardware: Hardware) -> Blocks | None:
    """Blocks that have all of 17 to 64 rows, which are multiplied by weights that are widened from fewer
    bytes; None of other products.

    The weights are the left factor, which is converted in registers.  A step waits for its conversion and for
    its product, so it is long, and each multiprocessor has warps enough to convert while others multiply.
    """
    if form.m > form.n:
        upright = blocks_of_whole_rows(form.transposed, hardware) if form.segments == 1 else None
        return None if upright is None else replace(upright, m=upright.n, n=upright.m, swap=not upright.swap)
    rows, summed, warps, stages = _WHOLE_ROWS
    widened = form.right_bytes < ELEMENT_BYTES[form.element] and form.on_tensor_cores
    few = _FEW_OF_BYTES < form.m <= MOST_FEW and form.n >= LEAST_OF_WHOLE_ROWS
    if not widened or not few or form.sums > 1 or form.segments > 1 or form.k < summed or form.border:
        return None
    columns = ceil_power(form.m)
    fits = stages_of(form.transposed, rows, columns, summed, hardware)
    at_once = max((n for n in fits if n <= stages), default=0)
    return Blocks(columns, rows, summed, warps, at_once, swap=True) if at_once else None


def blocks_of_windows(form: ProductForm) -> Blocks | None:
    """Blocks of a product with a factor that is read along overlapping windows; None of other products, and
    of longer sums.

    Its places come first in a tile: Triton gives neighbouring lanes the first dim of a load that has no
    neighbours in memory, and places lie nearer to each other than steps of a window.  Each step of the sum is
    written out: the offset of an element is then part of its instruction, and nothing divides.
    """
    if form.windows == "right":
        turned = blocks_of_windows(form.transposed)
        return None if turned is None else replace(turned, m=turned.n, n=turned.m, swap=True)
    known = form.windows == "left" and form.segments == form.sums == 1 and ELEMENT_BYTES[form.element] == 2
    if not known or form.k > MOST_STEPS_OF_WINDOWS:
        return None
    columns = max(LEAST_EXTENT, ceil_power(min(form.n, _COLUMNS_OF_WINDOWS)))
    # A load in the shape of the result would get the layout that the result is stored in.
    summed = next(n for n in _STEPS_OF_WINDOWS if n != columns)
    return Blocks(_ROWS_OF_WINDOWS, columns, summed, 4, 1, written_out=form.k > summed)


def blocks_in_turn(form: ProductForm, hardware: Hardware) -> Blocks | None:
    """Blocks that programs go through, whose tiles descriptors copy; None where nothing was measured.

    One shape of blocks, which Triton's tutorials take, too.  What is computed behind a product leaves no
    registers for more, and further tensors are read by pointers, for which the products wait.
    """
    m, n, k, warps, stages, group = _IN_TURN
    little = form.beside == 0 and form.behind <= _LITTLE and not form.left_slots + form.right_slots
    known = form.streams and hardware.descriptors and form.batch == form.sums == 1
    if not known or not little or form.m < m or form.n < n or form.k < _LEAST_STEPS * k:
        return None
    if -(-form.m // m) * -(-form.n // n) < 2 * hardware.sm_count:
        return None
    return Blocks(m, n, k, warps, stages, group, programs=hardware.sm_count)


def microseconds_in_turn(form: ProductForm, blocks: Blocks, hardware: Hardware) -> float:
    """Estimated time of programs that go through blocks.  A block's result is copied to shared memory before
    the next block is multiplied, and stored while it is; measured, the two add up.
    """
    tiles = -(-form.m // blocks.m) * -(-form.n // blocks.n)
    rates, sms = hardware.rates.blocks, hardware.sm_count
    block = Work(
        written=sms * blocks.m * blocks.n * _RESULT_BYTES,
        flops=sms * 2 * blocks.m * blocks.n * -(-form.k // blocks.k) * blocks.k,
        element=form.element,
        steps=1,
    )
    each = clock(block, hardware, rates.in_turn)
    return -(-tiles // blocks.programs) * each + rates.whole.starts
