"""Probabilities of a softmax without a division, which the backward pass computes again.

Before::

    m = amax(x, [-1])    e = exp(x - m)    l = sum(e, [-1])    p = e / l

After::

    g = log(l)           p = exp(x - m - g)

The forward pass saves m and g, and its kernel divides a row of results by l as before.  A quotient for each
score, by a number that a softmax of float32 divides by exactly, takes more time than its exponential.  m and
g are not added up: where a mask fills in numbers such as -1e9, their sum would not have the digits of g.  A
row whose scores are all -inf has NaN as before.
"""

from collections.abc import Set
from typing import NamedTuple

import torch
from torch.fx import Node

from ...fx.new_node import computed_node

_aten = torch.ops.aten


class ScoreSoftmax(NamedTuple):
    """``p``, of scores that are ``less`` the maximum of their row, ``top``; ``total``: the sum of their
    exponentials.  Both may have one more number of the row, of a sink.
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
    reduced = (
        (top, _aten.amax.default, x, _aten.maximum.default),
        (total, _aten.sum.dim_IntList, power, _aten.add.Tensor),
    )
    for result, target, source, joins in reduced:
        parts = result.args if result.target is joins else (result,)  # a number of the row beside the scores
        node = next((n for n in parts if isinstance(n, Node) and n.target is target), result)
        if node.target is not target or node.args[0] is not source or list(node.args[2:]) != [True]:
            return None
        if [d % (last + 1) for d in node.args[1]] != [last]:
            return None
    return ScoreSoftmax(less, top, total, p)


__all__ = ["ScoreSoftmax", "of_logarithms", "softmax_of"]
