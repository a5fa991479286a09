"""Vectors of neighbours along memory that one thread computes, each number that they read once.

A tap beside a point begins in the middle of a vector.  Triton reads it element by element, once for each
point.  A thread that computes a whole vector of points instead reads the vectors around them, and takes them
apart in registers.  ``unroll-and-jam`` writes such kernels: their results lie ``count`` points apart, and the
points between are stores of their own (``vector_strips``).  Codegen reads and writes them as vectors
(``Vectors``).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ...base.dataclass import dataclass
from ...index import Expr, const, sym
from ...ir.defining import is_true
from ...ir.dialects import fuse
from ...ir.kernel import VECTORS, Access, Kernel
from ...mlir import ir
from ..kernel.shape import KernelShape
from .choice import full_accesses
from .neighbours import is_plain, is_simple

#: Bytes of the widest access, and elements of a vector at most: of 2 bytes.
_VECTOR_BYTES, _MOST = 16, 8

#: Elements of a vector in order; None for one that nothing needs.
Places = tuple[ir.Operation | None, ...]


@dataclass(frozen=True)
class Vectors:
    """The accesses of a kernel that are vectors along an axis of ``count`` elements of a thread: the vector
    of each load, and of the last store of each; () of other stores.
    """

    count: int
    loads: dict[ir.Operation, Places]
    stores: dict[ir.Operation, Places]

    @staticmethod
    def of(kernel: Kernel) -> "Vectors | None":
        """Of a kernel that computes vectors along its last dim; None of another one."""
        shapes = KernelShape.of(kernel)
        count = vector_count(shapes)
        if count is None:
            return None
        stores = _grouped(shapes, kernel.stores, count)
        written = {access.op: number for number, access in enumerate(kernel.stores)}
        stores = {
            op: places if written[op] == max(written[p] for p in places if p is not None) else ()
            for op, places in stores.items()
        }
        last = shapes.order[-1]
        loads = [
            a
            for a in kernel.loads
            if shapes.steps(a)[last] == count and _is_read(a, kernel) and _in_vectors(shapes, a, last, count)
        ]
        return Vectors(count, _grouped(shapes, loads, count), stores)


def vector_count(shape: KernelShape) -> int | None:
    """How many points of each result lie beside each other in a kernel that computes whole vectors of points
    along its last dim; None of other kernels.
    """
    kernel = shape.kernel
    if VECTORS not in kernel.func.attributes or not shape.order:
        return None
    steps = {shape.steps(a)[shape.order[-1]] for a in kernel.stores}
    count = steps.pop() if len(steps) == 1 else None
    if count is None or not 2 <= count <= _MOST or count & (count - 1) or len(kernel.stores) % count:
        return None
    groups = _grouped(shape, kernel.stores, count)
    return count if len(groups) == len(kernel.stores) and _are_whole(groups) else None


def _are_whole(vectors: Mapping[ir.Operation, Places]) -> bool:
    return all(op is not None for places in vectors.values() for op in places)


def _grouped(shape: KernelShape, accesses: Sequence[Access], count: int) -> dict[ir.Operation, Places]:
    """The vector of each access that is in one: those of one tensor with one guard, whose offsets are in one
    vector.
    """
    facts, found = shape.kernel.facts, dict[object, dict[int, ir.Operation]]()
    for access in accesses:
        e = shape.offset_of(access)
        place = e.shift % count
        if not facts.divides(count, e - place):
            continue
        value = 1 if isinstance(access.op, fuse.Store) else None
        rest = [v for i, v in enumerate(access.op.operands) if i and i != value]
        found.setdefault((access.argument, e - place, *rest), {}).setdefault(place, access.op)
    groups = [tuple(places.get(n) for n in range(count)) for places in found.values()]
    return {op: places for places in groups for op in places if op is not None}


def _is_read(access: Access, kernel: Kernel) -> bool:
    return is_plain(access, kernel) and is_simple(access.op.operands[1])


def vector_strips(shape: KernelShape) -> Iterator[tuple[str, int]]:
    """The last dim and how many points of it a thread may compute, 16 bytes or 8, the most first, where that
    saves reads: most reads over all points begin beside a vector.  None where a vector of some access would
    be cut: its rows begin at no vector, or end in the middle of one.
    """
    if not shape.order or not reads_beside(shape):
        return
    last, kernel = shape.order[-1], shape.kernel
    moving = [a for a in shape.accesses if last in kernel.op_dims[a.op]]
    if any(shape.steps(a)[last] != 1 or a.indirect or shape.element_bytes(a) > 4 for a in moving):
        return
    if not all(_is_read(a, kernel) if _loads(a) else is_true(a.op.operands[2]) for a in moving):
        return
    size = kernel.dims[last].constant or 0
    widest = max(shape.element_bytes(a) for a in moving)
    for count in (_VECTOR_BYTES // widest, _VECTOR_BYTES // widest // 2):
        to = {last: sym(last) * count}
        whole = size % count == 0 and all(_in_vectors(shape, a, last, count, to) for a in moving)
        if count > 1 and whole and all(shape.offset_of(a).shift % count == 0 for a in kernel.stores):
            yield last, count


def _loads(access: Access) -> bool:
    return isinstance(access.op, fuse.Load)


def _in_vectors(
    shape: KernelShape, access: Access, last: str, count: int, to: Mapping[str, Expr] = MappingProxyType({})
) -> bool:
    """Whether each vector of a tensor that an access reads or writes an element of lies within the tensor.
    ``to``: what the dims become.
    """
    spec, facts = shape.kernel.spec(access.argument), shape.kernel.facts
    moving = [n for n, c in enumerate(access.coords) if last in c.symbols()]
    if len(moving) != 1 or spec.strides[moving[0]].constant != 1:
        return False
    along = access.coords[moving[0]].subs(to)
    if not facts.divides(count, along - along.shift) or not facts.divides(count, spec.sizes[moving[0]]):
        return False
    rows = [s for n, s in enumerate(spec.strides) if n != moving[0] and spec.sizes[n] != const(1)]
    return all(facts.divides(count, stride) for stride in rows)


def reads_beside(shape: KernelShape) -> bool:
    """Whether most loads over all points begin in the middle of a vector that another of the same tensor
    begins at, or elsewhere in the middle: taps of a stencil along memory.
    """
    last, vector = shape.order[-1], max(1, _VECTOR_BYTES // shape.widest)
    reads = [a for a in full_accesses(shape) if a in shape.kernel.loads]
    along = [a for a in reads if shape.steps(a)[last] == 1 and not a.indirect]
    offsets = {a: _shift(shape, a) % vector for a in along}
    beside = [a for a in along if len({offsets[b] for b in along if b.argument == a.argument}) > 2]
    return 2 * sum(offsets[a] != 0 for a in beside) > len(reads)


def _shift(shape: KernelShape, access: Access) -> int:
    """The offset of an access where all dims are 0, without what sizes that are symbols add to it."""
    return shape.offset_of(access).subs(dict.fromkeys(shape.kernel.dims, 0)).shift


def whole_comparison(e: Expr, number: int) -> tuple[Expr, int]:
    """``e < number`` without what the coefficients of ``e`` have in common: of ``8*d - 3 < 0``, ``d < 1``."""
    common = math.gcd(*(c for monomial, c in e.terms if monomial))
    if common < 2:
        return e, number
    rest = Expr({monomial: c // common for monomial, c in e.terms if monomial})
    return rest, -((e.shift - number) // common)


__all__ = ["Places", "Vectors", "reads_beside", "vector_count", "vector_strips", "whole_comparison"]
