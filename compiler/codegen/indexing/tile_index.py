"""Masks of the lanes that are points, and the addresses of a tile's elements."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...analysis.tiling.row_start import RowStart
from ...index import Expr, const, offset, simplify, step_by_one, sym
from ...index.facts import is_indirect
from ...ir.dialects import tt
from ...ir.layout import TensorSpec
from ...mlir import ir
from ..tile_builder import Shape, shape_of
from .symbols import BlockNumber, Lane, OfRowParts, OfRowStart, OfSegment
from .tile_axes import Split
from .tile_values import TileValues

#: Elements of the widest vector: 16 bytes of 1-byte elements.
_VECTOR = 16


class TileIndex(TileValues):
    """Index expressions, with masks and addresses."""

    _whole = False  #: see ``inside``
    _behind = 0  #: see ``behind``

    # --- lanes ----------------------------------------------------------------------------------------------
    def whole_blocks(self, axis: int) -> range | None:
        """The blocks of a looped axis without masked lanes.  None where no block has masked lanes, or the
        extent is not known.
        """
        extent, block = self.extents[axis].constant, self.tile.axes[axis].block
        if extent is None or block == 1 or self.exact(axis):
            return None
        if self._starts_early(axis) is not None:
            return range(1, extent // block)
        return range(extent // block)

    @contextmanager
    def inside(self, whole: bool) -> Iterator[None]:
        """Within the context, if ``whole``, no lane of the looped axis is masked."""
        outside, self._whole = self._whole, whole
        try:
            yield
        finally:
            self._whole = outside

    def exact(self, axis: int) -> bool:
        """Whether every lane of every block is a point of the axis."""
        extent, block = self.extents[axis], self.tile.axes[axis].block
        if self._whole and self.tile.axes[axis].kind == "looped":
            return True
        if self._starts_early(axis) is not None or self._in_segments(axis):
            return False
        part = self._part_of(axis)
        if part is not None:
            return part.points == part.block
        if self.tile.axes[axis].kind == "resident":
            return extent.constant == self.points_of_block(axis)
        return block == 1 or self.tight.divides(self.points_of_block(axis), extent)

    def lane_trips(self, axis: int) -> ir.Value:
        """For each lane, the number of blocks of a looped axis in which it is a point: ceil((extent - lane) /
        block), as i32 or i64.
        """
        block, extent = self.tile.axes[axis].block, self.extents[axis]
        trips = (
            self.block_count(axis)
            if self.exact(axis)
            else (extent - Lane(axis).expr + (block - 1)).floordiv(block)
        )
        return self._sum(trips, 32 if self.fits(trips) else 64, {})

    def axis_mask(self, axis: int, extent: Expr | None = None) -> ir.Value | None:
        """The lanes of an axis that are points of it (with ``extent``: points below that).  None when all
        are.  A scalar for an axis of block 1.
        """
        if self.exact(axis):
            return None
        key = ("mask", axis, str(extent), self._lanes_key())
        found = self.builder.recall(key)
        if found is not None:
            return found
        builder = self.builder
        start = self._starts_early(axis)
        if start is not None:
            # Compared as unsigned: a point before the row is negative, which is a large number.
            point = self._sum(self.position(axis), 32, {})
            mask = builder.cmpi("ult", point, self._emit(self.extents[axis], 32))
            return builder.remember(key, mask)
        axis_, part = self.tile.axes[axis], self._part_of(axis)
        extent = self.extents[axis] if extent is None else extent
        extent = extent if part is None else const(part.points)
        left = extent if axis_.kind == "resident" else extent - BlockNumber(axis).expr * axis_.block
        left = OfSegment.LEFT.expr if self._in_segments(axis) else left
        width = 32 if self._bounded(extent + axis_.block) else 64
        rest = self._emit(left, width)
        lanes = self._lanes(axis, width) if axis_.block > 1 else builder.constant(0, f"i{width}")
        return builder.remember(key, builder.cmpi("slt", lanes, rest))

    def mask(self, axes: Sequence[int]) -> ir.Value | None:
        """The conjunction of the masks of ``axes``."""
        total = None
        for axis in sorted(axes):
            total = self.builder.both(total, self.axis_mask(axis))
        return total

    def reading_mask(self, axes: Sequence[int], spec: TensorSpec, coords: Sequence[Expr]) -> ir.Value | None:
        """The mask of a load at ``coords``.  It may be wider than ``mask``: where the tensor's rows are
        longer than the axis, it keeps the lanes behind the end of the axis up to the end of a vector.
        Nothing uses what these lanes read.  All elements of a vector then have the same mask bit, so that
        they are read at once: of 50257 columns in rows of 50304, eight at a time instead of one.
        """
        total = None
        for axis in sorted(axes):
            start = self._starts_early(axis)
            if start is not None and not self.exact(axis):
                mask = self._vectors_of_row(start)
            else:
                mask = self.axis_mask(axis, self._longer_rows(axis, spec, coords))
            total = self.builder.both(total, mask)
        return total

    def _vectors_of_row(self, start: RowStart) -> ir.Value:
        """Lanes up to the end of the last vector that holds an element of the row.  Lanes before its first
        element read the end of the row before; the first row has none, as it starts at a vector.
        """
        behind = self.extents[start.axis] + OfRowStart.PHASE.expr + (start.vector - 1)
        end = behind.floordiv(start.vector) * start.vector
        block = BlockNumber(start.axis).expr * self.tile.axes[start.axis].block
        return self.builder.cmpi("slt", self._lanes(start.axis, 32), self._emit(end - block, 32))

    def fills_vectors(self, axis: int, spec: TensorSpec, coords: Sequence[Expr]) -> bool:
        """Whether a load at ``coords``, in rows that are longer than the axis, reads 16 bytes at a time."""
        if self._longer_rows(axis, spec, coords) is None:
            return False
        row = [s.constant for s in spec.strides[:-1]]
        return spec.strides[-1].constant == 1 and all(
            s is not None and s * spec.element_bytes % _VECTOR == 0 for s in row
        )

    def _longer_rows(self, axis: int, spec: TensorSpec, coords: Sequence[Expr]) -> Expr | None:
        """The extent of an axis rounded up to the end of a vector.  None unless the axis is one dim that
        steps through one dim of the tensor, and the latter has so many elements.
        """
        dims, extent = self.tile.axes[axis].dims, self.extents[axis].constant
        if len(dims) != 1 or extent is None or any(is_indirect(n) for c in coords for n in c.symbols()):
            return None
        longer = -(-extent // _VECTOR) * _VECTOR
        stepped = [(c, size) for c, size in zip(coords, spec.sizes, strict=True) if dims[0] in c.symbols()]
        if longer == extent or len(stepped) != 1:
            return None
        [(coordinate, size)] = stepped
        fits = coordinate == sym(dims[0]) and size.constant is not None and size.constant >= longer
        return const(longer) if fits else None

    @contextmanager
    def behind(self, place: int) -> Iterator[None]:
        """Within the context, addresses are of so many elements in front."""
        self._behind = place
        try:
            yield
        finally:
            self._behind = 0

    # --- addresses ------------------------------------------------------------------------------------------
    def pointer(
        self,
        base: ir.Value,
        spec: TensorSpec,
        coords: Sequence[Expr],
        indices: Mapping[str, ir.Value],
        shape: Shape,
    ) -> ir.Value:
        """The addresses of ``coords`` in a tensor: a scalar address plus vector offsets, which are 32 bits
        wide where every offset provably fits.  A constant is added last.  Accesses that differ in the
        constant only, as those of the pixels of a window, then share an address and have the constant in the
        instruction.
        """
        builder = self.builder
        e = self.lowered(offset(coords, spec.strides, const(0), self.tight)) - self._behind
        if self.segments is not None:
            base, e = self._from_scalar_index(base, e, indices)
        if self.run is not None:
            e = simplify(e + Lane(self.run.axis).expr.mod(self.run.lanes), self.facts)
        split = self._split(step_by_one(e, [self._lane_names[i] for i in self.vector_axes]))
        split = Split(self._at_a_vector(split.scalar), split.vectors)
        width = 32 if self._vector_fits(split, spec) else 64
        shift = split.scalar.shift if split.vectors else 0
        ahead = split.scalar - shift
        if ahead.constant != 0:
            base = builder.elementwise("tt.addptr", [base, self._emit(ahead, 32 if self.fits(ahead) else 64)])
        vector = self._vectors(split, width, indices)
        if vector is None:
            return builder.to(base, shape)
        address = builder.elementwise("tt.addptr", [builder.to(base, shape), builder.to(vector, shape)])
        if shift == 0:
            return address
        return builder.elementwise(
            "tt.addptr", [address, self._emit(const(shift), 32 if self.fits(const(shift)) else 64)]
        )

    def _from_scalar_index(
        self, base: ir.Value, e: Expr, indices: Mapping[str, ir.Value]
    ) -> tuple[ir.Value, Expr]:
        """A base that has the terms of an offset which a loaded number decides for a whole program, such as
        where the matrix of a segment lies, in 64 bits; and the offset without them.
        """
        numbers = {name for name, value in indices.items() if not shape_of(value)}
        for monomial, c in e.terms:
            term = Expr({monomial: c})
            found = {n for n in term.symbols() if is_indirect(n)}
            if found and found <= numbers and not self._axes_in(term.symbols()):
                base = self.builder.elementwise("tt.addptr", [base, self._emit(term, 64, indices)])
                e = e - term
        return base, e

    def _at_a_vector(self, scalar: Expr) -> Expr:
        """The scalar part of an offset, in a row that starts anywhere: ``row - PHASE`` becomes ``ALIGNED``,
        and ``row + AHEAD`` becomes ``FIRST``.  These are products with the number of elements of a vector.
        Triton derives alignment (divisibility) from a product, but not from a difference.
        """
        phase, ahead = OfRowStart.PHASE, OfRowParts.AHEAD
        if self.start is not None and scalar.coefficient(phase.symbol) == const(-1):
            return scalar + phase.expr - self.lowered(self.start.row) + OfRowStart.ALIGNED.expr
        part = self.part
        if part is not None and not part.ends and scalar.coefficient(ahead.symbol) == const(1):
            return scalar - ahead.expr - self.lowered(part.row.row) + OfRowParts.FIRST.expr
        return scalar

    def _vector_fits(self, split: Split, spec: TensorSpec) -> bool:
        """Whether the vector part of an offset fits in 31 bits.  Where an index was loaded, the sum may wrap,
        and is right modulo 2**32.  That is enough: for an element that exists, the whole offset lies in the
        tensor's span, so the vector part is that offset minus the scalar part.
        """
        total = const(0)
        for _, e in split.vectors:
            total = total + e
        spare = 0
        if any(is_indirect(n) for n in total.symbols()):
            bounds = [
                *self.facts.interval(spec.storage_elements - spec.offset),
                *self.facts.interval(split.scalar),
            ]
            if any(b is None for b in bounds):
                return False
            spare = sum(abs(b) for b in bounds if b is not None)
        return self.fits(total, spare)

    def fours(self, e: Expr, axis: int) -> ir.Value | None:
        """An expression over dims divided by 4, as i64, for every fourth lane of the last axis.  None unless
        the expression counts up with the lane, from a multiple of 4.
        """
        builder, block = self.builder, self.tile.axes[axis].block
        lane = Lane(axis).expr
        base = self.lowered(e) - lane
        if block % 4 or Lane(axis).symbol in base.symbols() or not self.facts.divides(4, base):
            return None
        if not self.fits(base):
            return None
        i32 = ir.IntegerType.get_signless(32)
        attributes = {"start": builder.attribute(0), "end": builder.attribute(block // 4)}
        lanes = builder.create("tt.make_range", [tt.tile_type([block // 4], i32)], [], attributes).results[0]
        lanes = builder.spread(lanes, (*[1] * (self.rank - 1), block // 4))
        start = self._sum(base, 32, {})
        quarter = builder.elementwise("arith.divsi", [start, builder.fill(4, start)])
        return builder.cast("arith.extsi", builder.elementwise("arith.addi", [quarter, lanes]), "i64")
