"""The integers of a user's kernel as values of its tile code: coordinates, addresses, masks.

``compiler/analysis/user_kernel/coordinates.py`` says which element each lane of an access is.  Here that is
emitted, in front of the access: lanes are ranges, program ids are asked for again, and what the kernel has
computed itself is used as it is.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...analysis.user_kernel.coordinates import Coordinates
from ...analysis.user_kernel.integers import Comparison, Integers
from ...index import Expr, const, offset, simplify, sym
from ...index.expr import Atom
from ...index.facts import is_indirect
from ...ir.dialects import tt
from ...ir.layout import TensorSpec
from ...mlir import ir
from ..indexing.arithmetic import IndexArithmetic
from ..tile_builder import CMPI, Shape, TileBuilder, shape_of

_PREDICATES = {"<": "slt", "==": "eq", "!=": "ne"}
assert CMPI.keys() >= set(_PREDICATES.values())


class UserValues(IndexArithmetic):
    """Emits expressions over ``coordinates.places``, the kernel's integers and sizes.

    ``sizes``: the kernel's size arguments, by name.  Values have the rank of the access, with extent 1 along
    the axes of the tile that they do not depend on, and are scalars where they depend on none.
    """

    def __init__(
        self,
        builder: TileBuilder,
        coordinates: Coordinates,
        integers: Integers,
        sizes: Mapping[str, ir.Value],
    ) -> None:
        self.builder, self.facts = builder, coordinates.facts
        self.coordinates, self.integers, self.sizes = coordinates, integers, sizes
        self._indices: dict[str, ir.Value] = {}

    @contextmanager
    def given(self, indices: Sequence[ir.Value]) -> Iterator[None]:
        """Within the context, these loaded indices are what expressions call i0, i1, .."""
        self._indices = {f"i{n}": value for n, value in enumerate(indices)}
        try:
            yield
        finally:
            self._indices = {}

    def value(self, e: Expr) -> ir.Value:
        """An expression over places and sizes, as i64."""
        e = simplify(e, self.facts)
        return self.builder.cast("arith.extsi", self._sum(e, self._width(e), self._indices), "i64")

    def pointer(self, base: ir.Value, spec: TensorSpec, at: Sequence[Expr]) -> ir.Value:
        """The addresses of the elements ``at`` of a tensor: a scalar address and the lanes' offsets."""
        builder = self.builder
        e = self._expanded(simplify(offset(at, spec.strides, const(0), self.facts), self.facts))
        ahead, lanes = const(0), const(0)
        for monomial, coefficient in e.terms:
            term = Expr({monomial: coefficient})
            if self.axes_of(term):
                lanes += term
            else:
                ahead += term
        if ahead.constant != 0:
            base = builder.elementwise(
                "tt.addptr", [base, self._emit(ahead, self._width(ahead), self._indices)]
            )
        if lanes.constant == 0:
            return base
        return builder.elementwise("tt.addptr", [base, self._sum(lanes, self._width(lanes), self._indices)])

    def compared(self, comparison: Comparison) -> ir.Value:
        """A comparison of expressions, for each lane."""
        sides = [self._expanded(side) for side in (comparison.left, comparison.right)]
        width = max(self._width(side) for side in sides)
        left, right = (self._sum(side, width, {}) for side in sides)
        return self.builder.cmpi(_PREDICATES[comparison.how], left, right)

    def inside(self, expressions: Collection[Expr]) -> ir.Value | None:
        """Where the places that ``expressions`` name lie in their extents; None where they always do."""
        total = None
        lanes = {f"l{axis}'": size for axis, size in enumerate(self.coordinates.shape)}
        facts = self.facts.with_extents(lanes)  # of all lanes, not only of those that access memory
        for name in sorted({s for e in expressions for s in e.symbols()} & self.coordinates.places.keys()):
            place, extent = self.coordinates.places[name], self.coordinates.extents[name]
            if not facts.nonnegative(place):
                total = self.builder.both(total, self.compared(Comparison(const(-1), "<", place)))
            if not facts.less(place, extent):
                total = self.builder.both(total, self.compared(Comparison(place, "<", extent)))
        return total

    def axes_of(self, e: Expr) -> tuple[int, ...]:
        """The axes of the tile that an expression depends on."""
        names = self._expanded(e).symbols()
        shapes = [shape_of(self._indices[name]) for name in names & self._indices.keys()]
        return tuple(
            axis
            for axis, size in enumerate(self.coordinates.shape)
            if size > 1 and (f"l{axis}'" in names or any(shape and shape[axis] > 1 for shape in shapes))
        )

    # --- emission -------------------------------------------------------------------------------------------
    def _width(self, e: Expr) -> int:
        return 32 if self.fits(e) and not any(is_indirect(name) for name in e.symbols()) else 64

    def _expanded(self, e: Expr) -> Expr:
        return e.subs(self.coordinates.places)

    def _shape(self, axes: Collection[int]) -> Shape:
        shape = self.coordinates.shape
        return tuple(size if axis in axes else 1 for axis, size in enumerate(shape)) if axes else ()

    def _elements_of(self, atom: Atom) -> int:
        e = Expr({(atom,): 1})
        return math.prod(self._shape(self.axes_of(e)))

    def _sum(self, e: Expr, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        """Terms over the same lanes are added first, and small tiles before large ones."""
        groups: dict[tuple[int, ...], Expr] = {}
        for monomial, coefficient in e.terms:
            term = Expr({monomial: coefficient})
            axes = self.axes_of(term)
            groups[axes] = groups.get(axes, const(0)) + term
        parts = [self._emit(part, width, indices) for part in groups.values()] or [self._emit(e, width)]
        parts.sort(key=lambda v: math.prod(shape_of(v)))
        total = parts[0]
        for part in parts[1:]:
            total = self.builder.elementwise("arith.addi", [total, part])
        return total

    def _symbol(self, name: str, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        if name in indices:
            return self._of_width(indices[name], width)
        builder, key = self.builder, ("symbol", name, width)
        found = builder.recall(key)
        return found if found is not None else builder.remember(key, self._of_width(self._made(name), width))

    def _made(self, name: str) -> ir.Value:
        builder, i32 = self.builder, ir.IntegerType.get_signless(32)
        if name in self.coordinates.places:
            place = self.coordinates.places[name]
            narrow = self.fits(self.coordinates.extents[name]) and self._divides_in_32(place)
            return self._sum(place, 32 if narrow else 64, {})
        if name in self.sizes:
            i64 = ir.IntegerType.get_signless(64)
            return builder.create("arith.index_cast", [i64], [self.sizes[name]]).results[0]
        kind, number = name[0], int(name[1:-1])
        if kind in "pg":
            op = "tt.get_program_id" if kind == "p" else "tt.get_num_programs"
            return builder.create(op, [i32], [], {"axis": builder.attribute(number)}).results[0]
        if kind == "l":
            size = self.coordinates.shape[number]
            attributes = {"start": builder.attribute(0), "end": builder.attribute(size)}
            lanes = builder.create("tt.make_range", [tt.tile_type([size], i32)], [], attributes).results[0]
            return builder.spread(lanes, self._shape((number,)))
        loop = self.integers.loop_of(name[:-1])
        if loop is not None:
            lower, _, step = list(loop.operands)[:3]
            turns = builder.elementwise("arith.subi", [loop.regions[0].blocks[0].arguments[0], lower])
            return builder.elementwise("arith.divsi", [turns, step])
        value = self.integers.value_of(name[:-1])
        assert value is not None, f"{name} is not an integer of this kernel"
        return value

    def _divides_in_32(self, e: Expr) -> bool:
        """Whether a place below 2**31 can be computed in 32 bits: sums and products may wrap, what is divided
        may not.
        """
        atoms = [atom for monomial, _ in e.terms for atom in monomial if not isinstance(atom, str)]
        return all(self.fits(atom.num) and self._is_narrow(atom.den) for atom in atoms)

    def _is_narrow(self, e: Expr) -> bool:
        value = next((self.integers.value_of(name[:-1]) for name in e.symbols() if e == sym(name)), None)
        return self.fits(e) if value is None else str(value.type) == "i32"
