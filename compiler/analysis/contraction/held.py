"""Which blocks of rows a program computes that holds all columns of its products, on a GPU.

What a program holds at once bounds its rows: of a chain of products, the columns of one product and those of
the next, not those of all.

Where the sums are short, a program can go through several blocks of rows.  It loads the weights once, into
shared memory, and the rows of the next block while it computes one.  A program for each block would load all
weights first, and nothing could be computed meanwhile.

Products of more columns have more weights than shared memory holds, and two of them more sums than
registers hold.  There a program holds the sums of one product, and the columns of the one before as they are
multiplied, in half the registers.  Descriptors copy the weights of one product after the other, which takes
no registers on the way.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.sizes import ceil_power
from .tiles import (
    ELEMENT_BYTES,
    LEAST_BYTES,
    LEAST_EXTENT,
    OTHER_REGISTERS,
    ROW_BYTES,
    SPARE_BYTES,
    ProductForm,
    stages_of,
)

#: Blocks of rows, and the most columns of a block that are not held; warps.
_ROWS, _MOST_FREE, _WARPS = (128, 64, 32, 16), 256, (4, 8)
#: The most columns that a program holds at once, and the most sums of a thread.
_MOST_HELD, _MOST_SUMS = 512, 128
#: The same without tensor cores: factors are in registers, too.
_SCALAR_SUMS = 16
#: Where programs go through blocks: copies of the rows of a block in shared memory; warps at work on a
#: multiprocessor; the fewest rows of a warp.  Fewer warps may be at work where the weights have so many times
#: the bytes of a block of rows.
_STAGES_IN_TURN, _WARPS_IN_TURN, _WARP_ROWS, _HEAVY = (2, 1), 16, 16, 8
#: Rows and warps of programs that copy weights for each block; the most columns of products that do not need
#: that.
COPYING_ROWS, _COPYING_WARPS, CHAIN_COLUMNS = 128, 8, 128

#: What names the columns of a product.
Name = TypeVar("Name", bound=Hashable)


class Columns(NamedTuple, Generic[Name]):
    """The columns of a product, and those of an earlier product that it sums; None for none."""

    made: Name
    summed: Name | None


def peak_columns(products: Sequence[Columns[Name]], extents: Mapping[Name, int]) -> int:
    """The most columns that a program holds at once, which computes ``products`` in order.

    Columns are held from the product that makes them up to the last one that sums them, or to the end.
    Products that sum no columns may share a loop, at whose end the columns of all are held.
    """
    first, last = dict[Name, int](), dict[Name, int]()
    for number, product in enumerate(products):
        first.setdefault(product.made, number if product.summed is not None else 0)
        if product.summed is not None:
            last[product.summed] = number
    spans = [(first[c], last.get(c, len(products)), extents[c]) for c in first]
    return max(
        (sum(n for start, end, n in spans if start <= at <= end) for at in range(len(products))), default=0
    )


@dataclass(frozen=True)
class Resident:
    """What a program reads, in bytes of shared memory.  ``weights``: the same for all blocks of rows;
    ``row``: of each row; ``result``: what is stored of each row.  ``summed``: the points of a block of all
    that the first product sums.  ``largest``: of the factors among the weights that descriptors can copy, the
    largest; ``others``: all other matrices among them.
    """

    weights: int
    row: int
    result: int
    summed: int
    largest: int = 0
    others: int = 0


@dataclass(frozen=True)
class HeldBlocks:
    """Blocks of a program that holds all columns of something: those of the other sides, in order.
    ``least``: the fewest points of a block of columns.  ``programs``: so many programs go through all blocks;
    0: a program for each block.  ``copied``: they copy weights again for each block.
    """

    free: tuple[int, ...]
    k: int
    num_warps: int
    num_stages: int
    least: int
    programs: int = 0
    copied: bool = False


@dataclass(frozen=True)
class HeldForm:
    """``peak``: the columns that a program holds at once that computes the products in order, in blocks of at
    least ``least`` points; ``aligned_peak``: the same in blocks of at least ``aligned`` points;
    ``widest``: those of one product; ``free``: points of the sides that are cut into blocks, the rows first.
    ``resident``: None where programs do not go through blocks, whatever these are: where there is no chain,
    or a batch, or nothing that all blocks of rows read, or where more than the rows has no bound.
    """

    product: ProductForm
    peak: int
    aligned_peak: int
    widest: int
    free: tuple[int, ...]
    least: int = LEAST_EXTENT
    aligned: int = LEAST_EXTENT
    resident: Resident | None = None


def free_blocks(points: Sequence[int], least: int) -> tuple[int, ...]:
    """Blocks of the sides behind the rows, of at least so many points."""
    return tuple(max(least, ceil_power(min(n, _MOST_FREE))) for n in points)


def least_columns(element: str) -> int:
    """The fewest columns in a block of products, and the fewest summed elements."""
    return LEAST_BYTES if ELEMENT_BYTES[element] == 1 else LEAST_EXTENT


def aligned_columns(extents: Sequence[int | None], element: str) -> int:
    """The same where tiles of several products take the same place in shared memory, one after the other.
    ``extents``: how many columns and summed elements there are; None where that has no bound.

    Triton lays out a tile in rows of 128 bytes, or of 64 or 32 where it is that narrow, and says so in the
    descriptors that tensor cores read: an address, and above it the kind of rows.  Where an address had rows
    of 128 bytes and later has shorter ones, ptxas 12.8, which Triton 3.6 brings along, computes wrong
    descriptors: it adds up a register that nothing has written.  So all tiles get rows of 128 bytes if one
    has them.
    """
    row = ROW_BYTES // ELEMENT_BYTES[element]
    return row if any(n is None or 2 * n > row for n in extents) else least_columns(element)


def held_blocks(form: HeldForm, hardware: Hardware, spills: int = 0) -> HeldBlocks | None:
    """The blocks of a kernel.  None where the sums do not fit in registers.  ``spills``: as in
    ``blocks_for``.
    """
    others = _copying(form, hardware) or _one_each(form, hardware)
    found = [*_going_through(form, hardware), *others]
    return found[min(spills, len(found) - 1)] if found else None


def _going_through(form: HeldForm, hardware: Hardware) -> list[HeldBlocks]:
    """Blocks that programs go through.  Those with which most warps are at work come first, small ones of
    equal ones.
    """
    if form.resident is None or not form.product.on_tensor_cores:
        return []
    found = [
        in_turn
        for blocks in _cut(form, form.least)
        if blocks.free[0] >= _WARP_ROWS * blocks.num_warps
        and _sums(form.peak, blocks, hardware) <= _MOST_SUMS
        and (in_turn := _in_turn(form, form.resident, blocks, hardware)) is not None
    ]
    return sorted(found, key=lambda blocks: (-blocks.programs * blocks.num_warps, blocks.free[0]))


def _copying(form: HeldForm, hardware: Hardware) -> list[HeldBlocks]:
    """Blocks that programs go through which copy weights again for each: of chains of more than
    ``CHAIN_COLUMNS`` columns, with at least a block for every second multiprocessor.
    """
    resident = form.resident
    if resident is None or not resident.largest or not hardware.descriptors or form.widest <= CHAIN_COLUMNS:
        return []
    others = free_blocks(form.free[1:], form.least)
    blocks = HeldBlocks(
        (COPYING_ROWS, *others),
        resident.summed,
        _COPYING_WARPS,
        1,
        form.aligned,
        hardware.sm_count,
        copied=True,
    )
    held = _sums(form.widest, blocks, hardware), _sums(form.aligned_peak, blocks, hardware)
    shared = resident.largest + resident.others + SPARE_BYTES
    fits = shared <= hardware.shared_bytes and held[0] <= _MOST_SUMS and held[1] <= 2 * _MOST_SUMS
    return [blocks] if fits and fills_copying(form.free[0], hardware) else []


def fills_copying(rows: int, hardware: Hardware) -> bool:
    """Whether there are blocks of rows for programs that copy weights for each."""
    return -(-rows // COPYING_ROWS) >= hardware.rates.chains.blocks_copying * hardware.sm_count


def _one_each(form: HeldForm, hardware: Hardware) -> list[HeldBlocks]:
    """Blocks of which each has a program, the best first.  Each has fewer sums of a thread than the one
    before.
    """
    product, found, most = form.product, list[HeldBlocks](), _MOST_SUMS + 1
    small = _MOST_SUMS if product.on_tensor_cores else _SCALAR_SUMS
    for blocks in _cut(form, form.aligned) if form.peak <= _MOST_HELD else ():
        sums = _sums(form.aligned_peak, blocks, hardware)
        # Two stages hold operands as they are read; one, which always fits, as they are multiplied.
        stages = stages_of(product, blocks.free[0], form.widest, blocks.k, hardware) or (1,)
        if sums < most:
            if most > small:  # what came before is too large
                found.clear()
            found.append(replace(blocks, num_stages=stages[0]))
            most = sums
    return found


def _cut(form: HeldForm, least: int) -> Iterator[HeldBlocks]:
    """Blocks of so many rows, most first."""
    others, k = free_blocks(form.free[1:], least), form.product.summed[0]
    for rows in _ROWS:
        if rows <= max(LEAST_EXTENT, ceil_power(form.free[0])):
            yield from (HeldBlocks((rows, *others), k, warps, 1, least) for warps in _WARPS)


def _sums(columns: int, blocks: HeldBlocks, hardware: Hardware) -> int:
    """Sums of a thread."""
    return blocks.free[0] * columns // (hardware.warp * blocks.num_warps)


def _in_turn(form: HeldForm, resident: Resident, blocks: HeldBlocks, hardware: Hardware) -> HeldBlocks | None:
    """The same blocks, which programs go through.  None where shared memory does not hold what they read,
    where few warps would be at work and little is loaded again without that, and where there are few blocks
    for each program.
    """
    rows, threads = blocks.free[0], hardware.warp * blocks.num_warps
    registers = threads * (_sums(form.peak, blocks, hardware) + OTHER_REGISTERS)
    most = min(hardware.registers // registers, _WARPS_IN_TURN // blocks.num_warps)
    enough = 1 if resident.weights >= _HEAVY * rows * resident.row else _WARPS_IN_TURN // blocks.num_warps
    for stages in _STAGES_IN_TURN:
        shared = resident.weights + rows * (stages * resident.row + resident.result) + SPARE_BYTES
        at_once = min(hardware.shared_bytes // shared, most)
        programs = at_once * hardware.sm_count
        if at_once >= enough and programs * hardware.rates.chains.blocks_in_turn <= -(-form.free[0] // rows):
            return replace(blocks, k=resident.summed, num_stages=stages, programs=programs)
    return None
