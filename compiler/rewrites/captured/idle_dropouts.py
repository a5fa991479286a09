"""Dropout that does nothing is its operand.

Eager mode returns the operand itself, so what is written to the one is written to the other.  torch
decomposes the function before it is functionalized, into a copy::

    y = torch.nn.functional.dropout(x, 0.5, False)
    y.add_(1)
    return x

Before, in the graph that Dynamo captured, ``y`` is a node of its own; ``x`` would be returned as it was.
After, all users of ``y`` use ``x``::

    x.add_(1)
    return x

It does not fire on dropout that draws numbers, whose arguments are not constants, or that works in place.
The other kinds of dropout reach functionalization as they are, and share memory there.

Why not an MLIR pass: AOTAutograd has made a copy of it by then, and no graph shows what was written to it.
"""

from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.nn import functional as F

from ..rewriting import rewrite
from .matching import example, rewrite_graphs

#: Functions -> the names of their arguments.
_DROPOUTS: dict[Any, tuple[str, ...]] = {
    F.dropout: ("input", "p", "training", "inplace"),
    torch.dropout: ("input", "p", "train"),
    torch.ops.aten.dropout: ("input", "p", "train"),
    torch.ops.aten.dropout.default: ("input", "p", "train"),
}
_DEFAULTS = {"p": 0.5, "training": True, "inplace": False}


@rewrite("idle-dropouts", "dropout that does nothing is its operand")
def drop_idle_dropouts(gm: GraphModule) -> int:
    """Rewrites a captured graph, and the graphs inside it, in place; how many calls are gone."""
    return rewrite_graphs(gm, _drop)


def _drop(graph: Graph) -> int:
    count = 0
    for target, names in _DROPOUTS.items():
        for node in graph.find_nodes(op="call_function", target=target):
            operand = _operand(node, names)
            if operand is not None:
                node.replace_all_uses_with(operand)
                graph.erase_node(node)
                count += 1
    return count


def _operand(node: Node, names: tuple[str, ...]) -> Node | None:
    """What the call returns, where that is its operand."""
    given = {**_DEFAULTS, **dict(zip(names, node.args, strict=False)), **node.kwargs}
    active, p = given.get("train", given["training"]), given["p"]
    if isinstance(active, Node) or isinstance(p, Node) or given["inplace"] is not False:
        return None
    operand = given.get("input")
    value = example(operand)
    if value is None or (active and p != 0 and not (type(value.numel()) is int and value.numel() == 0)):
        return None
    return operand if 0 <= p <= 1 else None


__all__ = ["drop_idle_dropouts"]
