"""The gradient of an embedding is summed in one row for each token, instead of one row for each word.

torch adds the rows of one word in float32, in a table of all words that is cleared before and rounded
afterwards, although a step meets few of them (4096 tokens, 128256 words).

Before, with ``index`` of n places into v rows::

    table = index_put(zeros([v, c], float32), [index], rows, accumulate=True)
    gradient = table.to(bfloat16)                            # often: + that of a product with the same weight

After::

    place = scatter_reduce(full([v], n), 0, index, arange(n), "amin")    # the first token of a word
    first = place[index]
    sums = index_put(zeros([n, c], float32), [first], rows, accumulate=True)
    once = where(first == arange(n), sums[first].to(bfloat16), 0)
    gradient = index_put(zeros([v, c], bfloat16), [index], once, accumulate=True)

Each element of the result gets one number besides zeros, so the numbers are those of before.  Where the
gradient is only added to another one, the last ``index_put`` adds to that one instead of to zeros, and
overwrites it where it can.

It does not fire where there are more than half as many tokens as words; for tables so small that the launches
it adds take longer than the bytes it saves (``LEAST_BYTES``); for float32 gradients, whose table is the
result; for sizes unknown while compiling; nor where algorithms must be deterministic.

Why not an MLIR pass: one op becomes ten, of which the importer builds kernels; as IR the ``index_put`` would
be a kernel already.
"""

import math
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...fx.new_node import new_node, tidied
from ..rewriting import rewrite
from .one_hot import ZEROS

_aten = torch.ops.aten
_NARROW = (torch.bfloat16, torch.float16)

#: Bytes that clearing and rounding a table must take: about seven launches more, of some microseconds each,
#: are as long as that at the bandwidth of a large GPU.
LEAST_BYTES = 100_000_000


@rewrite(
    "embedding-gradients",
    "the gradient of an embedding is summed in one row for each token, instead of one row for each word",
)
def compact_embedding_gradients(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many gradients."""
    if torch.are_deterministic_algorithms_enabled():
        return 0
    count = 0
    for node in gm.graph.find_nodes(op="call_function", target=_aten.index_put.default):
        if (rounded := _rounded(node)) is not None:
            _compact(node, rounded)
            count += 1
    return tidied(gm, count)


def _rounded(node: Node) -> Node | None:
    """The one reader of such a table, which rounds it; None for any other ``index_put``."""
    table, indices, rows, *accumulate = node.args
    if accumulate != [True] or node.kwargs or len(node.users) != 1 or len(indices) != 1:  # type: ignore[arg-type]
        return None
    [index] = indices  # type: ignore[union-attr,misc]
    [reader] = node.users
    if not isinstance(table, Node) or table.target not in ZEROS or not isinstance(index, Node):
        return None
    if reader.target is not _aten._to_copy.default or set(reader.kwargs) != {"dtype"}:
        return None
    whole, places, given = (n.meta["val"] for n in (node, index, rows))  # type: ignore[union-attr]
    if reader.meta["val"].dtype not in _NARROW or whole.dtype != torch.float32 or whole.dim() != 2:
        return None
    if (
        places.dtype != torch.int64
        or not places.is_contiguous()
        or any(type(n) is not int for n in (*whole.shape, *places.shape))
    ):
        return None
    if 2 * whole.nbytes < LEAST_BYTES:  # written as zeros, read to be rounded
        return None
    if given.shape != (*places.shape, whole.shape[1]) or 2 * places.numel() > whole.shape[0]:
        return None
    return reader


def _compact(node: Node, rounded: Node) -> None:
    _, [index], rows = node.args[:3]  # type: ignore[misc]
    words, columns = node.meta["val"].shape
    shape = list(index.meta["val"].shape)  # type: ignore[union-attr]
    other = _summand(rounded)
    end = rounded if other is None else next(iter(rounded.users))

    def emit(target: Any, *args: Any, **kwargs: Any) -> Node:
        with index.meta["val"].fake_mode:  # for what makes a tensor from nothing
            val = target(*torch.fx.map_arg(args, lambda n: n.meta["val"]), **kwargs)
        with node.graph.inserting_before(end):
            return new_node(node.graph, target, *args, like=node, val=val, **kwargs)

    dtype = rounded.meta["val"].dtype
    count = math.prod(shape)
    numbers = emit(_aten.arange.start_step, 0, count, 1, dtype=torch.int64, device=index.meta["val"].device)
    numbers = emit(_aten.view.default, numbers, shape)
    flat = [emit(_aten.view.default, n, [count]) for n in (index, numbers)]
    place = emit(_aten.new_full.default, index, [words], count)
    place = emit(_aten.scatter_reduce.two, place, 0, *flat, "amin")
    first = emit(_aten.index.Tensor, place, [index])
    sums = emit(_aten.new_zeros.default, rows, [count, columns])
    sums = emit(_aten.index_put.default, sums, [first], rows, True)
    row = emit(_aten._to_copy.default, emit(_aten.index.Tensor, sums, [first]), dtype=dtype)
    once = emit(_aten.unsqueeze.default, emit(_aten.eq.Tensor, first, numbers), -1)
    once = emit(_aten.where.ScalarOther, once, row, 0)
    if other is None:
        other = emit(_aten.new_zeros.default, row, [words, columns])
    end.replace_all_uses_with(emit(_aten.index_put.default, other, [index], once, True))


def _summand(rounded: Node) -> Node | None:
    """What the gradient is only added to, of its size and type."""
    if len(rounded.users) != 1:
        return None
    [total] = rounded.users
    if (
        total.target is not _aten.add.Tensor
        or total.kwargs
        or not all(isinstance(a, Node) for a in total.args)
    ):
        return None
    left, right = total.args
    other = right if left is rounded else left
    values = [n.meta["val"] for n in (other, rounded, total)]  # type: ignore[union-attr]
    same = all(v.shape == values[0].shape and v.dtype == values[0].dtype for v in values)
    return other if same and other is not rounded else None  # type: ignore[return-value]


__all__ = ["compact_embedding_gradients"]
