"""New nodes of an FX graph, which keep the origin of the nodes that they stand for."""

from typing import Any

from torch.fx import Graph, Node

#: The metadata that says from which lines and modules of the user's a node is.
_ORIGIN = ("stack_trace", "nn_module_stack", "from_node")


def new_node(
    graph: Graph,
    target: Any,
    /,
    *args: Any,
    like: Node,
    val: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Node:
    """A call at the graph's insertion point, of a function or of a method by its name, with the origin of
    ``like``.

    val: the fake value of its result, where the graph has such metadata.
    name: what to call the node, by default after its target.
    """
    op = "call_method" if isinstance(target, str) else "call_function"
    made = graph.create_node(op, target, args, kwargs, name)
    made.meta = {key: like.meta[key] for key in _ORIGIN if key in like.meta}
    if val is not None:
        made.meta["val"] = val
    return made
