"""A difference of two softmaxes that multiplies values becomes a difference of two attentions.

Before, differential attention as its authors write it::

    p = softmax(s1, -1) - c * softmax(s2, -1)
    out = p @ v

After::

    out = softmax(s1, -1) @ v - softmax(s2, -1) @ v * c

A product is linear, and ``c`` is the same for all keys.  Each softmax now has a product of its own, so
``attention`` makes a call of it, or ``derive-cascades`` a kernel, and no matrix of scores is in memory.  The
values are multiplied twice for that.  A kernel adds in float32, and rounds each of both results where eager
mode rounds each probability and each difference.

It fires where nothing else reads the softmaxes or their difference, ``c`` is a number or a tensor with one
element for all keys, and torch has a kernel of attention for such values.  It does not fire where gradients
are asked for, as those of the values would be the difference of two rounded sums over all rows, which may
cancel; where something writes to ``c``; nor for other dtypes than that of the values, or matrices without a
batch.

Why not an MLIR pass: ``attention`` looks for products of softmaxes before AOTAutograd traces the graph.
"""

import operator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.nn import functional as F

from ...base.dataclass import dataclass
from ...fx.new_node import new_node
from ..captured.attention import kernel_refusal
from ..captured.matching import example, rewrite_graphs
from ..captured.memory import SharedMemory
from ..rewriting import rewrite

_PRODUCTS = (operator.matmul, torch.matmul, torch.bmm, "matmul", "bmm", "__matmul__")
_DIFFERENCES = (operator.sub, torch.sub, "sub")
_TIMES = (operator.mul, torch.mul, "mul")
_SOFTMAXES = (torch.softmax, F.softmax, "softmax")
_CASTS = ("to", "type_as", "bfloat16", "half", "float")


@rewrite("attention-differences", "a difference of two softmaxes times values is one of two attentions")
def split_differences(gm: GraphModule) -> int:
    """Rewrites each such product in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    return rewrite_graphs(gm, _split_graph)


def _split_graph(graph: Graph) -> int:
    found = [d for node in graph.nodes if (d := _difference(node)) is not None]
    if not found:
        return 0
    memory = SharedMemory(graph)
    return sum(_split(difference, memory) for difference in found)


@dataclass(frozen=True)
class _Difference:
    """``first - factor * second``, of probabilities, which ``product`` multiplies with ``values``.
    ``steps``: the nodes that compute it of both.
    """

    product: Node
    first: Node
    second: Node
    factor: Any
    values: Node
    steps: tuple[Node, ...]


def _difference(product: Node) -> _Difference | None:
    if product.target not in _PRODUCTS or len(product.args) != 2 or product.kwargs:
        return None
    less, values = product.args
    if not isinstance(values, Node) or not _is_alone(less, _DIFFERENCES):
        return None
    first, second = less.args
    factor: Any = 1
    steps: tuple[Node, ...] = (less,)
    if _is_alone(second, _TIMES):
        steps = (less, second)
        factor, second = second.args if _is_softmax(second.args[1]) else reversed(second.args)
    if not _is_softmax(first) or not _is_softmax(second) or first is second:
        return None
    return _Difference(product, first, second, factor, values, steps)


def _is_alone(node: Any, targets: tuple[Any, ...]) -> bool:
    """Whether a node is a call of two arguments that one other node reads."""
    if not isinstance(node, Node) or node.target not in targets:
        return False
    return len(node.users) == 1 and len(node.args) == 2 and not node.kwargs


def _is_softmax(node: Any) -> bool:
    """Whether a node is a softmax over the last dim, or a cast of one, that one other node reads."""
    if not isinstance(node, Node) or len(node.users) != 1 or node.op == "placeholder":
        return False
    if node.op == "call_method" and node.target in _CASTS:
        return _is_softmax(node.args[0])
    value = example(node)
    dim = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)
    return node.target in _SOFTMAXES and value is not None and dim in (-1, value.dim() - 1)


def _split(found: _Difference, memory: SharedMemory) -> bool:
    factor, out = found.factor, example(found.product)
    scores, values = example(found.first), example(found.values)
    if out is None or scores is None or values is None or scores.dim() < 3 or kernel_refusal(values):
        return False
    if out.requires_grad:
        return False
    each = [example(n) for n in (found.first, found.second, *found.steps)]
    if any(x is None or x.dtype != values.dtype or x.shape != scores.shape for x in each):
        return False
    if isinstance(factor, Node):
        number = example(factor)
        if number is None or memory.writers(factor) or not _is_same_for_keys(number, scores):
            return False
    elif not isinstance(factor, int | float):
        return False
    product = found.product
    with product.graph.inserting_before(product):
        emit: Any = partial(new_node, product.graph, like=product)
        parts = [emit(torch.matmul, p, found.values) for p in (found.first, found.second)]
        for part in parts:
            part.meta["example_value"] = out
        second = parts[1] if factor == 1 else emit(torch.mul, parts[1], factor)
        result = emit(torch.sub, parts[0], second)
    second.meta["example_value"] = result.meta["example_value"] = out
    product.replace_all_uses_with(result)
    for node in (product, *found.steps):
        product.graph.erase_node(node)
    return True


def _is_same_for_keys(factor: Tensor, scores: Tensor) -> bool:
    """Whether a tensor has one element for all of the last dim, and broadcasts to scores."""
    return factor.dim() == 0 or (
        factor.dim() <= scores.dim() and type(n := factor.shape[-1]) is int and n == 1
    )


__all__ = ["split_differences"]
