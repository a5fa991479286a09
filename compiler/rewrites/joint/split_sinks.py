"""What is computed of scores and of a few numbers beside them is computed of each, in both passes.

Before, in the joint graph of attention with a sink for each head, and its gradients::

    both = cat([scores, sinks], -1)
    p = exp(both - amax(both, [-1])) / sum(.., [-1])
    seen = slice(p, -1, 0, n)                       # whose product with v is the result
    dp = slice_scatter(new_zeros(..), g, -1, 0, n)  # autograd's, of the slice
    ds = dp * p - p * sum(dp * p, [-1])             # and slices of it, of the concatenation

After::

    m = maximum(amax(scores, [-1]), sinks)
    e, b = exp(scores - m), exp(sinks - m)
    l = sum(e, [-1]) + b
    seen = e / l
    ds = g * seen - seen * sum(g * seen, [-1])

Rows of the copy are longer by one than those of the scores, so that no access of them is aligned, and what
reads them needs whole rows.  Afterwards ``attention-gradients`` sees a softmax like any other.

It fires on two tensors that are concatenated along the last dim, where all that is made of the result, and
of what is computed with it, is pointwise, a maximum or a sum over that dim, or a slice that is one of the
two.  What autograd fills up with zeros is such a value, too: the zeros are left out of sums and products, so
that a NaN beside them spreads only as far as the sums of its row take it.

It does not fire where anything else reads one of these values: a view, a product, another slice.

Why not an MLIR pass: it changes what the forward graph saves for the backward graph, so it must see both.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, Node, map_arg

from ...fx.new_node import computed_node
from ..rewriting import rewrite
from .attention_gradients import Spelled

_aten, _prims = torch.ops.aten, torch.ops.prims
#: What combines the reductions of two parts.
_JOINS = {_aten.amax.default: _aten.maximum.default, _aten.sum.dim_IntList: _aten.add.Tensor}
_ZEROS = (_aten.new_zeros.default, _aten.zeros.default)
#: Ops of which the result is 0 where an operand is: which operands these are.
_KEEPS_ZERO = {
    _aten._to_copy.default: (0,),
    _prims.convert_element_type.default: (0,),
    _aten.neg.default: (0,),
    _aten.mul.Tensor: (0, 1),
}

#: The two parts of a value; None: zeros.
Parts = tuple[Node | None, Node | None]


@rewrite(
    "split-sinks", "a softmax over scores and a few numbers beside them copies no scores, nor its gradient"
)
def split_sinks(spelled: Spelled) -> int:
    """Rewrites a joint graph with ``meta["val"]`` in place; how many concatenations."""
    graph, count = spelled.joint.graph, 0
    for cat in graph.find_nodes(op="call_function", target=_aten.cat.default):
        split = _Split.of(graph, cat)
        if split is not None:
            split.write()
            count += 1
    if count:
        graph.eliminate_dead_code()
    return count


class _Split:
    """``sizes``: of the two parts.  ``wide``: values that have both; ``ends``: what is read of these."""

    def __init__(self, graph: Graph, cat: Node, sizes: tuple[int, int], rank: int) -> None:
        self.graph, self.cat, self.sizes, self.rank = graph, cat, sizes, rank
        self.wide, self.ends = {cat}, set[Node]()

    @staticmethod
    def of(graph: Graph, cat: Node) -> "_Split | None":
        """What is made of a concatenation; None where the rewrite does not fire."""
        value, parts = cat.meta.get("val"), cat.args[0]
        if not isinstance(value, torch.Tensor) or not isinstance(parts, Sequence):
            return None
        if len(parts) != 2 or list(parts) != cat.all_input_nodes:
            return None
        dim = cat.args[1] if len(cat.args) > 1 else 0
        shapes = [n.meta["val"].shape for n in cat.all_input_nodes]
        if dim not in (-1, value.ndim - 1) or not value.is_floating_point():
            return None
        if not all(isinstance(shape[-1], int) and len(shape) == value.ndim for shape in shapes):
            return None
        found = _Split(graph, cat, (shapes[0][-1], shapes[1][-1]), value.ndim)
        return found if found._gather() and found.ends else None

    def _gather(self) -> bool:
        """Finds all values that have both parts; whether each is one that can be split."""
        pending = [self.cat]
        while pending:
            node = pending.pop()
            for user in node.users:
                if user in self.wide or user in self.ends:
                    continue
                if self._is_end(user):
                    if any(n.target is _aten.as_strided.default for n in user.users):
                        return False
                    self.ends.add(user)
                elif _is_pointwise(user) and self._has_both(user):
                    self.wide.add(user)
                    pending.append(user)
                else:
                    return False
            begins = node is self.cat or self._part_of(node) is not None
            for source in () if begins else node.all_input_nodes:
                if source in self.wide or not self._has_both(source):
                    continue
                if not (_is_pointwise(source) or self._part_of(source) is not None):
                    return False
                self.wide.add(source)
                pending.append(source)
        return True

    def _has_both(self, node: Node) -> bool:
        value = node.meta.get("val")
        return (
            isinstance(value, torch.Tensor) and value.ndim == self.rank and value.shape[-1] == sum(self.sizes)
        )

    def _is_end(self, node: Node) -> bool:
        if node.target in _JOINS:
            keeps = len(node.args) > 2 and node.args[2] is True and not node.kwargs
            return keeps and list(node.args[1]) in ([-1], [self.rank - 1])  # type: ignore[arg-type]
        return node.target is _aten.slice.Tensor and self._range(node.args[1:]) is not None

    def _range(self, args: Sequence[Any]) -> int | None:
        """The number of the part that a slice along a dim takes."""
        given: list[Any] = [*args, *(0, None, None, 1)[len(args) :]]
        dim, start, end, step = given
        whole = sum(self.sizes)
        if dim not in (-1, self.rank - 1) or step != 1:
            return None
        if not all(n is None or isinstance(n, int) for n in (start, end)):
            return None
        taken = range(whole)[slice(start, end)]
        parts = range(self.sizes[0]), range(self.sizes[0], whole)
        return parts.index(taken) if taken in parts else None

    def _part_of(self, node: Node) -> int | None:
        """The number of the part that is not 0 of a value that autograd fills up with zeros."""
        if node.target is not _aten.slice_scatter.default or node.args[0].target not in _ZEROS:  # type: ignore[union-attr]
            return None
        return self._range(node.args[2:])

    def write(self) -> None:
        """Computes the parts of each value behind it, and lets them stand for what is read of it."""
        made = dict[Node, Parts]()
        for node in list(self.graph.nodes):
            if node not in self.wide and node not in self.ends:
                continue
            with self.graph.inserting_before(node):
                if node in self.wide:
                    made[node] = self._parts(node, made)
                else:
                    stands = self._end(node, made[node.args[0]])
                    readers = [*node.users]
                    node.replace_all_uses_with(stands)
                    _lay_out(readers)

    def _parts(self, node: Node, made: dict[Node, Parts]) -> Parts:
        if node is self.cat:
            first, second = (self._like_cat(n) for n in node.all_input_nodes)
            return first, second
        place = self._part_of(node)
        if place is not None:
            return (node.args[1], None) if place == 0 else (None, node.args[1])  # type: ignore[return-value]
        return self._pointwise(node, made, 0), self._pointwise(node, made, 1)

    def _like_cat(self, part: Node) -> Node:
        dtype = self.cat.meta["val"].dtype
        if part.meta["val"].dtype == dtype:
            return part
        return computed_node(self.cat, _aten._to_copy.default, part, dtype=dtype)

    def _pointwise(self, node: Node, made: dict[Node, Parts], part: int) -> Node | None:
        """One part of a pointwise op."""
        args = [made[a][part] if isinstance(a, Node) and a in made else a for a in node.args]
        zeros = {n for n, a in enumerate(args) if a is None and node.args[n] is not None}
        if zeros & {*_KEEPS_ZERO.get(node.target, ())}:
            return None
        if node.target is _prims.fma.default and zeros & {0, 1}:
            if 2 not in zeros:
                return args[2]
            return None
        if node.target is _prims.fma.default and zeros == {2}:
            return computed_node(node, _aten.mul.Tensor, *args[:2])
        for n in zeros:
            source = node.args[n].meta["val"]  # type: ignore[union-attr]
            shape = [*source.shape[:-1], self.sizes[part]]
            args[n] = computed_node(
                node, _aten.full.default, shape, 0, dtype=source.dtype, device=source.device
            )
        return computed_node(node, node.target, *args, **node.kwargs)

    def _end(self, node: Node, parts: Parts) -> Node:
        """A reduction, or a slice, of two parts."""
        if node.target is _aten.slice.Tensor:
            place = self._range(node.args[1:])
            assert place is not None
            found = parts[place]
            return self._zeros(node) if found is None else found
        reduced = [
            self._reduced(node, x, size) for x, size in zip(parts, self.sizes, strict=True) if x is not None
        ]
        if len(reduced) == 1 and node.target is _aten.amax.default:
            reduced.append(self._zeros(node))
        return reduced[0] if len(reduced) == 1 else computed_node(node, _JOINS[node.target], *reduced)

    @staticmethod
    def _reduced(node: Node, part: Node, size: int) -> Node:
        return part if size == 1 else computed_node(node, node.target, part, *node.args[1:])

    @staticmethod
    def _zeros(node: Node) -> Node:
        value = node.meta["val"]
        return computed_node(
            node, _aten.full.default, [*value.shape], 0, dtype=value.dtype, device=value.device
        )


def _lay_out(readers: list[Node]) -> None:
    """Gives nodes, and what depends on them, the strides that they have now: a part lies for itself, and is
    no piece of a larger tensor.
    """
    pending = [*readers]
    while pending:
        node = pending.pop(0)
        old = node.meta.get("val")
        if node.op != "call_function" or not isinstance(old, torch.Tensor):
            continue
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        new = node.target(*args, **kwargs)  # type: ignore[operator]
        if new.stride() != old.stride():
            node.meta["val"] = new
            pending += node.users


def _is_pointwise(node: Node) -> bool:
    tags = getattr(node.target, "tags", ())
    named = node.target in _KEEPS_ZERO or node.target is _prims.fma.default
    return node.op == "call_function" and (torch.Tag.pointwise in tags or named)


__all__ = ["split_sinks"]
