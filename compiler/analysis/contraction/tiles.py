"""Which blocks of rows, columns and summed elements a product is cut into, on a GPU: an analytical ranking.

Plain numbers in, a tile out.  The time of a tile is that of its products on tensor cores or that of reading
its operands from the L2 cache, whichever is longer; the time of a kernel is that of its waves of tiles, or
that of its bytes.  Such a ranking reaches 95% of an exhaustive search (tritonBLAS, arXiv 2512.04226).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...base.hardware import Hardware
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import ceil_power

#: Blocks of rows and of columns.  Tensor cores of Hopper multiply 64 rows at once.
_ROWS, _COLUMNS = (128, 64, 32, 16), (256, 128, 64, 32, 16)
#: Bytes of a row of operands in shared memory: the widest swizzle of Hopper's products.
_ROW_BYTES = 128
#: The part of the peak that a program reaches, by the smaller of its block's extents.
_REACHED = {16: 0.06, 32: 0.15, 64: 0.45, 128: 0.75}
#: The same where operands come from registers, because something is computed of them first.
_CONVERTED = 0.6
#: Bytes that an SM reads of the L2 cache in a clock.
_L2_BYTES = 48
#: Microseconds of a tile beside its products: the first loads, and the results.
_TILE_STARTS = 1.5
#: 32-bit registers of a thread for sums: of a bare product, and where more is computed of the results.
_BARE, _BESIDE = 128, 64
#: Shared memory that Triton keeps beside the operands.
_SPARE_BYTES = 4096
_MOST_STAGES, _GROUP = 4, 8
#: Blocks of products without tensor cores: f64, and f32 that may not be rounded.
_SCALAR_ROWS, _SCALAR_SUMMED = (64, 32, 16), 16


@dataclass(frozen=True)
class Form:
    """A product of ``batch`` times m x k by k x n elements.

    ``element``: of the operands, as they are multiplied; ``exact``: f32 operands may not be rounded.
    ``left_bytes``, ``right_bytes``: of an element in memory.  ``converted``: something is computed of an
    operand before it is multiplied.  ``sums``: products that share the blocks.  ``beside``: tensors of m x n
    elements that are read, or other values computed of the results.
    """

    m: int
    n: int
    k: int
    batch: int = 1
    element: str = "bf16"
    exact: bool = True
    left_bytes: int = 2
    right_bytes: int = 2
    converted: bool = False
    sums: int = 1
    beside: int = 0

    @property
    def on_tensor_cores(self) -> bool:
        """Whether tensor cores multiply such elements."""
        return self.element != "f64" and not (self.element == "f32" and self.exact)

    @property
    def swapped(self) -> "Form":
        """The transposed product: columns are rows."""
        return Form(
            self.n,
            self.m,
            self.k,
            self.batch,
            self.element,
            self.exact,
            self.right_bytes,
            self.left_bytes,
            self.converted,
            self.sums,
            self.beside,
        )


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
    """The blocks with the shortest estimated time."""
    return min(_candidates(form, hardware), key=lambda blocks: microseconds(form, blocks, hardware))


def microseconds(form: Form, blocks: Blocks, hardware: Hardware) -> float:
    """Estimated time of a kernel of such blocks."""
    if blocks.swap:
        rows, columns, form = blocks.n, blocks.m, form
    rows, columns = blocks.m, blocks.n
    tiles = -(-form.m // rows) * -(-form.n // columns) * form.batch
    steps = -(-max(form.k, 1) // blocks.k)
    a_clock = hardware.clock * 1e3
    operations = 2 * rows * columns * blocks.k * form.sums
    peak = hardware.flops_per_second(form.element) / hardware.sm_count * 1e-6
    first, second = (columns, rows) if blocks.swap else (rows, columns)
    reached = _REACHED[min(first, second, 128)] if first >= 64 else _REACHED[min(first, 32)]
    if not form.on_tensor_cores:
        peak, reached = hardware.slots_per_second / hardware.sm_count * 2e-6, 0.5
    reached *= _CONVERTED if form.converted else 1.0
    read = (rows * form.left_bytes + columns * form.right_bytes * form.sums) * blocks.k
    of_tile = steps * max(operations / (peak * reached), read / (_L2_BYTES * a_clock)) + _TILE_STARTS
    shared = max(1, blocks.num_stages * read)
    at_once = max(1, min(hardware.shared_bytes // shared, 16 // blocks.num_warps, 2))
    waves = math.ceil(tiles / (hardware.sm_count * at_once))
    moved = form.batch * (form.m * form.k * form.left_bytes + form.k * form.n * form.right_bytes * form.sums)
    moved += form.batch * form.m * form.n * 2 * (1 + form.beside)
    return max(waves * of_tile * (at_once if at_once == 1 else 0.9 * at_once), moved / (hardware.bandwidth * 0.9e3))


def _candidates(form: Form, hardware: Hardware) -> Iterator[Blocks]:
    """Blocks that fit: shared memory holds two stages, and registers the sums."""
    if not form.on_tensor_cores:
        for rows in _SCALAR_ROWS:
            if rows <= max(16, ceil_power(min(form.m, form.n))):
                yield Blocks(rows, rows, _SCALAR_SUMMED, 4, 1, _group(form, rows, rows))
        return
    wide = max(ELEMENT_BYTES[form.element], 1)
    summed = max(_ROW_BYTES // wide, 16)
    summed = min(summed, max(ceil_power(form.k), 32 if wide == 1 else 16))
    limit = _BESIDE if form.beside or form.converted else _BARE
    for swap in (False, True):
        m, n = (form.n, form.m) if swap else (form.m, form.n)
        for rows in _ROWS:
            for columns in _COLUMNS:
                if rows > max(16, ceil_power(m)) or columns > max(16, ceil_power(n)) or columns > 2 * rows > 32:
                    continue
                warps = 8 if rows * columns > 128 * 64 else 4
                if rows * columns * form.sums // (32 * warps) > limit:
                    continue
                left, right = (form.right_bytes, form.left_bytes) if swap else (form.left_bytes, form.right_bytes)
                stage = (rows * left + columns * right * form.sums) * summed
                stages = min(_MOST_STAGES, (hardware.shared_bytes - _SPARE_BYTES) // stage)
                if form.k <= summed:
                    stages = 1
                elif stages < 2:
                    continue
                group = _group(form, rows, columns)
                if swap:
                    yield Blocks(columns, rows, summed, warps, stages, group, swap)
                else:
                    yield Blocks(rows, columns, summed, warps, stages, group, swap)


def _group(form: Form, rows: int, columns: int) -> int:
    """Blocks of rows that programs go through before the next columns."""
    return _GROUP if min(-(-form.m // rows), -(-form.n // columns)) > 1 else 1
