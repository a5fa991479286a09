"""Calls of one function with equal arguments become one call, before the joint graph is cut.

Before, in the joint graph::

    a = aten.exp(x);  b = aten.exp(x)
    y = aten.mul(a, b)

After::

    a = aten.exp(x)
    y = aten.mul(a, a)

torch's partitioner can merge calls itself (``cse`` in its configuration), but to learn which ops write it
imports Inductor's pattern matcher, and with it all of Inductor's lowerings: that takes longer than a small
graph takes to compile.

Equal arguments are the same nodes, and constants of the same types and bits.

It does not fire on random ops, uninitialised memory, and higher-order ops, which may hold either; on what
shares storage with a result of the graph, as eager returns separate tensors; on an op that defines a size
which data decide, as metadata further down names that size; nor across a call that writes to memory.

Why not an MLIR pass: the partitioner decides what the forward pass saves, and would save both results.
"""

from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import GraphModule, Node

from ...fx.views import storage_of
from ..rewriting import rewrite


@rewrite("equal-nodes", "calls of one function with equal arguments become one call")
def merge_equal_nodes(joint: GraphModule) -> int:
    """Rewrites a joint graph of AOTAutograd's in place; how many calls went."""
    graph, count = joint.graph, 0
    graph.eliminate_dead_code()  # what rewrites before left must not stand for calls that are read
    returned = {storage_of(node) for node in graph.output_node().all_input_nodes} - {None}
    first: dict[Any, Node] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if isinstance(node.target, OpOverload) and node.target._schema.is_mutable:
            first.clear()
        elif _may_be_merged(node) and storage_of(node) not in returned:
            before = first.setdefault((node.target, _key(node.args), _key(node.kwargs)), node)
            if before is not node:
                node.replace_all_uses_with(before)
                graph.erase_node(node)
                count += 1
    return count


def _may_be_merged(node: Node) -> bool:
    target = node.target
    if isinstance(target, HigherOrderOperator) or node.meta.get("unbacked_bindings"):
        return False
    if not isinstance(target, OpOverload):
        return True
    is_random = torch.Tag.nondeterministic_seeded in target.tags
    return not is_random and target.overloadpacket is not torch.ops.aten.empty


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
