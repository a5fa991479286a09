"""Ordered groups in FX graphs: nodes of ``control_deps``, each of which runs a graph of its own."""

from typing import Any

from torch import fx
from torch._ops import HigherOrderOperator


def is_ordered(node: fx.Node) -> bool:
    """Whether a node is an ordered group: ``control_deps(after, graph, *args)``."""
    return isinstance(node.target, HigherOrderOperator) and node.target.name() == "control_deps"


def ordered_graph(node: fx.Node) -> fx.Graph | None:
    """The graph that an ordered group runs on ``node.args[2:]``; None for any other node, or where the graph
    around it does not hold it.
    """
    if not is_ordered(node) or not isinstance(node.args[1], fx.Node):
        return None
    held = node.args[1]
    value: Any = held.meta.get("val")  # a placeholder's, where a group is inside a group
    if held.op == "get_attr":
        value = node.graph.owning_module
        for part in str(held.target).split("."):
            value = getattr(value, part)
    return value.graph if isinstance(value, fx.GraphModule) else None
