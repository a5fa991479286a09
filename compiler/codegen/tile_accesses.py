"""The memory accesses of a kernel's tile code: its tensors, and the tiles over which loads and stores run.
``TileKernel`` emits everything else.
"""

from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace

from ..analysis.kernel.precision import beside_one_values, coarse_values
from ..analysis.kernel.segments import in_segments, segments_of
from ..analysis.tiling.neighbours import Run, runs_of
from ..analysis.tiling.row_parts import RowParts, row_parts
from ..analysis.tiling.row_start import RowStart, row_start
from ..analysis.tiling.vectors import Places, Vectors
from ..base.dataclass import dataclass
from ..index import parse, sym
from ..ir.defining import is_true
from ..ir.dialects import fuse, tt
from ..ir.kernel import ASSERTS, Kernel, string, strings
from ..ir.layout import memory_element
from ..ir.tile import Tile
from ..mlir import ir
from .folds.reduce import reshaped
from .indexing.symbols import OfRowParts
from .indexing.tile_axes import RowPart, SegmentedAxis
from .indexing.tile_index import TileIndex
from .indexing.tile_vectors import apart, inner, neighbours, together
from .tile_builder import TileBuilder, bits_in_table, shape_of
from .tile_lanes import ReductionLanes
from .tile_memory import store_value
from .tile_ops import from_memory, to_memory
from .tile_plan import KernelPlan, TilingError
from .tile_shift import elements, shifted_words, widened

#: A thread reads an operand of the columns again for each row that it has points in, up to this many rows.
_FEW_ROWS = 4
#: Warps of a program, up to which many programs share an SM.
_SMALL_PROGRAM = 4


@dataclass
class OtherLanes:
    """Tiles of another shape than the kernel's main one: their index and lanes, and the values emitted so
    far.
    """

    index: TileIndex
    lanes: ReductionLanes
    values: dict[ir.Value, ir.Value] = field(default_factory=dict)


