"""Loops over the columns of a product: which blocks of them a program goes through."""

from dataclasses import replace
from functools import reduce

from ...analysis.kernel.admitted import NOTHING_MASKED, Admitted, admitted, both, multiplied, nonzero
from ...index import const, sym
from ...ir.contractions import PRODUCTS
from ...ir.dialects import fuse
from ...ir.kernel import index_check
from ...mlir import ir
from ..folds.reduce import combine_kind, fold
from ..tile_builder import shape_of
from .tile_ranges import ColumnRanges, Range
from .tile_streams import TileStreams


class TileColumns(TileStreams):
    """The ranges of such a loop."""

    def _ranges(
        self, stage: int, body: list[ir.Operation]
    ) -> tuple[list[Range], tuple[tuple[ir.Operation, int], ...]] | None:
        """The ranges of a loop that goes through the columns of a product, or through one segment of what a
        product sums, and the selects that mask none of its whole blocks.  None for other loops, and where
        more than a product is computed for each block, checks of indices apart.
        """
        axis = self.tile.looped
        roots = [op for op in self.plan.roots(stage) if not index_check(op)]
        between = [op for op in body if op.name in PRODUCTS and op not in roots]
        several = bool(between) and all(isinstance(op, fuse.Dot) for op in roots)
        if axis is None or not (len(roots) == 1 or several):
            return None
        masks = [self._mask(op, bool(between)) for op in roots]
        if None in masks:
            return None
        mask = reduce(both, [mask for mask in masks if mask is not None])
        column = const(0)
        for dim in self.tile.axes[axis].dims:
            column = column * self.kernel.dims[dim] + sym(dim)
        ranges = ColumnRanges(self.tile, self.index, self.builder, axis, column, self._ends_of)
        return ranges.of(mask), mask.choices

    @staticmethod
    def _mask(root: ir.Operation, columns: bool) -> Admitted | None:
        """Which points of a loop are not masked, in front of what it adds up."""
        if columns:
            factor = root.operands[0]
            return admitted(factor) if isinstance(root, fuse.OnlineDot) else nonzero(factor)
        mask = multiplied(root) if isinstance(root, fuse.Dot) else NOTHING_MASKED
        # One loop: the guards of loads are masks of whole rows, which cost little.
        return replace(mask, complete=False) if mask.numbers else None

    def _ends_of(self, value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
        """The least and the most that a value is in a program, as scalars.  None where that is not known
        before the loop.  Lanes that are no points take part.
        """
        places = (self.values, *(tiles.values for tiles in self.framed.values()))
        found = next((values[value] for values in places if value in values), None)
        if found is None or self.tile.looped in self.plan.value_axes[value]:
            return None
        every = range(len(shape_of(found)))
        [least], [most] = (fold(self.builder, [found], every, combine_kind(kind)) for kind in ("min", "max"))
        return least, most
