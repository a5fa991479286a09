"""A read that repeats each element of a dim n times becomes a view: upsampling by a whole number.

torch reads at indices that it computes in floating point.  Taken as any other indices, they would force the
image into memory first (a conversion to float32 as well), each lane would convert, compare and assert, and
the gradient would be a scatter.  But the indices are known while compiling, so the compiler looks at them.

Before::

    i = _to_copy(mul(arange(128, dtype=float32), 0.5), dtype=int64)
    y = index(x, [None, None, unsqueeze(i, -1), i])                # x is [32, 128, 64, 64]

After::

    v = expand(unsqueeze(unsqueeze(x, 3), 5), [32, 128, 64, 2, 64, 2])
    y = view(clone(v, memory_format=contiguous_format), [32, 128, 128, 128])

The gradient, ``index_put`` into zeros with ``accumulate=True`` at such indices, becomes a sum over the dims
of n elements.

It fires on a read at one index for each of some neighbouring dims, where each index varies along its own dim
of the result, is computed from ``arange`` and numbers alone, and is ``i // n`` over n times the extent of the
dim.  The result keeps its strides.

It does not fire on other indices; on sizes that are unknown while compiling; nor where the result has gaps
between its elements.

Why not an MLIR pass: in the joint graph the partitioner would save the indices, and the scatter of the
gradient is an op of its own there.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils._python_dispatch import _disable_current_modes

from ...fx.new_node import computed_node, replace_nodes
from ..rewriting import rewrite
from .one_hot import ZEROS

_aten = torch.ops.aten
_READS = frozenset({_aten.index.Tensor, _aten._unsafe_index.Tensor})
_SUMS = frozenset({_aten.index_put.default, _aten._unsafe_index_put.default})
#: What computes indices from a range and numbers.
_TABLE_OPS: frozenset[Any] = frozenset(
    {
        _aten.arange.default, _aten.arange.start, _aten.arange.start_step, _aten.add.Tensor,
        _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten.floor.default, _aten._to_copy.default,
        _aten.unsqueeze.default, _aten.view.default,
    }
)  # fmt: skip
#: Elements of the longest table that is computed to be looked at.
_MOST = 65536


@rewrite(
    "repeats",
    "a read that repeats each element of a dim, or the gradient of one, becomes a view or a sum",
)
def repeat_elements(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; the number of reads that became views, and
    of sums at such indices that became sums over a dim.

    Fires on a read at one index for each of some neighbouring dims, where each index varies along its own dim
    of the result, is computed from ``arange`` and numbers alone, and is ``i // n`` over the dim's extent
    times n; and on its gradient, what is added to zeros at such indices.  The result has the strides it had.
    Does not fire on sizes that are unknown while compiling, nor where the result has gaps.
    """
    return replace_nodes(gm, _as_view)


def _as_view(node: Node) -> Node | None:
    if node.target in _READS:
        return _repeated(node)
    return _summed(node) if node.target in _SUMS else None


def _repeated(node: Node) -> Node | None:
    source, indices = node.args
    whole, result = source.meta["val"], node.meta["val"]  # type: ignore[union-attr]
    factors = _factors(whole, result, list(indices))  # type: ignore[arg-type]
    if factors is None:
        return None
    # from the slowest dim of the result to the fastest: it is written in memory order
    order = sorted(range(whole.dim()), key=lambda d: -result.stride(d))
    if not _is_dense(result, order):
        return None
    with node.graph.inserting_before(node):
        made = _permuted(node, source, order)
        for place in sorted((order.index(d) for d in factors), reverse=True):
            made = computed_node(node, _aten.unsqueeze.default, made, place + 1)
        made = computed_node(node, _aten.expand.default, made, _split(whole, factors, order))
        made = computed_node(node, _aten.clone.default, made, memory_format=torch.contiguous_format)
        made = computed_node(node, _aten.view.default, made, [result.shape[d] for d in order])
        return _permuted(node, made, [order.index(d) for d in range(whole.dim())])


