"""The frames of a kernel with products: over which axes, and in which order, the tile of each value lies.

Without a product all tiles of a kernel have the same axes.  A product of tiles joins three kinds of them: its
left operand lies in (m, k), its right one in (k, n), and the result in (m, n).  An axis that both operands
have, a batch of products, comes first in all three.  A *frame* is such an ordered list of axes.  What is
computed for an operand has its operand's frame, loads included, so that nothing is reshaped or transposed
between a load and the product.  A value that is needed in two frames (a scale of both operands) is computed
in each.
"""

from collections.abc import Mapping

from ...analysis.kernel.concatenation import Pieces
from ...analysis.kernel.segments import RowSegments
from ...base.dataclass import dataclass
from ...ir.contractions import PRODUCTS
from ...ir.dialects import fuse
from ...ir.kernel import ASSERTS, REDUCTIONS
from ...ir.tile import Tile
from ...mlir import ir
from ..tile_plan import STORES, KernelPlan, TilingError

#: Axes of a tile with more than one point in a block, in the order of the tile's shape.
Frame = tuple[int, ...]
#: The operand of a load that says where it reads.
_GUARD = 1


@dataclass(frozen=True)
class Operands:
    """The operands of a product: their numbers and frames, left then right, and the axis that is summed."""

    order: tuple[int, int]
    left: Frame
    right: Frame
    summed: int


class Frames:
    """Where each op of a kernel is computed.

    ``of``: the frames in which code is emitted for an op.  The frame ``()`` is that of scalars, which all
    other frames see.  An op whose result nothing reads has none.  ``results``: of an op that crosses axes,
    which is emitted in one frame, the further frames that its results are moved to.  ``operands``: of each
    product.  ``pieces``: selects that are one load of several, which are not wanted by themselves.
    """

    def __init__(
        self,
        plan: KernelPlan,
        tile: Tile,
        pieces: Mapping[ir.Operation, Pieces],
        segments: RowSegments | None = None,
    ) -> None:
        """``segments``: those of the rows, where blocks have rows of one each.  Their ends are wanted."""
        self.plan, self._pieces, self.segments = plan, pieces, segments
        self._vector = {i for i, axis in enumerate(tile.axes) if axis.block > 1}
        self.of: dict[ir.Operation, list[Frame]] = {}
        self.results: dict[ir.Operation, list[Frame]] = {}
        self.operands: dict[ir.Operation, Operands] = {}
        self._wanted: dict[ir.Value, list[Frame]] = {}
        if segments is not None:
            self._want(segments.ends, [tuple({tile.axis_of(segments.number)} & self._vector)])
        for op in reversed(plan.ops):
            self._place(op)

    @property
    def all(self) -> list[Frame]:
        """Every frame of the kernel."""
        return list(
            dict.fromkeys(f for placed in (self.of, self.results) for fs in placed.values() for f in fs)
        )

    def _own(self, op: ir.Operation) -> Frame:
        return tuple(i for i in self.plan.axes[op] if i in self._vector)

    def _place(self, op: ir.Operation) -> None:
        own = self._own(op)
        wanted = list(dict.fromkeys(f for result in op.results for f in self._wanted.get(result, ())))
        if op.name in PRODUCTS:
            if wanted:
                self._product(op, wanted)
            return
        if self.segments is not None and op == self.segments.count:
            self.of[op] = [()] if wanted else []
            return
        if op.name in REDUCTIONS or isinstance(op, fuse.Scan):
            place = next((f for f in wanted if set(own) <= set(f)), own)
            self.results[op], wanted = [f for f in wanted if f != place], [place]
        elif not own or op.name in (*STORES, *ASSERTS):
            wanted = [own]
        self.of[op] = wanted
        read = op.operands
        if op in self._pieces:
            read = [v for load in self._pieces[op].loads for v in list(load.operands)[_GUARD + 1 :]]
        for operand in read:
            self._want(operand, wanted)

    def _want(self, value: ir.Value, frames: list[Frame]) -> None:
        known = self._wanted.setdefault(value, [])
        known += [f for f in frames if f not in known]

    def _product(self, op: ir.Operation, wanted: list[Frame]) -> None:
        summed = [i for i in self.plan.over_axes(op) if i in self._vector]
        sides = [self._vector.intersection(self.plan.value_axes.get(v, ())) - {*summed} for v in op.operands]
        batch = sorted(sides[0] & sides[1])
        free = sides[0] ^ sides[1]
        if [len(summed), *(len(side) - len(batch) for side in sides)] != [1, 1, 1] or len(batch) > 1:
            raise TilingError(
                "fuse.dot needs a block of several points along one axis of each operand and along the axis "
                "that it sums, at most one more that both operands have, and one point along all others",
                op.location,
            )
        both = (tuple(i for i in f if i in free) for f in wanted)
        rows, columns = next((f for f in both if len(f) == len(free)), (*sides[0] & free, *sides[1] & free))
        order = (0, 1) if rows in sides[0] else (1, 0)
        if isinstance(op, fuse.OnlineDot) and (order != (0, 1) or batch):
            raise TilingError(
                "fuse.online_dot needs an axis of its rows in front of that of its columns, and no batch",
                op.location,
            )
        place, left, right = (*batch, rows, columns), (*batch, rows, summed[0]), (*batch, summed[0], columns)
        self.operands[op] = Operands(order, left, right, summed[0])
        self.of[op], self.results[op] = [place], [f for f in wanted if f != place]
        self._want(op.operands[order[0]], [left])
        self._want(op.operands[order[1]], [right])
