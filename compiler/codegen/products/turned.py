"""Factors of products that are loaded once and multiplied both ways round.

The gradients of attention multiply keys twice: ``q @ k^T`` sums along their columns, ``ds @ k`` along their
rows.  Both are the same elements of memory, over dims of their own.  Tensor cores read a factor of 16-bit
elements in shared memory either way, so one copy is enough.
"""

from collections.abc import Mapping

from ...index import sym
from ...ir.contractions import PRODUCTS
from ...ir.kernel import Access, Kernel
from ...ir.tile import Tile
from ...mlir import ir
from .frames import Frame, Frames

#: Elements that tensor cores multiply whichever axis of a factor lies along rows of shared memory.
_EITHER_WAY = ("bf16", "f16")
#: The operands of a load without loaded indices: the tensor, the guard, and what it is elsewhere.
_OPERANDS = 3

Placed = tuple[ir.Operation, Frame]


def turned_loads(kernel: Kernel, tile: Tile, frames: Frames) -> Mapping[Placed, Placed]:
    """The loads, each in one of its frames, whose tile is that of another load in front of it, or of its own
    in another frame, with both axes the other way round.
    """
    found, before = dict[Placed, Placed](), list[tuple[Access, Frame]]()
    for access in kernel.loads:
        if not _is_factor(access.op):
            continue
        for frame in frames.of.get(access.op, ()):
            if len(frame) != 2:
                continue
            for other, turned in before:
                if _is_turned(kernel, tile, (other, turned), (access, frame)):
                    found[access.op, frame] = other.op, turned
                    break
            else:
                before.append((access, frame))
    return found


def _is_factor(op: ir.Operation) -> bool:
    """Whether a load of 16-bit elements is a factor of products as it is, and nothing else."""
    uses = list(op.results[0].uses)
    plain = len(op.operands) == _OPERANDS and str(op.results[0].type) in _EITHER_WAY
    return plain and all(use.owner.name in PRODUCTS for use in uses)


def _is_turned(kernel: Kernel, tile: Tile, one: tuple[Access, Frame], other: tuple[Access, Frame]) -> bool:
    """Whether two loads read the same elements, with their axes the other way round."""
    (first, rows), (second, columns) = one, other
    if first.argument != second.argument or list(first.op.operands) != list(second.op.operands):
        return False
    renamed = dict[str, str]()
    for a, b in zip(rows, columns[::-1], strict=True):
        if a != b and not _are_alike(kernel, tile, a, b):
            return False
        renamed |= dict(zip(tile.axes[a].dims, tile.axes[b].dims, strict=True))
    names = {dim: sym(new) for dim, new in renamed.items()}
    return tuple(e.subs(names) for e in first.coords) == second.coords


def _are_alike(kernel: Kernel, tile: Tile, a: int, b: int) -> bool:
    """Whether two axes hold all points of dims of the same extents."""
    one, other = tile.axes[a], tile.axes[b]
    return (
        one.kind == other.kind == "resident"
        and one.block == other.block
        and [kernel.dims[d] for d in one.dims] == [kernel.dims[d] for d in other.dims]
    )