class TileAccesses:
    """The tiles of one kernel and its memory.

    ``parts``: where a row is held as two tiles (``RowParts``), the tiles of each part.  ``widened``: tiles
    with several lanes for each point, for loads that are read in ``runs``.
    """

    def __init__(self, kernel: Kernel, tile: Tile) -> None:
        kernel = in_segments(kernel) if tile.segmented else kernel
        self.kernel, self.tile = kernel, tile
        self.plan = KernelPlan(kernel, tile)
        self.segments = segments_of(Kernel.of(kernel.func)) if tile.segmented else None
        segmented = self._segmented_axis() if tile.segmented else None
        block = kernel.func.regions[0].blocks[0]
        self.builder = TileBuilder(coarse_values(block), beside_one_values(block))
        arguments = kernel.arguments
        self.sizes = {name: arguments[number] for name, number in kernel.symbols.items()}
        plain = not kernel.products  # operands of products are whole blocks of rows and columns
        start, row = (row_start(kernel, tile), row_parts(kernel, tile)) if plain else (None, None)
        early = start if isinstance(start, RowStart) else None
        self.index = TileIndex(
            self.builder, tile, kernel.dims, kernel.facts, self.sizes, early, segments=segmented
        )
        self.lanes = ReductionLanes(kernel, tile, self.plan, self.index, self.builder)
        self.row = row if isinstance(row, RowParts) else None
        paired = plain and early is None and tile.axes
        self.vectors = Vectors.of(kernel) if plain and not kernel.reduced else None
        self.runs = runs_of(kernel, tile, len(tile.axes) - 1) if paired and self.vectors is None else {}
        parts = [] if self.row is None else [RowPart(self.row, ends) for ends in (False, True)]
        self.parts = [self._tiles(part.of(tile), part=part) for part in parts]
        if self.runs:
            self.widened = self._widened(len(tile.axes) - 1)
        self.values: MutableMapping[ir.Value, ir.Value] = {}
        self.bases: dict[int, ir.Value] = {}
        #: The argument that an op reads or writes: a store may write what another one has written.
        self.accessed = {a.op: a.argument for a in (*kernel.loads, *kernel.stores)}
        self.words: dict[ir.Value, ir.Value] = {}  #: of a load's result, if ``shifted_words`` read it
        self.stage = 0
        self.loops = [stage for stage in range(self.plan.last + 1) if self.plan.roots(stage)]

    def _segmented_axis(self) -> SegmentedAxis:
        """The axis whose blocks begin where segments begin.  Raises ``TilingError``."""
        segments = self.segments
        axis = None if segments is None else self.tile.axis_of(segments.rows)
        if segments is None or axis is None or self.tile.axes[axis].dims != (segments.rows,):
            raise TilingError(
                "blocks of one segment need rows in segments, on an axis of their own",
                self.kernel.func.location,
            )
        return SegmentedAxis(axis, self.kernel.dims[segments.number].constant or 0)

    def _tiles(self, tile: Tile, part: RowPart | None = None, run: Run | None = None) -> OtherLanes:
        kernel = self.kernel
        facts, segments = kernel.facts, self.index.segments
        index = TileIndex(
            self.builder, tile, kernel.dims, facts, self.sizes, part=part, run=run, segments=segments
        )
        index.blocks, index.of_segment = self.index.blocks, self.index.of_segment
        return OtherLanes(index, ReductionLanes(kernel, tile, self.plan, index, self.builder))

    def _widened(self, number: int) -> OtherLanes:
        """Tiles with a lane for each load of a run and each point of an axis."""
        axes, count = list(self.tile.axes), len(next(iter(self.runs.values())))
        axes[number] = replace(axes[number], block=count * axes[number].block)
        return self._tiles(replace(self.tile, axes=tuple(axes)), run=Run(number, count))

    def _emit(self, op: ir.Operation) -> None:
        """Emits an op for all tiles that it has."""
        raise NotImplementedError

    def _emit_once(self, op: ir.Operation) -> None:
        """Emits an op for the current tiles."""
        raise NotImplementedError

    @contextmanager
    def _within(self, part: OtherLanes) -> Iterator[None]:
        """Within the context, ``part`` gives the current tiles."""
        outside = self.index, self.lanes, self.values
        self.index, self.lanes, self.values = part.index, part.lanes, ChainMap(part.values, self.values)
        try:
            yield
        finally:
            self.index, self.lanes, self.values = outside

    def _operand(self, value: ir.Value) -> ir.Value:
        return self.values.get(value, value)

    def _set(self, op: ir.Operation, results: Sequence[ir.Value]) -> None:
        for scalar, value in zip(op.results, results, strict=True):
            self.values[scalar] = value

    def _bases(self) -> None:
        """Takes the address of every tensor that the kernel reads or writes, before all loops."""
        for number in sorted({a.argument for a in (*self.kernel.loads, *self.kernel.stores)}):
            argument = self.kernel.arguments[number]
            element = ir.Type.parse(memory_element(self.kernel.spec(number).element))
            pointer = tt.Ptr.get(ir.TypeAttr.get(element))
            self.bases[number] = self.builder.create("fuse.base", [pointer], [argument]).results[0]

    def _address(self, op: ir.Operation, first_index: int, axes: tuple[int, ...] | None = None) -> ir.Value:
        """The addresses of an access, as a tile over ``axes``; by default the axes that the op depends on."""
        number = self.accessed[op]
        coords = [parse(c) for c in strings(op.attributes["at"])]
        shape = self.index.shape(self.plan.axes[op] if axes is None else axes)
        return self.index.pointer(
            self.bases[number], self.kernel.spec(number), coords, self._indices(op, first_index), shape
        )

    def _indices(self, op: ir.Operation, first: int) -> dict[str, ir.Value]:
        return {f"i{k}": self._operand(v) for k, v in enumerate(list(op.operands)[first:])}

    def _load_run(self, loads: tuple[ir.Operation, ...]) -> None:
        """Emits loads of neighbouring elements as one load of as many times the lanes."""
        builder, count, run = self.builder, len(loads), self.widened.index.run
        assert run is not None
        with self._within(self.widened):
            self._guard_again(loads[0].operands[1])
            value = self._read(loads[0])
            along = self.index.tile_axis(run.axis)
        *outer, lanes = shape_of(value)[: along + 1]
        inner = shape_of(value)[along + 1 :]
        value = reshaped(builder, value, (*outer, lanes // count, count, *inner))
        if inner:
            value = builder.trans(
                value, [*range(along + 1), *range(along + 2, self.index.rank + 1), along + 1]
            )
        for op, part in zip(loads, apart(builder, value), strict=True):
            self._set(op, [part])

    def _load_vector(self, places: Places) -> None:
        """Emits the loads of a vector of each point as one load."""
        builder = self.builder
        place, first = next((n, op) for n, op in enumerate(places) if op is not None)
        guard, other = self._operand(first.operands[1]), self._operand(first.operands[2])
        mask = builder.both(guard, self.index.mask(self.plan.axes[first]))
        mask = None if mask is None else inner(builder, mask)
        with self.index.behind(place):
            address = neighbours(builder, self._address(first, 3), len(places))
        value = builder.load(address, mask, to_memory(builder, other), self._evict(first))
        for op, part in zip(places, apart(builder, value), strict=True):
            if op is not None:
                self._set(op, [from_memory(builder, part, op.results[0].type)])

    def _store_vector(self, stores: Sequence[ir.Operation]) -> None:
        """Emits the stores of a vector of each point as one store."""
        builder, first = self.builder, stores[0]
        shape = self.index.shape(self.plan.axes[first])
        parts = [builder.to(to_memory(builder, self._operand(s.operands[1])), shape) for s in stores]
        mask = builder.both(self._operand(first.operands[2]), self._active(first))
        mask = None if mask is None else inner(builder, mask)
        address = neighbours(builder, self._address(first, 3), len(stores))
        builder.store(address, together(builder, parts), mask, self._evict(first))

    def _guard_again(self, value: ir.Value) -> None:
        """Emits the ops that compute a guard again, for the current tiles."""
        op = value.owner
        if not self.plan.axes[op] or op in (v.owner for v in self.widened.values):
            return
        for operand in op.operands:
            self._guard_again(operand)
        self._emit_once(op)

    def _load(self, op: ir.Operation) -> None:
        if self.vectors is not None and op in self.vectors.loads:
            if op.results[0] not in self.values:
                self._load_vector(self.vectors.loads[op])
            return
        if op in self.runs:
            if op.results[0] not in self.values:
                self._load_run(self.runs[op])
            return
        alone = self._alone(op)
        if alone is None:
            value = self._read(op)
        else:
            with self.index.alone(alone):
                value = self._read(op)
            value = self.builder.spread(value, self.index.shape((alone,)))
        self._set(op, [value])

    def _read(self, op: ir.Operation) -> ir.Value:
        builder = self.builder
        guard, other = self._operand(op.operands[1]), self._operand(op.operands[2])
        spec = self.kernel.spec(self.accessed[op])
        coords = [parse(c) for c in strings(op.attributes["at"])]
        row = self._shared_row(op)
        if row is not None:
            return from_memory(builder, row, op.results[0].type)
        own = self.plan.axes[op]
        exact = self._fills_with_zeros()
        read = self.index.mask(own) if exact else self.index.reading_mask(own, spec, coords)
        mask = builder.both(guard, read)
        table = None if exact and mask is not None else self._looked_up(op)
        if table is not None:
            return table
        address = self._address(op, 3, self._read_axes(op, spec.element_bytes))
        value = builder.load(address, mask, to_memory(builder, other), self._evict(op), self._stays(op))
        return from_memory(builder, value, op.results[0].type)

    def _looked_up(self, op: ir.Operation) -> ir.Value | None:
        """The numbers of a short table that some bits name, which the lanes of a warp hold for each other;
        None for a load of anything else.
        """
        number = self.accessed[op]
        spec = self.kernel.spec(number)
        entries = spec.sizes[0].constant if len(spec.sizes) == 1 else None
        plain = strings(op.attributes["at"]) == ("i0",) and spec.strides[0].constant == 1
        if entries is None or not plain or not is_true(op.operands[1]):
            return None
        found = bits_in_table(self._operand(op.operands[3]), entries, memory_element(spec.element))
        return None if found is None else self.builder.looked_up(self.bases[number], *found)

    def _stays(self, op: ir.Operation) -> bool:
        """Whether a load is to stay where it is, and not to be moved out of a loop."""
        return False

    def _fills_with_zeros(self) -> bool:
        """Whether what lies behind the end of an axis is used, and so must not be read."""
        return False

    def _alone(self, op: ir.Operation) -> int | None:
        """The axis of a load that is read as a vector and broadcast to a tile afterwards: a load that depends
        on one axis of the tile, which is not the last one.  Otherwise a thread that holds 8 neighbours of a
        row would read the row's number 8 times, and could not read the numbers of several rows at once (for
        the weights of 8 rows in bf16: 64 accesses instead of one).  None if the load's guard or index is a
        tile.
        """
        vectors = self.index.vector_axes
        own = [axis for axis in vectors if axis in self.plan.axes[op]]
        if len(own) != 1 or own[0] == vectors[-1] or len(op.operands) > 3:
            return None
        return own[0] if all(not shape_of(self._operand(v)) for v in list(op.operands)[1:]) else None

    def _read_axes(self, op: ir.Operation, element_bytes: int) -> tuple[int, ...]:
        """The axes of a load's tile.  A load that depends on the last axis only is given all axes of the tile
        where a row is too short for every thread to read 16 bytes of it.  Each thread then reads the elements
        of its own points, once for each of its few rows.  A row shared by all threads would be read in narrow
        pieces and exchanged through shared memory.  This does not apply where some op needs the row by
        itself, such as a store of it.
        """
        own, vectors = self.plan.axes[op], self.index.vector_axes
        if self.tile.looped is not None or len(vectors) < 2 or set(own) & set(vectors) != {vectors[-1]}:
            return own
        row, threads = self.tile.axes[vectors[-1]].block, 32 * self.tile.num_warps
        wide = threads * 16 // element_bytes
        if row >= wide or self.tile.elements > _FEW_ROWS * wide or not self.plan.meets_only(op, vectors):
            return own
        return tuple(sorted({*own, *vectors}))

    def _shared_row(self, op: ir.Operation) -> ir.Value | None:
        """The whole vectors of a row in parts, for a load whose rows start at a vector though the stored row
        does not.
        """
        part = self.index.part
        if self.row is None or part is None or part.ends:
            return None
        for number, row in self.row.shared:
            access = self.kernel.loads[number]
            if access.op == op:
                start, e = self.bases[access.argument], self.index.lowered(row)
                if e.constant != 0:
                    offset = self.index.value(row, {}, ())
                    start = self.builder.elementwise("tt.addptr", [start, offset])
                distance = self.builder.cast(
                    "arith.trunci", self.index.value(OfRowParts.AHEAD.expr, {}, ()), "i32"
                )
                words = shifted_words(self.builder, start, distance, part.points, part.block)
                self.words[op.results[0]] = words
                element = ir.Type.parse(memory_element(self.kernel.spec(access.argument).element))
                return elements(self.builder, words, element)
        return None

    def _wide_row(self, op: ir.Operation) -> ir.Value | None:
        """The result of ``arith.extf`` on a bfloat16 row that was read by ``shifted_words``, computed from
        its words: one instruction for each element instead of two.  Only in small programs, as it takes 13 to
        32 more registers; with 8 warps, two programs then share an SM instead of three (layer norm of 8193
        columns takes 51.5 us instead of 44.0; of 4097 columns, with 4 warps, 41.1 instead of 42.7).
        """
        words = self.words.get(op.operands[0])
        if (
            words is None
            or self.tile.num_warps > _SMALL_PROGRAM
            or self.index.part is None
            or self.index.part.ends
        ):
            return None
        types = str(op.operands[0].type), str(op.results[0].type)
        return widened(self.builder, words) if types == ("bf16", "f32") else None

    def _store(self, op: ir.Operation) -> None:
        if self.vectors is not None and op in self.vectors.stores:
            stores = [s for s in self.vectors.stores[op] if s is not None]
            if stores:
                self._store_vector(stores)
            return
        builder = self.builder
        value = to_memory(builder, self._operand(op.operands[1]))
        mask = builder.both(self._operand(op.operands[2]), self._active(op))
        mode = string(op.attributes["mode"])
        store_value(builder, self._address(op, 3), value, mask, mode, self._evict(op))

    def _evict(self, op: ir.Operation) -> str:
        """The eviction policy of an access, where several loops run over a row.  What a later loop reads
        again is evicted last; what is stored, or read by the last loop, is evicted first.
        """
        if len(self.loops) < 2 or not self.plan.in_loop(op):
            return "normal"
        return "first" if self.stage == self.loops[-1] or isinstance(op, fuse.Store) else "last"

    def _active(self, op: ir.Operation, axes: Sequence[int] | None = None) -> ir.Value | None:
        """A mask of the lanes (along ``axes``, or all) and programs in which a store or assert happens.

        A store happens once where other dims share its axis.  An assert may hold again at each of their
        points: to leave lanes out would take more instructions.
        """
        builder = self.builder
        mask = self.index.mask(self.plan.axes[op] if axes is None else axes)
        for axis in self.plan.missing_grid_axes(op):
            if self.index.block_count(axis).constant != 1:
                mask = builder.both(
                    mask, builder.cmpi("eq", self.index.blocks[axis], builder.constant(0, "i32"))
                )
        for dim in self.plan.missing_dims(op):
            if self.kernel.dims[dim].constant != 1 and op.name not in ASSERTS:
                mask = builder.both(mask, self.index.is_zero(sym(dim)))
        return mask
