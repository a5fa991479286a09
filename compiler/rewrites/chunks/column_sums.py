"""Sums along the columns of a product, taken apart so that none waits for another.

    sum(x - m)                     -> sum(x) - n * m             m: one number for each row
    sum(expand(m)) -> n * m;  sum(x * m) -> sum(x) * m;  sum(scatter(zeros, 1, i, v)) -> v
    log(sum(exp(x - amax(x))))     -> logsumexp(x) - amax(x)

Both sides are the same but for rounding: a sum of differences from a logarithm of n exponentials is far
from 0, so that nothing cancels.  The last one errs by a rounding of the largest element, as the product does
whose columns these are.
"""

from math import prod

import torch
from torch.fx import Graph, Node

from .row_ops import Rows, called, places_of, reduced, reshaped, shape_of

_aten = torch.ops.aten


def taken_apart(graph: Graph, product: Node) -> None:
    """Rewrites such sums over rows as long as those of ``product``, in place."""
    shape = shape_of(product)
    assert shape is not None
    sums = _Sums(Rows(shape[0]), shape[1])
    for node in list(graph.nodes):
        made = sums.logarithm(node) or sums.linear(node)
        if made is not None:
            node.replace_all_uses_with(made)
    graph.eliminate_dead_code()


class _Sums:
    """Of ``count`` columns of ``rows``."""

    def __init__(self, rows: Rows, count: int) -> None:
        self._rows, self._count = rows, count

    def logarithm(self, node: Node) -> Node | None:
        """What stands for the logarithm of a sum of exponentials that are at most 1."""
        if node.target is not _aten.log.default:
            return None
        added = node.args[0]
        if not self._is_sum(added):
            return None
        [exp] = added.args[:1]  # type: ignore[union-attr]
        moved = exp.args[0] if isinstance(exp, Node) and exp.target is _aten.exp.default else None
        if not isinstance(moved, Node) or moved.target is not _aten.sub.Tensor or len(moved.args) != 2:
            return None
        x, most = moved.args
        if moved.kwargs or not isinstance(x, Node) or not isinstance(most, Node):
            return None
        same = most.target is _aten.amax.default and most.args[0] is x and reduced(most) == reduced(added)
        if not same or not self._is_row_value(most, x):
            return None
        with node.graph.inserting_before(node):
            dims = reduced(added)
            whole = called(node, _aten.logsumexp.default, x, dims, True)
            rows = [self._rows.count, 1]
            difference = called(
                node, _aten.sub.Tensor, reshaped(whole, rows, node), reshaped(most, rows, node)
            )
            return reshaped(difference, list(shape_of(node) or ()), node)

    def linear(self, node: Node) -> Node | None:
        """What stands for a sum of what is not the same in one column only."""
        if not self._is_sum(node) or not node.meta["val"].is_floating_point() or node.kwargs:
            return None
        source = node.args[0]
        assert isinstance(source, Node)
        if source.meta["val"].dtype.itemsize < 4 or not self._splits(source):
            return None
        with node.graph.inserting_before(node):
            return reshaped(self._sum(source, node), list(shape_of(node) or ()), node)

    def _is_sum(self, node: object) -> bool:
        """Whether a node is a sum along the columns."""
        if not isinstance(node, Node) or node.target is not _aten.sum.dim_IntList:
            return False
        source = node.args[0]
        return self._is_wide(source) and reduced(node) == list(
            range(self._rows.leading_of(source), len(shape_of(source) or ()))
        )

    def _is_wide(self, node: object) -> bool:
        leading = self._rows.leading(node)
        return leading is not None and prod((shape_of(node) or ())[leading:]) == self._count

    def _is_row_value(self, node: object, wide: object) -> bool:
        """Whether each column of what is wide reads the same of a row."""
        if not isinstance(node, Node) or not isinstance(wide, Node) or not self._rows.is_of(node, wide):
            return False
        return prod(self._rows.row(node)) == 1

    def _splits(self, node: Node) -> bool:
        """Whether a sum of a node is one of less."""
        if places_of(self._rows, node) is not None:
            return True
        if node.target is _aten.expand.default:
            return self._is_row_value(node.args[0], node)
        if node.kwargs or len(node.args) != 2:
            return False
        left, right = node.args
        if node.target is _aten.mul.Tensor:
            return self._is_wide(left) and self._is_row_value(right, left)
        if node.target not in (_aten.add.Tensor, _aten.sub.Tensor) or not self._is_wide(left):
            return False
        return self._is_row_value(right, left) or (
            self._is_wide(right) and any(map(self._splits, (left, right)))  # type: ignore[arg-type]
        )

    def _sum(self, node: Node, like: Node) -> Node:
        """The sum along the columns, [rows, 1]."""
        rows = [self._rows.count, 1]

        def of_row(value: object) -> Node:
            return reshaped(value, rows, like)  # type: ignore[arg-type]

        if (place := places_of(self._rows, node)) is not None:
            number, value = place[1], node.meta["val"]
            if isinstance(number, Node):
                return of_row(number)
            return called(like, _aten.full.default, rows, number, dtype=value.dtype, device=value.device)
        if not self._splits(node):
            leading = self._rows.leading_of(node)
            dims = list(range(leading, len(shape_of(node) or ())))
            return of_row(called(like, _aten.sum.dim_IntList, node, dims, True))
        if node.target is _aten.expand.default:
            return called(like, _aten.mul.Tensor, of_row(node.args[0]), self._count)
        left, right = node.args
        first = self._sum(left, like)  # type: ignore[arg-type]
        if node.target is _aten.mul.Tensor:
            return called(like, _aten.mul.Tensor, first, of_row(right))
        if self._is_row_value(right, left):
            second = called(like, _aten.mul.Tensor, of_row(right), self._count)
        else:
            second = self._sum(right, like)  # type: ignore[arg-type]
        return called(like, node.target, first, second)


__all__ = ["taken_apart"]
