"""The lanes that each reduction of a kernel folds (``Lanes``)."""

import math

from ..analysis.kernel.shape import KernelShape
from ..index import Expr, const, parse
from ..ir.contractions import PRODUCTS
from ..ir.dialects import fuse
from ..ir.kernel import Kernel, string
from ..ir.reductions import REDUCTION_OPS
from ..ir.tile import Tile
from ..mlir import ir
from .folds.fold import Lanes
from .indexing.symbols import BlockNumber
from .indexing.tile_index import TileIndex
from .tile_builder import Shape, TileBuilder
from .tile_plan import KernelPlan


class ReductionLanes:
    """The lanes of the reductions and scans of one kernel."""

    def __init__(
        self, kernel: Kernel, tile: Tile, plan: KernelPlan, index: TileIndex, builder: TileBuilder
    ) -> None:
        self.kernel, self.tile, self.plan = kernel, tile, plan
        self.index, self.builder = index, builder

    def of(self, op: ir.Operation, masked: bool = True) -> Lanes:
        """The lanes of a reduction or scan.  If not ``masked``, without the mask, for a block without masked
        lanes.  Those of a product are the elements of its result.
        """
        if op.name in PRODUCTS:
            return Lanes((), None, self.index.shape(self.index.vector_axes), self._no_count)
        axes = self.plan.over_axes(op)
        positions = tuple(self.index.tile_axis(i) for i in axes if self.tile.axes[i].block > 1)
        mask = self.index.mask(axes) if masked else None
        count = math.prod([self.index.extents[i] for i in axes], start=const(1))
        shape = without_ones(self.index.shape(self.plan.axes[op]))
        own, apart = self._own(op, shape)
        narrow, ordered = self._index_facts(op)
        size, even = lambda element: self._number(count, element), all(map(self.index.exact, axes))
        threads, weights = 32 * self.tile.num_warps, self._weights(op)
        return Lanes(positions, mask, shape, size, own, apart, narrow, ordered, even, threads, weights)

    def _weights(self, op: ir.Operation) -> Shape:
        """The shape in which a ``fuse.welford`` adds up its weights: along the axes that it crosses, and
        those along which weights vary.
        """
        if not isinstance(op, fuse.Welford) or len(op.operands) == 1:
            return ()
        varied = self.plan.value_axes.get(op.operands[1], ())
        return without_ones(self.index.shape(sorted({*self.plan.over_axes(op), *varied})))

    @staticmethod
    def _no_count(element: ir.Type) -> ir.Value:
        raise AssertionError("a product does not count its points")

    def _own(self, op: ir.Operation, shape: Shape) -> tuple[int, bool]:
        """How many elements of a looped block a thread holds, and whether these lie apart in memory.  Where
        rows are read in vectors of 16 bytes, or in narrower ones, a thread holds one vector, side by side.
        Otherwise it holds one element of each round of all threads.  (1, False) where masks leave out some of
        the thread's elements and the fold needs their number.
        """
        axis = self.tile.looped
        vectors = self.index.vector_axes
        if axis is None or not vectors or vectors[-1] != axis or not self.plan.is_accumulated(op):
            return 1, False
        shapes = KernelShape.of(self.kernel)
        dims = self.tile.axes[axis].dims
        if shapes.aligned(dims):
            own, threads = shapes.vector(dims), 1
        elif self._read_in_vectors(axis) or self.index.start is not None:
            own, threads = 16 // max(shapes.widest, 1), 1
        else:
            threads = 32 * self.tile.num_warps
            own = shape[-1] * math.prod(shape[:-1]) // threads
        if REDUCTION_OPS[op.name].counts and not self._holds_all_or_none(op, own, threads):
            return 1, False
        return (own, threads > 1) if own > 1 and shape[-1] % (own * threads) == 0 else (1, False)

    def _holds_all_or_none(self, op: ir.Operation, own: int, threads: int) -> bool:
        """Whether the mask of a reduction keeps all elements of a thread or none of them.  Masks of all
        blocks count, also where the current block has none: the results of all blocks are combined.
        """
        with self.index.inside(whole=False):
            masked = [i for i in self.plan.over_axes(op) if not self.index.exact(i)]
        if not masked:
            return True
        extent = self.index.extents[masked[-1]].constant
        return masked == [self.tile.looped] and threads == 1 and extent is not None and extent % own == 0

    def _read_in_vectors(self, axis: int) -> bool:
        """Whether, for every load along an axis, rows start at multiples of 16 bytes and are longer than the
        axis, so that whole vectors are read.
        """
        dims = set(self.tile.axes[axis].dims)
        loads = [a for a in self.kernel.loads if any(dims & set(c.symbols()) for c in a.coords)]
        return bool(loads) and all(
            self.index.fills_vectors(axis, self.kernel.spec(a.argument), a.coords) for a in loads
        )

    def _index_facts(self, op: ir.Operation) -> tuple[bool, bool]:
        """Two facts about the index that a ``fuse.argreduce`` folds: whether it fits in 32 bits, and whether
        it grows along the loop.
        """
        if not isinstance(op, fuse.ArgReduce) or isinstance(op.operands[1].owner, ir.Block):
            return False, False
        made = op.operands[1].owner
        if not isinstance(made, fuse.Index) or len(made.operands):
            return False, False
        e = self.index.lowered(parse(string(made.attributes["expr"])))
        axis = self.tile.looped
        step = None if axis is None else e.coefficient(BlockNumber(axis).symbol)
        grows = step is not None and step.constant is not None and step.constant > 0
        return self.index.fits(e), grows

    def _number(self, e: Expr, element: ir.Type) -> ir.Value:
        builder = self.builder
        if e.constant is not None:
            return builder.constant(float(e.constant), element)
        return builder.cast("arith.sitofp", self.index.value(e, {}, ()), element)

    def seen(self, op: ir.Operation, element: ir.Type) -> ir.Value:
        """How many points each lane has folded, as a float: ceil((extent - lane) / block) along the looped
        axis; along other axes 1, or 0 in masked lanes.
        """
        builder, axis = self.builder, self.tile.looped
        assert axis is not None
        shape = self.index.shape(self.plan.axes[op])
        count = self.index.lane_trips(axis)
        weight = builder.to(builder.cast("arith.sitofp", count, element), shape)
        mask = self.index.mask([i for i in self.plan.over_axes(op) if i != axis])
        return weight if mask is None else builder.select(mask, weight, builder.fill(0.0, weight))


def without_ones(shape: Shape) -> Shape:
    """``shape``, or that of a scalar where no extent is above 1."""
    return shape if any(extent > 1 for extent in shape) else ()
