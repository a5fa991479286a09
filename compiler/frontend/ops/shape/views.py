"""Views: another shape of the same storage.

A view's ``map`` gives a coordinate for each dim of the source, as an expression over the point ``v0, v1, ..``
of the result.  The result's strides and offset are those that torch computed.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ....fx.table import lowers
from ....index import Expr, Facts, const, digits, reshape, sym
from ...importer.call import Call
from ...importer.values import Tensor


def point(sizes: Sequence[Expr]) -> list[Expr]:
    """The coordinates of a point of the result: ``v0, v1, ..``, 0 along dims of size 1."""
    return [const(0) if s.constant == 1 else sym(f"v{i}") for i, s in enumerate(sizes)]


def result_sizes(call: Call, fake: torch.Tensor | None = None) -> list[Expr]:
    """The sizes of ``fake``; by default of the node's value."""
    return [call.expr(n) for n in (call.value if fake is None else fake).shape]


def dim_of(dim: int, rank: int) -> int:
    """A dim counted from the front."""
    return dim % max(rank, 1)


@lowers(
    "aten.alias.default", "aten.detach.default", "aten.lift_fresh.default", "prims.view_of.default", view=True
)
def identity(call: Call) -> Tensor:
    return call.tensor("self") if "self" in call.arguments else call.tensor("a")


@lowers(
    "aten.view.default",
    "aten._unsafe_view.default",
    "aten.reshape.default",
    "aten._reshape_alias.default",
    view=True,
)
def view(call: Call) -> Tensor:
    source = call.tensor("self")
    fake = call.value
    if not _shares_storage(fake, source.fake):
        return copy_of(call, source, reshape(source.sizes, result_sizes(call), prefix="d"))
    return call.view(source, reshape(source.sizes, result_sizes(call)))


@lowers("aten.permute.default", view=True)
def permute(call: Call) -> Tensor:
    source = call.tensor("self")
    at, order = point(result_sizes(call)), [dim_of(d, source.rank) for d in call["dims"]]
    return call.view(source, [at[order.index(d)] for d in range(source.rank)])


@lowers("aten.transpose.int", view=True)
def transpose(call: Call) -> Tensor:
    source = call.tensor("self")
    at = point(result_sizes(call))
    if source.rank:
        a, b = dim_of(call["dim0"], source.rank), dim_of(call["dim1"], source.rank)
        at[a], at[b] = at[b], at[a]
    return call.view(source, at)


@lowers("aten.t.default", "aten.numpy_T.default", view=True)
def reverse_dims(call: Call) -> Tensor:
    return call.view(call.tensor("self"), point(result_sizes(call))[::-1])


@lowers("aten.expand.default", view=True)
def expand(call: Call) -> Tensor:
    source = call.tensor("self")
    at = point(result_sizes(call))[len(call.value.shape) - source.rank :]
    return call.view(
        source, [const(0) if s.constant == 1 else c for s, c in zip(source.sizes, at, strict=True)]
    )


@lowers("aten.slice.Tensor", view=True)
def slice_(call: Call) -> Tensor:
    source = call.tensor("self")
    dim = dim_of(call["dim"], source.rank)
    at = point(result_sizes(call))
    at[dim] = at[dim] * call.expr(call["step"]) + slice_start(call, source, dim)
    return call.view(source, at)


def slice_start(call: Call, source: Tensor, dim: int) -> Expr:
    """The start of a slice.  torch has clamped it, so it is computed from the offset unless it is a plain
    size.
    """
    start = call["start"]
    if start is None or (isinstance(start, int) and start == 0):
        return const(0)
    fake, size = source.fake, source.fake.shape[dim]
    if type(start) is int and type(size) is int:
        start = start + size if start < 0 else start
        return const(min(max(start, 0), size))
    moved = _moved(call, fake)
    exact = moved.over(call.expr(fake.stride(dim)))
    if exact is None:
        call.refuse("where the slice starts is not a multiple of the stride")
    return exact


def _moved(call: Call, source: torch.Tensor) -> Expr:
    """How many elements behind ``source``'s start the result starts."""
    moved = call.symbols.spell(call.value.storage_offset()) - call.symbols.spell(source.storage_offset())
    return call.symbols.require(moved, call.node.name)


@lowers("aten.select.int", view=True)
def select(call: Call) -> Tensor:
    source = call.tensor("self")
    dim = dim_of(call["dim"], source.rank)
    at = point(result_sizes(call))
    index = call["index"]
    if isinstance(index, int):
        chosen = const(index) if index >= 0 else source.sizes[dim] + index
    else:
        moved = _moved(call, source.fake)
        exact = moved.over(call.expr(source.fake.stride(dim)))
        if exact is None:
            call.refuse("the selected index is not a multiple of the stride")
        chosen = exact
    return call.view(source, [*at[:dim], chosen, *at[dim:]])


