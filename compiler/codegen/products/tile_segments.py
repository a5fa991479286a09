"""Programs whose rows are all of one segment: which segment, and which of its rows.

Where segments end is data, so a program finds its own.  Segment j, whose rows are ``ends[j - 1]`` up to
``ends[j]``, has the blocks from ``ends[j - 1] floordiv B + j`` on, as many as it needs or one more.  So no
program needs to know how many blocks other segments have, and there are ``rows floordiv B + segments + 1``
blocks, whatever the ends are.  What lies behind the last end is one more segment.

An end is at least 0 and at most the number of rows, whatever the data says: nothing is read beyond a tensor.
"""

from ...ir.defining import backward_slice
from ...ir.dialects import tt
from ...mlir import ir
from ..folds.reduce import combine_kind, fold
from ..indexing.symbols import OfSegment
from ..tile_builder import shape_of
from .tile_columns import TileColumns

#: The first block behind a lane that is no end: no program has that number.
_FAR = 2**31 - 1


class TileSegments(TileColumns):
    """The segment of a program.  ``segment``: its number, as i64."""

    segment: ir.Value

    def _find_segment(self) -> None:
        """Finds the segment of the current block, in front of everything that reads rows."""
        if self.segments is None or self.index.segments is None:
            return
        for op in self._made_of(self.segments.ends):
            self._emit(op)
        builder, calculate = self.builder, self.builder.elementwise
        axis, number = self.index.segments.axis, self.tile.axis_of(self.segments.number)
        block, pid = self.tile.axes[axis].block, self.index.blocks[axis]
        rows = self.index.scalar(self.index.extents[axis])
        frame = tuple({number} & {*self._vectors_of_frames()})
        with self._in(frame):
            ends, inside = self._operand(self.segments.ends), self.index.mask((number,))
            lanes = self.index.lanes_of(number)
        wide = builder.cast("arith.extsi", rows, str(tt.element_of(ends.type)))
        ends = calculate("arith.minsi", [calculate("arith.maxsi", [ends, builder.fill(0, ends)]), wide])
        ends = builder.cast("arith.trunci", ends, "i32")
        last = calculate("arith.divsi", [ends, builder.fill(block, ends)])
        behind = calculate("arith.addi", [calculate("arith.addi", [last, lanes]), builder.fill(1, ends)])
        if inside is not None:
            behind = builder.select(inside, behind, builder.fill(_FAR, behind))
            ends = builder.select(inside, ends, rows)
        before = builder.cmpi("sle", behind, pid)
        zero = builder.fill(0, ends)
        begins = self._joined_lanes("max", builder.select(before, ends, zero))
        first = self._joined_lanes("max", builder.select(before, behind, zero))
        stop = self._joined_lanes("min", builder.select(before, rows, ends))
        count = self._joined_lanes("sum", builder.cast("arith.extui", before, "i32"))
        ahead = calculate(
            "arith.muli", [calculate("arith.subi", [pid, first]), builder.constant(block, "i32")]
        )
        start = calculate("arith.minsi", [calculate("arith.addi", [begins, ahead]), stop])
        self.segment = builder.cast("arith.extsi", count, "i64")
        self.index.of_segment[OfSegment.FIRST] = start
        self.index.of_segment[OfSegment.LEFT] = calculate("arith.subi", [stop, start])

    def _steps_of_segment(self, steps: ir.Value) -> ir.Value:
        """How many steps a loop over what is summed has: none in a block without rows."""
        if self.segments is None:
            return steps
        zero = self.builder.constant(0, "i32")
        some = self.builder.cmpi("sgt", self.index.of_segment[OfSegment.LEFT], zero)
        return self.builder.select(some, steps, zero)

    def _vectors_of_frames(self) -> set[int]:
        return {axis for frame in self.framed for axis in frame}

    def _made_of(self, value: ir.Value) -> list[ir.Operation]:
        """The ops that a value is computed of, in program order."""
        needed = {*backward_slice([value])}
        return [op for op in self.plan.ops if op in needed]

    def _joined_lanes(self, kind: str, value: ir.Value) -> ir.Value:
        [total] = fold(self.builder, [value], range(len(shape_of(value))), combine_kind(kind))
        return total
