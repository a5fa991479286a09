"""Whether a scalar kernel can be computed where a user's Triton kernel stores what it reads: the plan.

A *reader* reads tensors that one call of a user's kernel, the *writer*, makes.  ``plan_epilogue`` says at
which stores of the writer the reader is computed, and for which of its points, or which rule of
``user_writer.py`` refuses.
"""

from collections.abc import Mapping, Sequence

from ...base.dataclass import dataclass
from ...index import Expr, const, offset, simplify, solve
from ...ir.contractions import PRODUCTS
from ...ir.defining import is_true
from ...ir.kernel import ASSERTS, Access, Kernel, over, string
from ...mlir import ir
from ..user_kernel.coordinates import Coordinates
from ..user_kernel.coverage import Coverage, Store, coverage
from ..user_kernel.integers import Comparison
from ..user_kernel.maps import PointerAccess
from .user_writer import EpilogueRefused, UserWriter

_REDUCTIONS = (
    "fuse.reduce",
    "fuse.argreduce",
    "fuse.welford",
    "fuse.online_softmax",
    "fuse.online_expectation",
)


@dataclass(frozen=True)
class EpilogueSite:
    """A store of the writer, in front of which the reader is computed.

    before: the op in front of which it is emitted.  coordinates: of the store.  mask: the op's mask, None for
    none.  known: the stored value that each load of the reader gives.  dims: the reader's dims over the
    places of ``coordinates``.  outside: what must hold besides, where not every element is a point of the
    reader.  held: the axis of the tile of each dim that the reader reduces.
    """

    before: ir.Operation
    coordinates: Coordinates
    mask: ir.Value | None
    known: Mapping[ir.Operation, ir.Value]
    dims: Mapping[str, Expr]
    outside: tuple[Comparison, ...]
    held: Mapping[str, int]


def plan_epilogue(writer: UserWriter, reader: Kernel, read: Mapping[int, int]) -> list[EpilogueSite]:
    """The stores of ``writer`` in front of which ``reader`` is computed.

    ``read``: arguments of the reader that the writer makes -> arguments of the writer.  Raises
    EpilogueRefused.
    """
    _require_scalar_form(reader)
    loads = {a.op: read[a.argument] for a in reader.loads if a.argument in read}
    for access in reader.loads:
        if access.argument in read and (access.indirect or not is_true(access.op.operands[1])):
            raise EpilogueRefused(
                "other-points", "it reads under a condition, or at loaded indices, what is stored"
            )
    stores = {argument: writer.stores(argument) for argument in dict.fromkeys(read.values())}
    main = max(stores, key=lambda argument: max((len(a.shape) for _, a in stores[argument]), default=0))
    if not all(stores.values()):
        raise EpilogueRefused("partly-written", "the user's kernel does not store to the tensor")
    if len(stores) > 1 and any(len(found) > 1 for found in stores.values()):
        raise EpilogueRefused(
            "several-maps", "it needs two tensors, one of which is stored in several places"
        )
    sites = [_Site(writer, reader, loads, main, stores, op, access).plan() for op, access in stores[main]]
    _judge_others(writer, {a: found for a, found in stores.items() if a != main})
    boxes = [Store(access, site.coordinates) for (_, access), site in zip(stores[main], sites, strict=True)]
    _judge_coverage(reader, loads, boxes, coverage(boxes, writer.space, writer.accesses.integers))
    return sites


def _require_scalar_form(reader: Kernel) -> None:
    names = {op.name for op in reader.func.regions[0].blocks[0].operations}
    if names & set(ASSERTS):
        raise EpilogueRefused("assert", "it asserts")
    if names & {*PRODUCTS, "fuse.scan"}:
        raise EpilogueRefused("reduction", "it has a scan or a product, which need more than one tile")
    if any(string(a.op.attributes["mode"]) != "set" or a.indirect for a in reader.stores):
        raise EpilogueRefused("destination", "it adds to memory, or writes at loaded indices")


