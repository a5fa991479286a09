"""The rule for few rows that tensor cores multiply by weights (the larger factor), and the sides of such
products.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.dialects import fuse
from ...ir.kernel import over, string
from ...ir.tile import Tile
from ..contraction.few_row_blocks import ROWS_OF_GROUPS, FewRowBlocks, few_row_blocks, group_blocks
from ..contraction.tensor_cores import FEW_OF_PACKED, larger_factor, nearest, reads_lines, weights_of
from ..contraction.tiles import LEAST_OF_WHOLE_ROWS
from ..kernel.shape import KernelShape
from .choice import NoTiling
from .product_rules import DimClass, Products


@dataclass(frozen=True)
class FewRowSides:
    """The dims of products of few rows: those of the weights, of the rows, summed ones, and slices if any;
    and the bytes of a weight."""

    weights: DimClass
    rows: DimClass
    summed: DimClass
    slices: DimClass | None
    element_bytes: int

    @staticmethod
    def of(subject: Products) -> "FewRowSides | None":
        """Those of a kernel; None where its products are others, where their rows are in segments, or where
        something else is reduced than these and then the slices."""
        try:
            classes = subject.classes
        except NoTiling:
            return None
        if subject.in_segments:
            return None
        free = sorted((c for c in classes if c.free), key=lambda c: -subject.shape.points(c.dims))
        held = [c for c in classes if c.held]
        if len(free) != 2 or len(subject.summed) != 1 or any(c.free or {*c.roles} != {"both"} for c in held):
            return None
        kernel = subject.shape.kernel
        slices = {d for c in held for d in c.dims}
        others = [op for op in (*kernel.reductions, *kernel.scans) if op not in kernel.products]
        found = [weights_of(subject.shape, op) for op in kernel.products]
        if len(held) > 1 or None in found or any({*over(op)} != slices for op in others):
            return None
        element_bytes = max(width for width in found if width is not None)
        weights, rows = free
        return FewRowSides(weights, rows, subject.summed[0], held[0] if held else None, element_bytes)

    def shares(self, shape: KernelShape) -> int:
        """Programs that have a part of the sums of one block each."""
        held = self.slices.dims if self.slices is not None else ()
        taken = {*held, *self.summed.dims, *self.weights.dims, *self.rows.dims}
        return shape.points(tuple(d for d in shape.order if d not in taken))

    def blocks(self, subject: Products, hardware: Hardware) -> FewRowBlocks:
        """Into which the kernel is cut."""
        points, slices = subject.shape.points, self.slices
        summed = points(self.summed.dims) * (1 if slices is None else points(slices.dims))
        return few_row_blocks(
            points(self.weights.dims), points(self.rows.dims), summed, self.element_bytes, hardware
        )


def programs_of_groups(shape: KernelShape) -> int | None:
    """Of products of more than 16 rows with groups of weights, one after the other, where the sums of the
    groups are all that is reduced beside the products: programs of blocks that have all of the rows.  None of
    other kernels, and of few weights.
    """
    sides = FewRowSides.of(Products(shape))
    if sides is None or sides.slices is None or shape.points(sides.rows.dims) <= FEW_OF_PACKED:
        return None
    others = [op for op in shape.kernel.reductions if op not in shape.kernel.products]
    sums = others and all(
        isinstance(op, fuse.Reduce) and string(op.attributes["kind"]) == "sum" for op in others
    )
    outputs = shape.points(sides.weights.dims)
    blocks = -(-outputs // ROWS_OF_GROUPS)
    return blocks * sides.shares(shape) if sums and outputs >= LEAST_OF_WHOLE_ROWS else None


def weights_in_slices(subject: Products, hardware: Hardware) -> Tile | None:
    """A block of rows of weights for each program, whose warps have a slice of what is summed each.

    When: at least 1024 rows of weights are multiplied by 2 to 16 rows where they are int8 that is cast (or
    uint8 that is cast to f16), by 3 or 4 rows where they are bf16 or f16 (``weights_of``).
    Why: weights that are widened stay in registers as the left operand of a product, and converting them once
    serves all rows; warps with slices of their own read enough at once where there are few programs.  Where a
    tile takes more shared memory than there is, the next one has a stage less.
    """
    sides = FewRowSides.of(subject)
    if sides is None:
        return None
    blocks = sides.blocks(subject, hardware)
    warps = 1 if sides.slices is None else min(subject.whole(sides.slices, 1), hardware.max_warps)
    chosen = {} if sides.slices is None else {sides.slices: subject.whole(sides.slices, 1)}
    chosen |= {sides.weights: blocks.rows, sides.rows: blocks.columns}
    stages = _stages(subject, {**chosen, sides.summed: blocks.summed}, blocks.num_stages, hardware)
    return subject.tile(chosen, blocks.summed, warps, max(1, stages - subject.shape.spills), 1)


def groups_in_turn(subject: Products, hardware: Hardware) -> Tile | None:
    """A block of rows of weights for each program, which goes through the groups of weights that share a
    scale.  Its warps take groups of their own.

    When: ``unpack-dots`` multiplies scales to the products of groups, which are more than the slices that the
    warps of a program would hold.  Why: as above; a scale is read once for each group.
    """
    sides = FewRowSides.of(subject)
    if sides is None or sides.slices is None:
        return None
    shape = subject.shape
    groups, length = shape.points(sides.slices.dims), shape.points(sides.summed.dims)
    if groups <= sides.blocks(subject, hardware).slices:
        return None
    outputs, few = shape.points(sides.weights.dims), shape.points(sides.rows.dims)
    made_of = [{*nearest([op.operands[larger_factor(shape, op)]], fuse.Load)} for op in shape.kernel.products]
    weights = [access for access in shape.kernel.loads if access.op in set().union(*made_of)]
    across = all(shape.steps(w)[d] not in (1, None) for w in weights for d in sides.summed.dims)
    moved = any(len(loads) > 1 for loads in made_of) and not across
    lines = all(reads_lines(shape, w, sides.slices.dims, sides.summed.dims) for w in weights)
    bytes_, shares = length * sides.element_bytes, sides.shares(shape)
    blocks = group_blocks(outputs, few, groups, bytes_, hardware, moved, lines, shares)
    chosen = {sides.slices: blocks.groups, sides.weights: blocks.rows, sides.rows: blocks.columns}
    stages = _stages(subject, {**chosen, sides.summed: length}, blocks.num_stages, hardware)
    held = subject.tile(chosen, length, blocks.num_warps, 1, 1)
    axes = (replace(axis, kind="looped") if axis.dims == sides.slices.dims else axis for axis in held.axes)
    return replace(held, axes=tuple(axes), num_stages=max(1, stages - shape.spills))


def _stages(subject: Products, blocks: Mapping[DimClass, int], most: int, hardware: Hardware) -> int:
    """Of the loop over what is summed: all but one hold a block of every load in it in shared memory."""
    shape, summed = subject.shape, {d for c in subject.summed for d in c.dims}
    step = 0
    for access in shape.kernel.loads:
        dims = shape.kernel.op_dims[access.op]
        if summed & dims:
            extents = (block for c, block in blocks.items() if dims & {*c.dims})
            step += math.prod(extents) * shape.element_bytes(access)
    return next(n for n in range(most, 0, -1) if (n - 1) * step <= hardware.shared_bytes)
