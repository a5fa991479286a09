"""Index expressions on tiles as values: where each axis of a tile lies, and what a coordinate is worth there.

An axis of block B is two symbols: ``$bN``, the number of its block (a scalar: a program id, a loop counter,
or 0), and ``$rN``, the lane in the block (a vector 0..B-1, absent when B is 1).  Substituting ``dim = digits
of $bN*B + $rN`` and simplifying does the strength reduction: a division of lanes disappears when the block
divides the inner extent, and all that is free of lanes is scalar arithmetic.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..analysis.tiling.row_parts import RowParts
from ..analysis.tiling.row_start import RowStart
from ..index import Expr, Facts, FloorDiv, Mod, const, simplify, sym
from ..index.facts import is_indirect
from ..ir.dialects import tt
from ..ir.sizes import ceil_power
from ..ir.tile import Axis, Tile
from ..mlir import ir
from .tile_builder import Shape, TileBuilder, shape_of

_LIMIT = 1 << 31


def block_symbol(axis: int) -> str:
    """Name of an axis' block number in expressions."""
    return f"$b{axis}"


def lane_symbol(axis: int) -> str:
    """Name of the lane in an axis' block in expressions."""
    return f"$r{axis}"


#: How far a row starts behind a multiple of 16 bytes, and that multiple, in elements (``RowStart``).
PHASE, ALIGNED = "$p", "$s"
#: How many elements of a row stand in front of its first whole vector, and where that is (``RowParts``).
AHEAD, FIRST = "$h", "$f"


def _whole_symbol(axis: int) -> str:
    return f"$a{axis}"


@dataclass(frozen=True)
class RowPart:
    """One of the two tiles that hold a row: its whole vectors, or the elements at its ``ends``."""

    row: RowParts
    ends: bool

    @property
    def points(self) -> int:
        """Lanes that are points of the row: the first ones."""
        return self.row.ends if self.ends else self.row.whole

    @property
    def block(self) -> int:
        """Extent of the tile."""
        return 2 * self.row.vector if self.ends else ceil_power(self.row.whole)

    def position(self, lane: Expr) -> Expr:
        """The point of the row in a lane."""
        if not self.ends:
            return lane + sym(AHEAD)
        more = 2 * self.block
        return lane + (lane - sym(AHEAD) + more).floordiv(more) * self.row.whole

    def of(self, tile: Tile) -> Tile:
        """The tile with this part of the row only."""
        axes = list(tile.axes)
        axes[self.row.axis] = replace(axes[self.row.axis], block=self.block)
        return replace(tile, axes=tuple(axes))


@dataclass(frozen=True)
class Split:
    """An expression as ``scalar + sum of vectors``, the vectors by the axes that they depend on."""

    scalar: Expr
    vectors: tuple[tuple[tuple[int, ...], Expr], ...]


