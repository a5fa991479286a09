"""Which blocks a program computes that goes through the columns of its first product, on a GPU.

Where a chain of products runs on line (``passes/products/cascades.py``), a program holds a block of rows and
the sums of its last product, and loops over blocks of the columns between: it multiplies a block, computes
what stands between the products, and multiplies that again.  Nothing that has all rows and all columns is
ever in memory.
"""

import math
from collections.abc import Iterable, Iterator

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.kernel import LOOPED, Kernel, over
from ...ir.sizes import ceil_power
from .tiles import LEAST_EXTENT, SPARE_BYTES

#: Blocks of rows and of columns, and warps, the best first.  Measured on an H100 in bfloat16, 4 x 16 heads of
#: 4096 rows and columns, in TFLOPS at 128 and 64 summed elements: blocks of 64 x 64 in 4 warps reach 520 and
#: 422, of 128 x 64 in 8 warps 483 and 407, of 128 x 128 in 8 warps 514 and 355.
_ROWS, _COLUMNS, _WARPS = (64, 32, 16), (64, 32, 16), (4, 8)
#: The most rows, or columns, of which a block may hold all points.
MOST_HELD = min(_ROWS[0], _COLUMNS[0])
#: The most sums of a thread: of the last product, and of a block of the first one.
_MOST_SUMS = 128
#: Rows of a block and warps where several products come last, and the most columns of these together: tensor
#: cores multiply no fewer than 64 rows by four warps, and eight would share the columns of a row.  Measured
#: on an H200, gradients of keys and values of 2 x 16 heads of 2048 rows and 128 elements, in us: 287 by 4
#: warps of 64 x 64, 600 by 8; 316 by 8 of 128 x 64, and 395 as two kernels.
_ROWS_OF_SEVERAL, _WARPS_OF_SEVERAL, _MOST_OF_SEVERAL = (64,), (4,), 256
#: Bytes of local memory of a thread that cost such a kernel less than narrower blocks.  In the same
#: measurements: 175 us with 16 bytes (slopes, causal) and 106 with 120 (window of 512), beside 200 and 114.
_SPARE_OF_SEVERAL = 128
#: Bytes of shared memory that the GPU takes of each program beyond those that it may have.
_RESERVED_BYTES = 1024
#: Copies of a block of columns in shared memory.
_STAGES = (3, 2, 1)


@dataclass(frozen=True)
class LoopedForm:
    """Points of a kernel: ``rows`` and ``columns`` of the first product, and columns of the last ones, in a
    block of all (``made``), of so many ``results``.  ``row_bytes``, ``column_bytes``: what is read for a row
    and what for one of the columns, by all products.  ``beside``: bytes that are read for each point between
    the products.  ``held``: bytes that a program reads beside those of its rows and columns.  ``whole``: the
    fewest rows and columns of a block, which holds all where something is scanned along them or a product
    stands beside the others.
    """

    rows: int
    columns: int
    made: int
    row_bytes: int
    column_bytes: int
    beside: int = 0
    results: int = 1
    held: int = 0
    whole: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class LoopedBlocks:
    """Blocks of rows and of columns, warps and stages."""

    rows: int
    columns: int
    num_warps: int
    num_stages: int


def looped_blocks(form: LoopedForm, hardware: Hardware, spills: int = 0) -> LoopedBlocks | None:
    """The blocks of a kernel.  None where registers or shared memory hold no block.  ``spills``: so often
    the blocks chosen so far took more registers than a thread has.
    """
    found = list(_candidates(form, hardware))
    return found[min(spills, len(found) - 1)] if found else None


def spare_bytes(kernel: Kernel) -> int:
    """Bytes of local memory of a thread that cost less than another tile of a kernel would."""
    several = LOOPED in kernel.func.attributes and len(kernel.products) > 1
    made = [kernel.value_dims.get(op.results[0], frozenset()) for op in kernel.products] if several else []
    lasts = [op for op in kernel.products if any({*over(op)} <= dims for dims in made)]
    return _SPARE_OF_SEVERAL if len(lasts) > 1 else 0


def holds_results(made: Iterable[int]) -> bool:
    """Whether a program may hold the sums of several last products, each of so many columns."""
    return sum(map(ceil_power, made)) <= _MOST_OF_SEVERAL


def _candidates(form: LoopedForm, hardware: Hardware) -> Iterator[LoopedBlocks]:
    """Blocks that fit, the best first: each has fewer sums of a thread than the one before."""
    several = form.results > 1
    if several and form.made > _MOST_OF_SEVERAL:
        return
    least = math.inf if several else _MOST_SUMS + 1
    for rows in _ROWS_OF_SEVERAL if several else _ROWS:
        if not form.whole[0] <= rows <= max(LEAST_EXTENT, ceil_power(form.rows)):
            continue
        for columns in _COLUMNS:
            if not form.whole[1] <= columns <= max(LEAST_EXTENT, ceil_power(form.columns)):
                continue
            for warps in _WARPS_OF_SEVERAL if several else _WARPS:
                sums = rows * (form.made + columns) // (hardware.warp * warps)
                stages = _stages(form, rows, columns, hardware)
                if sums < least and stages:
                    least = sums
                    yield LoopedBlocks(rows, columns, warps, stages)


def _stages(form: LoopedForm, rows: int, columns: int, hardware: Hardware) -> int:
    """How many blocks of columns shared memory holds beside the rows; 0 where not one.  Rather of two
    programs than of one: while one computes what is between its products, the other one multiplies.
    """
    held, stage = form.held + rows * form.row_bytes, columns * (form.column_bytes + rows * form.beside)
    both = (hardware.shared_bytes - _RESERVED_BYTES) // 2
    shared = next((n for n in _STAGES if n > 1 and held + n * stage <= both), 0)
    free = hardware.shared_bytes - SPARE_BYTES
    return shared or next((n for n in _STAGES if held + n * stage <= free), 0)
