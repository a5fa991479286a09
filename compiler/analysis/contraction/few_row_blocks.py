"""Into which blocks tensor cores multiply few rows by weights: the larger factor, which may be activations.

Bytes bound such a product, so a program has to keep many loads in flight and issue little for each weight.
The weights are the left operand: as such they stay in registers between a conversion and the product.  The
few rows are the right one, padded to the least that tensor cores take.  The warps of a program share its rows
of weights and have a slice of what is summed each, so that a matrix of few rows still has warps enough.

The constants are the best of 26 blocks for 14336 x 4096, 4096 x 14336 and 128256 x 4096 int8 weights and of 8
blocks for 16 bits, times 4 rows, on an H200.
"""

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.sizes import ceil_power

#: Columns of a block: the least that tensor cores multiply.
_COLUMNS = 8
#: Slices, and rows of weights, where such programs give every multiprocessor two; and where they do not.
_MANY, _FEW = (2, 32), (4, 16)
#: Bytes of a row of weights that a slice takes in a step, and stages of the loop.
STEP_BYTES, _STAGES = 128, 4
#: Bytes of a word of up to eight weights.  A step of more than 16 rows of them takes all registers.
_WORD = 4
#: As above, of weights with a scale for each group: rows of weights, bytes of a row that a step takes, warps,
#: and stages.
_MANY_GROUPS, _FEW_GROUPS = (32, 128, 2, 4), (16, 512, 8, 3)
#: The same for more than 16 rows, with at least so many blocks of 128 rows of weights, and with fewer: one
#: group is no batch, so that Hopper's products take its weights from registers.
_MANY_ROWS, _MANY_ROWS_OF_FEW, _LEAST_BLOCKS = (128, 1, 8, 3), (32, 4, 4, 3), 64
ROWS_OF_GROUPS = _MANY_ROWS[0]
#: Bytes of a group, below which 32 rows of weights go through shared memory once more (9.2 instructions a
#: weight of 4 bits; 16 rows take 3.5), unless they are read as whole lines.
_SHORT_GROUP = 32
#: More rows are multiplied by one group after the other.
_ROWS_OF_ONE_BATCH = 16
#: Threads of a warp.
_THREADS = 32


@dataclass(frozen=True)
class FewRowBlocks:
    """``slices`` of what is summed, a warp for each; and what a step of the loop takes: rows of weights, few
    rows as columns, and summed elements of a slice.
    """

    slices: int
    rows: int
    columns: int
    summed: int
    num_stages: int


def few_row_blocks(
    outputs: int, few: int, summed: int, element_bytes: int, hardware: Hardware
) -> FewRowBlocks:
    """For ``few`` rows times ``outputs`` rows of ``summed`` weights of so many bytes.

    A slice has whole steps.  So there is one slice, and a program is one warp, where what is summed is no
    multiple of two steps: 896 (seven steps) or 784 (no whole number of them) weights of one byte.
    """
    slices, rows = _MANY if outputs // _MANY[1] >= hardware.full_grid else _FEW
    if element_bytes == _WORD:
        rows = _FEW[1]
    step = STEP_BYTES // element_bytes
    while slices > 1 and summed % (slices * step):
        slices //= 2
    return FewRowBlocks(slices, rows, max(_COLUMNS, ceil_power(few)), step, _STAGES)


@dataclass(frozen=True)
class GroupBlocks:
    """What a step of the loop takes: ``groups`` of weights that share a scale, rows of weights, and few rows
    as columns.
    """

    groups: int
    rows: int
    columns: int
    num_warps: int
    num_stages: int


def group_blocks(
    outputs: int,
    few: int,
    groups: int,
    group_bytes: int,
    hardware: Hardware,
    moved: bool = False,
    lines: bool = False,
    shares: int = 1,
) -> GroupBlocks:
    """For ``few`` rows times ``outputs`` rows of ``groups`` groups of weights, of so many bytes each.  A step
    takes no part of the last groups: fewer at once where they are no multiple.

    ``moved``: a zero point is subtracted from the weights of a group, which lie along the sum.  A step then
    has fewer of these than a program has threads.  Triton 3.6 keeps the layout that a load of more has in
    memory, and all weights would go through shared memory to get there and back (7.1 instructions a weight
    for 4.0).  ``lines``: the groups of a step are read as a line of each row.
    ``shares``: so many programs have a part of the groups each.

    The best of 11 blocks for 14336 x 4096, 4096 x 14336 and 128256 x 4096 weights of 4 bits in groups of 128,
    times 1, 4, 8 and 16 rows, on an H200; of 7 blocks for the first and 5 for the second, times 64 rows.
    """
    if few > _ROWS_OF_ONE_BATCH:
        blocks = _MANY_ROWS if shares * outputs // _MANY_ROWS[0] >= _LEAST_BLOCKS else _MANY_ROWS_OF_FEW
        rows, at_once, warps, stages = blocks
        while groups % at_once:
            at_once //= 2
        return GroupBlocks(at_once, rows, ceil_power(few), warps, stages)
    many = outputs // _MANY_GROUPS[0] >= hardware.full_grid
    rows, step, warps, stages = _MANY_GROUPS if many else _FEW_GROUPS
    at_once = max(1, step // group_bytes)
    while groups % at_once:
        at_once //= 2
    warps = min(warps, at_once)
    short = group_bytes < _SHORT_GROUP and not lines
    while (moved or short) and rows > _FEW_GROUPS[0] and rows * at_once >= _THREADS * warps:
        rows //= 2
    return GroupBlocks(at_once, rows, max(_COLUMNS, ceil_power(few)), warps, stages)
