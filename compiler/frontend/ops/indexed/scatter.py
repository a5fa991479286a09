"""Writes at loaded indices: a copy of the tensor, then a kernel that stores into that copy.

The second kernel iterates over the index; its store's mode is ``set``, ``add``, ``min`` or ``max``.  If two
points set one element, either value stays, as in eager.  An index that is out of range is asserted and writes
nothing.

Two kinds of writes need no second kernel.  Where the places are known at import (a slice, a row, a diagonal),
each element selects where it is read from.  Where one element on each line of a constant is written (one-hot,
the gradient of a gather), each element compares its place with the index.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from ....fx.products import overloads
from ....fx.table import lowers
from ....index import Expr, const
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Number, Tensor
from .bounds import given, is_at_least
from .indexing import Advanced, at_index, checked, out_of_bounds, require_indices

#: Mode of a store -> element types that have such an atomic operation.
ATOMICS = {
    "add": ("f16", "bf16", "f32", "f64", "i32", "i64"),
    "min": ("f32", "f64", "i32", "i64"),
    "max": ("f32", "f64", "i32", "i64"),
}


def require_mode(call: Call, target: Tensor, mode: str) -> None:
    """Refuses a mode that the hardware lacks, and a result that depends on the order of programs where torch
    promises that it does not.
    """
    if mode != "set" and target.spec.element not in ATOMICS[mode]:
        call.refuse(f"there is no atomic {mode} on {target.dtype}")
    if torch.are_deterministic_algorithms_enabled():
        call.refuse("deterministic algorithms are asked for, and atomics run in any order")


def copied(call: Call, mode: str = "set") -> Tensor:
    """A copy of ``self`` in fresh storage: the destination of a scatter."""
    source = call.tensor("self")
    kernel = call.kernel([source], name=f"{call.node.name}_copy")
    at = kernel.iterate(call.result.sizes)
    kernel.store(0, at, nan_that_wins(kernel, kernel.load_raw(source, at), mode))
    copy = call.finish(kernel)
    assert isinstance(copy, Tensor)
    return copy


#: Matrix products, which do nothing but return fresh memory.
_FRESH = overloads(lambda op: op.fresh and op.out)
_VIEWS = frozenset({
    torch.ops.aten.t.default, torch.ops.aten.permute.default, torch.ops.aten.transpose.int,
    torch.ops.aten.slice.Tensor, torch.ops.aten.view.default,
})  # fmt: skip


def _may_overwrite(call: Call, target: Tensor) -> bool:
    """Whether the scatter may write into ``self``: a matrix product, or rows of one, that nothing else reads
    and that has the result's layout.  (The copy of a generated tensor is fused with its producer instead.)
    """
    source: Any = call.node.args[0]
    while isinstance(source, fx.Node) and source.target in _VIEWS and len(source.users) == 1:
        source = source.args[0]
    fresh = isinstance(source, fx.Node) and source.target in _FRESH and len(source.users) == 1
    return fresh and target.spec == call.result


def nan_that_wins(k: KernelBuilder, x: Scalar, mode: str) -> Scalar:
    """``x`` with each NaN replaced by the one that wins an atomic min or max.  These compare bits, so a NaN
    is largest without the sign bit and smallest with it.
    """
    if mode not in ("min", "max") or not x.is_float:
        return x
    nan = k.constant(math.nan, x.dtype)
    return k.select(k.is_nan(x), nan if mode == "max" else k.math("copysign", nan, -1.0), x)


class ScatterSource:
    """What is written: a tensor that broadcasts to the index, or one number."""

    def __init__(self, call: Call, value: Any) -> None:
        if isinstance(value, Tensor) and value.rank == 0 and value.spec.device == "cpu":
            value = call.host_number(value)
        self.value = value
        self.inputs = [value] if isinstance(value, Tensor) else []
        self.numbers = [value] if isinstance(value, Number) else []

    def at(self, k: KernelBuilder, at: Sequence[Expr]) -> Operand:
        """The value at a point."""
        if isinstance(self.value, Tensor):
            return k.load_raw(self.value, k.broadcast(self.value, at))
        if isinstance(self.value, Number):
            return k.number(self.value)
        return k.index(self.value) if isinstance(self.value, Expr) else self.value


def number_of_elements(sizes: Sequence[Expr]) -> Expr:
    total = const(1)
    for size in sizes:
        total = total * size
    return total


# --- advanced indexing --------------------------------------------------------------------------------------


@lowers("aten.index_put.default")
def index_put(call: Call) -> Any:
    target, source = call.tensor("self"), ScatterSource(call, call["values"])
    mode = "add" if call["accumulate"] else "set"
    masks = [(d, i) for d, i in enumerate(call["indices"]) if i is not None]
    if len(masks) == 1 and masks[0][1].dtype == torch.bool and _is_one_number(source):
        return _masked(call, target, *masks[0], source, mode)
    require_mode(call, target, mode)
    advanced = Advanced.of(call, target, call["indices"])
    sizes = _subscripted(advanced)
    copy = target if _may_overwrite(call, target) else copied(call)
    if number_of_elements(sizes).constant == 0:
        return copy
    kernel = call.kernel([*advanced.tensors, *source.inputs], [copy], source.numbers)
    at = kernel.iterate(sizes)
    place = advanced.place(kernel, at)
    kernel.store(0, place.at, source.at(kernel, at), place.valid, mode, place.indices)
    return call.finish(kernel)


def _is_one_number(source: ScatterSource) -> bool:
    return not isinstance(source.value, Tensor) or all(n.constant == 1 for n in source.value.sizes)


def _masked(call: Call, target: Tensor, first: int, mask: Tensor, source: ScatterSource, mode: str) -> Any:
    """Writes one number wherever a mask over some dims, from ``first`` on, is true.  The number of such
    places depends on the data, so each element reads the mask.
    """
    kernel = call.kernel([target, mask, *source.inputs], None, source.numbers)
    at = kernel.iterate(target.sizes)
    chosen = kernel.load_raw(mask, kernel.broadcast(mask, at[first : first + mask.rank]))
    old, new = kernel.load_raw(target, at), source.value
    if isinstance(new, Tensor):
        new = kernel.load_raw(new, [const(0)] * new.rank)
    else:
        new = source.at(kernel, at)
    new = kernel.cast(kernel.lift(new, target.dtype), target.dtype)
    if mode == "add":
        new = kernel.cast(kernel.add(kernel.widen(old), kernel.widen(new)), target.dtype)
    kernel.store(0, at, kernel.select(chosen, new, old))
    return call.finish(kernel)


def _subscripted(advanced: Advanced) -> list[Expr]:
    """The sizes of ``tensor[indices]``."""
    common = [const(1)] * advanced.rank
    for tensor in advanced.tensors:
        for place, size in enumerate(tensor.sizes, advanced.rank - tensor.rank):
            common[place] = size if common[place].constant == 1 else common[place]
    others = [s for s, i in zip(advanced.tensor.sizes, advanced.indices, strict=True) if i is None]
    return [*others[: advanced.start], *common, *others[advanced.start :]]


# --- along one dim ------------------------------------------------------------------------------------------


def _scatter(call: Call, value: Any, mode: str) -> Any:
    """``self[.., index[p], ..] = value[p]`` for every point *p* of the index."""
    target, index, source = call.tensor("self"), call.tensor("index"), ScatterSource(call, value)
    require_indices(call, index)
    if mode != "set" or source.inputs:
        require_mode(call, target, mode)
    dim = call["dim"] % max(target.rank, 1)
    fill = _filled_with(call.node.args[0])
    if fill is not None and mode == "set" and _one_a_line(target, index, dim):
        return _compared(call, target, index, dim, source, fill)
    copy = copied(call, mode)
    if number_of_elements(index.sizes).constant == 0:
        return copy
    kernel = call.kernel([index, *source.inputs], [copy], source.numbers)
    at = kernel.iterate(index.sizes)
    place = at_index(kernel, target, at, dim, kernel.load_raw(index, at))
    x = _at_own_point(kernel, source, at)
    x = nan_that_wins(kernel, kernel.cast(kernel.lift(x, target.dtype), target.dtype), mode)
    kernel.store(0, place.at, x, place.valid, mode, place.indices)
    return call.finish(kernel)


#: Ops that fill a tensor with one number, and the position of that argument.
_FILLS: dict[str, Callable[[fx.Node], Any]] = {
    "zeros": lambda node: 0, "zeros_like": lambda node: 0, "new_zeros": lambda node: 0,
    "zero": lambda node: 0,
    "ones": lambda node: 1, "ones_like": lambda node: 1, "new_ones": lambda node: 1,
    "full": lambda node: node.args[1], "full_like": lambda node: node.args[1],
    "new_full": lambda node: node.args[2],
}  # fmt: skip


def _filled_with(node: Any) -> int | float | bool | None:
    """The number that a node fills a tensor with; None for other nodes, or if the number is not known."""
    if not isinstance(node, fx.Node) or not isinstance(node.target, torch._ops.OpOverload):
        return None
    fill = _FILLS.get(node.target.overloadpacket.__name__)
    number = fill(node) if fill is not None and node.target.namespace == "aten" else None
    return number if isinstance(number, int | float) else None


def _one_a_line(target: Tensor, index: Tensor, dim: int) -> bool:
    """Whether the index names one element on every line of the target along ``dim``."""
    if not target.rank or index.rank != target.rank:
        return False
    pairs = enumerate(zip(target.sizes, index.sizes, strict=True))
    return all(i.constant == 1 if d == dim else t == i for d, (t, i) in pairs)


def _compared(
    call: Call, target: Tensor, index: Tensor, dim: int, source: ScatterSource, fill: int | float | bool
) -> Any:
    """Writes one element on each line of a constant: each element compares its place with the index, so that
    nothing is written twice.
    """
    places = checked_index(call, index, target.sizes[dim], dim)
    kernel = call.kernel([places, *source.inputs], None, source.numbers)
    at = kernel.iterate(target.sizes)
    line = (*at[:dim], const(0), *at[dim + 1 :])
    place = kernel.cast(kernel.load_raw(places, line), torch.int64)
    x = _at_own_point(kernel, source, line)
    x = kernel.cast(kernel.lift(x, target.dtype), target.dtype)
    here = kernel.compare("eq", kernel.index(at[dim]), place)
    kernel.store(0, at, kernel.select(here, x, kernel.constant(fill, target.dtype)))
    return call.finish(kernel)


def checked_index(call: Call, index: Tensor, size: Expr, dim: int) -> Tensor:
    """A copy of the index, each number of which is in range.  It is checked by a kernel of its own, as one
    with an assertion would fuse into fewer readers.
    """
    kernel = call.kernel([index], [call.fresh(index.fake)], name=f"{call.node.name}_index")
    at = kernel.iterate(index.sizes)
    raw = kernel.load_raw(index, at)
    checked(kernel, raw, size, out_of_bounds(dim, size))
    kernel.store(0, at, raw)
    places = call.finish(kernel, [index.fake])
    assert isinstance(places, Tensor)
    return places


def _at_own_point(k: KernelBuilder, source: ScatterSource, at: Sequence[Expr]) -> Operand:
    """The source of a scatter.  It is at least as large as the index, so it does not broadcast.  A 0-d source
    counts as one element.
    """
    if not isinstance(source.value, Tensor):
        return source.at(k, at)
    return k.load_raw(source.value, at[: source.value.rank])


@lowers("aten.scatter.src")
def scatter_src(call: Call) -> Any:
    return _scatter(call, call["src"], "set")


@lowers("aten.scatter.value")
def scatter_value(call: Call) -> Any:
    return _scatter(call, call["value"], "set")


@lowers("aten.scatter_add.default")
def scatter_add(call: Call) -> Any:
    return _scatter(call, call["src"], "add")


@lowers("aten.index_add.default")
def index_add(call: Call) -> Any:
    """``self[.., index[j], ..] += alpha * source[.., j, ..]``."""
    if not isinstance(call["alpha"], (int, float)):
        call.refuse("the factor is known only when the program runs")
    return _slices_written(call, "add", call["alpha"])


@lowers("aten.index_copy.default")
def index_copy(call: Call) -> Any:
    """``self[.., index[j], ..] = source[.., j, ..]``.  An index below 0 is out of range, where that of
    ``index_put``, which torch would make of it, counts from the end.
    """
    if call.tensor("index").dtype != torch.int64:
        call.refuse("eager says what is wrong with the index")
    return _slices_written(call, "set")


def _slices_written(call: Call, mode: str, alpha: float = 1) -> Any:
    """``alpha`` times slice j of ``source`` is stored at index j of ``dim``."""
    target, index, source = call.tensor("self"), call.tensor("index"), call.tensor("source")
    require_indices(call, index)
    require_mode(call, target, mode)
    dim = call["dim"] % max(target.rank, 1)
    copy = target if mode == "set" and _may_overwrite(call, target) else copied(call)
    if number_of_elements(source.sizes).constant == 0:
        return copy
    kernel = call.kernel([index, source], [copy])
    at = kernel.iterate(source.sizes)
    position = at[dim : dim + 1] if index.rank and source.rank else (const(0),) * index.rank
    place = at_index(kernel, target, at, dim, kernel.load_raw(index, position))
    x = kernel.load(source, at) if mode == "add" else kernel.load_raw(source, at)
    kernel.store(0, place.at, x if alpha == 1 else kernel.mul(x, alpha), place.valid, mode, place.indices)
    return call.finish(kernel)


# --- at places that the import knows ------------------------------------------------------------------------


def chosen(
    call: Call, kernel: KernelBuilder, at: Sequence[Expr], inside: Scalar, place: Sequence[Expr]
) -> Any:
    """Reads each element from ``src`` at ``place`` where ``inside``, else from ``self`` at its own point."""
    old, new = call.tensor("self"), call.tensor("src")
    x = kernel.cast(kernel.load_raw(new, place, inside), old.dtype)
    kernel.store(0, at, kernel.select(inside, x, kernel.load_raw(old, at, kernel.bit_not(inside))))
    return call.finish(kernel)


def _on_one_device(call: Call) -> KernelBuilder:
    return call.kernel([call.tensor("self"), call.tensor("src")])


@lowers("aten.slice_scatter.default")
def slice_scatter(call: Call) -> Any:
    target, source = call.tensor("self"), call.tensor("src")
    dim = call["dim"] % target.rank
    start, step = slice_begin(call, target.sizes[dim], dim), call.expr(call["step"])
    kernel = _on_one_device(call)
    at = kernel.iterate(target.sizes)
    moved = at[dim] - start
    inside = _within(kernel, moved, source.sizes[dim] * step, target.sizes[dim])
    if step.constant != 1:
        inside = kernel.bit_and(inside, kernel.compare("eq", kernel.index(moved.mod(step)), 0))
    place = const(0) if source.sizes[dim].constant == 1 else moved.floordiv(step)
    return chosen(call, kernel, at, inside, _replaced(at, dim, place, source))


def _replaced(at: Sequence[Expr], dim: int, place: Expr, source: Tensor) -> tuple[Expr, ...]:
    """``at`` with another coordinate at ``dim``."""
    assert source.rank == len(at)
    return (*at[:dim], place, *at[dim + 1 :])


def _within(k: KernelBuilder, moved: Expr, length: Expr, size: Expr) -> Scalar:
    """0 <= moved < length, without comparisons that the sizes decide."""
    inside = k.compare("lt", k.index(moved), k.index(length) if length.constant is None else length.constant)
    return k.bit_and(inside, k.compare("ge", k.index(moved), 0))


def slice_begin(call: Call, size: Expr, dim: int) -> Expr:
    """The start of a slice, counted from the front and not before it.  ``size``: of the dim ``dim``.

    A start behind the end stays as it is: the slice has no elements.  Refuses a start that counts from the
    end where it is not known whether it lies before the front: expressions have no maximum.
    """
    start = call["start"]
    if start is None:
        return const(0)
    if isinstance(start, int):
        if size.constant is not None:
            return const(min(max(start + size.constant if start < 0 else start, 0), size.constant))
        if start >= 0:
            return const(start)
        counted = given(call, "self").shape[dim] + start
        if is_at_least(counted, 0):
            return size + start
        if is_at_least(-counted, 0):
            return const(0)
        call.refuse("the slice may start before the dim")
    if not is_at_least(given(call, "start"), 0):
        call.refuse("the start of the slice may count from the end")
    return start


@lowers("aten.select_scatter.default")
def select_scatter(call: Call) -> Any:
    target = call.tensor("self")
    dim, index = call["dim"] % target.rank, call["index"]
    if isinstance(index, Expr) and not is_at_least(given(call, "index"), 0):
        call.refuse("the index may count from the end")
    row = index if isinstance(index, Expr) else const(index) if index >= 0 else target.sizes[dim] + index
    kernel = _on_one_device(call)
    at = kernel.iterate(target.sizes)
    inside = kernel.compare("eq", kernel.index(at[dim] - row), 0)
    return chosen(call, kernel, at, inside, (*at[:dim], *at[dim + 1 :]))


@lowers("aten.diagonal_scatter.default")
def diagonal_scatter(call: Call) -> Any:
    """Element *k* of the diagonal is at (k, k + offset), or at (k - offset, k) below the main one."""
    target, source, offset = call.tensor("self"), call.tensor("src"), call["offset"]
    first, second = call["dim1"] % target.rank, call["dim2"] % target.rank
    kernel = _on_one_device(call)
    at = kernel.iterate(target.sizes)
    inside = kernel.compare("eq", kernel.index(at[second] - at[first]), offset)
    along = at[first] if offset >= 0 else at[second]
    others = [c for d, c in enumerate(at) if d not in (first, second)]
    if source.sizes[-1].constant == 1:
        along = const(0)
    return chosen(call, kernel, at, inside, (*others, along))
