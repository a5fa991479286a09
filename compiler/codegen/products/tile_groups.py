"""Loops that go through a batch of products, as through groups of weights that share a scale.

Weights that are converted go from shared memory to where tensor cores want them as they are, and are
converted there, if all that makes them is loaded or constant.  Triton 3.6 converts them first, and stores
what it made to shared memory again, where they are made of the numbers of lanes, too: GPTQ's zero points
are, which are shifted by their places in words.  So such numbers are a load here, which reads nothing: its
mask is false, and the numbers are what it gives then.
"""

from ...ir.dialects import tt
from ...mlir import ir
from ..tile_builder import shape_of
from .tile_products import TileProducts


class TileGroups(TileProducts):
    """What makes the operands of a batch of products."""

    def _is_of_batches(self) -> bool:
        """Whether the loop of the tile, of several stages, goes through a batch of all products."""
        axis = self.tile.looped
        if self.frames is None or axis is None or self.tile.num_stages == 1:
            return False
        values = [v for op in self.kernel.products for v in op.operands]
        summed = {operands.summed for operands in self.frames.operands.values()}
        return axis not in summed and all(axis in self.plan.value_axes[v] for v in values)

    def _number_of_lanes(self, op: ir.Operation, value: ir.Value) -> ir.Value:
        """The numbers of a ``fuse.index``, which no step of the loop changes: as a load, where an operand is
        made of them."""
        beside = self.frame not in self._operand_frames or self.tile.looped in self.plan.axes[op]
        if beside or not shape_of(value) or not self._is_of_batches():
            return value
        builder = self.builder
        pointer = tt.Ptr.get(ir.TypeAttr.get(tt.element_of(value.type)))
        base = builder.create("tt.bitcast", [pointer], [next(iter(self.bases.values()))]).results[0]
        zero = builder.constant(0, "i32")
        never = builder.cmpi("slt", builder.opaque(zero), zero)
        return builder.load(builder.to(base, shape_of(value)), never, value)
