"""Which blocks of the columns of a product a program goes through, and in which it need not compare.

A loop over columns (the tiling rule ``columns-in-a-loop``) begins at the first block with a column that one
of the program's rows admits, and ends behind the last one.  In between, the blocks that all rows admit whole
have a loop of their own, without masks.  What rows admit may depend on a number that is data, such as the
length of a sequence.
"""

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

from ...analysis.kernel.admitted import NOTHING_MASKED, Admitted
from ...analysis.kernel.conditions import holds_on_diagonal
from ...base.dataclass import dataclass
from ...index import Expr, const, sym
from ...index.facts import is_indirect
from ...ir.tile import Tile
from ...mlir import ir
from ..indexing.symbols import BlockNumber
from ..indexing.tile_index import TileIndex
from ..tile_builder import TileBuilder

#: What is compared with a column that is so far away is with all columns.
_FAR = 1 << 40


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
    """The ranges of a loop over ``axis``, whose points are ``column``, an expression over its dims.
    ``ends_of``: the least and the most that a number of the kernel is in a program, as scalars; None where
    these are not known before the loop.
    """

    tile: Tile
    index: TileIndex
    builder: TileBuilder
    axis: int
    column: Expr
    ends_of: Callable[[ir.Value], tuple[ir.Value, ir.Value] | None]
    _numbers: dict[str, ir.Value] = field(default_factory=dict, init=False)

    def of(self, mask: Admitted) -> list[Range]:
        """The ranges of a loop over scores with this mask, in order."""
        block, columns, blocks = self._block, self.index.extents[self.axis], self.index.block_count(self.axis)
        if mask == NOTHING_MASKED:
            first, whole, stop = map(self.index.scalar, (const(0), columns.floordiv(block), blocks))
            behind = [] if self.index.exact(self.axis) else [Range(whole, stop, False)]
            return [Range(first, whole, True), *behind]
        self._read(mask)
        found = [self._bound(e) for e in mask.bounds]
        bounds = [bound for bound in found if bound is not None]
        lows, highs = ([b for b in bounds if b.low is low] for low in (True, False))
        left_out = not (mask.finite or mask.divided) or self._each_row_admits_one(mask)
        first = self._joined("arith.maxsi", const(0), [self._blocks(b.some, 0) for b in lows if left_out])
        stop = self._joined("arith.minsi", blocks, [self._blocks(b.some, block) for b in highs if left_out])
        if not mask.complete or len(bounds) < len(found):
            return [Range(first, stop, False)]
        begin = self._joined("arith.maxsi", const(0), [self._blocks(b.all, block - 1) for b in lows])
        end = self._joined("arith.minsi", columns.floordiv(block), [self._blocks(b.all, 1) for b in highs])
        calculate = self.builder.elementwise
        begin = calculate("arith.minsi", [calculate("arith.maxsi", [first, begin]), stop])
        end = calculate("arith.maxsi", [begin, calculate("arith.minsi", [end, stop])])
        before = [Range(first, begin, False)] if lows else []
        after = [Range(end, stop, False)] if highs or not self.index.exact(self.axis) else []
        return [*before, Range(begin, end, True), *after]

    @property
    def _block(self) -> int:
        return self.tile.axes[self.axis].block

    def _joined(self, join: str, first: Expr, others: list[ir.Value]) -> ir.Value:
        value = self.index.scalar(first)
        for other in others:
            value = self.builder.elementwise(join, [value, other])
        return value

    def _read(self, mask: Admitted) -> None:
        """Names the least and the most of each number of a mask that a program has before the loop."""
        calculate = self.builder.elementwise
        for name, value in mask.numbers.items():
            for number, found in zip(_least_and_most(name), self.ends_of(value) or (), strict=False):
                far, near = (self.builder.fill(n, found) for n in (-_FAR, _FAR))
                self._numbers[number] = calculate(
                    "arith.minsi", [calculate("arith.maxsi", [found, far]), near]
                )

    def _blocks(self, end: Expr, ahead: int) -> ir.Value:
        """How many whole blocks there are in so many columns, ``end`` and ``ahead`` more, as i32.  Which
        column behind the last one it is, or in front of the first one, makes no difference.
        """
        if not any(map(is_indirect, end.symbols())):
            return self.index.scalar((end + ahead).floordiv(self._block))
        calculate, columns = self.builder.elementwise, self.index.extents[self.axis]
        value = self.index.value(end, self._numbers, ())
        for join, limit in (("arith.maxsi", const(-1)), ("arith.minsi", columns)):
            value = calculate(join, [value, self.index.value(limit, {}, ())])
        value = calculate("arith.addi", [value, self.builder.fill(ahead, value)])
        value = calculate("arith.divsi", [value, self.builder.fill(self._block, value)])
        return self.builder.cast("arith.trunci", value, "i32")

    def _each_row_admits_one(self, mask: Admitted) -> bool:
        """Whether each row is known to admit the column of its own number.  Where masked numbers are divided
        by the sum of their row, that may be a sum over either axis: there are as many rows as columns.
        """
        dims = self.tile.axes[self.axis].dims
        if len(dims) > 1:
            return False
        for number, axis in enumerate(self.tile.axes):
            if number != self.axis and len(axis.dims) == 1 and axis.kind == "grid" and axis.block > 1:
                own = [e.subs({dims[0]: sym(axis.dims[0])}).constant for e in mask.bounds]
                known = mask.complete or all(
                    holds_on_diagonal(op.operands[0], kept == 1, dims[0], axis.dims[0])
                    for op, kept in mask.choices
                )
                more = self.index.extents[self.axis] - self.index.extents[number]
                enough = more.constant == 0 if mask.divided else self.index.tight.nonnegative(more)
                return known and enough and all(n is not None and n >= 0 for n in own)
        return False

    def _bound(self, e: Expr) -> _Bound | None:
        """What ``e >= 0`` says of the columns that rows of a block admit; None where that is not known."""
        dims = self.column.symbols()
        low = dims.isdisjoint((self.column - e).symbols())
        end = self.column - e if low else self.column + e
        ends = self._ends(end) if dims.isdisjoint(end.symbols()) else None
        if ends is None or any(
            is_indirect(n) and n not in self._numbers for end in ends for n in end.symbols()
        ):
            return None
        if not all(self.index.fits(end, self._block) for end in ends):
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
            if not dims or axis.block == 1:
                continue
            factor = e.coefficient(dims[0])
            if len(axis.dims) > 1 or factor is None or factor.constant is None:
                return None
            start = BlockNumber(number).expr * axis.block if axis.kind == "grid" else const(0)
            points = (start, start + (axis.block - 1))
            ordered = points if factor.constant > 0 else points[::-1]
            ends = [end.subs({dims[0]: point}) for end, point in zip(ends, ordered, strict=True)]
        for name in filter(is_indirect, e.symbols()):
            numbers = _least_and_most(name)
            numbers = numbers if e.coefficient(name) == const(1) else numbers[::-1]
            ends = [end.subs({name: sym(number)}) for end, number in zip(ends, numbers, strict=True)]
        least, most = map(self.index.lowered, ends)
        return least, most


def _least_and_most(name: str) -> tuple[str, str]:
    """The names of the least and the most that a number is in the rows of a program."""
    return f"{name}0", f"{name}1"
