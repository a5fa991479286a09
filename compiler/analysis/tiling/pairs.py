"""Loads of neighbours that step over two elements from point to point: ``x[2*i]`` and ``x[2*i + 1]``.

A thread would read each of them by itself, a warp each second element of its lines, once for each of the two.
Read together they are contiguous, in vectors as wide as a thread's points allow (``TileKernel._load``).  They
are the columns of a pooling window with a stride, and the halves of a rotary embedding that turns neighbours.
"""

from ...index import const
from ...ir.defining import is_true
from ...ir.kernel import Access, Kernel
from ...ir.tile import Tile
from ...mlir import ir
from ..kernel.shape import KernelShape

#: What computes a guard again for twice as many lanes.
_SIMPLE = ("fuse.index", "arith.constant", "arith.cmpi", "arith.andi", "arith.ori", "arith.xori")


def pairs_of(
    kernel: Kernel, tile: Tile, number: int
) -> dict[ir.Operation, tuple[ir.Operation, ir.Operation]]:
    """Of each load that has a neighbour along axis ``number`` of a tile: the even one and the odd one, each
    load in one pair.  Empty where another axis is looped over in a kernel without products, or that one has
    lanes that are no points; loads at loaded indices, of what the kernel writes to, with guards that are
    loaded, or with any guard in a loop or a kernel with products have none.
    """
    axis, plain = tile.axes[number], not kernel.products
    if plain and (axis.kind == "resident" or tile.looped not in (None, number)):
        return {}
    if axis.block == 1 or not kernel.facts.divides(axis.block, axis.extent(dict(kernel.dims))):
        return {}
    shapes = KernelShape.of(kernel)
    found: dict[ir.Operation, tuple[ir.Operation, ir.Operation]] = {}
    loads = [a for a in kernel.loads if _steps_over_two(shapes, a, axis.dims[-1])]
    if axis.kind == "looped" or not plain:
        loads = [a for a in loads if is_true(a.op.operands[1])]
    for even in loads:
        if not kernel.facts.divides(2, shapes.offset_of(even)):
            continue
        for odd in loads:
            if (
                even.argument == odd.argument
                and _meet(shapes, even, odd)
                and not {even.op, odd.op} & set(found)
            ):
                found[even.op] = found[odd.op] = even.op, odd.op
    return found


def _steps_over_two(shapes: KernelShape, access: Access, dim: str) -> bool:
    kernel = shapes.kernel
    plain = (
        access.op.name == "fuse.load" and len(access.op.operands) == 3 and access.argument not in kernel.ties
    )
    narrow = shapes.element_bytes(access) <= 4
    return plain and narrow and shapes.steps(access)[dim] == 2 and _simple(access.op.operands[1])


def _meet(shapes: KernelShape, even: Access, odd: Access) -> bool:
    """Whether one reads the other's next element, under the same conditions."""
    return list(even.op.operands)[1:] == list(odd.op.operands)[1:] and shapes.offset_of(
        odd
    ) - shapes.offset_of(even) == const(1)


def _simple(value: ir.Value) -> bool:
    """Whether a guard is made of indices alone."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    return is_true(value) or (op.name in _SIMPLE and all(_simple(operand) for operand in op.operands))
