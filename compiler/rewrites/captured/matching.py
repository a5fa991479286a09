"""What rewrites of a graph that Dynamo captured ask of it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node


def rewrite_graphs(gm: GraphModule, rewrite: Callable[[Graph], int]) -> int:
    """Calls ``rewrite`` with a captured graph and the graphs inside it; the sum of what it returns, which is
    how often it fired.
    """
    count = 0
    for module in gm.modules():
        if isinstance(module, GraphModule):
            changed = rewrite(module.graph)
            if changed:
                module.recompile()
            count += changed
    return count


def recomputed_graphs(gm: GraphModule) -> set[Graph]:
    """The graphs inside a captured graph that activation checkpointing may run twice."""
    found: set[Graph] = set()
    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            if node.target is not torch.ops.higher_order.tag_activation_checkpoint:
                continue
            inside = getattr(module, str(node.args[0].target), None) if node.args else None
            inner = inside.modules() if isinstance(inside, GraphModule) else ()
            found |= {m.graph for m in inner if isinstance(m, GraphModule)}
    return found


def example(node: Any) -> Tensor | None:
    """The tensor that Dynamo computed the node with, of sizes only; None for anything else."""
    value = node.meta.get("example_value") if isinstance(node, Node) else None
    return value if isinstance(value, Tensor) else None


__all__ = ["example", "recomputed_graphs", "rewrite_graphs"]
