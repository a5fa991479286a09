"""A call that updates a list of tensors, some of which share memory, becomes a call for each.

Eager mode updates one tensor after the other, so each sees what was written before.  AOTAutograd computes all
of them from what they were: the last one that is written to a memory wins, and the other updates are lost.

Before, in the graph that Dynamo captured, where ``w`` is a weight that two layers share::

    torch._foreach_add_([w, w], [a, b])

After::

    torch._foreach_add_([w], [a])
    torch._foreach_add_([w], [b])

It does not fire where no tensor of the list shares a place with a later one, or with what is read for a later
one: halves of one buffer are updated together.

Why not an MLIR pass: graphs are functional by then, and what was written is lost.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from ...base.strides import span
from ..rewriting import rewrite
from .matching import example, rewrite_graphs


@rewrite("overlapping-lists", "tensors of a list that share memory are updated one after the other")
def update_one_by_one(gm: GraphModule) -> int:
    """Rewrites a captured graph, and the graphs inside it, in place; how many calls are gone."""
    return rewrite_graphs(gm, lambda graph: sum(_split(graph, node) for node in list(graph.nodes)))


def _split(graph: Graph, node: Node) -> bool:
    """Replaces a call by calls of one element of each list; whether it did."""
    if not _updates_a_list(node) or not all(user.target is operator.getitem for user in node.users):
        return False
    updated = node.args[0]
    assert isinstance(updated, Sequence)
    calls = [_of_one(node, len(updated), number) for number in range(len(updated))]
    if not _meet(updated, calls):
        return False
    with graph.inserting_before(node):
        for args, kwargs in calls:
            graph.create_node("call_function", node.target, args, kwargs)
    for user in list(node.users):
        user.replace_all_uses_with(updated[user.args[1]])  # type: ignore[index,call-overload]
        graph.erase_node(user)
    graph.erase_node(node)
    return True


def _updates_a_list(node: Node) -> bool:
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        target = target.overloadpacket
    name = getattr(target, "__name__", "")
    given = node.op == "call_function" and name.startswith("_foreach_") and name.endswith("_")
    return given and bool(node.args) and isinstance(node.args[0], list | tuple)


def _of_one(node: Node, count: int, number: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments for one element: of each list as long as that of the tensors, this one."""

    def element(value: Any) -> Any:
        return [value[number]] if isinstance(value, list | tuple) and len(value) == count else value

    return tuple(map(element, node.args)), {name: element(value) for name, value in node.kwargs.items()}


def _meet(updated: Sequence[Any], calls: Sequence[Any]) -> bool:
    """Whether a tensor that is written may share a place with one that a later call writes or reads."""
    later: dict[int, list[tuple[float, float]]] = {}
    for tensor, call in zip(reversed(updated), reversed(calls), strict=True):
        written = example(tensor)
        if written is not None and written.layout is torch.strided:
            first, last = _bytes(written)
            known = later.get(written.untyped_storage()._cdata, [])
            if any(first < stop and start < last for start, stop in known):
                return True
        for leaf in pytree.tree_leaves(call):
            value = example(leaf)
            if value is not None and value.layout is torch.strided:
                later.setdefault(value.untyped_storage()._cdata, []).append(_bytes(value))
    return False


def _bytes(tensor: Tensor) -> tuple[float, float]:
    """Where a tensor begins and ends in its storage; anywhere, where its sizes are symbols."""
    begin, size = tensor.storage_offset(), tensor.element_size()
    if any(type(n) is not int for n in (begin, *tensor.shape, *tensor.stride())):
        return 0, math.inf
    return begin * size, (begin + span(tensor.shape, tensor.stride())) * size


__all__ = ["update_one_by_one"]
