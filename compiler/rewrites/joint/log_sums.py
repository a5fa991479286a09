"""Probabilities of a softmax without a division, which the backward pass computes again.

Before::

    m = amax(x, [-1])    e = exp(x - m)    l = sum(e, [-1])    p = e / l

After::

    g = log(l)           p = exp(x - m - g)

The forward pass saves m and g, and its kernel divides a row of results by l as before.  A quotient for each
score, by a number that a softmax of float32 divides by exactly, takes more time than its exponential.  m and
g are not added up: where a mask fills in numbers such as -1e9, their sum would not have the digits of g.  A
row whose scores are all -inf has NaN as before.

A total may have one more term: an exponential, so that it stays 1 or more.  Where the maximum has one more
number, too, that term is the exponential of it.  Any other total may be 0 or less, and keeps its quotient.
"""

from collections.abc import Set
from typing import NamedTuple

import torch
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import Argument

from ...fx.new_node import computed_node

_aten = torch.ops.aten


class ScoreSoftmax(NamedTuple):
    """``p``, of scores that are ``less`` the maximum of their row, ``top``; ``total``: the sum of their
    exponentials.  Both may have one more number of the row, of a sink: the total is 1 or more.
    """

    less: Node
    top: Node
    total: Node
    p: Node


def softmax_of(inner: Set[Node]) -> ScoreSoftmax | None:
    """The softmax of float32 along the last dim, among nodes of rows and columns; None where there is none,
    or more than one.
    """
    found = [s for n in inner if n.target is _aten.div.Tensor and (s := _softmax(n)) is not None]
    return found[0] if len(found) == 1 else None


def of_logarithms(softmax: ScoreSoftmax) -> tuple[set[Node], set[Node]]:
    """Computes the probabilities of logarithms of sums.  The new nodes: those with a number for each row and
    column, and what is saved of a row.
    """
    p = softmax.p
    with p.graph.inserting_before(p):
        log = computed_node(p, _aten.log.default, softmax.total)
        exponent = computed_node(p, _aten.sub.Tensor, softmax.less, log)
        made = computed_node(p, _aten.exp.default, exponent)
    p.replace_all_uses_with(made)
    return {exponent, made}, {softmax.top, log}


def _softmax(p: Node) -> ScoreSoftmax | None:
    power, total = p.args
    if not isinstance(power, Node) or not isinstance(total, Node) or power.target is not _aten.exp.default:
        return None
    less = power.args[0]
    if less.target is not _aten.sub.Tensor or less.kwargs or p.kwargs:
        return None
    x, top = less.args
    if not isinstance(x, Node) or not isinstance(top, Node) or p.meta["val"].dtype != torch.float32:
        return None
    last = x.meta["val"].ndim - 1
    extreme, other = _parts(top, _aten.amax.default, x, _aten.maximum.default)
    summed, added = _parts(total, _aten.sum.dim_IntList, power, _aten.add.Tensor)
    for node in (extreme, summed):
        if node is None or list(node.args[2:]) != [True] or [d % (last + 1) for d in node.args[1]] != [last]:
            return None
    if (other is not None or added is not None) and not _is_sink(added, other, top):
        return None  # a total that may be 0 or less has no logarithm
    return ScoreSoftmax(less, top, total, p)


def _parts(
    result: Node, target: OpOverload, source: Node, joins: OpOverload
) -> tuple[Node | None, Node | None]:
    """The reduction of the scores in a number of the row, None where there is none, and what it is joined
    with; None where it is not.
    """
    parts = tuple(result.args) if result.target is joins and not result.kwargs else (result,)
    found = next((n for n in parts if _is_reduction(n, target, source)), None)
    return found, next((n for n in parts if n is not found), None)  # type: ignore[return-value]


def _is_reduction(node: Argument, target: OpOverload, source: Node) -> bool:
    return isinstance(node, Node) and node.target is target and node.args[0] is source


def _is_sink(added: Node | None, other: Node | None, top: Node) -> bool:
    """Whether what is added to the sum is an exponential, and 1 where ``other`` is the maximum."""
    if not isinstance(added, Node) or added.target is not _aten.exp.default:
        return False
    less = added.args[0]
    return other is None or (
        isinstance(less, Node)
        and less.target is _aten.sub.Tensor
        and not less.kwargs
        and tuple(less.args) == (other, top)
    )


__all__ = ["ScoreSoftmax", "of_logarithms", "softmax_of"]
