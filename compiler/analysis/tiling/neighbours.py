"""Loads of neighbours that step over as many elements from point to point: ``x[2*i]`` and ``x[2*i + 1]``.

A thread would read each of them by itself, a warp each second element of its lines, once for each of the two.
Read together they are contiguous, in vectors as wide as a thread's points allow (``TileKernel._load``).  They
are the columns of a pooling window with a stride, the halves of a rotary embedding that turns neighbours, and
what the numbers of a byte or a word of weights are multiplied by.
"""

from typing import NamedTuple

from ...index import const
from ...ir.defining import is_true
from ...ir.dialects import fuse
from ...ir.kernel import Access, Kernel
from ...ir.tile import Tile
from ...mlir import arith, ir
from ..kernel.shape import KernelShape

#: What computes a guard again for twice as many lanes.
_SIMPLE = (fuse.Index, arith.ConstantOp, arith.CmpIOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp)


#: Operands of a load without indices.
_WITHOUT_INDICES = 3
#: How many neighbours one access reads: in a kernel with products, of as many numbers as a word has.
_COUNTS, _COUNTS_OF_PRODUCTS = (2,), (8, 4, 2)


class Run(NamedTuple):
    """An axis that has so many ``lanes`` for each point, which are neighbours in memory."""

    axis: int
    lanes: int


def runs_of(kernel: Kernel, tile: Tile, number: int) -> dict[ir.Operation, tuple[ir.Operation, ...]]:
    """Of each load that has neighbours along axis ``number`` of a tile: all of them in order, each load in
    one run; runs of one length, the longest.  Empty where another axis is looped over in a kernel without
    products, or that one has lanes that are no points; loads at loaded indices, of what the kernel writes to,
    with guards that are loaded, or with any guard in a loop or a kernel with products have none.
    """
    axis, plain = tile.axes[number], not kernel.products
    if plain and (axis.kind == "resident" or tile.looped not in (None, number)):
        return {}
    if axis.block == 1 or not kernel.facts.divides(axis.block, axis.extent(dict(kernel.dims))):
        return {}
    shapes = KernelShape.of(kernel)
    guarded = axis.kind != "looped" and plain
    for count in _COUNTS if plain else _COUNTS_OF_PRODUCTS:
        loads = [a for a in kernel.loads if _steps_over(shapes, a, axis.dims[-1], count)]
        loads = [a for a in loads if guarded or is_true(a.op.operands[1])]
        found = dict[ir.Operation, tuple[ir.Operation, ...]]()
        for first in loads:
            run = _run_from(shapes, first, [a for a in loads if a.op not in found], count)
            found |= dict.fromkeys(run, run)
        if found:
            return found
    return {}


def _run_from(
    shapes: KernelShape, first: Access, loads: list[Access], count: int
) -> tuple[ir.Operation, ...]:
    """The run that begins with a load, of ``loads``; empty where there is none."""
    if first not in loads or not shapes.kernel.facts.divides(count, shapes.offset_of(first)):
        return ()
    run = [first.op]
    for distance in range(1, count):
        run += [a.op for a in loads if a.argument == first.argument and _meet(shapes, first, a, distance)][:1]
    return tuple(run) if len(run) == count else ()


def _steps_over(shapes: KernelShape, access: Access, dim: str, count: int) -> bool:
    plain, narrow = is_plain(access, shapes.kernel), shapes.element_bytes(access) <= 4
    return plain and narrow and shapes.steps(access)[dim] == count and is_simple(access.op.operands[1])


def is_plain(access: Access, kernel: Kernel) -> bool:
    """Whether an access is a load of what the kernel does not write to, without a loaded index."""
    is_load = isinstance(access.op, fuse.Load) and len(access.op.operands) == _WITHOUT_INDICES
    return is_load and access.argument not in kernel.ties


def _meet(shapes: KernelShape, first: Access, other: Access, distance: int) -> bool:
    """Whether one reads the element at a distance from the other's, under the same conditions."""
    return list(first.op.operands)[1:] == list(other.op.operands)[1:] and shapes.offset_of(
        other
    ) - shapes.offset_of(first) == const(distance)


def is_simple(value: ir.Value) -> bool:
    """Whether a guard is made of indices alone."""
    op = value.owner
    if isinstance(op, ir.Block):
        return False
    return is_true(value) or (isinstance(op, _SIMPLE) and all(is_simple(operand) for operand in op.operands))
