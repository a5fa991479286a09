"""Where a user's kernel accesses memory: for each load, store and atomic its index map and its mask.

A map says which element of an argument lane (``l0``, ``l1``, ..) of a tile accesses, as an expression of the
index algebra, counted in elements from the argument's address.  Its symbols are

    p0 p1 p2    the program's number along each axis of the grid; g0 g1 g2: the extent of the grid
    a3          the integer that is argument 3
    l0 l1 ..    the place in the tile along each of its axes
    t0 t1 ..    the turn of a loop around the access, from 0
    x0 x1 ..    another integer that the program computes: loaded, chosen, or rounded in a way that is not
                known to be a division of the algebra

Integers are taken not to overflow.  Arguments that a program divides or divides by are taken for sizes, which
are not negative.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from ...base.dataclass import dataclass
from ...index import Expr
from ...mlir import ir
from .flow import Flow, has_memory
from .integers import Comparison, Integers, Loop
from .op_kinds import ACCESSES, ATOMIC, READING

Kind = Literal["read", "write", "atomic"]


@dataclass(frozen=True)
class PointerAccess:
    """One op that accesses memory.

    arguments: whose memory it may be; none where that is not known.  offset: the element of that one
    argument; None where it is not known.  shape: the extents of the lanes; () for one element.  mask: the
    comparisons that all hold where memory is accessed; None where it is not known.  loops: those around the
    op, the innermost last.  guarded: whether it is in a branch, or in a loop whose turns are not known.
    """

    op: str
    kind: Kind
    arguments: tuple[int, ...]
    offset: Expr | None
    shape: tuple[int, ...]
    mask: tuple[Comparison, ...] | None
    loops: tuple[Loop, ...]
    guarded: bool

    def elements(self, values: Mapping[str, int]) -> Iterator[int]:
        """The elements that are accessed where the symbols, but for lanes, have ``values``.  Raises
        ValueError where the offset or the mask is not known.
        """
        if self.offset is None or self.mask is None:
            raise ValueError(f"where '{self.op}' accesses memory is not known")
        for lanes in _points(self.shape):
            env = {**values, **{f"l{axis}": lane for axis, lane in enumerate(lanes)}}
            if all(comparison.holds(env) for comparison in self.mask):
                yield self.offset.evaluate(env)


@dataclass(frozen=True)
class KernelAccesses:
    """The accesses of a kernel, by op and in program order, and the integers that their maps are made of."""

    integers: Integers
    by_op: Mapping[ir.Operation, PointerAccess]


def access_maps(func: ir.Operation) -> tuple[PointerAccess, ...]:
    """The accesses of the kernel ``func``, in program order."""
    return tuple(accesses(func).by_op.values())


def accesses(func: ir.Operation) -> KernelAccesses:
    """The same with the ops that access memory."""
    func, integers = func.operation, Integers(func)
    owners: dict[ir.Value, tuple[int, ...]] = {}
    for number, argument in enumerate(func.regions[0].blocks[0].arguments):
        if has_memory(argument.type):
            for value in Flow.of(argument).values:
                owners[value] = (*owners.get(value, ()), number)
    return KernelAccesses(integers, dict(_accesses(func, integers, owners, (), False)))


def _accesses(
    parent: ir.Operation,
    integers: Integers,
    owners: Mapping[ir.Value, tuple[int, ...]],
    loops: tuple[Loop, ...],
    guarded: bool,
) -> Iterator[tuple[ir.Operation, PointerAccess]]:
    if parent.name == "scf.for":
        loops = (*loops, integers.loop(parent))
    guarded |= parent.name in ("scf.if", "scf.while") or any(
        len(region.blocks) > 1 for region in parent.regions
    )
    for region in parent.regions:
        for block in region.blocks:
            for child in block.operations:
                op = child.operation
                if op.name in ACCESSES:
                    yield op, _access(op, integers, owners.get(op.operands[0], ()), loops, guarded)
                elif len(op.regions):
                    yield from _accesses(op, integers, owners, loops, guarded)


def _access(
    op: ir.Operation, integers: Integers, arguments: tuple[int, ...], loops: tuple[Loop, ...], guarded: bool
) -> PointerAccess:
    kind: Kind = "read" if op.name in READING else "atomic" if op.name in ATOMIC else "write"
    if op.name.startswith("tt.descriptor_"):
        shape, place, mask = integers.in_descriptor(op)
    else:
        shape, place = integers.shape_of(op.operands[0]), integers.address(op.operands[0])
        mask = integers.mask(operand) if (operand := _mask(op)) is not None else ()
    offset = None if place is None else place.offset
    return PointerAccess(op.name, kind, arguments, offset, shape, mask, loops, guarded)


def _mask(op: ir.Operation) -> ir.Value | None:
    first = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}.get(op.name)
    return op.operands[first] if first is not None and len(op.operands) > first else None


def _points(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in _points(shape[1:]):
            yield (first, *rest)
