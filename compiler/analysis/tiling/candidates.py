"""Tiles worth measuring beside the one that the rules chose, and the name that a kernel has in a table of
tiles."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from ...cost.hardware import Hardware
from ...ir.kernel import string
from ...ir.tile import Axis, Tile
from ...mlir import ir
from ..kernel.shape import KernelShape
from .product_rules import ranked_tiles

#: Tiles beyond these cannot win: too many values a thread, or too few threads for a warp scheduler.
MOST_ELEMENTS, MOST_PER_THREAD, MOST_WARPS = 32768, 256, 32
#: Tiles of a kernel with products that are tried, its own among them.
MOST_OF_PRODUCTS = 16
#: Stages of a loop that are tried.
_STAGES = (1, 2, 3, 4)

#: The static bound of an axis, None where it has none.
Bound = Callable[[Axis], int | None]


def kernel_key(func: ir.Operation) -> str:
    """The name of a kernel that has its default ``fuse.tile``: 32 hexadecimal digits.

    Of the function without its symbol and locations: sizes, hints, body and default tile are part of it.
    """
    text = func.get_asm(enable_debug_info=False)
    return hashlib.sha256(
        text.replace(f"@{string(func.attributes['sym_name'])}(", "@(").encode()
    ).hexdigest()[:32]


def tiles_to_try(tile: Tile, shape: KernelShape, hardware: Hardware) -> tuple[Tile, ...]:
    """``tile``, the default of a kernel, first; then others.  Of a kernel that multiplies tiles those that
    are estimated to be the fastest, ``MOST_OF_PRODUCTS`` in all; of others the neighbours of the default.
    """
    if not shape.kernel.products:
        return candidates(tile, lambda axis: shape.bound(axis.dims))
    ranked = ranked_tiles(shape, hardware, MOST_OF_PRODUCTS)
    others = ranked or candidates(tile, lambda axis: shape.bound(axis.dims))
    return tuple(dict.fromkeys((tile, *others)))[:MOST_OF_PRODUCTS]


def candidates(tile: Tile, bound: Bound) -> tuple[Tile, ...]:
    """``tile``, the default, first; then its neighbours, each once: warps and blocks doubled and halved,
    both at once, a resident axis looped over and the other way round, other numbers of stages.

    Whether a kernel can be written with a candidate is for who writes it to say.
    """
    found = dict.fromkeys(t for t in (tile, *_neighbours(tile, bound)) if t == tile or _sensible(t))
    return tuple(found)


def _sensible(tile: Tile) -> bool:
    threads = 32 * tile.num_warps
    few = tile.elements * 4 < threads  # less than a quarter of the lanes has work
    return (
        1 <= tile.num_warps <= MOST_WARPS
        and tile.elements <= MOST_ELEMENTS
        and tile.elements <= MOST_PER_THREAD * threads
        and not few
    )


def _neighbours(tile: Tile, bound: Bound) -> Iterator[Tile]:
    shapes = [tile, *_other_shapes(tile, bound)]
    for shape in shapes:
        for warps in (shape.num_warps, 2 * shape.num_warps, shape.num_warps // 2):
            yield replace(shape, num_warps=warps)
    if tile.looped is not None:
        for stages in _STAGES:
            yield replace(tile, num_stages=stages)


def _other_shapes(tile: Tile, bound: Bound) -> Iterator[Tile]:
    """The tile with one axis changed."""
    for number, axis in enumerate(tile.axes):
        if axis.kind in ("grid", "looped"):
            for block in (2 * axis.block, axis.block // 2):
                if block:
                    yield _with_axis(tile, number, replace(axis, block=block))
        most = bound(axis)
        if axis.kind == "looped" and most is not None:
            held = 1 << max(0, most - 1).bit_length()
            whole = _with_axis(tile, number, replace(axis, block=held, kind="resident"))
            yield replace(whole, num_stages=1, again=False)
        if axis.kind == "resident" and tile.looped is None:
            for part in (2, 4, 8):
                if axis.block // part >= 32:
                    yield _with_axis(tile, number, replace(axis, block=axis.block // part, kind="looped"))


def _with_axis(tile: Tile, number: int, axis: Axis) -> Tile:
    return replace(tile, axes=(*tile.axes[:number], axis, *tile.axes[number + 1 :]))
