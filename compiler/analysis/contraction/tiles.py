"""Which blocks of rows, columns and summed elements a product is cut into, on a GPU: an analytical ranking.

Plain numbers in, blocks out.  The time of a tile is that of its products on tensor cores or that of reading
its operands from the L2 cache, whichever is longer.  The time of a kernel is that of its waves of tiles, or
that of its bytes.  Such a ranking reaches 95% of an exhaustive search (tritonBLAS, arXiv 2512.04226).

Blocks whose sums do not fit in registers are no candidates, as Triton would spill them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...base.hardware import Hardware
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import ceil_power

#: The smallest extents of a tile that is multiplied; of what is summed in elements of 8 bits.
LEAST_EXTENT, LEAST_BYTES = 16, 32
#: Blocks of rows and of columns.
_ROWS, _COLUMNS = (128, 64, 32, 16), (256, 128, 64, 32, 16)
#: Bytes of a row of operands in shared memory: the widest swizzle of Hopper's products.
_ROW_BYTES = 128
#: Rows that the tensor cores of a group of four warps multiply at once.
_TENSOR_ROWS = 64
#: The part of the peak that a tile reaches, by the product of its extents: a tile of 64 x 64, and the largest.
_SMALL, _LARGE, _LARGE_POINTS = 0.35, 0.72, 128 * 256
#: The same with fewer than 64 rows, where a warp multiplies 16 at once.
_FEW_ROWS = 0.2
#: The part that is left where an operand is computed, not loaded: the left one passes through registers, the
#: right one through registers and shared memory, and nothing overlaps.
_LEFT_COMPUTED, _RIGHT_COMPUTED = 0.8, 0.5
#: Bytes that an SM reads of the L2 cache in a clock.
_L2_BYTES = 48
#: Microseconds of a tile beside its products: the first loads, and the results.
_TILE_STARTS = 1.5
#: The part of the bandwidth of device memory that is reached.
_BANDWIDTH = 0.9
#: 32-bit registers of a thread for sums: where results are stored as they are or with little arithmetic, and
#: where operands are computed or further tensors are read.
_BARE, _BESIDE = 128, 64
#: Shared memory that Triton keeps beside the operands.
_SPARE_BYTES = 4096
_MOST_STAGES, _GROUP, _MOST_PROGRAMS = 4, 8, 3
#: Products without tensor cores (f64, and f32 that may not be rounded): blocks, each with the part of the peak
#: that it reaches; summed elements; warps.
_SCALAR_BLOCKS: dict[int, float] = {64: 0.8, 32: 0.4, 16: 0.15}
_SCALAR_SUMMED, _SCALAR_WARPS = 16, 4
#: The most columns that a program holds.
_MOST_HELD = 512


@dataclass(frozen=True)
class Form:
    """A product of ``batch`` times m x k by k x n elements.

    ``element``: of the operands, as they are multiplied; ``exact``: f32 operands may not be rounded.
    ``left_bytes``, ``right_bytes``: of an element in memory.  ``left_computed``, ``right_computed``: something
    is computed of an operand before it is multiplied.  ``sums``: products that share the blocks.  ``beside``:
    tensors of m x n elements that are read.
    """

    m: int
    n: int
    k: int
    batch: int = 1
    element: str = "bf16"
    exact: bool = True
    left_bytes: int = 2
    right_bytes: int = 2
    left_computed: bool = False
    right_computed: bool = False
    sums: int = 1
    beside: int = 0

    @property
    def on_tensor_cores(self) -> bool:
        """Whether tensor cores multiply such elements."""
        return self.element != "f64" and not (self.element == "f32" and self.exact)

    @property
    def transposed(self) -> "Form":
        """The same product with rows and columns exchanged."""
        return replace(
            self,
            m=self.n,
            n=self.m,
            left_bytes=self.right_bytes,
            right_bytes=self.left_bytes,
            left_computed=self.right_computed,
            right_computed=self.left_computed,
        )

    @property
    def registers(self) -> int:
        """32-bit registers of a thread that its sums may take.  Sums of 8-bit floats exist twice: what tensor
        cores have added up, and the sum in f32 that it is added to now and then.
        """
        narrow = self.element.startswith("f8")
        return _BESIDE if self.beside or self.left_computed or self.right_computed or narrow else _BARE

    @property
    def summed(self) -> int:
        """Summed elements of a block."""
        wide = ELEMENT_BYTES[self.element]
        least = LEAST_BYTES if wide == 1 else LEAST_EXTENT
        return max(least, min(_ROW_BYTES // wide, ceil_power(self.k)))


@dataclass(frozen=True)
class Blocks:
    """Blocks of m, n and k, and how a program works on them.  ``swap``: tiles have the columns first."""

    m: int
    n: int
    k: int
    num_warps: int
    num_stages: int
    group: int = 1
    swap: bool = False


def blocks_for(form: Form, hardware: Hardware) -> Blocks:
    """The blocks with the shortest estimated time, the largest ones of equal times."""
    upright = [(microseconds(form, b, hardware), b) for b in _candidates(form, hardware)]
    turned = form.transposed
    swapped = [(microseconds(turned, b, hardware), b) for b in _candidates(turned, hardware)]
    back = [(time, replace(b, m=b.n, n=b.m, swap=True)) for time, b in swapped]
    return min((*upright, *back), key=lambda pair: (pair[0], pair[1].swap, -pair[1].m * pair[1].n))[1]


def microseconds(form: Form, blocks: Blocks, hardware: Hardware) -> float:
    """Estimated time of a kernel of such blocks, whose tiles have the rows first."""
    tiles = -(-form.m // blocks.m) * -(-form.n // blocks.n) * form.batch
    steps = -(-max(form.k, 1) // blocks.k)
    operations = 2 * blocks.m * blocks.n * blocks.k * form.sums
    read = (blocks.m * form.left_bytes + blocks.n * form.right_bytes * form.sums) * blocks.k
    at_once = min(hardware.shared_bytes // max(1, blocks.num_stages * read), 16 // blocks.num_warps)
    at_once = max(1, min(at_once, _MOST_PROGRAMS, -(-tiles // hardware.sm_count)))
    multiply = operations / (_operations_per_microsecond(form, blocks, hardware))
    step = max(multiply, read / (_L2_BYTES * hardware.clock * 1e3))
    waves = math.ceil(tiles / (hardware.sm_count * at_once))
    moved = form.m * form.k * form.left_bytes + form.k * form.n * form.right_bytes * form.sums
    moved = form.batch * (moved + form.m * form.n * 2 * (1 + form.beside))
    # Programs that share an SM hide each other's starts.
    return max(waves * (at_once * steps * step + _TILE_STARTS), moved / (hardware.bandwidth * _BANDWIDTH * 1e3))


def _operations_per_microsecond(form: Form, blocks: Blocks, hardware: Hardware) -> float:
    """What an SM reaches."""
    if not form.on_tensor_cores:
        return 2 * hardware.slots_per_second / hardware.sm_count * 1e-6 * _SCALAR_BLOCKS[blocks.m]
    peak = hardware.flops_per_second(form.element) / hardware.sm_count * 1e-6
    if blocks.m < _TENSOR_ROWS:
        reached = _FEW_ROWS
    else:
        points = min(blocks.m * blocks.n * form.sums / _LARGE_POINTS, 1.0)
        smallest = 64 * 64 / _LARGE_POINTS
        part = max(0.0, math.log(points / smallest) / math.log(1 / smallest))
        reached = (_SMALL + (_LARGE - _SMALL) * part) * min(1.0, blocks.n / 64)
    reached *= _RIGHT_COMPUTED if form.right_computed else _LEFT_COMPUTED if form.left_computed else 1.0
    return peak * reached


def _candidates(form: Form, hardware: Hardware) -> Iterator[Blocks]:
    """Blocks that fit: shared memory holds two stages, and registers the sums."""
    if not form.on_tensor_cores:
        for block in _SCALAR_BLOCKS:
            if block <= max(LEAST_EXTENT, ceil_power(min(form.m, form.n))):
                yield Blocks(block, block, _SCALAR_SUMMED, _SCALAR_WARPS, 1, _group(form, block, block))
        return
    for rows in _ROWS:
        for columns in _COLUMNS:
            if rows > max(LEAST_EXTENT, ceil_power(form.m)) or columns > max(LEAST_EXTENT, ceil_power(form.n)):
                continue
            warps = 8 if rows * columns * form.sums > 128 * 64 and rows >= 2 * _TENSOR_ROWS else 4
            if rows * columns * form.sums // (32 * warps) > form.registers:
                continue
            stages = _stages(form, rows, columns * form.sums, hardware)
            if stages:
                yield Blocks(rows, columns, form.summed, warps, stages, _group(form, rows, columns))


def _stages(form: Form, rows: int, columns: int, hardware: Hardware) -> int:
    """Blocks of operands that shared memory holds; 0 where it holds too few to load the next one."""
    if form.k <= form.summed:
        return 1
    stage = (rows * form.left_bytes + columns * form.right_bytes) * form.summed
    stages = min(_MOST_STAGES, (hardware.shared_bytes - _SPARE_BYTES) // stage)
    return stages if stages > 1 else 0


def _group(form: Form, rows: int, columns: int) -> int:
    """Blocks of rows that programs go through before the next columns."""
    return _GROUP if min(-(-form.m // rows), -(-form.n // columns)) > 1 else 1


@dataclass(frozen=True)
class HeldBlocks:
    """Blocks of a program that holds all columns of something: those of the other sides, in order."""

    free: tuple[int, ...]
    k: int
    num_warps: int
    num_stages: int


def held_blocks(
    form: Form, held: Sequence[int], free: Sequence[int], hardware: Hardware
) -> HeldBlocks | None:
    """Blocks for a kernel that holds ``held`` columns, whose other sides have ``free`` points: rows first,
    then columns of the last product.  None where the sums do not fit in registers.
    """
    others = [max(LEAST_EXTENT, ceil_power(min(n, max(_COLUMNS)))) for n in free[1:]]
    columns = sum(held) + sum(others)
    for rows in _ROWS:
        for warps in (4, 8):
            fits = rows * columns // (32 * warps) <= _BARE and columns <= _MOST_HELD
            stages = _stages(replace(form, k=form.k), rows, max(held), hardware)
            if rows <= max(LEAST_EXTENT, ceil_power(free[0])) and fits and stages:
                return HeldBlocks((rows, *others), form.summed, warps, stages)
    return None
