"""Writes the tile code of one kernel: program ids, one loop over the looped axis for each stage, and
straight-line code between these loops.
"""

import math
from collections.abc import Sequence
from functools import partial

from ..index import Expr, const, parse
from ..ir.contractions import PRODUCTS
from ..ir.dialects import fuse, tt
from ..ir.kernel import ASSERTS, LOOPED, REDUCTIONS, Kernel, index_check, string
from ..ir.reductions import REDUCTION_OPS
from ..ir.tile import Tile
from ..mlir import arith, ir, scf
from . import philox, tile_ops
from .folds.fold import Fold, Part
from .folds.of_op import fold_of
from .folds.online import Welford
from .folds.reduce import Values, scan
from .folds.scans import running
from .products.tile_ranges import Range
from .products.tile_segments import TileSegments
from .tile_again import ComputedAgain
from .tile_builder import Shape, shape_of
from .tile_grid import program_id, program_ids
from .tile_lanes import without_ones
from .tile_memory import LastChecks, message_of
from .tile_ops import NoTileForm
from .tile_plan import TilingError
from .tile_rounding import Rounding

__all__ = ["TileKernel", "TilingError"]

#: Fewest whole blocks of a loop for which the blocks that masks cut get code of their own outside of it.
_LONG_LOOP = 8
#: The same for a loop with a fold that counts its points: masks cost such a fold more.
_SHORT_LOOP = 2
#: Bits of the significands of f32 and of the types of 16 bits, the narrowest first.
_F32_SIGNIFICAND, _SIGNIFICAND = 24, {"bf16": 8, "f16": 11}
_READS = (fuse.Load, fuse.Index, fuse.Libm)


