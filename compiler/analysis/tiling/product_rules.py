"""Rules for kernels with products (``fuse.dot``), which tensor cores compute: each program computes a block of
rows and columns of the result and goes through the dims that are summed.
"""

from dataclasses import dataclass
from functools import cached_property

from ...base.hardware import Hardware
from ...ir.kernel import over, string
from ...ir.tile import Axis, Tile
from ...mlir import ir
from ..contraction.tiles import Form, blocks_for
from ..kernel.shape import KernelShape
from .choice import NoTiling, grid


@dataclass(frozen=True)
class Sides:
    """The dims of products: those of the left operands only, of the right ones only, and those summed."""

    left: frozenset[str]
    right: frozenset[str]
    summed: frozenset[str]


@dataclass
class Products:
    """A kernel whose products all join the same dims in the same way."""

    shape: KernelShape

    @cached_property
    def sides(self) -> Sides:
        """Raises ``NoTiling``."""
        first, *others = [self._sides_of(op) for op in self.shape.kernel.products]
        for other in others:
            if other.summed != first.summed or {other.left, other.right} != {first.left, first.right}:
                raise NoTiling("its products join different dims")
        for reduction in self.shape.kernel.reductions:
            if not set(over(reduction)) <= first.summed:
                raise NoTiling(f"{reduction.name} crosses {list(over(reduction))} beside a product")
        return first

    def _sides_of(self, op: ir.Operation) -> Sides:
        dims = self.shape.kernel.value_dims
        left, right = (dims.get(v, frozenset()) for v in op.operands)
        summed = frozenset(over(op))
        sides = Sides(left - right - summed, right - left - summed, summed)
        if not sides.left or not sides.right:
            raise NoTiling("an operand of fuse.dot has no dims of its own: expand-dots makes a sum of it")
        return sides

    @cached_property
    def form(self) -> Form:
        """Its sizes by hints, and what is computed beside the products."""
        shape, sides = self.shape, self.sides
        kernel = shape.kernel
        op = kernel.products[0]
        joined = sides.left | sides.right | sides.summed
        element = str(op.operands[0].type)
        precision = op.attributes["precision"] if "precision" in op.attributes else None
        full = [a for a in kernel.loads if sides.left | sides.right <= kernel.op_dims[a.op]]
        return Form(
            m=shape.points(tuple(sides.left)),
            n=shape.points(tuple(sides.right)),
            k=shape.points(tuple(sides.summed)),
            batch=shape.points(tuple(d for d in shape.order if d not in joined)),
            element=element,
            exact=precision is None or string(precision) == "ieee",
            left_bytes=self._bytes(sides.left | sides.summed),
            right_bytes=self._bytes(sides.right | sides.summed),
            converted=any(v.owner.operation.name != "fuse.load" for o in kernel.products for v in o.operands),
            sums=len(kernel.products),
            beside=len(full),
        )

    def _bytes(self, dims: frozenset[str]) -> int:
        """Of the elements that are loaded over a side and the summed dims."""
        kernel = self.shape.kernel
        loads = [a for a in kernel.loads if kernel.op_dims[a.op] & self.sides.summed <= dims]
        return max((self.shape.element_bytes(a) for a in loads if kernel.op_dims[a.op] <= dims), default=2)


def products(subject: Products, hardware: Hardware) -> Tile:
    """A block of rows and columns for each program, in groups of blocks that share operands; the summed dims
    are looped over in software pipelined stages, or held where one block has them all.

    When: in all cases.  Why: ``compiler/analysis/contraction/tiles.py`` estimates these blocks to be the
    fastest.  Raises ``NoTiling`` where the products of a kernel join different dims, or something else is
    reduced beside them.
    """
    shape, sides = subject.shape, subject.sides
    blocks = blocks_for(subject.form, hardware)
    bound = shape.bound(shape_dims(shape, sides.summed))
    held = bound is not None and bound <= blocks.k
    rows = Axis(shape_dims(shape, sides.left), blocks.m, "grid")
    columns = Axis(shape_dims(shape, sides.right), blocks.n, "grid")
    outer = shape_dims(shape, frozenset(shape.order) - sides.left - sides.right - sides.summed)
    summed = Axis(shape_dims(shape, sides.summed), blocks.k, "resident" if held else "looped")
    pair = (columns, rows) if blocks.swap else (rows, columns)
    return Tile(
        (*grid(outer, 1), *pair, summed), blocks.num_warps, 1 if held else blocks.num_stages, blocks.group
    )


def shape_dims(shape: KernelShape, dims: frozenset[str]) -> tuple[str, ...]:
    """``dims`` in memory order."""
    return tuple(d for d in shape.order if d in dims)
