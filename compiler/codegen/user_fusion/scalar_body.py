"""The body of a scalar kernel as ops on a tile of a user's kernel.

A scalar kernel computes for each point of its dims.  Here each dim is an expression over the places of a tile
of another kernel's (``user_values.py``), so that its body becomes ops on that tile: loads at the
addresses that its coordinates have there, arithmetic, and values to store.  Nothing is decided here: the
caller says what the dims are and which loads are known.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from ...analysis.kernel.precision import beside_one_values, coarse_values
from ...analysis.user_kernel.coordinates import Coordinates
from ...analysis.user_kernel.integers import Comparison, Integers
from ...base.dataclass import dataclass
from ...index import Expr, const, parse, simplify
from ...ir.contractions import PRODUCTS
from ...ir.defining import is_true
from ...ir.dialects import fuse
from ...ir.kernel import REDUCTIONS, Kernel, over, string, strings
from ...mlir import func, ir
from .. import philox, tile_ops
from ..folds.fold import Lanes
from ..folds.of_op import fold_of
from ..folds.reduce import Values
from ..tile_builder import TileBuilder, joined, shape_of
from ..tile_ops import from_memory, to_memory
from .user_values import UserValues

#: Ops of a scalar kernel that have no form here.
REFUSED = (*PRODUCTS, "fuse.scan", "fuse.device_assert", "cf.assert")


@dataclass(frozen=True)
class Place:
    """Where a scalar kernel is computed: at which elements of a tile, and what its arguments are there.

    coordinates, integers: of the access of the tile.  dims: of each dim of the scalar kernel, an expression
    over the places of ``coordinates`` and sizes.  bases: of each tensor argument, its address.  sizes: by
    name, those of the kernel that is emitted into.  others: other arguments of the scalar kernel.  mask: the
    lanes that access memory; None for all.  outside: the comparisons that must hold besides, where not every
    place is a point of the scalar kernel.  held: of each dim that it reduces, the axis of the tile that holds
    all of it (``Coordinates.held``).
    """

    coordinates: Coordinates
    integers: Integers
    dims: Mapping[str, Expr]
    bases: Mapping[int, ir.Value]
    sizes: Mapping[str, ir.Value]
    others: Mapping[ir.Value, ir.Value]
    mask: ir.Value | None
    outside: tuple[Comparison, ...] = ()
    held: Mapping[str, int] = field(default_factory=dict)


class ScalarBody:
    """Emits a scalar kernel at MLIR's insertion point.  Single use.

    ``known``: loads whose values are there already, as tiles of the element type in memory.
    """

    def __init__(self, kernel: Kernel, place: Place, known: Mapping[ir.Operation, ir.Value]) -> None:
        block = kernel.func.regions[0].blocks[0]
        self.kernel, self.place, self.known = kernel, place, known
        self.builder = TileBuilder(coarse_values(block), beside_one_values(block))
        self.index = UserValues(self.builder, place.coordinates, place.integers, place.sizes)
        self.values: dict[ir.Value, ir.Value] = dict(place.others)
        self._accessed = {a.op: a.argument for a in (*kernel.loads, *kernel.stores)}

    def emit(self, only: Collection[ir.Operation] | None = None) -> dict[ir.Operation, ir.Value]:
        """Emits everything but the stores, or ``only`` these ops.  Returns what each store writes whose value
        is emitted, as a tile of the element type in memory.  Raises ``NoTileForm``.
        """
        stored: dict[ir.Operation, ir.Value] = {}
        for op in self.kernel.func.regions[0].blocks[0].operations:
            if isinstance(op, fuse.Store):
                if only is None or op.operands[1].owner in only:
                    stored[op] = to_memory(self.builder, self.operand(op.operands[1]))
            elif not isinstance(op, func.ReturnOp) and (only is None or op in only):
                with op.location:
                    for result, value in zip(op.results, self._emitted(op), strict=True):
                        self.values[result] = value
        return stored

    def store(self, op: ir.Operation, value: ir.Value) -> None:
        """Writes what ``emit`` gave for the ``fuse.store`` ``op``."""
        builder, at = self.builder, self._at(op)
        with op.location:
            pointer = self._pointer(op, at)
            shape = joined([shape_of(pointer), shape_of(value)])
            mask = builder.both(self._storing(at, shape), self.operand(op.operands[2]))
            builder.store(builder.to(pointer, shape), value, mask)

    def operand(self, value: ir.Value) -> ir.Value:
        """What a value of the scalar kernel is on the tile."""
        return self.values.get(value, value)

    # --- masks and addresses --------------------------------------------------------------------------------
    def _at(self, op: ir.Operation) -> list[Expr]:
        return [parse(c).subs(self.place.dims) for c in strings(op.attributes["at"])]

    def _pointer(self, op: ir.Operation, at: Sequence[Expr]) -> ir.Value:
        number = self._accessed[op]
        return self.index.pointer(self.place.bases[number], self.kernel.spec(number), at)

    def _is_whole(self, axes: Sequence[int]) -> bool:
        return list(axes) == [axis for axis, size in enumerate(self.place.coordinates.shape) if size > 1]

    def _points(self, axes: Sequence[int]) -> ir.Value | None:
        """The lanes along ``axes`` that are points of the scalar kernel, as far as these axes decide it."""
        mask = None
        for comparison in self.place.outside:
            if set(self.index.axes_of(comparison.left + comparison.right)) <= set(axes):
                mask = self.builder.both(mask, self.index.compared(comparison))
        return mask

    def _reading(self, at: Sequence[Expr]) -> ir.Value | None:
        """The lanes that read the elements ``at``.  Where these depend on a part of the tile's axes, they are
        the lanes whose elements exist.
        """
        axes = self.index.axes_of(sum(at, start=const(0)))
        mask = self.place.mask if self._is_whole(axes) else self.index.inside(at)
        return self.builder.both(mask, self._points(axes))

    def _storing(self, at: Sequence[Expr], shape: Sequence[int]) -> ir.Value | None:
        """The lanes of a tile of ``shape`` that store the elements ``at``.  Axes along which the tile has one
        lane count with their first; along others lanes differ, also where all of them name one element, as
        in a dim of one element.
        """
        named = self.index.axes_of(sum(at, start=const(0)))
        axes = sorted({*named, *(axis for axis, size in enumerate(shape) if size > 1)})
        mask = self.place.mask
        if not self._is_whole(axes):
            first = {
                f"l{axis}'": const(0) for axis in range(len(self.place.coordinates.shape)) if axis not in axes
            }
            mask = None
            for comparison in self.place.coordinates.mask:
                mask = self.builder.both(mask, self.index.compared(comparison.subs(first)))
        return self.builder.both(mask, self._points(axes))

    # --- ops ------------------------------------------------------------------------------------------------
    def _emitted(self, op: ir.Operation) -> Values:
        operands = [self.operand(v) for v in op.operands]
        if isinstance(op, fuse.Load):
            with self.index.given(operands[3:]):
                return [self._load(op, operands)]
        if isinstance(op, fuse.Index):
            with self.index.given(operands):
                return [self.index.value(parse(string(op.attributes["expr"])).subs(self.place.dims))]
        if isinstance(op, fuse.Rand):
            return [philox.rand(self.builder, operands, string(op.attributes["dist"]))]
        if op.name in REDUCTIONS:
            return self._reduced(op, operands)
        return tile_ops.emit(self.builder, op, operands)

    def _load(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
        builder, type_ = self.builder, op.results[0].type
        if op in self.known:
            value = from_memory(builder, self.known[op], type_)
            return value if is_true(operands[1]) else builder.select(operands[1], value, operands[2])
        at = self._at(op)
        mask = builder.both(self._reading(at), operands[1])
        pointer = self._pointer(op, at)
        if mask is not None:
            pointer = builder.to(pointer, joined([shape_of(pointer), shape_of(mask)]))
        return from_memory(builder, builder.load(pointer, mask, to_memory(builder, operands[2])), type_)

    def _reduced(self, op: ir.Operation, operands: Sequence[ir.Value]) -> Values:
        shape, facts = self.place.coordinates.shape, self.index.facts
        held = [self.place.held[dim] for dim in over(op)]
        own = joined([shape_of(v) for v in operands])
        own = tuple(size if axis in held else own[axis] if own else 1 for axis, size in enumerate(shape))
        mask = self.index.inside([self.place.dims[dim] for dim in over(op)])
        count = math.prod([self.kernel.dims[dim] for dim in over(op)], start=const(1))

        def counted(element: ir.Type) -> ir.Value:
            if count.constant is not None:
                return self.builder.constant(float(count.constant), element)
            return self.builder.cast("arith.sitofp", self.index.value(simplify(count, facts)), element)

        axes = tuple(axis for axis in held if shape[axis] > 1)
        lanes = Lanes(axes, mask, own if any(size > 1 for size in own) else (), counted, even=mask is None)
        return fold_of(op).whole(self.builder, list(operands), lanes)[: len(op.results)]
