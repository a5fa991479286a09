"""Index expressions as values of tile code: integers of 32 bits where these are wide enough, else of 64."""

import math
from collections.abc import Mapping

from ...analysis.tiling.neighbours import Run
from ...analysis.tiling.row_start import RowStart
from ...index import Expr, Facts
from ...index.expr import Atom
from ...index.facts import is_indirect
from ...ir.dialects import tt
from ...ir.tile import Tile
from ...mlir import ir
from ..tile_builder import Shape, TileBuilder, shape_of
from .arithmetic import IndexArithmetic
from .symbols import BlockNumber, Lane, OfRowParts, OfRowStart, OfSegment
from .tile_axes import RowPart, SegmentedAxis, Split, TileAxes


class TileValues(TileAxes, IndexArithmetic):
    """Emits index arithmetic.

    ``blocks`` maps an axis to the i32 value of its block number once it is known (program ids at the start, a
    loop's counter inside the loop), ``of_segment`` what its symbols are, as i32.  ``sizes`` are the kernel's
    size arguments, by name.
    """

    def __init__(
        self,
        builder: TileBuilder,
        tile: Tile,
        dims: Mapping[str, Expr],
        facts: Facts,
        sizes: Mapping[str, ir.Value],
        start: RowStart | None = None,
        part: RowPart | None = None,
        run: Run | None = None,
        segments: SegmentedAxis | None = None,
    ) -> None:
        """``start``, ``part``, ``run``, ``segments``: of ``TileAxes``."""
        super().__init__(tile, dims, facts, start, part, run, segments)
        self.builder, self.sizes = builder, sizes
        self.blocks: dict[int, ir.Value] = {}
        self.of_segment: dict[OfSegment, ir.Value] = {}

    # --- lanes ----------------------------------------------------------------------------------------------
    def _lanes_key(self) -> tuple[object, ...]:
        """What a value over lanes depends on besides its expression."""
        return tuple(self.vector_axes), self.part, self.run

    def _lanes(self, axis: int, width: int) -> ir.Value:
        """The lane vector of an axis, as i32 or i64."""
        builder = self.builder
        key = ("lanes", axis, width, self._lanes_key())
        found = builder.recall(key)
        if found is not None:
            return found
        if width != 32:
            return builder.remember(key, builder.cast("arith.extsi", self._lanes(axis, 32), f"i{width}"))
        block = self.tile.axes[axis].block
        i32 = ir.IntegerType.get_signless(32)
        attributes = {"start": builder.attribute(0), "end": builder.attribute(block)}
        value = builder.create("tt.make_range", [tt.tile_type([block], i32)], [], attributes).results[0]
        return builder.remember(key, builder.spread(value, self.shape((axis,))))

    def lanes_of(self, axis: int) -> ir.Value:
        """The lanes of an axis, as i32: a scalar 0 for an axis of block 1."""
        return self._lanes(axis, 32) if self.tile.axes[axis].block > 1 else self.builder.constant(0, "i32")

    # --- expressions ----------------------------------------------------------------------------------------
    def value(self, e: Expr, indices: Mapping[str, ir.Value], shape: Shape) -> ir.Value:
        """The value of an expression over dims, sizes and ``indices``, as i64.  It is computed in i32 where
        that cannot overflow.
        """
        e = self.lowered(e)
        narrow = not any(is_indirect(n) for n in e.symbols()) and self.fits(e)
        result = self._sum(e, 32 if narrow else 64, indices)
        return self.builder.to(self.builder.cast("arith.extsi", result, "i64"), shape)

    def is_zero(self, e: Expr) -> ir.Value:
        """True where an expression over dims and sizes is 0."""
        e = self.lowered(e)
        value = self._sum(e, 32 if self.fits(e) else 64, {})
        return self.builder.cmpi("eq", value, self.builder.fill(0, value))

    def scalar(self, e: Expr) -> ir.Value:
        """An expression over sizes as an i32 scalar.  Its value fits; intermediate results may need i64."""
        return self.builder.cast("arith.trunci", self._emit(e, 32 if self.fits(e) else 64), "i32")

    # --- emission -------------------------------------------------------------------------------------------
    def _vectors(self, split: Split, width: int, indices: Mapping[str, ir.Value]) -> ir.Value | None:
        """The sum of the vector parts.  Small shapes come first, so that they are added before they are
        broadcast.
        """
        total = None
        parts = [self._emit(e, width, indices) for _, e in split.vectors]
        for part in sorted(parts, key=lambda v: math.prod(shape_of(v))):
            total = part if total is None else self.builder.elementwise("arith.addi", [total, part])
        return total

    def _sum(self, e: Expr, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        split = self._split(e)
        vector = self._vectors(split, width, indices)
        if vector is None:
            return self._emit(split.scalar, width)
        if split.scalar.constant == 0:
            return vector
        return self.builder.elementwise("arith.addi", [vector, self._emit(split.scalar, width)])

    def _memo_key(self, e: Expr) -> tuple[object, ...]:
        return self._lanes_key() if self._axes_in(e.symbols()) else ()

    def _elements_of(self, atom: Atom) -> int:
        return math.prod(self.shape(self._axes_of_atom(atom)))

    def _axes_of_atom(self, atom: Atom) -> tuple[int, ...]:
        names = {atom} if isinstance(atom, str) else atom.num.symbols() | atom.den.symbols()
        return self._axes_in(names)

    def _symbol(self, name: str, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        builder = self.builder
        element = f"i{width}"
        if name in indices:
            return builder.cast("arith.trunci", indices[name], element)
        match self.symbols.get(name):
            case Lane(axis):
                return self._lanes(axis, width)
            case BlockNumber(axis):
                return builder.cast("arith.extsi", self.blocks[axis], element)
            case OfRowStart() as symbol:
                return self._of_start(symbol, width)
            case OfRowParts() as symbol:
                return self._of_part(symbol, width)
            case OfSegment() as symbol:
                return builder.cast("arith.extsi", self.of_segment[symbol], element)
        key = ("size", name, width)
        found = builder.recall(key)
        if found is not None:
            return found
        size = builder.create("arith.index_cast", [ir.Type.parse(element)], [self.sizes[name]]).results[0]
        return builder.remember(key, size)

    def _of_start(self, symbol: OfRowStart, width: int) -> ir.Value:
        """``ALIGNED`` or ``PHASE`` of a row: its start as a multiple of vectors and a remainder."""
        builder = self.builder
        key = ("start", symbol, width)
        found = builder.recall(key)
        if found is not None:
            return found
        assert self.start is not None
        row = self.lowered(self.start.row)
        value = self._emit(row, 32 if self.fits(row) else 64)
        vector = builder.fill(self.start.vector, value)
        if symbol is OfRowStart.PHASE:
            value = builder.elementwise("arith.remsi", [value, vector])
        else:  # Triton derives divisibility from a product, not from a difference
            value = self._rounded_down(value, vector)
        return builder.remember(key, self._of_width(value, width))

    def _of_part(self, symbol: OfRowParts, width: int) -> ir.Value:
        """``FIRST`` or ``AHEAD``: where the first whole vector of a row starts, and how far into the row."""
        builder = self.builder
        key = ("part", symbol, width)
        found = builder.recall(key)
        if found is not None:
            return found
        assert self.part is not None
        row, size = self.lowered(self.part.row.row), self.part.row.vector
        value = self._emit(row, 32 if self.fits(row + size) else 64)
        vector = builder.fill(size, value)
        behind = builder.elementwise("arith.addi", [value, builder.fill(size - 1, value)])
        first = self._rounded_down(behind, vector)
        value = first if symbol is OfRowParts.FIRST else builder.elementwise("arith.subi", [first, value])
        return builder.remember(key, self._of_width(value, width))

    def _rounded_down(self, value: ir.Value, vector: ir.Value) -> ir.Value:
        """``value`` rounded down to a multiple of ``vector``."""
        quotient = self.builder.elementwise("arith.divsi", [value, vector])
        return self.builder.elementwise("arith.muli", [quotient, vector])