def _summed(node: Node) -> Node | None:
    """The gradient: what the elements that were read are worth together."""
    zeros, indices, values, *accumulate = node.args
    if accumulate != [True] or not isinstance(values, Node) or not _is_zeros(zeros):
        return None
    whole, result = zeros.meta["val"], values.meta["val"]  # type: ignore[union-attr]
    factors = _factors(whole, result, list(indices))  # type: ignore[arg-type]
    if factors is None or whole.dtype != result.dtype:
        return None
    order = list(range(whole.dim()))
    if not _is_dense(whole, order) or not _is_dense(result, order):
        return None
    over = [d + n + 1 for n, d in enumerate(sorted(factors))]
    with node.graph.inserting_before(node):
        made = computed_node(node, _aten.view.default, values, _split(whole, factors, order))
        return computed_node(node, _aten.sum.dim_IntList, made, over)


def _is_zeros(node: Any) -> bool:
    if not isinstance(node, Node):
        return False
    return node.target in ZEROS or (node.target is _aten.full.default and node.args[1] == 0)


def _is_dense(value: Tensor, order: Sequence[int]) -> bool:
    """Whether a tensor has no gaps, its dims from the slowest to the fastest being ``order``."""
    expected = 1
    for d in reversed(order):
        if value.shape[d] != 1 and value.stride(d) != expected:
            return False
        expected *= value.shape[d]
    return True


def _split(whole: Tensor, factors: dict[int, int], order: Sequence[int]) -> list[int]:
    """The extents of a tensor with a dim of its own for how often a dim's elements are read."""
    extents: list[int] = []
    for d in order:
        extents += [whole.shape[d], factors[d]] if d in factors else [whole.shape[d]]
    return extents


def _permuted(like: Node, value: Any, order: list[int]) -> Node:
    if order == list(range(len(order))):
        return value
    return computed_node(like, _aten.permute.default, value, order)


def _factors(whole: Tensor, result: Tensor, indices: list[Node | None]) -> dict[int, int] | None:
    """How often the elements of each indexed dim are read; None where that is not what is read."""
    dims = [d for d, index in enumerate(indices) if index is not None]
    if not dims or whole.dim() != result.dim() or dims != list(range(dims[0], dims[-1] + 1)):
        return None
    if any(type(n) is not int for n in (*whole.shape, *result.shape)) or result.numel() == 0:
        return None
    factors = {}
    for dim in dims:
        index = indices[dim]
        assert index is not None
        shape = list(index.meta["val"].shape)
        own = [1] * (dims[-1] - dim)  # the dims behind it, along which it must not vary
        behind = shape[len(shape) - len(own) :] if own else []
        extent, points = whole.shape[dim], result.shape[dim]
        if behind != own or index.meta["val"].numel() != points or points % extent or points > _MOST:
            return None
        factors[dim] = points // extent
        if _numbers(index) != [i // factors[dim] for i in range(points)]:
            return None
    return factors


def _numbers(node: Node) -> list[int] | None:
    """The values of a node that is computed from ranges and numbers alone, if they are int64."""
    with _disable_current_modes(), torch.no_grad():
        table = _table(node)
        return table.flatten().tolist() if table is not None and table.dtype == torch.int64 else None


def _table(node: Node) -> Tensor | None:
    if node.target not in _TABLE_OPS or not callable(node.target):
        return None
    args = [_table(a) if isinstance(a, Node) else a for a in node.args]
    numbers = [n for a in args for n in (a if isinstance(a, list | tuple) else [a])]
    if not all(isinstance(n, Tensor | int | float) for n in (*numbers, node.kwargs.get("alpha", 1))):
        return None
    kwargs = {name: value for name, value in node.kwargs.items() if name in ("dtype", "alpha")}
    return node.target(*args, **kwargs)