class TileExpressions:
    """Places a kernel's dims on the axes of its tiles and emits index arithmetic.

    ``blocks`` maps an axis to the i32 value of its block number once it is known (program ids at the start, a
    loop's counter inside the loop).
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
        pairs: int | None = None,
    ) -> None:
        """``start``: along the looped axis rows are read early; ``part``: ``tile`` holds that part of a row;
        ``pairs``: an axis that has two lanes for each point, and neighbours in memory for them.
        """
        self.builder, self.tile, self.sizes = builder, tile, sizes
        self.start, self.part, self.pairs = start, part, pairs
        self.extents = [axis.extent(dict(dims)) for axis in tile.axes]
        self.vector_axes = [i for i, axis in enumerate(tile.axes) if axis.block > 1]
        self.blocks: dict[int, ir.Value] = {}
        self.tight = facts.with_extents({_whole_symbol(i): e for i, e in enumerate(self.extents)})
        lanes: dict[str, Expr | int | str] = {}
        if start is not None:
            lanes |= {PHASE: start.vector, ALIGNED: start.elements}
        if part is not None:
            lanes[AHEAD], high = part.row.vector, facts.interval(part.row.row)[1]
            lanes |= {} if high is None else {FIRST: high + part.row.vector}
        self._dims: dict[str, Expr] = {}
        self._wholes: dict[str, Expr] = {}
        for i, axis in enumerate(tile.axes):
            lanes[lane_symbol(i)] = const(axis.block)
            lanes[block_symbol(i)] = self.block_count(i)
            self._wholes[_whole_symbol(i)] = self.position(i)
            self._place(i, axis, dims)
        self.facts = facts.with_extents(lanes)

    def _place(self, number: int, axis: Axis, dims: Mapping[str, Expr]) -> None:
        rest: Expr = sym(_whole_symbol(number))
        inner = const(1)
        for position, name in reversed(list(enumerate(axis.dims))):
            extent = const(1) if dims[name].constant == 0 else dims[name]  # no lane is inside then
            digit = rest if inner == const(1) else rest.floordiv(inner)
            self._dims[name] = digit if position == 0 else digit.mod(extent)
            inner = inner * extent

    # --- shapes ---------------------------------------------------------------------------------------------
    @property
    def rank(self) -> int:
        """Axes of a full tile; those of block 1 are not there."""
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
        """Within, tiles have this axis and no other: of rank 1."""
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
        start = self._starts_early(axis)
        if start is not None:
            extent = extent + (start.vector - 1)
        return extent if block == 1 else (extent + (block - 1)).floordiv(block)

    def _starts_early(self, axis: int) -> RowStart | None:
        return self.start if self.start is not None and self.start.axis == axis else None

    def _part_of(self, axis: int) -> RowPart | None:
        return self.part if self.part is not None and self.part.row.axis == axis else None

    def position(self, axis: int) -> Expr:
        """The point of an axis in terms of block number and lane."""
        block = self.points_of_block(axis)
        lane = sym(lane_symbol(axis)) if self.tile.axes[axis].block > 1 else const(0)
        if axis == self.pairs:
            lane = lane.floordiv(2)
        part = self._part_of(axis)
        if part is not None:
            return part.position(lane)
        if self._starts_early(axis) is not None:
            lane = lane - sym(PHASE)
        return lane if self.tile.axes[axis].kind == "resident" else sym(block_symbol(axis)) * block + lane

    def _lanes_key(self) -> tuple[object, ...]:
        """What a value of lanes depends on beside its expression."""
        return tuple(self.vector_axes), self.part, self.pairs

    def points_of_block(self, axis: int) -> int:
        """How many points a block of an axis has."""
        return self.tile.axes[axis].block // (2 if axis == self.pairs else 1)

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

    # --- expressions ----------------------------------------------------------------------------------------
    def lowered(self, e: Expr) -> Expr:
        """An expression over dims as one over block numbers and lanes."""
        e = simplify(e.subs(self._dims), self.tight)
        return simplify(e.subs(self._wholes), self.facts)

    def value(self, e: Expr, indices: Mapping[str, ir.Value], shape: Shape) -> ir.Value:
        """The value of an expression over dims, sizes and ``indices`` as i64, computed as i32 where that is
        exact.
        """
        e = self.lowered(e)
        narrow = not any(is_indirect(n) for n in e.symbols()) and self.fits(e)
        result = self._sum(e, 32 if narrow else 64, indices)
        return self.builder.to(self.builder.cast("arith.extsi", result, "i64"), shape)

    def is_zero(self, e: Expr) -> ir.Value:
        """Where an expression over dims and sizes is 0."""
        e = self.lowered(e)
        value = self._sum(e, 32 if self.fits(e) else 64, {})
        return self.builder.cmpi("eq", value, self.builder.fill(0, value))

    def scalar(self, e: Expr) -> ir.Value:
        """An expression over sizes as an i32 scalar; its value fits, what it is computed from may not."""
        return self.builder.cast("arith.trunci", self._emit(e, 32 if self.fits(e) else 64), "i32")

    # --- widths ---------------------------------------------------------------------------------------------
    def _bounded(self, e: Expr) -> bool:
        low, high = self.facts.interval(e)
        return low is not None and high is not None and low > -_LIMIT and high < _LIMIT

    def fits(self, e: Expr, spare: int = 0) -> bool:
        """Whether all parts of e, and what their divisions divide, fit in 31 bits whatever the order of
        additions.
        """
        total = spare
        for monomial, c in e.terms:
            term = Expr({monomial: c})
            if any(is_indirect(n) for n in term.symbols()):
                if any(type(a) is not str for a in monomial):
                    return False
                continue
            low, high = self.facts.interval(term)
            if low is None or high is None:
                return False
            total += max(abs(low), abs(high))
            for atom in monomial:
                if not isinstance(atom, str) and not (self.fits(atom.num) and self.fits(atom.den)):
                    return False
        return total < _LIMIT

    # --- emission -------------------------------------------------------------------------------------------
    def _axes_of(self, e: Expr) -> tuple[int, ...]:
        names = e.symbols()
        return tuple(i for i in self.vector_axes if lane_symbol(i) in names)

    def _split(self, e: Expr) -> Split:
        scalar = const(0)
        vectors: dict[tuple[int, ...], Expr] = {}
        for monomial, c in e.terms:
            term = Expr({monomial: c})
            axes = self._axes_of(term)
            if any(is_indirect(n) for n in term.symbols()):
                axes = (-1, *axes)  # the shape of a loaded index is its own
            if axes:
                vectors[axes] = vectors.get(axes, const(0)) + term
            else:
                scalar = scalar + term
        return Split(scalar, tuple(sorted(vectors.items())))

    def _vectors(self, split: Split, width: int, indices: Mapping[str, ir.Value]) -> ir.Value | None:
        """The sum of the vector parts, small shapes first so that they are added before they are
        broadcast.
        """
        total = None
        parts = [self._emit(e, width, indices) for _, e in split.vectors]
        for part in sorted(parts, key=lambda v: _size(shape_of(v))):
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

    def _emit(self, e: Expr, width: int, indices: Mapping[str, ir.Value] | None = None) -> ir.Value:
        """The value of e term by term."""
        builder = self.builder
        own = bool(indices) and any(is_indirect(n) for n in e.symbols())
        key = ("index", e, width, self._lanes_key() if self._axes_of(e) else ())
        if not own:
            found = builder.recall(key)
            if found is not None:
                return found
        element = f"i{width}"
        total: ir.Value | None = None
        for monomial, c in e.terms:
            part: ir.Value | None = None
            for atom in sorted(monomial, key=lambda a: _size(self.shape(self._axes_of_atom(a)))):
                factor = self._atom(atom, width, indices)
                part = factor if part is None else builder.elementwise("arith.muli", [part, factor])
            if part is None:
                part = builder.constant(c, element)
            elif c == -1:
                part = (
                    part
                    if total is not None
                    else builder.elementwise("arith.subi", [builder.fill(0, part), part])
                )
            elif c != 1:
                part = builder.elementwise("arith.muli", [part, builder.fill(c, part)])
            if total is None:
                total = part
            else:
                total = builder.elementwise(
                    "arith.subi" if c == -1 and monomial else "arith.addi", [total, part]
                )
        total = builder.constant(0, element) if total is None else total
        return total if own else builder.remember(key, total)

    def _axes_of_atom(self, atom: str | FloorDiv | Mod) -> tuple[int, ...]:
        names = {atom} if isinstance(atom, str) else atom.num.symbols() | atom.den.symbols()
        return tuple(i for i in self.vector_axes if lane_symbol(i) in names)

    def _atom(
        self, atom: str | FloorDiv | Mod, width: int, indices: Mapping[str, ir.Value] | None
    ) -> ir.Value:
        builder = self.builder
        if isinstance(atom, str):
            return self._symbol(atom, width, indices or {})
        num, den = self._sum(atom.num, width, indices or {}), self._sum(atom.den, width, indices or {})
        floor = type(atom) is FloorDiv
        if self.facts.nonnegative(atom.num):
            return builder.elementwise("arith.divsi" if floor else "arith.remsi", [num, den])
        rest = builder.elementwise("arith.remsi", [num, den])
        below = builder.cmpi("slt", rest, builder.fill(0, rest))
        if floor:
            quotient = builder.elementwise("arith.divsi", [num, den])
            return builder.elementwise(
                "arith.subi", [quotient, builder.cast("arith.extui", below, f"i{width}")]
            )
        return builder.select(below, builder.elementwise("arith.addi", [rest, den]), rest)

    def _symbol(self, name: str, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        builder = self.builder
        element = f"i{width}"
        if name in indices:
            return builder.cast("arith.trunci", indices[name], element)
        if name.startswith("$r"):
            return self._lanes(int(name[2:]), width)
        if name.startswith("$b"):
            return builder.cast("arith.extsi", self.blocks[int(name[2:])], element)
        if name in (PHASE, ALIGNED):
            return self._of_start(name, width)
        if name in (AHEAD, FIRST):
            return self._of_part(name, width)
        key = ("size", name, width)
        found = builder.recall(key)
        if found is not None:
            return found
        size = builder.create("arith.index_cast", [ir.Type.parse(element)], [self.sizes[name]]).results[0]
        return builder.remember(key, size)

    def _of_start(self, name: str, width: int) -> ir.Value:
        """Where a row starts, as a multiple of vectors and a rest."""
        builder = self.builder
        key = ("start", name, width)
        found = builder.recall(key)
        if found is not None:
            return found
        assert self.start is not None
        row = self.lowered(self.start.row)
        value = self._emit(row, 32 if self.fits(row) else 64)
        vector = builder.fill(self.start.vector, value)
        if name == PHASE:
            value = builder.elementwise("arith.remsi", [value, vector])
        else:  # Triton knows what a product is a multiple of, not a difference
            value = self._rounded_down(value, vector)
        return builder.remember(key, self._of_width(value, width))

    def _of_part(self, name: str, width: int) -> ir.Value:
        """The first multiple of vectors in a row, and how far it is from the row's start."""
        builder = self.builder
        key = ("part", name, width)
        found = builder.recall(key)
        if found is not None:
            return found
        assert self.part is not None
        row, size = self.lowered(self.part.row.row), self.part.row.vector
        value = self._emit(row, 32 if self.fits(row + size) else 64)
        vector = builder.fill(size, value)
        behind = builder.elementwise("arith.addi", [value, builder.fill(size - 1, value)])
        first = self._rounded_down(behind, vector)
        value = first if name == FIRST else builder.elementwise("arith.subi", [first, value])
        return builder.remember(key, self._of_width(value, width))

    def _rounded_down(self, value: ir.Value, vector: ir.Value) -> ir.Value:
        """The last multiple of ``vector`` that is not behind ``value``."""
        quotient = self.builder.elementwise("arith.divsi", [value, vector])
        return self.builder.elementwise("arith.muli", [quotient, vector])

    def _of_width(self, value: ir.Value, width: int) -> ir.Value:
        """An integer of 32 or 64 bits as one of ``width``."""
        narrow = str(value.type) == "i64" and width == 32
        return self.builder.cast("arith.trunci" if narrow else "arith.extsi", value, f"i{width}")


def _size(shape: Shape) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total