def _judge_others(
    writer: UserWriter, stores: Mapping[int, Sequence[tuple[ir.Operation, PointerAccess]]]
) -> None:
    """In a loop a tensor may be stored several times, of which only the last one counts."""
    for argument, found in stores.items():
        if any(access.loops for _, access in found):
            boxes = [Store(access, writer.coordinates(access, argument)) for _, access in found]
            if not coverage(boxes, writer.space, writer.accesses.integers).once:
                raise EpilogueRefused("loop", "a loop stores a tensor that it reads, maybe several times")


def _judge_coverage(
    reader: Kernel, loads: Mapping[ir.Operation, int], stores: Sequence[Store], found: Coverage
) -> None:
    if any(store.access.loops for store in stores) and not (found.complete and found.once):
        raise EpilogueRefused(
            "loop", "a loop stores it, and it is not proven that each element is stored once"
        )
    if any("fuse.rand" in op.name or op.name in _REDUCTIONS for op in reader.op_dims) and not found.once:
        message = (
            "it reduces elements or draws numbers, and it is not proven that each element is stored once"
        )
        raise EpilogueRefused("stored-twice", message)
    if not found.complete and not _is_strict(reader, loads):
        message = "it gives a meaning to elements that are not proven to be stored"
        raise EpilogueRefused("partly-written", message)


def _is_strict(reader: Kernel, loads: Mapping[ir.Operation, int]) -> bool:
    """Whether each number that the reader stores is made of what it reads from the writer: where that is
    undefined, so is the number.
    """
    made = {op.results[0] for op in loads}
    for op in reader.op_dims:
        if op.name == "arith.select":
            condition, one, other = op.operands
            strict = condition in made or (one in made and other in made)
        elif op.name in ("arith.andi", "arith.ori", "fuse.load"):
            strict = len(op.operands) > 0 and all(v in made for v in op.operands)
        else:
            strict = any(v in made for v in op.operands)
        if strict:
            made.update(op.results)
    return all(a.op.operands[1] in made and is_true(a.op.operands[2]) for a in reader.stores)


