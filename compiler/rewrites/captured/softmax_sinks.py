"""A softmax over scores and a few numbers beside them does not copy the scores.

Before, attention with a sink for each head, whose probability nobody reads::

    both = torch.cat([scores, sinks.expand(b, h, t, 1)], dim=-1)
    p = torch.softmax(both, dim=-1)[..., :-1]

After::

    x, s = scores.float(), sinks.expand(b, h, t, 1).float()
    top = torch.maximum(x.amax(-1, True), s.amax(-1, True))
    e = torch.exp(x - top)
    p = (e / (e.sum(-1, True) + torch.exp(s - top).sum(-1, True))).to(dtype)

``derive-cascades`` makes one kernel of that and of the products around it.  Rows of the copy are longer by
one than those of the scores, so that no access of them is aligned.

It fires where the scores are the first or the last of two tensors of one dtype that are concatenated along
the last dim, and their part of the softmax is all that is read.  What is subtracted from both before the
softmax, their own maximum, is left out.  It does not fire where gradients are asked for: autograd would
derive one for the maximum, which has none; nor for other dims or slices, or where something else reads the
copy.

Why not an MLIR pass: the copy and the slice shift what kernels compute, which fusion has to undo.
"""

import operator
from functools import partial
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional as F

from ...fx.new_node import new_node
from ..rewriting import rewrite
from .matching import example, rewrite_graphs

_SOFTMAX = (torch.softmax, F.softmax, "softmax")
_CAT = (torch.cat, torch.concat, torch.concatenate)


@rewrite("softmax-sinks", "a softmax over scores and a few numbers beside them copies no scores")
def spell_sinks(gm: GraphModule) -> int:
    """Rewrites every such softmax in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    return rewrite_graphs(gm, lambda graph: sum(_spell(graph, node) for node in list(graph.nodes)))


def _spell(graph: Graph, cat: Node) -> bool:
    if cat.op != "call_function" or cat.target not in _CAT:
        return False
    softmax, inner = _softmax_of(cat)
    parts, out = cat.args[0] if cat.args else None, example(softmax)
    if softmax is None or out is None or out.requires_grad or not _over_last(softmax, out.dim()):
        return False
    if not isinstance(parts, list | tuple) or len(parts) != 2 or not _over_last(cat, out.dim()):
        return False
    found = _scores(softmax, *parts)
    if found is None:
        return False
    scores, sinks, reader = found
    with graph.inserting_before(cat):
        emit = partial(new_node, graph, like=cat)
        wide = torch.promote_types(out.dtype, torch.float32)
        x, s = emit("to", scores, wide), emit("to", sinks, wide)
        top = emit(torch.maximum, emit("amax", x, -1, True), emit("amax", s, -1, True))
        powers, beside = (emit(torch.exp, emit("sub", v, top)) for v in (x, s))
        total = emit("add", emit("sum", powers, -1, True), emit("sum", beside, -1, True))
        result = emit("to", emit("div", powers, total), out.dtype)
    result.meta = dict(reader.meta)
    reader.replace_all_uses_with(result)
    for node in (reader, softmax, *inner, cat):
        graph.erase_node(node)
    return True


def _softmax_of(cat: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """The softmax that alone reads a tensor, or the tensor less its maximum; and what is between, the last
    one first.
    """
    readers = list(cat.users)
    if len(readers) == 1 and readers[0].target in _SOFTMAX:
        return readers[0], ()
    largest = next((n for n in readers if n.target in (torch.max, "max") and n.args[:1] == (cat,)), None)
    if largest is None or len(readers) != 2 or len(largest.users) != 1:
        return None, ()
    if {"dim": (*largest.args, None)[1], **largest.kwargs} != {"dim": -1, "keepdim": True}:
        return None, ()
    [values] = largest.users
    less = next((n for n in readers if n is not largest), None)
    is_values = (values.target, *values.args) in (
        (getattr, largest, "values"),
        (operator.getitem, largest, 0),
    )
    subtracted = less is not None and less.target in (operator.sub, torch.sub, "sub")
    if less is None or not (is_values and subtracted) or less.args != (cat, values) or less.kwargs:
        return None, ()
    if list(values.users) != [less] or [n.target in _SOFTMAX for n in less.users] != [True]:
        return None, ()
    return next(iter(less.users)), (less, values, largest)


def _over_last(node: Node, dims: int) -> bool:
    """Whether a softmax or a concatenation is over the last dim."""
    dim = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else 0)
    return type(dim) is int and dim in (-1, dims - 1)


def _scores(softmax: Node, first: Any, second: Any) -> tuple[Node, Node, Node] | None:
    """Of two tensors that are concatenated, the one whose part of the softmax is all that is read, the other
    one, and what reads that part.
    """
    readers = list(softmax.users)
    x, y = example(first), example(second)
    if len(readers) != 1 or readers[0].target is not operator.getitem or x is None or y is None:
        return None
    index = readers[0].args[1]
    index = index if isinstance(index, tuple) else (index,)
    whole = slice(None, None, None)
    dims = x.dim() - 1 if Ellipsis not in index[:-1] else len(index) - 1
    if not all(i in (Ellipsis, whole) for i in index[:-1]) or len(index) - 1 != dims:
        return None
    part, last = example(readers[0]), index[-1]
    if part is None or not isinstance(last, slice) or last.step not in (None, 1):
        return None
    if x.dtype != y.dtype or part.dtype not in (x.dtype, torch.float32):
        return None
    for scores, beside, value, at_start in ((first, second, x, True), (second, first, y, False)):
        bounded = last.start in (None, 0) if at_start else last.stop is None and last.start not in (None, 0)
        same = len(part.shape) == len(value.shape) and all(
            statically_known_true(a == b) for a, b in zip(part.shape, value.shape, strict=True)
        )
        if bounded and same:
            return scores, beside, readers[0]
    return None


__all__ = ["spell_sinks"]
