"""The gradient of a ReLU compares the ReLU's input, which is computed again, instead of its saved result.

Before, in the joint graph of a batch norm and the ReLU behind it (``x`` is what the norm reads)::

    z = norm(x)                                     # pointwise, once the statistics are known
    y = relu(z)
    gradient = threshold_backward(tangent, y, 0)
    sums = sum(gradient * (x - mean))               # and once more for the gradient of x

After::

    gradient = threshold_backward(tangent, z, 0)    # z <= 0 where y <= 0

The partitioner saves ``x`` for the gradient of the norm.  It can compute ``z`` from ``x`` and two numbers for
each channel, and no longer saves ``y``: the two kernels of that gradient read one tensor less.

It fires where ``z`` is computed by pointwise ops from one tensor of its size, which ops of the backward pass
read as well.

It does not fire where ``z`` depends on two tensors of its size, as a residual sum does: to read the second
one costs as much as to read ``y``.  Nor on another threshold than 0.

Why not an MLIR pass: it changes what the forward graph saves for the backward graph, so it must see both.
"""

import torch
from torch.fx import GraphModule, Node

from ..rewriting import rewrite
from .sides import after_tangents

_aten = torch.ops.aten
#: Ops that compute an element from those at its place, and that the partitioner may compute again.
_POINTWISE = frozenset({
    _aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten._to_copy.default,
})  # fmt: skip


@rewrite(
    "relu-masks",
    "the gradient of a ReLU compares the ReLU's input, which is computed again, instead of its saved result",
)
def recompute_relu_masks(joint: GraphModule) -> int:
    """Rewrites a joint graph with ``meta["val"]`` in place; how many masks."""
    graph, count = joint.graph, 0
    found = graph.find_nodes(op="call_function", target=_aten.threshold_backward.default)
    backward = after_tangents(graph) if found else set()
    for node in found:
        _, y, threshold = node.args
        if threshold != 0 or not isinstance(y, Node) or y.target is not _aten.relu.default:
            continue
        z = y.args[0]
        chain, sources = _pointwise(z)  # type: ignore[arg-type]
        if len(sources) == 1 and chain and _is_read(next(iter(sources)), {*chain, y}, backward):
            node.args = (node.args[0], z, threshold)
            count += 1
    return count


def _pointwise(z: Node) -> tuple[set[Node], set[Node]]:
    """The pointwise ops of the size of ``z`` that it is made by, and the tensors of that size they begin
    with.
    """
    size = _size(z)
    chain: set[Node] = set()
    sources: set[Node] = set()
    waiting = [z]
    while waiting:
        node = waiting.pop()
        if _size(node) != size or node in chain:
            continue
        if node.target in _POINTWISE:
            chain.add(node)
            waiting += node.all_input_nodes
        else:
            sources.add(node)
    return chain, sources


def _is_read(source: Node, excluded: set[Node], backward: set[Node]) -> bool:
    """Whether the gradient reads a tensor besides through ``excluded`` nodes, itself or pointwise in it."""
    waiting, seen = [source], set(excluded)
    while waiting:
        for user in waiting.pop().users:
            if user in backward and _size(user) == _size(source):
                return True
            if user not in seen and user.target in _POINTWISE:
                seen.add(user)
                waiting.append(user)
    return False


def _size(node: Node) -> tuple[object, ...] | None:
    value = node.meta.get("val")
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


__all__ = ["recompute_relu_masks"]
