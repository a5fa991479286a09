"""What rewrites of a graph that Dynamo captured ask of it."""

from collections.abc import Callable
from typing import Any

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


def example(node: Any) -> Tensor | None:
    """The tensor that Dynamo computed the node with, of sizes only; None for anything else."""
    value = node.meta.get("example_value") if isinstance(node, Node) else None
    return value if isinstance(value, Tensor) else None


__all__ = ["example", "rewrite_graphs"]