@lowers("aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze.default", view=True)
def drop_or_add_ones(call: Call) -> Tensor:
    """The dims that are not of size 1 keep their order."""
    source = call.tensor("self")
    kept = [c for c, s in zip(point(result_sizes(call)), result_sizes(call), strict=True) if s.constant != 1]
    return call.view(source, [const(0) if s.constant == 1 else kept.pop(0) for s in source.sizes])


@lowers("aten.split.Tensor", "aten.split_with_sizes.default", view=True)
def split(call: Call) -> list[Tensor]:
    source = call.tensor("self")
    dim = dim_of(call["dim"], source.rank)
    parts, start = [], const(0)
    for fake in call.value:
        at = point(result_sizes(call, fake))
        at[dim] = at[dim] + start
        parts.append(call.view(source, at, fake))
        start = start + call.expr(fake.shape[dim])
    return parts


@lowers("aten.unbind.int", view=True)
def unbind(call: Call) -> list[Tensor]:
    source = call.tensor("self")
    dim = dim_of(call["dim"], source.rank)
    parts = []
    for i, fake in enumerate(call.value):
        at = point(result_sizes(call, fake))
        parts.append(call.view(source, [*at[:dim], const(i), *at[dim:]], fake))
    return parts


@lowers("aten.diagonal.default", view=True)
def diagonal(call: Call) -> Tensor:
    source = call.tensor("self")
    offset, rank = call["offset"], source.rank
    first, second = dim_of(call["dim1"], rank), dim_of(call["dim2"], rank)
    *rest, along = point(result_sizes(call))
    at = {first: along + max(-offset, 0), second: along + max(offset, 0)}
    return call.view(source, [at[d] if d in at else rest.pop(0) for d in range(rank)])


@lowers("aten.unfold.default", view=True)
def unfold(call: Call) -> Tensor:
    """Windows along a dim: the window's number takes that dim's place; the place in it is a new last dim."""
    source = call.tensor("self")
    if not source.rank:
        return call.view(source, [])
    dim = dim_of(call["dimension"], source.rank)
    *at, inside = point(result_sizes(call))
    at[dim] = at[dim] * call.expr(call["step"]) + inside
    return call.view(source, at)


#: Why an offset counted from the start of a storage does not say which elements of an argument are meant.
ANYWHERE = (
    "its offset counts from the start of an argument's storage, and no guard checks where the argument begins"
)


def begins_anywhere(tensor: Tensor) -> bool:
    """Whether a tensor may start elsewhere in its storage in the next call, since no guard checks that."""
    return tensor.root is not None


@lowers("aten.as_strided.default", view=True)
def as_strided(call: Call) -> Tensor:
    """A view where the source covers, in row-major order, what the result reads of its storage: the address
    is then the source's linear index.  An argument may be a part of its storage, and only torch can read the
    other elements.  No guard checks where an argument starts in its storage, so an offset that counts from
    the start of the storage is left to torch, too.
    """
    source = call.tensor("self")
    if call["storage_offset"] is not None and begins_anywhere(source):
        call.refuse(ANYWHERE)
    if not source.spec.is_contiguous or not source.sizes:
        call.refuse("as_strided of a tensor that is not contiguous")
    fake = call.value
    address = call.symbols.spell(fake.storage_offset()) - source.origin - source.spec.offset
    if not call.symbols.defines(address):
        call.refuse("where the source starts in its storage is not known")
    strides = call.symbols.strides(fake, call.node.name, view=True)
    for coordinate, stride in zip(point(result_sizes(call)), strides, strict=True):
        address = address + coordinate * stride
    facts = Facts.of(extents={f"v{i}": str(s) for i, s in enumerate(result_sizes(call))})
    elements = source.spec.numel
    inside = 0 in fake.shape or (facts.nonnegative(address) and facts.less(address, elements))
    is_part = source.root is not None or source.spec.offset != const(0) or elements.constant is not None
    if is_part and not inside:
        call.refuse("as_strided may leave its source")
    return call.view(source, digits(address, source.sizes, facts))


def copy_of(call: Call, source: Tensor, coordinates: Sequence[Expr]) -> Any:
    """A copy of ``source`` read at ``coordinates``, over ``d0..`` in the order of the result's dims."""
    spec = call.result
    kernel = call.kernel([source], [spec])
    at = kernel.iterate(spec.sizes)
    named = {f"d{i}": c for i, c in enumerate(at)}
    kernel.store(0, at, kernel.load_raw(source, [c.subs(named) for c in coordinates]))
    return call.finish(kernel)


def _shares_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata
