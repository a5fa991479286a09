"""Reductions at loaded indices: ``scatter_reduce``, ``index_reduce``, and ``scatter`` that multiplies.

``self[.., p, ..] = fold(source[.., j, ..] for each j whose index is p)``, with or without the old value.

*By lines*: each element of the result reads its whole line of the index, and folds what is meant for it.
That is one kernel (and one that checks the index), any fold has it, and its results do not depend on the
order in which programs run.  It reads as many indices for each element as the line has, so it is for small
lines.

*By atomics*: a copy, the writes, and for a mean the number of writes.  Types that have no such atomic are
computed in a wider one, which changes no extreme and no sum of integers.  There is no atomic product.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch

from ....base.dataclass import dataclass
from ....fx.table import lowers
from ....index import Expr, const
from ....ir.layout import TensorSpec
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call, computes
from ...importer.dtypes import BY_TORCH
from ...importer.values import Tensor
from .indexing import IndexedElement, at_index, require_indices
from .scatter import ATOMICS, ScatterSource, checked_index, nan_that_wins, number_of_elements, require_mode

#: torch's names -> (kind of ``fuse.reduce``, mode of a store or None).  A mean is a sum that is divided.
_KINDS: dict[str, tuple[str, str | None]] = {
    "sum": ("sum", "add"), "mean": ("sum", "add"), "amax": ("max", "max"), "amin": ("min", "min"),
    "prod": ("prod", None), "multiply": ("prod", None),
}  # fmt: skip

#: Reads of an index up to which whole lines are read: where atomics could do it too, and where nothing else
#: can.
FEW, MOST = 1 << 22, 1 << 26


@dataclass(frozen=True)
class Folding:
    """What is folded: ``source`` at ``index`` along ``dim`` of ``target``.

    ``each``: the index has a number for each element of the source, as in ``scatter``; else one for each
    place along ``dim``, as in ``index_add``.
    """

    call: Call
    target: Tensor
    index: Tensor
    source: ScatterSource
    dim: int
    each: bool
    reduce: str
    include_self: bool

    @property
    def points(self) -> tuple[Expr, ...]:
        """The sizes of what is written: those of the index, or of the source."""
        if self.each:
            return self.index.sizes
        assert isinstance(self.source.value, Tensor)
        return self.source.value.sizes

    @property
    def size(self) -> Expr:
        """How many places there are along the dim."""
        return self.target.sizes[self.dim] if self.target.rank else const(1)

    def of_index(self, at: Sequence[Expr]) -> tuple[Expr, ...]:
        """Where the index of the point ``at`` is."""
        if self.each:
            return _as_far(at, self.index.rank)
        return (at[self.dim],) if self.index.rank and len(at) else (const(0),) * self.index.rank

    def value(self, k: KernelBuilder, at: Sequence[Expr], guard: Scalar | None, dtype: torch.dtype) -> Scalar:
        """The source at a point, rounded to the dtype of the target, as ``dtype``."""
        value = self.source.value
        if isinstance(value, Tensor):
            x: Any = k.load_raw(value, _as_far(at, value.rank), guard)
        else:
            x = self.source.at(k, at)
        return k.cast(k.cast(k.lift(x, self.target.dtype), self.target.dtype), dtype)


def _as_far(at: Sequence[Expr], rank: int) -> tuple[Expr, ...]:
    """The first coordinates of a point.  A 0-d tensor counts as one element of one dim."""
    return (*at, *[const(0)] * rank)[:rank]


@lowers("aten.scatter_reduce.two")
def scatter_reduce(call: Call) -> Any:
    return _reduced(call, call["src"], each=True, include_self=call["include_self"])


@lowers("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_with(call: Call) -> Any:
    value = call["src"] if "src" in call.arguments else call["value"]
    if call["reduce"] == "add":
        call.arguments["reduce"] = "sum"
    return _reduced(call, value, each=True, include_self=True)


@lowers("aten.index_reduce.default")
def index_reduce(call: Call) -> Any:
    if call["reduce"] == "sum":
        call.refuse("eager has index_add for sums")
    return _reduced(call, call["source"], each=False, include_self=call["include_self"])


def _reduced(call: Call, value: Any, each: bool, include_self: bool) -> Any:
    target, index = call.tensor("self"), call.tensor("index")
    require_indices(call, index)
    if target.dtype == torch.bool or (BY_TORCH[target.dtype].bits == 8 and target.dtype.is_floating_point):
        call.refuse(f"reductions of {target.dtype} at indices are not generated")
    dim = call["dim"] % max(target.rank, 1)
    folding = Folding(
        call, target, index, ScatterSource(call, value), dim, each, call["reduce"], include_self
    )
    if number_of_elements(folding.points).constant == 0:
        return call.copied(target, call.value)
    _, mode = _KINDS[folding.reduce]
    plain = include_self and folding.reduce != "mean"
    atomic = mode is not None and not torch.are_deterministic_algorithms_enabled()
    if atomic and plain and target.spec.element in ATOMICS[str(mode)]:
        return _by_atomics(folding)
    reads = _reads(folding)
    if reads is not None and reads <= (FEW if atomic else MOST):
        return _by_lines(folding)
    if not atomic and mode is not None:
        require_mode(call, target, mode)
    if not atomic:
        call.refuse(f"there is no atomic {folding.reduce}, and the lines of the index are long")
    return _by_atomics(folding)


def _reads(folding: Folding) -> int | None:
    """How many indices are read by lines; of sizes that are symbols, at those of the first call.  None where
    these are not known.
    """
    target, index = folding.target.fake, folding.index.fake
    along = index.shape[folding.dim] if folding.each and index.dim() else index.numel()
    reads = 1
    for size in (*target.shape, along):
        hint = size if isinstance(size, int) else size.node.hint
        if hint is None:
            return None
        reads *= int(hint)
    return reads


# --- by lines -----------------------------------------------------------------------------------------------


def _by_lines(folding: Folding) -> Any:
    call, target, dim = folding.call, folding.target, folding.dim
    places = checked_index(call, folding.index, folding.size, dim)
    kernel = call.kernel([target, places, *folding.source.inputs], None, folding.source.numbers)
    at = kernel.iterate(target.sizes)
    line = folding.points[dim] if folding.points else const(1)
    j = const(0) if line.constant == 1 else kernel.dim(line)
    point = (*at[:dim], j, *at[dim + 1 :]) if folding.points else ()
    guard = kernel.true()
    for d, (size, whole) in enumerate(zip(folding.points, target.sizes, strict=False)):
        if d != dim and size != whole:
            guard = kernel.bit_and(guard, kernel.compare("lt", kernel.index(at[d]), kernel.index(size)))
    place = kernel.cast(kernel.load_raw(places, folding.of_index(point), guard, -1), torch.int64)
    position = kernel.index(at[dim]) if target.rank else kernel.constant(0, torch.int64)
    here = kernel.bit_and(guard, kernel.compare("eq", position, place))
    wide = _wide(call, target.dtype)
    kind, _ = _KINDS[folding.reduce]
    neutral = kernel.constant(_neutral(kind, wide), wide)
    x = kernel.select(here, folding.value(kernel, point, guard, wide), neutral)
    over = () if j.is_constant else (str(j),)
    total = kernel.fold(kind, x, over)
    old = kernel.cast(kernel.load_raw(target, at), wide)
    if folding.include_self and folding.reduce != "mean":
        kernel.store(0, at, _joined(kernel, kind, old, total))
        return call.finish(kernel)
    count = kernel.fold("sum", kernel.cast(here, torch.int64), over)
    if folding.include_self:
        total, count = kernel.add(old, total), kernel.add(count, 1)
    if folding.reduce == "mean":
        total = _divided(kernel, total, count, target.dtype)
    kernel.store(0, at, kernel.select(kernel.compare("eq", count, 0), old, total))
    return call.finish(kernel)


def _joined(k: KernelBuilder, kind: str, a: Scalar, b: Scalar) -> Scalar:
    join = {"sum": k.add, "prod": k.mul, "max": k.maximum, "min": k.minimum}[kind]
    return join(a, b)


def _neutral(kind: str, dtype: torch.dtype) -> int | float:
    """What changes no fold of a kind."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if dtype.is_floating_point:
        return -math.inf if kind == "max" else math.inf
    return torch.iinfo(dtype).min if kind == "max" else torch.iinfo(dtype).max


def _divided(k: KernelBuilder, total: Scalar, count: Scalar, dtype: torch.dtype) -> Scalar:
    """The mean of ``count`` values; of integers it is rounded down, and a count of 0 is one of 1."""
    count = k.maximum(count, 1)
    if total.is_float:
        return k.div(total, k.cast(count, total.dtype))
    return k.cast(k.floor_div(k.cast(k.cast(total, dtype), torch.int64), count), total.dtype)


# --- by atomics ---------------------------------------------------------------------------------------------


def _by_atomics(folding: Folding) -> Any:
    """A copy in a type that has the atomic, the writes, and what the mean or the narrow type needs after."""
    call, target = folding.call, folding.target
    kind, mode = _KINDS[folding.reduce]
    assert mode is not None
    plain = folding.include_self and folding.reduce != "mean"
    wide = target.dtype if plain and target.spec.element in ATOMICS[mode] else _wide(call, target.dtype)
    spec, fake = _as(call, call.value, wide)
    kernel = call.kernel([target], [spec], name=f"{call.node.name}_copy")
    at = kernel.iterate(spec.sizes)
    old = kernel.cast(kernel.load_raw(target, at), wide)
    kernel.store(0, at, nan_that_wins(kernel, old, mode))
    copy = call.finish(kernel, [fake])
    if not folding.include_self:
        copy = _written(folding, copy, "set", _neutral(kind, wide), fake)
    copy = _written(folding, copy, mode, None, fake)
    if folding.reduce != "mean":
        return copy if wide == target.dtype else call.copied(copy, call.value)
    first = 1 if folding.include_self else 0
    spec, counts_fake = _as(call, call.value, torch.int64)
    kernel = call.kernel([], [spec], name=f"{call.node.name}_count")
    kernel.store(0, kernel.iterate(spec.sizes), kernel.constant(first, torch.int64))
    counts = _written(folding, call.finish(kernel, [counts_fake]), "add", 1, counts_fake)
    kernel = call.kernel([copy, counts])
    at = kernel.iterate(target.sizes)
    mean = _divided(kernel, kernel.load(copy, at), kernel.load(counts, at), target.dtype)
    kernel.store(0, at, mean)
    return call.finish(kernel)


