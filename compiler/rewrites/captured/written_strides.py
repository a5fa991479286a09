"""What is updated in place keeps its strides.

Eager mode writes where the tensor lies.  AOTAutograd computes a new tensor instead, with the strides that the
op has when it is not in place, and for many ops these are contiguous, whatever the tensor's are.  What counts
strides afterwards (``as_strided``, ``view``, the caller) reads other elements, or is refused.

Before, in the graph that Dynamo captured, where ``x`` is [6, 4] with strides (1, 6)::

    x.masked_fill_(mask, 1.0)

After::

    filled = x.masked_fill(mask, 1.0)     # strides (4, 1)
    x.copy_(filled)                       # (1, 6): AOTAutograd keeps the strides of what is copied into

It does not fire where both have the same strides, as in most ops of single elements; on views with gaps, the
parts of a tensor that lies where it did; and on methods that change sizes and strides themselves (``t_``).

Why not an MLIR pass: AOTAutograd traces what follows with the strides, and returns them to the caller.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils import _pytree as pytree

from ...base.strides import span
from ..rewriting import rewrite
from .matching import example, rewrite_graphs


@rewrite("written-strides", "what is updated in place keeps its strides")
def keep_strides_of_updates(gm: GraphModule) -> int:
    """Rewrites a captured graph, and the graphs inside it, in place; how many updates became copies."""
    return rewrite_graphs(gm, lambda graph: sum(_copy(graph, node) for node in list(graph.nodes)))


def _copy(graph: Graph, node: Node) -> bool:
    """Makes an update a copy of what it computes, where that has other strides; whether it did."""
    target = example(node.args[0]) if node.args else None
    if target is None or target.layout is not torch.strided:
        return False
    function = _not_in_place(node)
    if function is None or all(_is_contiguous(n) for n in node.all_input_nodes):
        return False
    computed = _computed(function, node)
    if computed is None or not _may_be_copied(computed, target) or _lies(computed, target.stride()):
        return False
    with graph.inserting_before(node):
        if node.op == "call_method":
            new = graph.call_method(str(node.target)[:-1], node.args, node.kwargs)
        else:
            new = graph.call_function(function, node.args, node.kwargs)
    new.meta = {**node.meta, "example_value": computed}
    node.args, node.kwargs = (node.args[0], new), {}
    node.target = "copy_" if node.op == "call_method" else torch.ops.aten.copy_.default
    return True


def _not_in_place(node: Node) -> Any:
    """The function that computes what an update writes; None for other nodes."""
    target: Any = node.target
    if node.op == "call_method" and _is_in_place(target):
        return getattr(Tensor, target[:-1], None)
    if node.op == "call_function" and isinstance(target, torch._ops.OpOverload):
        name = target.overloadpacket.__name__
        if target.namespace == "aten" and _is_in_place(name):
            return getattr(torch.ops.aten, name[:-1], None)
    return None


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _computed(function: Any, node: Node) -> Tensor | None:
    """The tensor that the function gives, of sizes only; None where it refuses, or gives something else."""
    args, kwargs = pytree.tree_map_only(Node, _value, (node.args, node.kwargs))
    try:
        with torch.no_grad():
            computed = function(*args, **kwargs)
    except (NotImplementedError, RuntimeError, TypeError):
        return None
    return computed if isinstance(computed, Tensor) else None


def _value(node: Node) -> Any:
    return node.meta.get("example_value")


def _may_be_copied(computed: Tensor, target: Tensor) -> bool:
    """Whether ``computed`` is new memory of the sizes of ``target``, which has no gaps."""
    shares = computed.untyped_storage()._cdata == target.untyped_storage()._cdata
    if shares or computed.dtype != target.dtype or computed.dim() != target.dim():
        return False
    sizes, strides = target.shape, target.stride()
    known = all(type(n) is int for n in (*sizes, *strides))
    return _equal(computed.shape, sizes) and not (known and span(sizes, strides) != target.numel())


def _is_contiguous(node: Node) -> bool:
    """Whether the rows of a tensor lie behind each other; true for what is no tensor."""
    value = example(node)
    if value is None or value.layout is not torch.strided:
        return True
    strides: list[Any] = [1]
    for size in reversed(value.shape[1:]):
        strides.append(strides[-1] * size)
    return _lies(value, strides[::-1])


def _lies(value: Tensor, strides: Sequence[Any]) -> bool:
    """Whether a tensor is known to have these strides, where those of a size of 1 do not count."""
    pairs = [
        (a, b)
        for n, a, b in zip(value.shape, value.stride(), strides, strict=False)
        if not statically_known_true(n == 1)
    ]
    return all(statically_known_true(a == b) for a, b in pairs)


def _equal(sizes: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(statically_known_true(a == b) for a, b in zip(sizes, others, strict=True))


__all__ = ["keep_strides_of_updates"]