class TileKernel(TileSegments):
    """Rewrites a kernel to tile code.  Its tile fits its dims.  Single use."""

    def __init__(self, kernel: Kernel, tile: Tile) -> None:
        super().__init__(kernel, tile)
        self.rounding = Rounding(self.builder, self._operand)
        factors = {str(op.operands[1].type) for op in kernel.products}
        self.builder.of_bf16 = LOOPED in kernel.func.attributes and factors == {"bf16"}
        self.iteration: ir.Value | None = None
        self.carries: dict[ir.Operation, Values] = {}
        self.unmasked: dict[ir.Operation, int] = {}  #: selects that take this operand, in the current loop
        self.again = ComputedAgain(self.plan, tile)
        #: (x, mean of x) in scalar code -> the tile of that mean, and the further results of
        #: ``Welford.whole``, whose difference is x - mean.
        self.deviations: dict[tuple[ir.Value, ir.Value], tuple[ir.Value, Sequence[ir.Value]]] = {}
        self.checks = LastChecks.of(self.plan.ops, self.builder)

    def rewrite(self) -> list[Expr]:
        """Replaces the body by tile code.  Returns the grid: up to three expressions over sizes.  Raises
        ``TilingError``.
        """
        self._check_resident()
        func, block = self.kernel.func, self.kernel.func.regions[0].blocks[0]
        old = list(block.operations)
        with ir.InsertionPoint.at_block_begin(block), func.location:
            marker = ir.Operation.create(
                "arith.constant",
                results=[ir.IntegerType.get_signless(1)],
                attributes={"value": ir.BoolAttr.get(True)},
            )
        with ir.InsertionPoint(marker), func.location:
            if self.tile.programs:
                grid = self._blocks_in_turn()
            else:
                grid = program_ids(self.tile, self.index, self.builder)
                self._bases()
                self._find_segment()
                self._stages()
            results = [self.kernel.arguments[n] for n in self.kernel.ties]
            ir.Operation.create("func.return", operands=results)
        for op in [*reversed(old), marker]:
            op.erase()
        return grid

    def _stages(self) -> None:
        """The code of one block."""
        loaded = self.plan.ahead() if self.tile.ahead else []
        for op in loaded:
            self._emit(op)
        for stage in range(self.plan.last + 1):
            for op in self.plan.between(stage):
                if op not in loaded:
                    self._emit(op)
            if self.plan.roots(stage):
                self._loop(stage)
        for op in self.plan.between(self.plan.last + 1):
            self._emit(op)
        if self.checks is not None:
            self.checks.emit()

    def _blocks_in_turn(self) -> list[Expr]:
        """The code of a program that goes through blocks: its own number, then every ``programs``-th one.
        Where nothing is summed in a loop, what all blocks have in common is computed before, as far as a
        program holds it, and Triton copies what the next block reads while it computes one.
        """
        builder, tile = self.builder, self.tile
        self._bases()
        self._describe()
        again = self._for_each_block()
        common = self.plan.common(again) if tile.looped is None else set[ir.Operation]()
        for op in self.plan.ops:
            if op in common:
                self._emit(op)
        counts = [self.index.block_count(i) for i, axis in enumerate(tile.axes) if axis.kind == "grid"]
        blocks = math.prod(counts, start=const(1))
        step, first = builder.constant(tile.programs, "i32"), program_id(builder, 0)
        loop = scf.ForOp(first, self.index.scalar(blocks), step, [])
        if tile.looped is not None:
            loop.operation.attributes["tt.flatten"] = ir.UnitAttr.get()
        elif tile.num_stages > 1:
            loop.operation.attributes["tt.num_stages"] = builder.attribute(tile.num_stages)
        with builder.inside(loop.body):
            program_ids(tile, self.index, builder, loop.induction_variable)
            self._find_segment()
            if tile.looped is not None:
                self._stages()
            else:
                for op in self.plan.ops:
                    if op not in common:
                        self._emit(op)
            scf.YieldOp([])
        return [const(min(tile.programs, blocks.constant or tile.programs))]

    def _check_resident(self) -> None:
        for number, axis in enumerate(self.tile.axes):
            extent = self.index.extents[number]
            if axis.kind == "resident":
                most = self.index.tight.interval(extent)[1]
                if most is None or most > axis.block:
                    dims = list(axis.dims)
                    message = f"the resident axis of {dims} holds {axis.block} points, its extent is {extent}"
                    raise TilingError(message, self.kernel.func.location)

    # --- loops --------------------------------------------------------------------------------------------
    def _loop(self, stage: int) -> None:
        builder, axis = self.builder, self.tile.looped
        assert axis is not None
        self.stage = stage
        body = self.plan.body(stage)
        folded = [op for op in body if self.plan.is_accumulated(op)]
        scans = [op for op in body if isinstance(op, fuse.Scan) and axis in self.plan.over_axes(op)]
        backwards = {ir.BoolAttr(op.attributes["reverse"]).value for op in scans}
        if len(backwards) > 1:
            raise TilingError(
                "a forward and a reverse scan need two loops over one axis, which must then be resident",
                scans[0].location,
            )
        states = [self._start(op) for op in (*folded, *scans)]
        carried = [v for state in states for v in state]
        whole = self._whole_blocks(stage, body, folded)
        number = self.index.block_count(axis)
        if whole is not None:
            for block in range(whole.start):
                carried = self._peeled(block, body, folded, states, carried)
        first = builder.constant(0 if whole is None else whole.start, "i32")
        count = self._steps_of_segment(self.index.scalar(number if whole is None else const(whole.stop)))
        ranges, mask = self._ranges(stage, body) or ([Range(first, count, whole is not None)], ())
        one = builder.constant(1, "i32")
        if mask:
            self._check_outside(stage, ranges)
        for part in () if self.tile.written_out else ranges:
            opaque = mask and not part.whole and all(isinstance(op, fuse.Dot) for op in folded)
            stop = builder.opaque(part.stop) if opaque else part.stop
            loop = scf.ForOp(part.first, stop, one, carried)
            if self.tile.num_stages > 1:
                loop.operation.attributes["tt.num_stages"] = builder.attribute(self.tile.num_stages)
            outer, framed = dict(self.values), self._values_of_frames()
            self.unmasked = dict(mask) if part.whole else {}
            with builder.inside(loop.body), self._unmasked(part.whole):
                self.iteration = loop.induction_variable
                position = self.iteration
                if backwards == {True} or self._runs_backwards(stage, folded, scans):
                    last = builder.elementwise("arith.subi", [part.stop, one])
                    position = builder.elementwise("arith.subi", [last, position])
                self.index.blocks[axis] = position
                after = self._body(body, folded, scans, _regroup(list(loop.inner_iter_args), states))
                scf.YieldOp(after)
            self.values, self.iteration, self.unmasked = outer, None, {}
            self._forget(framed)
            del self.index.blocks[axis]
            self.carries.clear()
            carried = list(loop.results)
        if whole is not None and number.constant is not None:
            for block in range(whole.stop, number.constant):
                carried = self._peeled(block, body, folded, states, carried)
        for op, state in zip(folded, _regroup(carried, states), strict=False):
            with op.location, self._in(self._place_of(op)):
                lanes = self.lanes.of(op, masked=False)
                results = self._fold_of(op).finish(builder, state, lanes, partial(self.lanes.seen, op))
                self._set(op, results)
            self._move(op)

    def _check_outside(self, stage: int, ranges: Sequence[Range]) -> None:
        """Loops over the blocks that are in none of some ranges, which assert what the loop asserts."""
        axis, builder = self.tile.looped, self.builder
        checks = self.plan.made_for([op for op in self.plan.roots(stage) if index_check(op)])
        if axis is None or not checks:
            return
        zero, one = builder.constant(0, "i32"), builder.constant(1, "i32")
        end = self.index.scalar(self.index.block_count(axis))
        for first, stop in ((zero, ranges[0].first), (ranges[-1].stop, end)):
            outer, framed = dict(self.values), self._values_of_frames()
            loop = scf.ForOp(first, stop, one, [])
            with builder.inside(loop.body):
                self.index.blocks[axis] = loop.induction_variable
                for op in checks:
                    self._emit(op)
                scf.YieldOp([])
            self.values = outer
            self._forget(framed)
            del self.index.blocks[axis]

    def _body(
        self,
        body: list[ir.Operation],
        folded: list[ir.Operation],
        scans: list[ir.Operation],
        running: list[list[ir.Value]],
    ) -> list[ir.Value]:
        """The code of one block.  ``running``: of each fold and each scan, its state before the block.
        Returns their states after it, folds first.
        """
        assert self.iteration is not None
        self.again.forget(self.values)
        self.builder.distinct = self.tile.again
        for op, state in zip([*folded, *scans], running, strict=True):
            if isinstance(op, fuse.Scan):
                self.carries[op] = state
        after: dict[ir.Operation, list[ir.Value]] = {}
        for op in body:
            if op in folded:
                state = running[folded.index(op)]
                with op.location, self._in(self._place_of(op)):
                    operands, lanes = self._folded(op), self.lanes.of(op)
                    after[op] = self._fold_of(op).step(self.builder, state, operands, lanes, self.iteration)
            elif self.again.waits(op):
                self.again.wait(op)
            else:
                self._emit(op)
                if op.name in REDUCTIONS:
                    self.again.forget(self.values)
        self.again.forgotten.clear()
        self.builder.distinct = False
        return [v for op in folded for v in after[op]] + [v for op in scans for v in self.carries[op]]

    def _operand(self, value: ir.Value) -> ir.Value:
        op = self.again.taken(value)
        if op is not None:
            self._emit_once(op)
        return super()._operand(value)

    def _stays(self, op: ir.Operation) -> bool:
        return self.builder.distinct and self.again.is_shared(op)

    def _peeled(
        self,
        block: int,
        body: list[ir.Operation],
        folded: list[ir.Operation],
        states: list[list[ir.Value]],
        carried: list[ir.Value],
    ) -> list[ir.Value]:
        """Emits the code of one block with masked lanes, outside of the loop."""
        axis, outer, framed = self.tile.looped, dict(self.values), self._values_of_frames()
        assert axis is not None
        with self.builder.scope():
            self.iteration = self.index.blocks[axis] = self.builder.constant(block, "i32")
            carried = self._body(body, folded, [], _regroup(carried, states))
        self.values, self.iteration = outer, None
        self._forget(framed)
        del self.index.blocks[axis]
        return carried

    def _whole_blocks(self, stage: int, body: list[ir.Operation], folded: list[ir.Operation]) -> range | None:
        """The whole blocks of a row, those of which every lane is a point, where the loop is to run over them
        alone.  The blocks that masks cut are then folded outside of it: masks are a quarter of the
        instructions of such a loop.

        None where one loop takes all blocks: there are too few whole ones, ``num_stages`` is above 1, or the
        body holds anything but folds, ``arith``, ``math`` and ``_READS`` (it stores, scans or asserts).  An
        empty range behind the last block where all are to be folded outside of a loop.
        """
        axis = self.tile.looped
        assert axis is not None
        if self.tile.written_out:
            count = self.index.block_count(axis).constant
            if count is None or any(isinstance(op, fuse.Scan) for op in body):
                message = "steps that are written out need a known number of blocks and no scan"
                raise TilingError(message, self.kernel.func.location)
            return range(count, count)
        whole = self.index.whole_blocks(axis)
        if whole is None or len(whole) < (_SHORT_LOOP if self._counts(folded) else _LONG_LOOP):
            return None
        plain = all(
            op in folded or op.name.partition(".")[0] in ("arith", "math") or isinstance(op, _READS)
            for op in body
        )
        return whole if plain and self.tile.num_stages == 1 and self.frames is None else None

    def _counts(self, folded: list[ir.Operation]) -> bool:
        """Whether a fold of the loop needs the number of points that it has folded, and folds several
        elements of a thread at once: a mask then makes that number differ from lane to lane.
        """
        return any(REDUCTION_OPS[op.name].counts and self.lanes.of(op, masked=False).own > 1 for op in folded)

    def _runs_backwards(self, stage: int, folded: list[ir.Operation], scans: list[ir.Operation]) -> bool:
        """Whether a loop runs backwards: it neither folds nor scans, and another loop over the row came
        before it.  What that one read last is still in the cache.
        """
        return stage > 0 and not folded and not scans

    def _start(self, op: ir.Operation) -> Values:
        """The state of a fold or a scan before its loop."""
        with self._in(self._place_of(op)):
            if isinstance(op, fuse.Scan):
                form = running(string(op.attributes["kind"]))
                return form.start(self.builder, op.results[0].type, self._carry_shape(op))
            elements = [tt.element_of(v.type) for v in op.operands]
            return self._fold_of(op).start(self.builder, elements, self.lanes.of(op, masked=False))

    def _folded(self, op: ir.Operation) -> Values:
        """The tiles that a reduction folds."""
        return self._factors(op) if op.name in PRODUCTS else [self._operand(v) for v in op.operands]

    def _carry_shape(self, op: ir.Operation) -> Shape:
        axis = self.plan.over_axes(op)[0]
        return without_ones(self.index.shape([i for i in self.plan.axes[op] if i != axis]))

    # --- ops ----------------------------------------------------------------------------------------------
    def _emit(self, op: ir.Operation) -> None:
        """The code of an op.  Where the row is in two parts (``row_parts.py``), an op along it has code for
        each part.  Where there are products, it has code for each of its frames.
        """
        if self.frames is not None:
            for frame in self.frames.of.get(op, ()):
                with self._in(frame):
                    self._emit_once(op)
            if op in self.frames.results:
                self._move(op)
            return
        if self.row is None or self.row.axis not in self.plan.axes[op] or op.name in REDUCTIONS:
            self._emit_once(op)
            return
        for part in self.parts:
            with self._within(part):
                self._emit_once(op)

    def _emit_once(self, op: ir.Operation) -> None:
        with op.location:
            handler = _HANDLERS.get(op.name)
            try:
                if self.segments is not None and op == self.segments.count:
                    self._set(op, [self.segment])
                elif op in self.unmasked:
                    self._set(op, [self._operand(op.operands[self.unmasked[op]])])
                elif op in self.pieces:
                    self._load_piece(op, self.pieces[op])
                elif handler is not None:
                    handler(self, op)
                elif op.name in REDUCTIONS:
                    self._reduce(op)
                elif op.name in ASSERTS:
                    self._assert(op)
                else:
                    wide = None
                    if isinstance(op, arith.ExtFOp):
                        rounding = self.rounding
                        wide = self._wide_row(op) or rounding.undone(op) or rounding.in_pairs(op)
                    elif isinstance(op, arith.SubFOp):
                        wide = self._deviation(op)
                    operands = [] if wide is not None else [self._operand(v) for v in op.operands]
                    self._set(op, [wide] if wide is not None else tile_ops.emit(self.builder, op, operands))
            except (NoTileForm, ValueError) as error:
                raise TilingError(str(error), op.location) from None

    def _index(self, op: ir.Operation) -> None:
        e = parse(string(op.attributes["expr"]))
        value = self.index.value(e, self._indices(op, 0), self.index.shape(self.plan.axes[op]))
        self._set(op, [self._number_of_lanes(op, value)])

    def _rand(self, op: ir.Operation) -> None:
        operands = [self._operand(v) for v in op.operands]
        dist = string(op.attributes["dist"])
        fours = self._fours(op) if dist == "uniform" else None
        if fours is None:
            self._set(op, [philox.rand(self.builder, operands, dist)])
        else:
            self._set(op, [philox.uniform_of_fours(self.builder, operands[0], operands[1], fours)])

    def _fours(self, op: ir.Operation) -> ir.Value | None:
        """The counter of a ``fuse.rand`` divided by 4, once for each four neighbouring lanes, as one call of
        Philox gives four numbers.  None where the counters of lanes do not count up from a multiple of 4.
        """
        vectors = self.index.vector_axes
        if not vectors or isinstance(op.operands[2].owner, ir.Block):
            return None
        made, axis = op.operands[2].owner, vectors[-1]
        if not isinstance(made, fuse.Index) or len(made.operands) or self.plan.axes[op][-1] != axis:
            return None
        return self.index.fours(parse(string(made.attributes["expr"])), axis)

    def _assert(self, op: ir.Operation) -> None:
        builder = self.builder
        condition = self._operand(op.operands[0])
        active = self._active(op)
        if isinstance(op, fuse.DeviceAssert):
            active = builder.both(active, self._operand(op.operands[1]))
        if active is not None:
            true = builder.constant(1, "i1")
            condition = builder.elementwise(
                "arith.ori",
                [condition, builder.elementwise("arith.xori", [active, builder.to(true, shape_of(active))])],
            )
        attributes = {"message": message_of(op), **index_check(op)}
        if self.checks is not None and not builder.nested and self.checks.waits(op):
            self.checks.add(condition, attributes)
        else:
            builder.create("tt.assert", [], [condition], attributes)

    def _reduce(self, op: ir.Operation) -> None:
        if self.parts:
            held: list[Part] = []
            for part in self.parts:
                with self._within(part):
                    held.append(([self._operand(v) for v in op.operands], self.lanes.of(op)))
            self._set(op, self._fold_of(op).of_parts(self.builder, held)[: len(op.results)])
            return
        results = self._fold_of(op).whole(self.builder, self._folded(op), self.lanes.of(op))
        count = len(op.results)
        self._set(op, results[:count])
        if len(results) > count:
            self.deviations[op.operands[0], op.results[0]] = results[0], results[count:]

    def _deviation(self, op: ir.Operation) -> ir.Value | None:
        """x - mean, for a row in registers whose mean was corrected; None for other differences."""
        mean, known = self.deviations.get((op.operands[0], op.operands[1]), (None, ()))
        if mean is None or self.values.get(op.operands[1]) != mean:
            return None
        return self.builder.elementwise("arith.subf", known)

    def _scan(self, op: ir.Operation) -> None:
        builder, form = self.builder, running(string(op.attributes["kind"]))
        reverse = ir.BoolAttr(op.attributes["reverse"]).value
        lanes = self.lanes.of(op)
        values = [builder.to(self._operand(v), lanes.shape) for v in op.operands]
        state = form.state(builder, values, lanes.mask)
        prefix = scan(builder, state, lanes.axes[0], form.combine, reverse) if lanes.axes else state
        if op in self.carries:
            carry = self.carries[op]
            prefix = form.behind(builder, carry, prefix)
            self.carries[op] = form.carried(builder, carry, state, prefix, lanes.axes)
        self._set(op, [form.result(builder, prefix)])

    def _fold_of(self, op: ir.Operation) -> Fold:
        """The fold of a reduction of the ``fuse`` dialect."""
        if isinstance(op, fuse.Welford) and len(op.operands) == 1:
            return self._welford(op.operands[0])
        return fold_of(op)

    def _welford(self, value: ir.Value) -> Welford:
        """The fold of a ``fuse.welford`` of ``value``.  Where elements are widened from 16 bits, it says of
        how many equal elements f32 holds the sum exactly: the bits of f32's significand that an element does
        not need count them.
        """
        if str(value.type) == "f32":
            for name, bits in _SIGNIFICAND.items():
                if self.rounding.is_exact(value, self.builder.type(name)):
                    return Welford(exact=1 << (_F32_SIGNIFICAND - bits))
        return Welford()


def _regroup(values: Sequence[ir.Value], like: Sequence[Sequence[ir.Value]]) -> list[list[ir.Value]]:
    """``values`` cut into lists of the same lengths as those of ``like``."""
    groups, at = [], 0
    for group in like:
        groups.append(list(values[at : at + len(group)]))
        at += len(group)
    return groups


_HANDLERS = {
    "fuse.load": TileKernel._load,
    "fuse.store": TileKernel._store,
    "fuse.index": TileKernel._index,
    "fuse.rand": TileKernel._rand,
    "fuse.scan": TileKernel._scan,
}
