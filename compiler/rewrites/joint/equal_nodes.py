"""Nodes of a joint graph that compute the same become one, before it is cut.

torch's partitioner can do so itself (``cse`` in its configuration), but to learn which nodes write it
imports Inductor's pattern matcher, and with it all of Inductor's lowerings: longer than a small graph takes
to compile.
"""

from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Graph, Node


def merge_equal_nodes(graph: Graph) -> None:
    """Lets the first of several equal calls stand for all of them, in place.

    Equal: the same function of the same nodes and of constants of the same types and bits.  Not merged:
    random ops, uninitialised memory, and higher-order ops, which may hold either; what shares storage with a
    result of the graph, as eager returns tensors of their own; what defines a size that data decide, which
    metadata further down names; calls between which something is written.
    """
    returned = {_storage(node) for node in graph.output_node().all_input_nodes} - {None}
    first: dict[Any, Node] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if isinstance(node.target, OpOverload) and node.target._schema.is_mutable:
            first.clear()
        elif _may_be_merged(node) and _storage(node) not in returned:
            before = first.setdefault((node.target, _key(node.args), _key(node.kwargs)), node)
            if before is not node:
                node.replace_all_uses_with(before)
                graph.erase_node(node)


def _may_be_merged(node: Node) -> bool:
    target = node.target
    if isinstance(target, HigherOrderOperator) or node.meta.get("unbacked_bindings"):
        return False
    if not isinstance(target, OpOverload):
        return True
    is_random = torch.Tag.nondeterministic_seeded in target.tags
    return not is_random and target.overloadpacket is not torch.ops.aten.empty


def _storage(node: Node) -> int | None:
    """Which storage the value of a node lies in; None where it has none of its own."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return value.untyped_storage()._cdata
    except NotImplementedError:  # sparse
        return None


def _key(value: Any) -> Any:
    """Equal for equal arguments: ``1``, ``1.0`` and ``True`` differ, and so do ``0.0`` and ``-0.0``."""
    if isinstance(value, Node):
        return value
    if isinstance(value, list | tuple):
        return tuple, *map(_key, value)
    if isinstance(value, dict):
        return dict, *((name, _key(item)) for name, item in value.items())
    if isinstance(value, slice):
        return slice, _key(value.start), _key(value.stop), _key(value.step)
    if isinstance(value, float | complex):
        return type(value), repr(value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return type(value), value.node
    return type(value), value
