"""Saved tensors that a forward graph overwrites.

A forward graph writes the new value of an argument into it (``copy_``).  torch's partitioner saves arguments
for the backward graph, and views of them, as if nobody wrote to them, so that the backward graph of

    y = (s * 2) * x; s.add_(1)

would compute ``s * 2`` again of the new ``s``.  Here a copy is saved, made before the write:

    add = s + 1; copy_(s, add); return y, s
    add = s + 1; clone = s.clone(); copy_(s, add); return y, clone
"""

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ...fx.views import storage_root

_aten = torch.ops.aten


def save_old_values(forward: GraphModule, results: int) -> None:
    """Changes a forward graph so that it saves copies of what it overwrites: one of each argument, which all
    saved views of the argument share as they shared the argument.

    results: how many of what the graph returns come before what it saves.
    """
    graph, writes = forward.graph, _writes(forward)
    if not writes:
        return
    output = graph.output_node()
    returned: Any = output.args[0]
    saved, copies = list(returned), dict[Node, Node]()
    for place in range(results, len(saved)):
        root = storage_root(saved[place])
        if root in writes:
            if root not in copies:
                copies[root] = _copied(root, writes[root])
            saved[place] = _view_again(saved[place], root, copies[root], output)
    output.args = (type(returned)(saved),)


def _writes(forward: GraphModule) -> dict[Node, Node]:
    """The arguments that a graph writes to, and the first write to each."""
    found: dict[Node, Node] = {}
    for node in forward.graph.find_nodes(op="call_function", target=_aten.copy_.default):
        root = storage_root(node.args[0])
        if root.op == "placeholder":
            found.setdefault(root, node)
    return found


def _copied(argument: Node, write: Node) -> Node:
    """A copy of an argument with its strides, made before ``write``."""
    graph, value = write.graph, argument.meta["val"]
    with graph.inserting_before(write):
        copy = _called(graph, _aten.clone.default, argument)
        if [str(n) for n in copy.meta["val"].stride()] == [str(n) for n in value.stride()]:
            return copy
        graph.erase_node(copy)  # of an argument with gaps, which would close them
        sizes, strides = (
            [n if type(n) is int else _called(graph, op, argument, d) for d, n in enumerate(numbers)]
            for op, numbers in ((_aten.sym_size.int, value.shape), (_aten.sym_stride.int, value.stride()))
        )
        empty = _called(graph, _aten.new_empty_strided.default, argument, sizes, strides)
        return _called(graph, _aten.copy.default, empty, argument)


def _view_again(view: Node, root: Node, copy: Node, output: Node) -> Node:
    """The view of ``copy`` that ``view`` is of ``root``."""
    if view is root:
        return copy
    given = map_arg(
        (view.args, view.kwargs),
        lambda n: _view_again(n, root, copy, output) if storage_root(n) is root else n,
    )
    with output.graph.inserting_before(output):
        return _called(output.graph, view.target, *given[0], **given[1])


def _called(graph: torch.fx.Graph, target: Any, *args: Any, **kwargs: Any) -> Node:
    """A new node with its value."""
    node = graph.call_function(target, args, kwargs)
    given = map_arg((args, kwargs), lambda n: n.meta["val"])
    node.meta["val"] = target(*given[0], **given[1])
    return node


__all__ = ["save_old_values"]
