"""A tensor that the backward pass reads in two shapes is saved in one.

In ``relu(x @ w1) @ w2`` of three dims, the gradient of ``w2`` reads the activations as a matrix and that of
the ReLU reads them in three dims.  torch's partitioner does not know that a view can be undone: it saves the
matrix *and* the activations, or what they are computed from, a second tensor of the same size.

Before, in the joint graph::

    y = aten.relu(a);  v = aten.view(y, [4096, 3072])
    gw = aten.mm(.., v);  ga = aten.threshold_backward(.., y, 0)

After::

    y = aten.relu(a);  v = aten.view(y, [4096, 3072]);  w = aten.view(v, [8, 512, 3072])
    gw = aten.mm(.., v);  ga = aten.threshold_backward(.., w, 0)

A view costs nothing, so nothing is lost where the partitioner decides to compute both again.  A ``clone``
between the two (dropout with p = 0) counts as a view: it holds the same numbers.

It does not fire for sizes that are unknown while compiling, nor on tensors that are not contiguous, whose
strides a view would not give back, nor on a ``clone`` that the program returns, which the program may change.
What the graph returns is not a reader: a result and a copy of it stay two tensors.

Why not an MLIR pass: it changes what the forward graph saves for the backward graph, so it must see both.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ...fx.views import storage_of
from ..rewriting import rewrite
from .sides import after_tangents

_aten = torch.ops.aten
#: The same numbers in the same order.
_SHAPES = frozenset({_aten.view.default, _aten._unsafe_view.default, _aten.clone.default})
#: What else an operand of a library op may go through.
_VIEWS = _SHAPES | {_aten.t.default, _aten.permute.default, _aten.transpose.int, _aten.expand.default}


@rewrite("saved-shapes", "a tensor that the backward pass reads in two shapes is saved in one")
def save_one_shape(joint: GraphModule) -> int:
    """Rewrites a joint graph of AOTAutograd's in place; how many tensors the backward pass now reads in the
    shape that it has to save anyway.
    """
    graph, count = joint.graph, 0
    backward = after_tangents(graph) - {graph.output_node()}
    returned = {storage_of(node) for node in graph.output_node().all_input_nodes} - {None}
    order = {node: number for number, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.op != "call_function" or node in backward or node.target in _VIEWS:
            continue
        readers = [user for user in node.users if user in backward]
        if readers and _is_plain(node.meta.get("val")):
            first = min(map(order.__getitem__, readers))
            kept = returned - {storage_of(node)}
            views = (v for v in _shapes(node) if order[v] < first and storage_of(v) not in kept)
            view = next((v for v in views if _is_read(v, backward)), None)
            if view is not None:
                _take_back(graph, node, view, readers)
                count += 1
    return count


def _is_plain(value: object) -> bool:
    if not isinstance(value, Tensor) or not all(type(n) is int for n in value.shape):
        return False
    return value.is_contiguous()


def _shapes(node: Node) -> Iterator[Node]:
    """The views and copies of a contiguous tensor that are contiguous again."""
    for user in node.users:
        if user.target in _SHAPES and _is_plain(user.meta.get("val")):
            yield user
            yield from _shapes(user)


def _is_read(view: Node, backward: set[Node]) -> bool:
    """Whether the backward pass reads a view, perhaps through others."""
    return any(
        user in backward or (user.target in _VIEWS and _is_read(user, backward)) for user in view.users
    )


def _take_back(graph: Graph, node: Node, view: Node, readers: list[Node]) -> None:
    with graph.inserting_after(view):
        again = graph.call_function(_aten.view.default, (view, list(node.meta["val"].shape)))
    again.meta = {**node.meta, "val": _aten.view.default(view.meta["val"], list(node.meta["val"].shape))}
    for reader in readers:
        reader.replace_input_with(node, again)


__all__ = ["save_one_shape"]
