"""Calls that run after others, whose results they do not read: ordered groups of one node."""

from collections.abc import Sequence

import torch
from torch.fx import Graph, GraphModule, Node


def run_after(node: Node, others: Sequence[Node]) -> None:
    """Makes a call, whose operands are its arguments, run when ``others`` are complete (``control_deps``)."""
    from torch._inductor.fx_passes.control_dependencies import control_deps  # registers the op

    graph, inside = node.graph, Graph()
    owner = graph.owning_module
    assert owner is not None
    given = list(dict.fromkeys(node.all_input_nodes))
    places = {n: inside.placeholder(n.name) for n in given}
    for n, place in places.items():
        place.meta = dict(n.meta)
    inside.output(inside.node_copy(node, places.__getitem__))
    held = GraphModule(torch.nn.Module(), inside)
    name = f"{node.name}_ordered"
    owner.add_submodule(name, held)
    with graph.inserting_before(node):
        holder = graph.get_attr(name)
    holder.meta["val"] = held
    node.target, node.args, node.kwargs = control_deps, (tuple(others), holder, *given), {}


__all__ = ["run_after"]
