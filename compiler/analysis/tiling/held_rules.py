"""Rules for products whose columns a program holds, or goes through: of softmaxes and norms of products,
and of chains.
"""

from dataclasses import replace

from ...cost.hardware import Hardware
from ...ir.kernel import LOOPED
from ...ir.tile import Axis, Tile
from ..contraction.held import HeldBlocks, held_blocks
from ..contraction.looped import looped_blocks
from .choice import NoTiling, grid
from .product_rules import Products


def columns_in_a_loop(subject: Products, hardware: Hardware) -> Tile | None:
    """A block of rows for each program, which goes through blocks of the columns of one product and adds up
    what others sum along them.

    When: a product, or each of several, sums along the columns of another one, which nothing else crosses,
    and either its factor is the exponentials of a softmax (``fuse.online_dot``), or ``fuse.looped`` says that
    the kernel was made for it, or a program cannot hold all columns.  Why: memory then holds nothing that has
    all rows and all columns.  A block has all rows or columns along which something is scanned, and all
    columns where a product of the same rows stands beside these.  Raises ``NoTiling`` where nothing fits.
    """
    columns = subject.looped
    decided = subject.is_online or LOOPED in subject.shape.kernel.func.attributes
    if columns is None or subject.in_segments or not (decided or _holds_too_many(subject, hardware)):
        return None
    blocks = looped_blocks(subject.looped_form, hardware, subject.shape.spills)
    if blocks is None:
        raise NoTiling(f"no block of {[*columns.dims]} fits beside the sums of its products")
    bound = subject.shape.bound(columns.dims)
    kind = "resident" if bound is not None and bound <= blocks.columns else "looped"
    rows = _rows_of_a_block(subject, blocks.rows)
    whole = {c: Axis(c.dims, subject.whole(c), "resident") for c in (*subject.summed, *subject.made)}
    outer = {d for c in subject.classes if c not in (columns, *whole) for d in c.dims if d not in rows}
    axes = (
        *grid(tuple(d for d in subject.shape.order if d in outer), 1),
        Axis(rows, blocks.rows, "resident" if subject.least_of(subject.sides[0]) else "grid"),
        Axis(columns.dims, blocks.columns, kind),
        *whole.values(),
    )
    return Tile(axes, blocks.num_warps, blocks.num_stages if kind == "looped" else 1)


def _rows_of_a_block(subject: Products, block: int) -> tuple[str, ...]:
    """The dims of the rows of a program: the last one that fills a block by itself, if there is one, so that
    masks of rows are linear in it.
    """
    [rows] = [c for c in subject.sides if c not in (subject.looped, *subject.made)]
    alone = [d for d in rows.dims if subject.shape.points((d,)) >= block]
    return tuple(alone[-1:]) or rows.dims


def _holds_too_many(subject: Products, hardware: Hardware) -> bool:
    """Whether no program holds all columns."""
    try:
        return held_blocks(subject.held_form, hardware) is None
    except NoTiling:
        return True


def rows_in_turn(subject: Products, hardware: Hardware) -> Tile | None:
    """Each program goes through several blocks of rows, with all weights of a chain of products in shared
    memory, and loads the rows of the next block while it computes one.

    When: products sum along the columns of other products, nothing is summed in a loop, shared memory holds
    the weights, enough warps are at work (``contraction/held.py``), and there are at least three blocks of
    rows for two programs.  Why: a program for each block of rows would load all weights again, and compute
    nothing meanwhile.  Raises ``NoTiling`` as ``held_columns``.
    """
    blocks = _held_blocks(subject, hardware)
    if blocks is None or not blocks.programs or blocks.copied:
        return None
    return _held_tile(subject, blocks)


def weights_in_turn(subject: Products, hardware: Hardware) -> Tile | None:
    """Each multiprocessor has one program, which goes through blocks of rows.  For each it copies the weights
    of a chain of products to shared memory by descriptors, one after the other.

    When: products of more than 128 columns sum along the columns of other products, whole weights lie in
    memory as descriptors name them, registers hold the sums of one product and half those of another, and
    there is a block of rows for every second multiprocessor (``contraction/held.py``).  Why: shared memory
    holds the weights of one product, and registers no two sums.  Raises ``NoTiling`` as ``held_columns``.
    """
    blocks = _held_blocks(subject, hardware)
    return None if blocks is None or not blocks.copied else _held_tile(subject, blocks)


def held_columns(subject: Products, hardware: Hardware) -> Tile | None:
    """A block of rows for each program, which holds all columns that later reductions or products cross.

    When: something is reduced along rows or columns of a product, by a reduction or by another product.
    Why: what is reduced then never leaves the program's registers.  Raises ``NoTiling`` where there are too
    many columns to hold.
    """
    blocks = _held_blocks(subject, hardware)
    return None if blocks is None else _held_tile(subject, blocks)


def _held_blocks(subject: Products, hardware: Hardware) -> HeldBlocks | None:
    """The blocks of programs that hold columns; None where nothing is reduced along columns."""
    if not any(c.held for c in subject.sides):
        return None
    form = subject.held_form
    blocks = held_blocks(form, hardware, subject.shape.spills)
    if blocks is None:
        raise NoTiling(f"a program would hold {form.peak} columns of its products at once")
    return blocks


def _held_tile(subject: Products, blocks: HeldBlocks) -> Tile:
    free = iter(blocks.free)
    chosen = {c: subject.whole(c, blocks.least) if c.held else next(free) for c in subject.sides}
    tile = subject.tile(
        chosen, blocks.k, blocks.num_warps, blocks.num_stages, 1, blocks.programs, blocks.least
    )
    return replace(tile, copied=blocks.copied)