@dataclass
class _Site:
    """The plan for one store of the main tensor."""

    writer: UserWriter
    reader: Kernel
    loads: Mapping[ir.Operation, int]
    main: int
    stores: Mapping[int, list[tuple[ir.Operation, PointerAccess]]]
    op: ir.Operation
    access: PointerAccess

    def plan(self) -> EpilogueSite:
        coordinates = self.writer.coordinates(self.access, self.main)
        dims, inside = self._dims(coordinates)
        known: dict[ir.Operation, ir.Value] = {}
        before, mask = self.op, self._mask(self.op)
        for access in self.reader.loads:
            argument = self.loads.get(access.op)
            if argument is None:
                continue
            at = [c.subs(dims) for c in access.coords]
            if argument == self.main:
                if access.coords != self._first.coords:
                    self._require_equal(at, coordinates.at, coordinates)
                known[access.op] = self.op.operands[1]
            else:
                [(op, stored)] = self.stores[argument]
                known[access.op] = self._other(op, stored, argument, at, coordinates)
                before = _later(before, op)
        held = self._held(coordinates, dims)
        self._require_whole_points(coordinates, dims, held)
        outside = () if inside else self._outside(coordinates, dims)
        return EpilogueSite(before, coordinates, mask, known, dims, outside, held)

    @property
    def _first(self) -> Access:
        """The first load of the main tensor."""
        return next(a for a in self.reader.loads if self.loads.get(a.op) == self.main)

    def _dims(self, coordinates: Coordinates) -> tuple[Mapping[str, Expr], bool]:
        """The point of the reader for each stored element."""
        first = self._first
        extents = {n: e for n, e in self.reader.dims.items() if e.constant != 1}
        ones: Mapping[str, Expr | int] = {n: 0 for n in self.reader.dims if n not in extents}
        stored = [c.subs(ones) for c in first.coords]
        facts, strides = coordinates.facts, self.writer.spec(self.main).strides
        found = solve(stored, coordinates.at, extents, coordinates.extents, facts)
        if found is None or found.mapping.keys() != extents.keys():
            one, other = (offset(at, strides, const(0), facts) for at in (stored, coordinates.at))
            found = solve([one], [simplify(other, facts)], extents, coordinates.extents, facts)
        if found is None or found.mapping.keys() != extents.keys():
            raise EpilogueRefused(
                "other-points", "its points are not the elements that are stored, or it repeats them"
            )
        return {**found.mapping, **{n: const(0) for n in ones}}, found.inside

    def _require_equal(self, at: Sequence[Expr], stored: Sequence[Expr], coordinates: Coordinates) -> None:
        facts = coordinates.facts
        if not all(facts.equal(a, b) for a, b in zip(at, stored, strict=True)):
            raise EpilogueRefused(
                "several-maps", "it reads other elements, too, than the one that is being stored"
            )

    def _other(
        self,
        op: ir.Operation,
        access: PointerAccess,
        argument: int,
        at: Sequence[Expr],
        coordinates: Coordinates,
    ) -> ir.Value:
        """What the writer stores to another tensor at the elements ``at``."""
        other = self.writer.coordinates(access, argument)
        if op.parent != self.op.parent or op.block != self.op.block:
            raise EpilogueRefused("several-maps", "two tensors that it reads are not stored at one time")
        if access.shape not in ((), self.access.shape):
            raise EpilogueRefused(
                "several-maps", "two tensors that it reads are stored by tiles of unlike shapes"
            )
        expanded = [e.subs(coordinates.places) for e in at]
        self._require_equal(expanded, [e.subs(other.places) for e in other.at], coordinates)
        return op.operands[1]

    def _held(self, coordinates: Coordinates, dims: Mapping[str, Expr]) -> dict[str, int]:
        found: dict[str, int] = {}
        for place in coordinates.places:
            axis = coordinates.held(place)
            for dim, e in dims.items():
                if (
                    axis is not None
                    and str(e) == place
                    and self.reader.dims[dim] == coordinates.extents[place]
                ):
                    found[dim] = axis
        for op in self.reader.op_dims:
            if op.name in _REDUCTIONS and not set(over(op)) <= found.keys():
                raise EpilogueRefused("reduction", "no tile holds the whole axis that it reduces")
        return found

    def _require_whole_points(
        self, coordinates: Coordinates, dims: Mapping[str, Expr], held: Mapping[str, int]
    ) -> None:
        """Each store runs over all dims but those that one tile holds."""
        needed = {n for n, e in dims.items() if self.reader.dims[n].constant != 1} - held.keys()
        for access in self.reader.stores:
            if not needed <= self.reader.op_dims[access.op]:
                raise EpilogueRefused("other-points", "it stores a value once for several tiles")

    def _outside(self, coordinates: Coordinates, dims: Mapping[str, Expr]) -> tuple[Comparison, ...]:
        """That each dim lies in its extent, where that is not so for each element."""
        facts, found = coordinates.facts, []
        for dim, e in dims.items():
            if not facts.nonnegative(e):
                found.append(Comparison(-e, "<", const(1)))
            if not facts.less(e, self.reader.dims[dim]):
                found.append(Comparison(e, "<", self.reader.dims[dim]))
        return tuple(Comparison(simplify(c.left, facts), c.how, simplify(c.right, facts)) for c in found)

    def _mask(self, op: ir.Operation) -> ir.Value | None:
        return op.operands[2] if len(op.operands) > 2 else None


def _later(one: ir.Operation, other: ir.Operation) -> ir.Operation:
    """Of two ops of a block, the later one."""
    for op in one.block.operations:
        if op == one:
            return other
        if op == other:
            return one
    raise AssertionError("the ops are in one block")
