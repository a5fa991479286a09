"""A gather reads the operands of a pointwise op instead of its result.

Before::

    y = aten.gather(aten.sub(x, m), 1, index)              # m has one point along dim 1

After::

    y = aten.sub(aten.gather(x, 1, index), m)

Cross-entropy is the example: it needs one element of each row of the log-softmax.  Computed from that logit
and two sums of the row, it keeps the log-softmax of all classes out of memory.  The same scalar operations
run on the gathered elements, so no number changes.

It fires on ``aten.gather`` along one dim of the result of a pointwise op, where the index has the extents of
the source in the other dims and no more points than the source along that dim.  A view between the two, or
one that exchanges dims, moves in front of the op.  A function such as ``exp`` is passed where ops of this
kind lead to an argument of the graph, which is in memory.

It does not fire where two operands vary along the dim, as two gathers would read more; where the op changes
more than the element type (``_to_copy`` to another device); on other ops; nor for sizes that are unknown
while compiling.

Why not an MLIR pass: in the joint graph it decides what the partitioner saves, as what a gather reads has to
be in memory.
"""

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...fx.new_node import computed_node, tidied
from ..rewriting import rewrite

_aten = torch.ops.aten
#: Ops that compute each element from the elements of their tensor arguments at the same place.
_POINTWISE: frozenset[Any] = frozenset(
    {
        _aten.sub.Tensor, _aten.add.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten._to_copy.default,
        _aten.clone.default,
    }
)  # fmt: skip
#: Functions of one tensor, which a gather passes only on the way to an argument: else their result may be in
#: memory, and their argument not.
_FUNCTIONS: frozenset[Any] = frozenset(
    {
        _aten.exp.default, _aten.log.default, _aten.neg.default, _aten.abs.default, _aten.sqrt.default,
        _aten.rsqrt.default, _aten.reciprocal.default, _aten.sigmoid.default, _aten.tanh.default,
        _aten.relu.default,
    }
)  # fmt: skip
#: Ops that give the same elements another shape, or their dims another order.
_VIEWS: frozenset[Any] = frozenset(
    {
        _aten.view.default, _aten._unsafe_view.default, _aten.reshape.default, _aten.permute.default,
        _aten.transpose.int, _aten.t.default,
    }
)  # fmt: skip


@rewrite("gathers", "a gather reads the operands of a pointwise op instead of its result")
def sink_gathers(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; the number of gathers that moved.

    Fires on ``aten.gather`` along one dim, of a pointwise op's result, where the index has the extents of the
    source in the other dims and no more points than it along that one.  Operands with one point along the
    dim, and numbers, are taken as they are.  A view between the two moves in front of the op.  Does not
    fire where the op changes more than the element type.
    """
    moved = 0
    for gather in [n for n in gm.graph.nodes if n.target is _aten.gather.default]:
        while (made := _moved(gather)) is not None:
            moved += 1
            gather.replace_all_uses_with(made.result)
            gm.graph.erase_node(gather)
            gather = made.gather
    return tidied(gm, moved)


class _Made:
    """A new gather, and the pointwise op on its result."""

    def __init__(self, gather: Node, result: Node) -> None:
        self.gather, self.result = gather, result


def _moved(gather: Node) -> _Made | None:
    source, dim, index = gather.args[:3]
    if isinstance(source, Node) and source.target in _VIEWS:
        source = _behind_view(source)
    if not isinstance(source, Node) or not isinstance(index, Node):
        return None
    if source.target not in _POINTWISE and not (source.target in _FUNCTIONS and _of_an_argument(source)):
        return None
    if source.target is _aten._to_copy.default and set(source.kwargs) - {"dtype", "layout", "device"}:
        return None
    whole, wanted = source.meta["val"], index.meta["val"]
    rank = whole.dim()
    if rank == 0 or wanted.dim() != rank or not isinstance(dim, int):
        return None
    dim %= rank
    if any(type(s) is not int for s in (*whole.shape, *wanted.shape)):
        return None
    pairs = zip(wanted.shape, whole.shape, strict=True)
    if any(w != s if i != dim else w > s for i, (w, s) in enumerate(pairs)):
        return None
    if source.target is _aten._to_copy.default and _operand(source).device != whole.device:
        return None
    full = _full(source, whole, dim)
    if len(full) != 1:  # several gathers for one would read more
        return None
    [tensor] = full
    graph = gather.graph
    with graph.inserting_before(gather):
        inner = computed_node(gather, _aten.gather.default, tensor, dim, index)
        args = tuple(inner if a is tensor else a for a in source.args)
        result = computed_node(source, source.target, *args, **source.kwargs)
    assert result.meta["val"].shape == gather.meta["val"].shape
    return _Made(inner, result)


def _of_an_argument(source: Node) -> bool:
    """Whether ops that a gather passes lead from one argument of the graph to ``source``."""
    while source.op != "placeholder":
        if source.target not in _POINTWISE | _FUNCTIONS:
            return False
        whole = tuple(source.meta["val"].shape)
        full = [a for a in source.args if isinstance(a, Node) and tuple(a.meta["val"].shape) == whole]
        if len(full) != 1:
            return False
        [source] = full
    return True


def _behind_view(view: Node) -> Node:
    """``view(f(x))`` of a pointwise ``f`` of one tensor and numbers as ``f(view(x))``, new nodes before the
    view; the view itself where it is something else."""
    made = view.args[0]
    if not isinstance(made, Node) or made.target not in _POINTWISE:
        return view
    tensors = [a for a in made.args if isinstance(a, Node)]
    if len(tensors) != 1 or _layout(tensors[0]) != _layout(made):
        return view
    with view.graph.inserting_before(view):
        inner = computed_node(view, view.target, tensors[0], *view.args[1:], **view.kwargs)
        args = tuple(inner if a is tensors[0] else a for a in made.args)
        return computed_node(made, made.target, *args, **made.kwargs)


def _layout(node: Node) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(node.meta["val"].shape), tuple(node.meta["val"].stride())


def _operand(source: Node) -> torch.Tensor:
    return source.args[0].meta["val"]  # type: ignore[union-attr]


def _full(source: Node, whole: torch.Tensor, dim: int) -> list[Node]:
    """The operands that vary along ``dim``; one that would have to be broadcast first counts twice."""
    full: list[Node] = []
    for argument in source.args:
        if not isinstance(argument, Node):
            continue
        shape = argument.meta["val"].shape
        if tuple(shape) == tuple(whole.shape):
            full.append(argument)
        elif len(shape) >= whole.dim() - dim and shape[dim - whole.dim()] != 1:
            full += [argument, argument]
    return full
