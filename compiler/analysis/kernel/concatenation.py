"""Concatenations in scalar kernels: values that are read of one of several tensors, by one coordinate."""

import math
from collections.abc import Mapping

from ...base.dataclass import dataclass
from ...index import Expr, const, parse, sym
from ...ir.defining import defining_op, is_true
from ...ir.kernel import Kernel, kernel_dims, string, strings
from ...ir.layout import TensorSpec
from ...mlir import ir

#: ``arith.cmpi``: less than, greater than or equal.
_LESS, _NOT_LESS = 2, 5
#: All that such a kernel is made of.
_OPS = frozenset(
    {
        "arith.constant", "arith.cmpi", "arith.andi", "arith.select", "fuse.index", "fuse.load", "fuse.store",
        "func.return",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Pieces:
    """A value that the first of ``loads`` reads where the coordinate ``dim`` is below the first of ``ends``,
    the next one where it is below the next end, and so on.  The last end is the extent of ``dim``.
    """

    dim: str
    loads: tuple[ir.Operation, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Concatenation:
    """The result holds the tensors ``arguments`` of the kernel, one behind the other along its ``dim``."""

    dim: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class EqualPieces:
    """The result holds along ``dim``, a dim of the kernel, what each of ``loads`` reads at ``length`` points;
    the loads read the kernel's ``arguments``.  ``run``: bytes of a piece that lie one behind the other.
    """

    dim: str
    length: int
    loads: tuple[ir.Operation, ...]
    arguments: tuple[int, ...]
    run: int


def equal_pieces(kernel: ir.Operation) -> EqualPieces | None:
    """The pieces of a kernel that does nothing but concatenate pieces of equal lengths, each read of some
    place of a tensor; None for any other.
    """
    store, choices = None, 0
    for op in kernel.regions[0].blocks[0].operations:
        name = op.name
        if name not in _OPS or (name == "fuse.store" and store is not None):
            return None
        store = op.operation if name == "fuse.store" else store
        choices += name == "arith.select"
    if store is None or not choices:
        return None
    if string(store.attributes["mode"]) != "set" or not is_true(store.operands[2]) or len(store.operands) > 3:
        return None
    found = pieces(store.operands[1], kernel_dims(kernel))
    if found is None or any(len(load.operands) > 3 for load in found.loads):
        return None
    length = found.ends[0]
    if found.ends != tuple(length * (n + 1) for n in range(len(found.ends))):
        return None
    at = [parse(text) for text in strings(store.attributes["at"])]
    places = [n for n, c in enumerate(at) if found.dim in c.symbols()]
    if len(places) != 1 or (at[places[0]] - sym(found.dim)).constant is None:
        return None
    spec = TensorSpec.of(store.results[0].type)
    behind = [size.constant for size in spec.sizes[places[0] + 1 :]]
    run = length * spec.element_bytes * math.prod(size or 1 for size in behind)
    arguments = tuple(ir.BlockArgument(load.operands[0]).arg_number for load in found.loads)
    return EqualPieces(found.dim, length, found.loads, arguments, run)


def concatenation(kernel: ir.Operation) -> Concatenation | None:
    """What a kernel concatenates, all of each tensor; None where it does anything else."""
    body = [op.operation for op in kernel.regions[0].blocks[0].operations]
    stores = [op for op in body if op.name == "fuse.store"]
    if len(stores) != 1 or any(op.name not in _OPS for op in body):
        return None
    [store] = stores
    at = tuple(parse(text) for text in strings(store.attributes["at"]))
    walked = [str(c) for c in at if c.constant is None]
    mode = string(store.attributes["mode"])
    if mode != "set" or walked != list(kernel_dims(kernel)) or not is_true(store.operands[2]):
        return None
    found = pieces(store.operands[1], kernel_dims(kernel))
    if found is None or found.dim not in walked:
        return None
    place = at.index(sym(found.dim))
    sizes = TensorSpec.of(store.results[0].type).sizes
    begin, arguments = 0, []
    for load, end in zip(found.loads, found.ends, strict=True):
        if not _is_part(load, at, place, begin, end):
            return None
        if TensorSpec.of(load.operands[0].type).sizes != _with(sizes, place, const(end - begin)):
            return None
        arguments.append(ir.BlockArgument(load.operands[0]).arg_number)
        begin = end
    return Concatenation(place, tuple(arguments))


def read_by_pieces(kernel: Kernel) -> dict[ir.Operation, Pieces]:
    """The selects of a kernel that make concatenations of tensors to which it does not write, and of whose
    loads nothing else reads one.
    """
    found: dict[ir.Operation, Pieces] = {}
    written = {access.argument for access in kernel.stores}
    reads = {access.op: access.argument for access in kernel.loads}
    inner = set[ir.Operation]()
    for op in reversed([op.operation for op in kernel.func.regions[0].blocks[0].operations]):
        known = pieces(op.results[0], kernel.dims) if op.name == "arith.select" and op not in inner else None
        if known is None:
            continue
        users = [use.owner.operation for load in known.loads for use in load.results[0].uses]
        inner |= {*users}
        if len(users) == len(known.loads) and not written & {reads[load] for load in known.loads}:
            found[op] = known
    return found


def pieces(value: ir.Value, dims: Mapping[str, Expr]) -> Pieces | None:
    """The loads of which ``value`` is one, by a coordinate, each of which reads all points of its piece; None
    for other values.  ``dims``: extents.
    """
    parts = _parts(value)
    loads = tuple(load for load, _ in parts if load is not None)
    bounded = {dim for _, (dim, _) in parts[:-1]}
    if not len(loads) == len(parts) >= 2 or len(bounded) != 1 or not bounded <= set(dims):
        return None
    [dim] = bounded
    last = dims[dim].constant
    ends = (*(end for _, (_, end) in parts[:-1]), 0 if last is None else last)
    begin = 0
    for load, end in zip(loads, ends, strict=True):
        whole = all(_holds(load.operands[1], dim, n) for n in (begin, end - 1))  # then in between as well
        if begin >= end or not whole:
            return None
        begin = end
    return Pieces(dim, loads, ends)


#: A load, or None for any other value; the dim and its extent below which a point gets it.
_Part = tuple[ir.Operation | None, tuple[str, int]]


def _parts(value: ir.Value) -> list[_Part]:
    """What a value is where a coordinate is below the first bound, below the second, .., and elsewhere."""
    parts: list[_Part] = []
    select = defining_op(value, "arith.select")
    while select is not None:
        below = _below(select.operands[0])
        parts.append((defining_op(select.operands[1], "fuse.load"), below or ("", 0)))
        value = select.operands[2]
        select = defining_op(value, "arith.select")
    return [*parts, (defining_op(value, "fuse.load"), ("", 0))]


def _below(condition: ir.Value) -> tuple[str, int] | None:
    """(d, n) of the condition ``d - n < 0``; None for any other."""
    compared = _compared(condition, _LESS)
    if compared is None or len(compared.symbols()) != 1:
        return None
    [dim] = compared.symbols()
    at_zero = compared.subs({dim: const(0)}).constant
    return None if at_zero is None or sym(dim) + at_zero != compared else (dim, -at_zero)


def _compared(condition: ir.Value, predicate: int) -> Expr | None:
    """The index expression that a condition compares with 0 in this way; None for other conditions."""
    compare = defining_op(condition, "arith.cmpi")
    if compare is None or ir.IntegerAttr(compare.attributes["predicate"]).value != predicate:
        return None
    index = defining_op(compare.operands[0], "fuse.index")
    zero = defining_op(compare.operands[1], "arith.constant")
    if index is None or zero is None or ir.IntegerAttr(zero.attributes["value"]).value != 0:
        return None
    return parse(string(index.attributes["expr"]))


def _is_part(load: ir.Operation, at: tuple[Expr, ...], place: int, begin: int, end: int) -> bool:
    """Whether a load reads a tensor at the points of the result from ``begin`` to ``end``."""
    inside = const(0) if end - begin == 1 else at[place] - begin
    return tuple(parse(text) for text in strings(load.attributes["at"])) == _with(at, place, inside)


def _with(values: tuple[Expr, ...], place: int, value: Expr) -> tuple[Expr, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _holds(condition: ir.Value, dim: str, coordinate: int) -> bool:
    """Whether a conjunction of bounds of one dim is known to hold at a coordinate."""
    if is_true(condition):
        return True
    both = defining_op(condition, "arith.andi")
    if both is not None:
        return all(_holds(v, dim, coordinate) for v in both.operands)
    for predicate in (_LESS, _NOT_LESS):
        compared = _compared(condition, predicate)
        if compared is not None:
            value = compared.subs({dim: const(coordinate)}).constant
            return value is not None and (value < 0) == (predicate == _LESS)
    return False
