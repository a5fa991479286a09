"""Which blocks of the columns of a product a program goes through, and in which it need not compare.

A loop over columns (the tiling rule ``columns-in-a-loop``) begins at the first block with a column that one
of the program's rows admits, and ends behind the last one.  In between, the blocks that all rows admit whole
have a loop of their own, without masks.
"""

from typing import NamedTuple

from ...analysis.kernel.admitted import NOTHING_MASKED, Admitted
from ...base.dataclass import dataclass
from ...index import Expr, const, sym
from ...ir.tile import Tile
from ...mlir import ir
from ..indexing.symbols import BlockNumber
from ..indexing.tile_index import TileIndex
from ..tile_builder import TileBuilder


class Range(NamedTuple):
    """Blocks from ``first`` up to ``stop``; ``whole``: whether no element of them is masked."""

    first: ir.Value
    stop: ir.Value
    whole: bool


class _Bound(NamedTuple):
    """Columns are at least (``low``), or at most, ``some`` where one row of a block admits them, and ``all``
    where all rows do.
    """

    low: bool
    some: Expr
    all: Expr


@dataclass
class ColumnRanges:
    """The ranges of a loop over ``axis``, of one dim."""

    tile: Tile
    index: TileIndex
    builder: TileBuilder
    axis: int

    def of(self, mask: Admitted) -> list[Range]:
        """The ranges of a loop over scores with this mask, in order."""
        block, columns, blocks = self._block, self.index.extents[self.axis], self.index.block_count(self.axis)
        if mask == NOTHING_MASKED:
            first, whole, stop = map(self.index.scalar, (const(0), columns.floordiv(block), blocks))
            behind = [] if self.index.exact(self.axis) else [Range(whole, stop, False)]
            return [Range(first, whole, True), *behind]
        found = [self._bound(e) for e in mask.bounds]
        bounds = [bound for bound in found if bound is not None]
        lows, highs = ([b for b in bounds if b.low is low] for low in (True, False))
        left_out = not mask.finite or self._each_row_admits_one(mask)
        first = self._joined("arith.maxsi", const(0), [b.some.floordiv(block) for b in lows if left_out])
        stop = self._joined(
            "arith.minsi", blocks, [(b.some + block).floordiv(block) for b in highs if left_out]
        )
        if not mask.complete or len(bounds) < len(found):
            return [Range(first, stop, False)]
        begin = self._joined("arith.maxsi", const(0), [(b.all + block - 1).floordiv(block) for b in lows])
        end = self._joined(
            "arith.minsi", columns.floordiv(block), [(b.all + 1).floordiv(block) for b in highs]
        )
        calculate = self.builder.elementwise
        begin = calculate("arith.minsi", [calculate("arith.maxsi", [first, begin]), stop])
        end = calculate("arith.maxsi", [begin, calculate("arith.minsi", [end, stop])])
        before = [Range(first, begin, False)] if lows else []
        after = [Range(end, stop, False)] if highs or not self.index.exact(self.axis) else []
        return [*before, Range(begin, end, True), *after]

    @property
    def _block(self) -> int:
        return self.tile.axes[self.axis].block

    def _joined(self, join: str, first: Expr, others: list[Expr]) -> ir.Value:
        value = self.index.scalar(first)
        for e in others:
            value = self.builder.elementwise(join, [value, self.index.scalar(e)])
        return value

    def _each_row_admits_one(self, mask: Admitted) -> bool:
        """Whether each row is known to admit the column of its own number."""
        if not mask.complete:
            return False
        [column] = self.tile.axes[self.axis].dims
        for number, axis in enumerate(self.tile.axes):
            if number != self.axis and len(axis.dims) == 1 and axis.kind == "grid" and axis.block > 1:
                own = [e.subs({column: sym(axis.dims[0])}).constant for e in mask.bounds]
                more = self.index.extents[self.axis] - self.index.extents[number]
                return all(n is not None and n >= 0 for n in own) and self.index.tight.nonnegative(more)
        return False

    def _bound(self, e: Expr) -> _Bound | None:
        """What ``e >= 0`` says of the columns that rows of a block admit; None where that is not known."""
        [dim] = self.tile.axes[self.axis].dims
        factor = e.coefficient(dim)
        if factor not in (const(1), const(-1)):
            return None
        low = factor == const(1)
        ends = self._ends(sym(dim) - e if low else e + sym(dim))
        if ends is None or not all(self.index.fits(end, self._block) for end in ends):
            return None
        least, most = ends
        return _Bound(low, least, most) if low else _Bound(low, most, least)

    def _ends(self, e: Expr) -> tuple[Expr, Expr] | None:
        """The least and the most of an expression over dims and sizes, in a block; None where it is not
        linear in the rows.
        """
        ends = [e, e]
        for number, axis in enumerate(self.tile.axes):
            dims = [dim for dim in axis.dims if dim in e.symbols()]
            if not dims or number == self.axis:
                continue
            factor = e.coefficient(dims[0])
            if len(axis.dims) > 1 or factor is None or factor.constant is None:
                return None
            start = BlockNumber(number).expr * axis.block if axis.kind == "grid" else const(0)
            points = (start, start + (axis.block - 1))
            ordered = points if factor.constant > 0 else points[::-1]
            ends = [end.subs({dims[0]: point}) for end, point in zip(ends, ordered, strict=True)]
        return ends[0], ends[1]
