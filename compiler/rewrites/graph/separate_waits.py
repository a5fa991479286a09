"""One wait for several collectives, or for several results of one, becomes a wait for each.

Before, as torch 2.15 traces coalesced collectives and batches of sends and receives::

    y = _c10d_functional.all_reduce_coalesced([a, b], "sum", group)
    w = _c10d_functional.wait_tensors([y[0], y[1]])
    z = aten.add(w[0], w[1])

After::

    y = _c10d_functional.all_reduce_coalesced([a, b], "sum", group)
    v = _c10d_functional.wait_tensor(y[0])
    w = _c10d_functional.wait_tensor(y[1])
    z = aten.add(v, w)

Everything behind knows one kind of wait, which returns the tensor that it was given (``fx/collectives.py``).

It does not fire where a graph waits for tensors one by one.

Why not an MLIR pass: the importer writes what a wait holds as attributes of its call.
"""

import operator

import torch
from torch.fx import GraphModule, Node

from ...fx.in_flight import waits_for_several
from ...fx.new_node import new_node
from ..rewriting import rewrite


@rewrite("separate-waits", "a wait for several tensors becomes a wait for each")
def separate_waits(gm: GraphModule) -> int:
    """Rewrites a graph with ``meta["val"]``, and the graphs that it runs, in place; how many waits there
    were for several tensors.
    """
    return sum(_separate(m) for m in gm.modules() if isinstance(m, GraphModule))


def _separate(gm: GraphModule) -> int:
    joined = [node for node in gm.graph.nodes if waits_for_several(node)]
    for node in joined:
        with gm.graph.inserting_before(node):
            waits = [_wait(gm, tensor, node) for tensor in _tensors(node)]
        for user in list(node.users):
            if user.target is operator.getitem and isinstance(user.args[1], int):
                user.replace_all_uses_with(waits[user.args[1]])
                gm.graph.erase_node(user)
            else:  # the list itself is taken
                user.args, user.kwargs = torch.fx.map_arg(
                    (user.args, user.kwargs), lambda n, node=node, waits=waits: waits if n is node else n
                )
        gm.graph.erase_node(node)
    if joined:
        gm.recompile()
    return len(joined)


def _tensors(node: Node) -> list[Node]:
    given = node.args[0] if node.args else node.kwargs["tensors"]
    assert isinstance(given, list | tuple)
    return [n for n in given if isinstance(n, Node)]


def _wait(gm: GraphModule, tensor: Node, like: Node) -> Node:
    op = torch.ops._c10d_functional.wait_tensor.default
    made = new_node(gm.graph, op, tensor, like=like)
    made.meta["val"] = tensor.meta["val"]
    return made


__all__ = ["separate_waits"]
