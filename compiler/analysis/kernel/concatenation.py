"""Concatenations in scalar kernels: values that are read of one of several tensors, by one coordinate."""

import math
from collections.abc import Mapping

from ...base.dataclass import dataclass
from ...index import Expr, const, parse, sym
from ...ir.defining import defining_op, is_true
from ...ir.dialects import fuse
from ...ir.kernel import Kernel, kernel_dims, string, strings
from ...ir.layout import TensorSpec
from ...mlir import arith, cf, ir
from .conditions import bounds_where

#: All that a kernel of equal pieces is made of.
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
        store = op if name == "fuse.store" else store
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
    """What a kernel concatenates, all of each tensor; None where it does anything else.  What it computes and
    stores nowhere, such as the old values of a tensor that updates replace, does not count.
    """
    body = list(kernel.regions[0].blocks[0].operations)
    stores = [op for op in body if isinstance(op, fuse.Store)]
    if len(stores) != 1 or any(isinstance(op, (fuse.DeviceAssert, cf.AssertOp)) for op in body):
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
    for op in reversed(list(kernel.func.regions[0].blocks[0].operations)):
        known = (
            pieces(op.results[0], kernel.dims) if isinstance(op, arith.SelectOp) and op not in inner else None
        )
        if known is None:
            continue
        users = [use.owner for load in known.loads for use in load.results[0].uses]
        inner |= {*users}
        if len(users) == len(known.loads) and not written & {reads[load] for load in known.loads}:
            found[op] = known
    return found


def pieces(value: ir.Value, dims: Mapping[str, Expr]) -> Pieces | None:
    """The loads of which ``value`` is one, by a coordinate, each of which reads all points of its piece; None
    for other values.  ``dims``: extents.
    """
    dim = _chosen_by(value)
    extent = dims[dim].constant if dim is not None and dim in dims else None
    if dim is None or extent is None:
        return None
    parts = _parts(value, dim, range(extent))
    loads = [] if parts is None else [load for each, _ in parts if (load := defining_op(each, fuse.Load))]
    if parts is None or not len({*loads}) == len(parts) >= 2:
        return None
    for load, (_, piece) in zip(loads, parts, strict=True):
        if _range(load.operands[1], dim, piece) != piece:
            return None
    return Pieces(dim, tuple(loads), tuple(piece.stop for _, piece in parts))


def _chosen_by(value: ir.Value) -> str | None:
    """The dim whose coordinate says which value a choice takes."""
    select = defining_op(value, arith.SelectOp)
    bounds, _ = ([], False) if select is None else bounds_where(select.operands[0], holds=True)
    names = frozenset().union(*[e.symbols() for e in bounds])
    return next(iter(names)) if len(names) == 1 else None


def _parts(value: ir.Value, dim: str, within: range) -> list[tuple[ir.Value, range]] | None:
    """What a value is at which coordinates ``within``, in order; None where anything else decides.  So the
    outermost of several choices, which is the last of several updates, takes its coordinates first.
    """
    select = defining_op(value, arith.SelectOp)
    if not within or select is None:
        return [(value, within)] if within else []
    condition, inside, outside = select.operands
    chosen = _range(condition, dim, within)
    if chosen is None:
        return None
    before, behind = range(within.start, chosen.start), range(chosen.stop, within.stop)
    found = [_parts(outside, dim, before), _parts(inside, dim, chosen), _parts(outside, dim, behind)]
    return None if None in found else [part for parts in found if parts for part in parts]


def _range(condition: ir.Value, dim: str, within: range) -> range | None:
    """At which coordinates ``within`` a condition holds; None where it asks for anything else."""
    if is_true(condition):
        return within
    bounds, whole = bounds_where(condition, holds=True)
    begin, end = within.start, within.stop
    for bound in bounds:
        below, above = (bound - sym(dim)).constant, (bound + sym(dim)).constant
        if below is not None:
            begin = max(begin, -below)
        elif above is not None:
            end = min(end, above + 1)
        else:
            return None
    begin = min(begin, within.stop)
    return range(begin, max(begin, end)) if whole else None


def _is_part(load: ir.Operation, at: tuple[Expr, ...], place: int, begin: int, end: int) -> bool:
    """Whether a load reads a tensor at the points of the result from ``begin`` to ``end``."""
    inside = const(0) if end - begin == 1 else at[place] - begin
    return tuple(parse(text) for text in strings(load.attributes["at"])) == _with(at, place, inside)


def _with(values: tuple[Expr, ...], place: int, value: Expr) -> tuple[Expr, ...]:
    return (*values[:place], value, *values[place + 1 :])
