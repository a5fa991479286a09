"""Tiles of products that are copied by descriptors, in programs that go through several blocks.

``fuse.tile`` with ``programs`` and a looped axis says so of one product.  Each program makes a descriptor of
each matrix, then loops over its blocks, and inside over what is summed.  Triton makes one loop of both
(``tt.flatten``), so that the first tiles of the next block are copied while the result of this one is stored.

``copied`` says so of the weights of a chain of products, which a program has in shared memory one after the
other.  They take no registers on their way, which the sums and the columns between two products need.
"""

from collections.abc import Mapping

from ...analysis.kernel.descriptors import Stream, streams_of, streams_of_weights
from ...ir.dialects import tt
from ...ir.kernel import Kernel
from ...ir.layout import memory_element
from ...ir.tile import Tile
from ...mlir import ir
from ..tile_ops import from_memory, to_memory
from ..tile_plan import TilingError
from .tile_groups import TileGroups

#: What a load by a descriptor reads outside of a matrix.
_ZEROS = 1
_NORMAL = {"cache": tt.CACHE["none"], "evict": tt.EVICT["normal"]}


class TileStreams(TileGroups):
    """The tiles of a kernel with products; ``streams``: the accesses by descriptors."""

    def __init__(self, kernel: Kernel, tile: Tile) -> None:
        super().__init__(kernel, tile)
        if tile.programs and not kernel.products:
            raise TilingError(
                "programs that go through several blocks need a product of tiles (fuse.dot)",
                kernel.func.location,
            )
        found: Mapping[ir.Operation, Stream] | None = {}
        if tile.copied:
            cut = {dim for axis in tile.axes if axis.kind == "grid" for dim in axis.dims}
            found = streams_of_weights(kernel, cut)
        elif tile.programs and tile.looped is not None:
            found = streams_of(kernel)
        if found is None:
            raise TilingError(
                "programs that go through several blocks and sum in a loop need one product of two matrices "
                "of 16-bit elements, whose factors and result lie in rows of a multiple of 16 bytes",
                kernel.func.location,
            )
        self.streams: Mapping[ir.Operation, Stream] = found
        self._descriptors: dict[ir.Operation, ir.Value] = {}

    def _describe(self) -> None:
        """Makes the descriptors, before all loops."""
        builder = self.builder
        for op, stream in self.streams.items():
            spec = self.kernel.spec(stream.argument)
            stride = max(s.constant or 0 for s in spec.strides)
            sizes = [self.kernel.dims[dim].constant or 0 for dim in stream.dims]
            element = memory_element(spec.element)
            block = "x".join(str(self._block(dim)) for dim in stream.dims)
            made = builder.create(
                "tt.make_tensor_descriptor_2",
                [ir.Type.parse(f"!tt.tensordesc<tensor<{block}x{element}>>")],
                [
                    self.bases[stream.argument],
                    *(builder.constant(size, "i32") for size in sizes),
                    *(builder.constant(number, "i64") for number in (stride, 1)),
                ],
                {"padding": builder.attribute(_ZEROS)},
            )
            self._descriptors[op] = made.results[0]

    def _for_each_block(self) -> set[ir.Operation]:
        """What programs do again for each block though all blocks have it in common: the copies of weights,
        and what is no matrix, such as a bias, which would stay in registers.
        """
        if not self.tile.copied:
            return set()
        vectors = {i for i, axis in enumerate(self.tile.axes) if axis.block > 1}
        rows = (op for op in self.plan.ops if len(vectors.intersection(self.plan.axes[op])) == 1)
        return {*self.streams, *rows}

    def _block(self, dim: str) -> int:
        return self.tile.axes[self.tile.axis_of(dim)].block

    def _starts(self, stream: Stream) -> list[ir.Value]:
        """Where the current tile of a matrix begins."""
        return [self._start_along(self.tile.axis_of(dim)) for dim in stream.dims]

    def _start_along(self, axis: int) -> ir.Value:
        builder, held = self.builder, self.tile.axes[axis]
        if held.kind == "resident":
            return builder.constant(0, "i32")
        return builder.elementwise(
            "arith.muli", [self.index.blocks[axis], builder.constant(held.block, "i32")]
        )

    def _turned(self, op: ir.Operation) -> bool:
        """Whether the axes of a matrix come in another order than those of its tiles here."""
        return tuple(map(self.tile.axis_of, self.streams[op].dims)) != self.frame

    def _load(self, op: ir.Operation) -> None:
        if op not in self.streams:
            super()._load(op)
            return
        builder, stream = self.builder, self.streams[op]
        element = ir.Type.parse(memory_element(self.kernel.spec(stream.argument).element))
        type_ = tt.tile_type([self._block(dim) for dim in stream.dims], element)
        attributes = {name: builder.attribute(value) for name, value in _NORMAL.items()}
        operands = [self._descriptors[op], *self._starts(stream)]
        value = builder.create("tt.descriptor_load", [type_], operands, attributes).results[0]
        value = self.builder.trans(value, [1, 0]) if self._turned(op) else value
        self._set(op, [from_memory(builder, value, op.results[0].type)])

    def _store(self, op: ir.Operation) -> None:
        if op not in self.streams:
            super()._store(op)
            return
        builder = self.builder
        value = builder.to(to_memory(builder, self._operand(op.operands[1])), self.index.shape(self.frame))
        value = self.builder.trans(value, [1, 0]) if self._turned(op) else value
        operands = [self._descriptors[op], value, *self._starts(self.streams[op])]
        builder.create("tt.descriptor_store", [], operands)
