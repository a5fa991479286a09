"""Where each axis of a tile lies: a kernel's dims as expressions over block numbers and lanes.

The points of an axis of block B are ``block number * B + lane``.  Each dim is a digit of the point, and is
replaced by that expression.  Simplifying it is the strength reduction: a division of lanes disappears when
the block divides the inner extent, and whatever contains no lane is scalar arithmetic.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ...analysis.tiling.neighbours import Run
from ...analysis.tiling.row_parts import RowParts
from ...analysis.tiling.row_start import RowStart
from ...base.dataclass import dataclass
from ...index import Expr, Facts, const, simplify
from ...index.facts import is_indirect
from ...ir.sizes import ceil_power
from ...ir.tile import Axis, Tile
from ..tile_builder import Shape
from .symbols import BlockNumber, Lane, OfRowParts, OfRowStart, OfSegment, Point, TileSymbol


@dataclass(frozen=True)
class RowPart:
    """One of the two tiles that hold a row: its whole vectors, or the elements at its ``ends``."""

    row: RowParts
    ends: bool

    @property
    def points(self) -> int:
        """How many lanes are points of the row; these are the first lanes."""
        return self.row.ends if self.ends else self.row.whole

    @property
    def block(self) -> int:
        """Extent of the tile."""
        return 2 * self.row.vector if self.ends else ceil_power(self.row.whole)

    def position(self, lane: Expr) -> Expr:
        """The point of the row that a lane holds."""
        ahead = OfRowParts.AHEAD.expr
        if not self.ends:
            return lane + ahead
        more = 2 * self.block
        return lane + (lane - ahead + more).floordiv(more) * self.row.whole

    def of(self, tile: Tile) -> Tile:
        """``tile`` with only this part of the row."""
        axes = list(tile.axes)
        axes[self.row.axis] = replace(axes[self.row.axis], block=self.block)
        return replace(tile, axes=tuple(axes))


@dataclass(frozen=True)
class Split:
    """An expression as ``scalar + sum of vectors``.  The vectors are keyed by the axes that they depend
    on.
    """

    scalar: Expr
    vectors: tuple[tuple[tuple[int, ...], Expr], ...]


@dataclass(frozen=True)
class SegmentedAxis:
    """An axis of rows in at most so many segments, whose blocks begin where segments begin."""

    axis: int
    most: int


class TileAxes:
    """A kernel's dims placed on the axes of its tiles.

    ``tight`` are the facts about dims and points, ``facts`` those about block numbers and lanes.
    """

    def __init__(
        self,
        tile: Tile,
        dims: Mapping[str, Expr],
        facts: Facts,
        start: RowStart | None = None,
        part: RowPart | None = None,
        run: Run | None = None,
        segments: SegmentedAxis | None = None,
    ) -> None:
        """``start``: how rows along the looped axis are read from before their first element.  ``part``: the
        part of a row that ``tile`` holds.  ``run``: neighbours in memory that an axis has for each point.
        ``segments``: an axis whose blocks begin where data says.
        """
        self.tile, self.start, self.part, self.run = tile, start, part, run
        self.segments = segments
        self.extents = [axis.extent(dict(dims)) for axis in tile.axes]
        self.vector_axes = [i for i, axis in enumerate(tile.axes) if axis.block > 1]
        #: What a name in a lowered expression stands for; other names are sizes and loaded indices.
        self.symbols: dict[str, TileSymbol] = {s.symbol: s for s in (*OfRowStart, *OfRowParts, *OfSegment)}
        self._lane_names = [Lane(i).symbol for i in range(len(tile.axes))]
        self._dims: dict[str, Expr] = {}
        self._points: dict[str, Expr] = {}
        bounds: dict[TileSymbol, Expr | int] = {}
        if start is not None:
            bounds |= {OfRowStart.PHASE: start.vector, OfRowStart.ALIGNED: start.elements}
        if part is not None:
            bounds[OfRowParts.AHEAD], high = part.row.vector, facts.interval(part.row.row)[1]
            bounds |= {} if high is None else {OfRowParts.FIRST: high + part.row.vector}
        if segments is not None:
            bounds |= dict.fromkeys(OfSegment, self.extents[segments.axis] + 1)
        for i, axis in enumerate(tile.axes):
            bounds[Lane(i)], bounds[BlockNumber(i)] = axis.block, self.block_count(i)
            self._points[Point(i).symbol] = self.position(i)
            self._place(i, axis, dims)
        self.symbols |= {s.symbol: s for s in bounds}
        self.tight = facts.with_extents({Point(i).symbol: e for i, e in enumerate(self.extents)})
        self.facts = facts.with_extents({s.symbol: e for s, e in bounds.items()})

    def _place(self, number: int, axis: Axis, dims: Mapping[str, Expr]) -> None:
        """Writes each dim of an axis as a digit of the axis' point."""
        rest, inner = Point(number).expr, const(1)
        for position, name in reversed(list(enumerate(axis.dims))):
            extent = const(1) if dims[name].constant == 0 else dims[name]  # 0: every lane is masked anyway
            digit = rest if inner == const(1) else rest.floordiv(inner)
            self._dims[name] = digit if position == 0 else digit.mod(extent)
            inner = inner * extent

    # --- shapes ---------------------------------------------------------------------------------------------
    @property
    def rank(self) -> int:
        """The number of axes of a full tile.  Axes of block 1 do not count."""
        return len(self.vector_axes)

    def tile_axis(self, axis: int) -> int:
        """Position of an axis in tile shapes.  Only for axes of block > 1."""
        return self.vector_axes.index(axis)

    def shape(self, axes: Sequence[int]) -> Shape:
        """The shape of a value that depends on ``axes``."""
        if not any(i in axes for i in self.vector_axes):
            return ()
        return tuple(self.tile.axes[i].block if i in axes else 1 for i in self.vector_axes)

    @contextmanager
    def alone(self, axis: int) -> Iterator[None]:
        """Within the context, tiles have this axis and no other: they are of rank 1."""
        whole, self.vector_axes = self.vector_axes, [axis]
        try:
            yield
        finally:
            self.vector_axes = whole

    # --- axes -----------------------------------------------------------------------------------------------
    def block_count(self, axis: int) -> Expr:
        """Number of blocks of an axis."""
        block, extent = self.points_of_block(axis), self.extents[axis]
        if self.tile.axes[axis].kind == "resident":
            return const(1)
        if self.segments is not None and self._in_segments(axis):
            return extent.floordiv(block) + (self.segments.most + 1)
        start = self._starts_early(axis)
        if start is not None:
            extent = extent + (start.vector - 1)
        return extent if block == 1 else (extent + (block - 1)).floordiv(block)

    def _starts_early(self, axis: int) -> RowStart | None:
        return self.start if self.start is not None and self.start.axis == axis else None

    def _in_segments(self, axis: int) -> bool:
        return self.segments is not None and self.segments.axis == axis

    def _part_of(self, axis: int) -> RowPart | None:
        return self.part if self.part is not None and self.part.row.axis == axis else None

    def position(self, axis: int) -> Expr:
        """The point of an axis in terms of block number and lane."""
        block = self.points_of_block(axis)
        lane = Lane(axis).expr if self.tile.axes[axis].block > 1 else const(0)
        if self.run is not None and axis == self.run.axis:
            lane = lane.floordiv(self.run.lanes)
        part = self._part_of(axis)
        if part is not None:
            return part.position(lane)
        if self._in_segments(axis):
            return OfSegment.FIRST.expr + lane
        if self._starts_early(axis) is not None:
            lane = lane - OfRowStart.PHASE.expr
        return lane if self.tile.axes[axis].kind == "resident" else BlockNumber(axis).expr * block + lane

    def points_of_block(self, axis: int) -> int:
        """How many points a block of an axis has."""
        return self.tile.axes[axis].block // (
            self.run.lanes if self.run is not None and axis == self.run.axis else 1
        )

    # --- expressions ----------------------------------------------------------------------------------------
    def lowered(self, e: Expr) -> Expr:
        """Rewrites an expression over dims to one over block numbers and lanes."""
        e = simplify(e.subs(self._dims), self.tight)
        return simplify(e.subs(self._points), self.facts)

    def _axes_in(self, names: Collection[str]) -> tuple[int, ...]:
        """The axes whose lanes a value made of these symbols depends on."""
        return tuple(i for i in self.vector_axes if self._lane_names[i] in names)

    def _split(self, e: Expr) -> Split:
        scalar = const(0)
        vectors: dict[tuple[int, ...], Expr] = {}
        for monomial, c in e.terms:
            term = Expr({monomial: c})
            axes = self._axes_in(term.symbols())
            if any(is_indirect(n) for n in term.symbols()):
                axes = (-1, *axes)  # -1: a loaded index has a shape of its own
            if axes:
                vectors[axes] = vectors.get(axes, const(0)) + term
            else:
                scalar = scalar + term
        return Split(scalar, tuple(sorted(vectors.items())))
