"""New nodes of an FX graph, with the user's lines and modules of the nodes that they replace."""

from collections.abc import Callable
from typing import Any

from torch.fx import Graph, GraphModule, Node, map_arg

#: Metadata of a higher-order op: the nodes that it writes to.
WRITES = "writes"
#: Metadata of a node whose result is rounded to 16 bits by everyone who reads it (``roundings.py``).
ROUNDED = "rounded"
#: Metadata of a product that is a kernel with others, decided in front of the partitioner.
CASCADE = "cascade"
#: The metadata that says from which lines, modules and ops of the user's a node is.
_ORIGIN = ("stack_trace", "nn_module_stack", "from_node", "original_aten", ROUNDED, CASCADE)


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
    made.meta = origin_of(like)
    if val is not None:
        made.meta["val"] = val
    return made


def origin_of(node: Node) -> dict[str, Any]:
    """The metadata that says from which of the user's lines, modules and ops a node is."""
    return {key: node.meta[key] for key in _ORIGIN if key in node.meta}


def computed_node(like: Node, target: Any, /, *args: Any, **kwargs: Any) -> Node:
    """A call at the insertion point of the graph of ``like``, with its origin; what it gives is computed from
    ``meta["val"]`` of the nodes in ``args``.
    """
    values = map_arg(args, lambda node: node.meta["val"])
    return new_node(like.graph, target, *args, like=like, val=target(*values, **kwargs), **kwargs)


def replace_nodes(gm: GraphModule, rewrite: Callable[[Node], Node | None]) -> int:
    """Lets the result of ``rewrite`` stand for each node for which it makes one, in place; how many did."""
    count = 0
    for node in list(gm.graph.nodes):
        made = rewrite(node)
        if made is not None:
            node.replace_all_uses_with(made)
            gm.graph.erase_node(node)
            count += 1
    return tidied(gm, count)


def tidied(gm: GraphModule, count: int) -> int:
    """``count``, how many changes a rewrite made; where it made any, what nobody reads any more is erased and
    the graph compiled again."""
    if count:
        gm.graph.eliminate_dead_code()
        gm.recompile()
    return count
