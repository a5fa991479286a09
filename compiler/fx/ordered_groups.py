"""Ordered groups in FX graphs: nodes of ``control_deps``, each of which runs a graph of its own."""

from collections.abc import Callable
from typing import Any

from torch import fx
from torch._ops import HigherOrderOperator
from torch.utils import _pytree as pytree


def is_ordered(node: fx.Node) -> bool:
    """Whether a node is an ordered group: ``control_deps(after, graph, *args)``."""
    return isinstance(node.target, HigherOrderOperator) and node.target.name() == "control_deps"


def ordered_graph(node: fx.Node) -> fx.Graph | None:
    """The graph that an ordered group runs on ``node.args[2:]``; None for any other node, or where the graph
    around it does not hold it.
    """
    if not is_ordered(node) or not isinstance(node.args[1], fx.Node):
        return None
    held = _held_graph(node.args[1])
    if held is None:
        return None
    for inside, given in zip(held.graph.find_nodes(op="placeholder"), node.args[2:], strict=False):
        inner = _held_graph(given) if isinstance(given, fx.Node) else None
        if inner is not None:
            inside.meta.setdefault("val", inner)  # a group inside a group; torch 2.11 does not say it
    return held.graph


def _held_graph(node: fx.Node) -> fx.GraphModule | None:
    """The graph that a node stands for; None for a node of any other value."""
    value: Any = node.meta.get("val")  # a placeholder's, where a group is inside a group
    if node.op == "get_attr":
        value = node.graph.owning_module
        for part in str(node.target).split("."):
            value = getattr(value, part)
    return value if isinstance(value, fx.GraphModule) else None


def make_inside(group: fx.Node, argument: fx.Node, allowed: Callable[[fx.Node], bool]) -> None:
    """Moves the node that an ordered group takes for ``argument``, a placeholder of its graph, into that
    graph, if it is ``allowed`` and nothing else takes it or runs the graph.
    """
    graph = argument.graph
    arguments, taken = list(graph.find_nodes(op="placeholder")), list(group.args[2:])
    number = arguments.index(argument)
    node = taken[number]
    if not isinstance(node, fx.Node) or not allowed(node) or not _runs_alone(group):
        return
    if [*node.users] != [group] or pytree.tree_leaves(group.args).count(node) != 1:
        return
    inside = {v: place for v, place in zip(taken, arguments, strict=True) if isinstance(v, fx.Node)}
    last = arguments[-1]
    for needed in node.all_input_nodes:
        if needed not in inside:
            with graph.inserting_after(last):
                last = inside[needed] = graph.placeholder(needed.name)
            last.target, last.meta = last.name, dict(needed.meta)
            taken.append(needed)
    with graph.inserting_after(last):
        argument.replace_all_uses_with(graph.node_copy(node, inside.__getitem__))
    graph.erase_node(argument)
    del taken[number]
    group.args = (*group.args[:2], *taken)
    node.graph.erase_node(node)
    for changed in (graph, group.graph):
        changed.owning_module.recompile()


def _runs_alone(group: fx.Node) -> bool:
    """Whether no other node runs the graph of an ordered group."""
    held = group.args[1]
    if not isinstance(held, fx.Node) or held.op != "get_attr" or [*held.users] != [group]:
        return False
    return [n for n in group.graph.find_nodes(op="get_attr") if n.target == held.target] == [held]
