"""Products of tiles: ``fuse.dot`` as ``tt.dot``, which tensor cores compute, and the frames of its operands
(``frames.py``).
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from ...analysis.kernel.concatenation import Pieces, read_by_pieces
from ...analysis.tiling.neighbours import runs_of
from ...ir.defining import defining_op
from ...ir.dialects import fuse, tt
from ...ir.kernel import Kernel
from ...ir.tile import Tile
from ...mlir import arith, ir
from ..folds.reduce import Values, reshaped
from ..tile_accesses import OtherLanes, TileAccesses
from ..tile_builder import shape_of
from ..tile_ops import from_memory, to_memory
from ..tile_plan import TilingError
from .frames import Frame, Frames
from .turned import turned_loads
from .whole_lines import whole_lines

#: Casts of an element that make 0 of 0.
_KEEPS_ZERO = (arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp)

#: Rows of weights that a group of so many warps multiplies at once on Hopper, from registers, of which a
#: thread has two neighbours.
_WARP_GROUP_ROWS, _WARP_GROUP = 64, 4
#: The smallest blocks of a product's m, n and k, and the k of elements of 8 bits: what tensor cores multiply.
#: Triton takes smaller blocks from its users, and fills them up.
_LEAST_ROWS, _LEAST_COLUMNS, _LEAST_SUMMED, _LEAST_BYTES = 16, 8, 16, 32


def _block_problem(m: int, n: int, k: int, element: str) -> str | None:
    """Why blocks of m x k by k x n elements are not multiplied; None where they are."""
    least = _LEAST_BYTES if element[:2] in ("i8", "f8") else _LEAST_SUMMED
    if m < _LEAST_ROWS or n < _LEAST_COLUMNS or k < least:
        return (
            f"expected m of at least {_LEAST_ROWS}, n of at least {_LEAST_COLUMNS} and k of at least "
            f"{least}, got {m}, {n} and {k}"
        )
    return None


class TileProducts(TileAccesses):
    """The tiles of a kernel, in frames where it has products."""

    def __init__(self, kernel: Kernel, tile: Tile) -> None:
        super().__init__(kernel, tile)
        self.pieces = _pieces_of_blocks(kernel, tile) if kernel.products else {}
        self.frames = Frames(self.plan, tile, self.pieces, self.segments) if kernel.products else None
        self.frame: Frame = ()
        self.framed: dict[Frame, OtherLanes] = {}
        self.wide: dict[Frame, OtherLanes] = {}  #: as ``widened``, of each frame that reads runs
        self._operand_frames: set[Frame] = set()
        self._pairs: set[Frame] = set()
        self.turned: Mapping[tuple[ir.Operation, Frame], tuple[ir.Operation, Frame]] = {}
        self.lines: dict[tuple[ir.Operation, Frame], OtherLanes] = {}
        if self.frames is None:
            return
        for (load, frame), joined in whole_lines(kernel, tile, self.frames).items():
            self.lines[load, frame] = tiles = self._tiles(joined)
            tiles.index.vector_axes = [frame[1], frame[0]]
        for frame in self.frames.all:
            self.framed[frame] = tiles = self._tiles(tile)
            tiles.index.vector_axes = list(frame)
            self._require(tt.tile_problem(tiles.index.shape(frame)), kernel.func)
        summed = {operands.summed for operands in self.frames.operands.values()}
        if len(summed) == 1:
            [axis] = summed
            self.runs = runs_of(kernel, tile, axis)
            for frame in {f for load in self.runs for f in self.frames.of.get(load, ())}:
                self.wide[frame] = self._widened(axis)
                self.wide[frame].index.vector_axes = list(frame)
        self.turned = turned_loads(kernel, tile, self.frames)
        for op, operands in self.frames.operands.items():
            self._operand_frames |= {operands.left, operands.right}
            m, n, k = (tile.axes[i].block for i in (operands.left[-2], operands.right[-1], operands.summed))
            self._require(_block_problem(m, n, k, str(op.operands[0].type)), op)
            if len(operands.left) == 2 and m >= _WARP_GROUP_ROWS and tile.num_warps % _WARP_GROUP == 0:
                self._pairs.add(operands.left)

    def _require(self, problem: str | None, op: ir.Operation) -> None:
        if problem is not None:
            raise TilingError(problem, op.location)

    # --- frames -------------------------------------------------------------------------------------------
    @contextmanager
    def _in(self, frame: Frame) -> Iterator[None]:
        """Within the context, tiles have the axes of ``frame``.  Scalars are seen in every frame."""
        outside, self.frame = self.frame, frame
        in_pairs, self.builder.in_pairs = self.builder.in_pairs, frame in self._pairs
        try:
            if frame:
                with self._within(self.framed[frame]):
                    yield
            else:
                yield
        finally:
            self.frame, self.builder.in_pairs = outside, in_pairs

    @contextmanager
    def _unmasked(self, whole: bool) -> Iterator[None]:
        """Within the context, if ``whole``, no lane of the looped axis is masked, in any frame."""
        with ExitStack() as stack:
            for index in (self.index, *(tiles.index for tiles in self.framed.values())):
                stack.enter_context(index.inside(whole))
            yield

    def _place_of(self, op: ir.Operation) -> Frame:
        """The frame of a reduction or scan."""
        return self.frames.of[op][0] if self.frames is not None else ()

    def _move(self, op: ir.Operation) -> None:
        """Moves the results of a reduction from its frame to the others in which they are used."""
        if self.frames is None:
            return
        place = self._place_of(op)
        for result in op.results:
            value = self.framed[place].values[result]
            axes = {i for i, extent in zip(place, shape_of(value), strict=False) if extent > 1}
            for frame in self.frames.results.get(op, ()):
                if not axes <= {*frame}:  # another result is wanted there
                    continue
                values = self.framed[frame].values if frame else self.values
                values[result] = self._moved(value, place, frame)

    def _moved(self, value: ir.Value, source: Frame, target: Frame) -> ir.Value:
        """A tile of the frame ``source`` in the frame ``target``, which has all axes that it depends on."""
        shape = shape_of(value)
        if not shape:
            return value
        extents = dict(zip(source, shape, strict=True))
        kept = sorted((i for i in source if i in target), key=target.index)
        order = [source.index(i) for i in (*kept, *(i for i in source if i not in target))]
        if order != sorted(order) and sum(extent > 1 for extent in shape) > 1:
            value = self.builder.trans(value, order)
        return reshaped(self.builder, value, tuple(extents.get(i, 1) for i in target))

    def _values_of_frames(self) -> dict[Frame, dict[ir.Value, ir.Value]]:
        """The values emitted so far, apart from scalars."""
        return {frame: dict(tiles.values) for frame, tiles in self.framed.items()}

    def _forget(self, known: dict[Frame, dict[ir.Value, ir.Value]]) -> None:
        """Forgets what was emitted since ``known``."""
        for frame, values in known.items():
            self.framed[frame].values = values

    # --- products -----------------------------------------------------------------------------------------
    def _load_piece(self, op: ir.Operation, found: Pieces) -> None:
        """Emits one load for all loads of a concatenation: a block lies in one piece, whose address is taken.
        Tiles that are selected would be loaded into registers, and nothing would be multiplied meanwhile.
        """
        builder, axis = self.builder, self.tile.axis_of(found.dim)
        shape, block = self.index.shape(self.plan.axes[op]), self.tile.axes[axis].block
        *firsts, last = found.loads
        address = builder.to(self._address(last, 3), shape)
        for load, end in reversed([*zip(firsts, found.ends, strict=False)]):
            inside = builder.cmpi("slt", self.index.blocks[axis], builder.constant(end // block, "i32"))
            own = builder.to(self._address(load, 3), shape)
            address = builder.create("arith.select", [own.type], [inside, own, address]).results[0]
        other = to_memory(builder, self._operand(last.operands[2]))
        value = builder.load(address, self.index.mask(self.plan.axes[op]), other)
        self._set(op, [from_memory(builder, value, op.results[0].type)])

    def _load(self, op: ir.Operation) -> None:
        turned, lines = self._turned_tile(op), self.lines.get((op, self.frame))
        if turned is not None:
            self._set(op, [self.builder.trans(turned, [1, 0])])
        elif lines is not None:
            with self._within(lines):
                value = self._read(op)
            batch, rows, summed = self.index.shape(self.frame)
            self._set(
                op, [self.builder.trans(reshaped(self.builder, value, (rows, batch, summed)), [1, 0, 2])]
            )
        else:
            super()._load(op)

    def _turned_tile(self, op: ir.Operation) -> ir.Value | None:
        """The tile of the same elements that is loaded already, its axes the other way round: tensor cores
        read one copy in shared memory either way.
        """
        found = self.turned.get((op, self.frame))
        return None if found is None else self.framed[found[1]].values.get(found[0].results[0])

    def _load_run(self, loads: tuple[ir.Operation, ...]) -> None:
        if self.frames is not None:
            self.widened = self.wide[self.frame]
        super()._load_run(loads)

    def _fills_with_zeros(self) -> bool:
        return self.frame in self._operand_frames

    def _factors(self, op: ir.Operation) -> Values:
        """The tiles that a product multiplies, left then right, whole and with 0 behind the end of the summed
        axis: with -inf in the left one of a ``fuse.online_dot``, whose exponentials are 0 there.
        """
        assert self.frames is not None
        builder, operands = self.builder, self.frames.operands[op]
        made = []
        for number, frame in zip(operands.order, (operands.left, operands.right), strict=True):
            value = op.operands[number]
            with self._in(frame):
                tile = builder.to(self._operand(value), self.index.shape(frame))
                mask = self.index.mask((operands.summed,))
                powers = isinstance(op, fuse.OnlineDot) and number == 0
                loaded = operands.summed in self.plan.value_axes[value] and _zero_where_masked(value)
                if mask is not None and (powers or not loaded):
                    tile = builder.select(mask, tile, builder.fill(-math.inf if powers else 0, tile))
            made.append(tile)
        return made


def _pieces_of_blocks(kernel: Kernel, tile: Tile) -> dict[ir.Operation, Pieces]:
    """The selects that make a concatenation of which each block of the tile lies in one piece."""
    found = read_by_pieces(kernel)
    axes = {op: tile.axes[tile.axis_of(known.dim)] for op, known in found.items()}
    return {
        op: known
        for op, known in found.items()
        if axes[op].dims == (known.dim,) and not any(end % axes[op].block for end in known.ends[:-1])
    }


def _zero_where_masked(value: ir.Value) -> bool:
    """Whether a value is 0 in lanes that are no points: it is loaded with 0 for these, and only converted."""
    op = value.owner
    if isinstance(op, _KEEPS_ZERO):
        return _zero_where_masked(op.operands[0])
    if isinstance(op, arith.SelectOp):
        return all(map(_zero_where_masked, list(op.operands)[1:]))
    other = defining_op(op.operands[2], arith.ConstantOp) if isinstance(op, fuse.Load) else None
    return other is not None and other.attributes["value"].value == 0
