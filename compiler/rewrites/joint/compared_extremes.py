"""The gradient of an extreme compares what was saved with the extreme of just that: some place is equal.

The gradient of ``x.amax(1)`` goes to where ``x`` equals its extreme, divided by how many such places there
are.  Before, in the joint graph, with ``x`` computed from ``a``::

    x = f(a);  m = amax(x, [1])
    at = eq(view(m), x);  gradient = tangent / sum(at) * at

torch's partitioner would save ``a`` and ``m``, and the backward graph would compute ``f(a)`` again.  Another
kernel may round it differently (another order of a sum; a product and a sum in one step), and then no place
equals the extreme and the gradient is 0 / 0.

After, ``x`` is marked as saved, and the backward graph takes the extreme again::

    again = amax(x, [1])                            # of the saved numbers
    at = eq(view(again), x);  gradient = tangent / sum(at) * at

The forward graph need not take the extreme of the very numbers that it saves: a second kernel there may
compute ``x`` again, which can cost less than to read it.

It fires where a comparison that no result of the forward graph needs has an extreme on one side (``amax``,
``amin``, ``max`` and ``min`` of all elements, ``aminmax``, a norm, ``scatter_reduce``, ``index_reduce``) and
what that was taken of on the other.  Each may come through views, an extreme also through reads at indices.
Where ``x`` is ``abs``, ``neg`` or ``relu`` of ``z``, or in float32 and float64 ``leaky_relu`` or ``clamp``,
``z`` is saved: every kernel computes the same bits of it.

It does not fire where ``x`` is an argument, a view of one or a constant, which has the same bits for every
reader; nor where checkpointing says what is computed again.

Why not an MLIR pass: it changes what the forward graph saves for the backward graph, so it must see both.
"""

import operator
from collections.abc import Iterator

import torch
from torch.fx import Graph, GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from ..rewriting import rewrite
from .sides import before_results

_aten = torch.ops.aten
#: Each with the numbers of the arguments of which it may give an element.
_EXTREMES = {
    _aten.amax.default: (0,), _aten.amin.default: (0,), _aten.max.default: (0,), _aten.min.default: (0,),
    _aten.aminmax.default: (0,), _aten.linalg_vector_norm.default: (0,),
    _aten.scatter_reduce.two: (0, 3), _aten.index_reduce.default: (0, 3),
}  # fmt: skip
#: What reads elements of its first argument at indices.
_READS = (_aten.gather.default, _aten.index_select.default, _aten.index.Tensor)
#: Functions of one tensor that take no sum or product of it which another kernel might round in another way;
#: of 16 bits only those that round nothing.
_EXACT = frozenset({_aten.abs.default, _aten.neg.default, _aten.relu.default})
_EXACT_IN_32_BITS = frozenset({_aten.leaky_relu.default, _aten.clamp.default, _aten.hardtanh.default})
_COMPARISONS = frozenset({
    _aten.eq.Tensor, _aten.ne.Tensor, _aten.ge.Tensor, _aten.gt.Tensor, _aten.le.Tensor, _aten.lt.Tensor,
})  # fmt: skip


@rewrite(
    "compared-extremes", "the gradient of an extreme compares saved numbers with the extreme of just those"
)
def compare_what_is_saved(joint: GraphModule) -> int:
    """Rewrites a joint graph of AOTAutograd's in place; how many comparisons read an extreme taken again."""
    graph = joint.graph
    found = [n for target in _EXTREMES for n in graph.find_nodes(op="call_function", target=target)]
    needed, saved, count = before_results(graph) if found else set(), set(), 0
    for extreme in found:
        compared = {_computed(extreme.args[number]) for number in _EXTREMES[extreme.target]}
        copies: dict[Node, Node] = {}
        for comparison, side in list(_compared(extreme)):
            both = [n for n in map(_computed, comparison.args) if n is not None and n in compared]
            if comparison not in needed and both and not any("recompute" in n.meta for n in (extreme, *both)):
                comparison.replace_input_with(side, _again(graph, side, extreme, copies))
                saved.update(both)
                count += 1
    for x in saved:
        x.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    if count:
        graph.eliminate_dead_code()  # views of the extremes that nothing reads any more
    return count


def _compared(node: Node) -> Iterator[tuple[Node, Node]]:
    """(comparison, its operand) for those that read a node, or elements of it."""
    for user in node.users:
        if user.target in _COMPARISONS:
            yield user, node
        elif _makes_view(user) or user.target is operator.getitem or _reads(user, node):
            yield from _compared(user)


def _again(graph: Graph, side: Node, extreme: Node, copies: dict[Node, Node]) -> Node:
    """A copy of an extreme, or of what reads elements of it, that the backward graph computes."""
    if side not in copies:
        with graph.inserting_after(side):
            if side is extreme:
                copy = graph.node_copy(side)
            else:
                viewed = _again(graph, side.args[0], extreme, copies)  # type: ignore[arg-type]
                copy = graph.node_copy(side, lambda n: viewed if n is side.args[0] else n)
        copy.meta["partitioner_tag"] = "must_be_in_backward"
        copies[side] = copy
    return copies[side]


def _computed(node: object) -> Node | None:
    """The op from whose result every kernel computes the same bits of a node; None for an argument or a
    constant.
    """
    while isinstance(node, Node) and (_makes_view(node) or _is_exact(node)):
        node = node.args[0]
    if not isinstance(node, Node) or node.op != "call_function" or not node.all_input_nodes:
        return None
    return node


def _is_exact(node: Node) -> bool:
    wide = node.target in _EXACT_IN_32_BITS and node.meta["val"].dtype in (torch.float32, torch.float64)
    return wide or node.target in _EXACT


def _reads(user: Node, node: Node) -> bool:
    return user.target in _READS and user.args[0] is node


def _makes_view(node: Node) -> bool:
    return bool(getattr(node.target, "is_view", False))


__all__ = ["compare_what_is_saved"]
