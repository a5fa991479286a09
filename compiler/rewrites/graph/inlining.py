"""A graph that a rewrite traced, put in the place of a node."""

from collections.abc import Sequence
from typing import Any

from torch.fx import GraphModule, Node

from ...fx.graph_text import held
from ...fx.new_node import origin_of


def inline(traced: GraphModule, operands: Sequence[Node], node: Node) -> Sequence[Node]:
    """Copies the nodes of a graph in front of ``node``, with its origin; what the graph returns, a tuple.

    traced: a graph with ``meta["val"]``, without functions in it.  operands: what stands for its arguments.
    """
    graph, owner = node.graph, node.graph.owning_module
    inside = dict[Node, Any](zip(traced.graph.find_nodes(op="placeholder"), operands, strict=True))
    with graph.inserting_before(node):
        for inner in traced.graph.nodes:
            if inner.op == "output":
                return [inside[result] for result in inner.args[0]]
            if inner.op == "get_attr":
                value = held(traced, str(inner.target))
                name = f"{node.name}_constant"
                while hasattr(owner, name):
                    name += "_"
                setattr(owner, name, value)
                inside[inner] = graph.get_attr(name)
            elif inner.op != "placeholder":
                inside[inner] = graph.node_copy(inner, inside.__getitem__)
            else:
                continue
            inside[inner].meta = origin_of(node)
            if "val" in inner.meta:
                inside[inner].meta["val"] = inner.meta["val"]
    raise AssertionError("the graph has no output")


__all__ = ["inline"]