def _wide(call: Call, dtype: torch.dtype) -> torch.dtype:
    """A type that holds the values of ``dtype`` and has all atomics."""
    row = BY_TORCH[dtype]
    if row.kind == "float":
        return computes(dtype)
    if row.kind == "unsigned" and row.bits >= 32:
        call.refuse(f"there are no atomics on {dtype}")
    return dtype if row.bits >= 32 else torch.int32


def _as(call: Call, fake: torch.Tensor, dtype: torch.dtype) -> tuple[TensorSpec, torch.Tensor]:
    """The layout of ``fake`` in another dtype."""
    if fake.dtype != dtype:
        with fake.fake_mode:
            fake = torch.empty_strided(fake.shape, fake.stride(), dtype=dtype, device=fake.device)
    return call.fresh(fake), fake


def _written(
    folding: Folding, into: Any, mode: str, number: int | float | None, fake: torch.Tensor
) -> Tensor:
    """``into``, once a number, or the source, is written at each index."""
    call, index = folding.call, folding.index
    source = folding.source
    inputs, numbers = (source.inputs, source.numbers) if number is None else ([], [])
    kernel = call.kernel([index, *inputs], [into], numbers)
    at = kernel.iterate(folding.points)
    place = _place(folding, kernel, into, at)
    if number is not None:
        x = kernel.constant(number, into.dtype)
    else:
        x = nan_that_wins(kernel, folding.value(kernel, at, None, into.dtype), mode)
    kernel.store(0, place.at, x, place.valid, mode, place.indices)
    written = call.finish(kernel, [fake])
    assert isinstance(written, Tensor)
    return written


def _place(folding: Folding, k: KernelBuilder, into: Tensor, at: Sequence[Expr]) -> IndexedElement:
    return at_index(k, into, at, folding.dim, k.load_raw(folding.index, folding.of_index(at)))
