"""What is computed between products whose result has many columns, row by row: a loss and its gradient."""

from collections.abc import Collection, Iterable, Sequence
from math import prod

import torch
from torch.fx import Graph, Node

from ...base.dataclass import dataclass
from .row_ops import PRODUCTS, Rows, is_transpose, reduced, shape_of

_aten = torch.ops.aten


@dataclass(frozen=True)
class RowRegion:
    """Nodes of which some rows can be computed at a time.

    nodes: in the order of the graph; each computes rows, is a transpose that only a sum reads, or is a sum.
    wide: those whose rows are as long as the product's.  sums: those that add over all rows: products of two
    transposed operands, sums of columns.
    """

    rows: Rows
    nodes: tuple[Node, ...]
    wide: frozenset[Node]
    sums: frozenset[Node]

    def outputs(self, others: "Sequence[RowRegion]") -> list[Node]:
        """Narrow nodes, in order, which others read: these have to be put together.  ``others``: regions that
        compute some of the nodes again.
        """
        inside = set(self.nodes)
        again = {n for o in others for node in o.nodes for n in node.all_input_nodes} - {
            n for o in others for n in o.nodes
        }
        narrow = [n for n in self.nodes if n not in self.wide and not is_transpose(n)]
        return [n for n in narrow if n in again or n in self.sums or any(u not in inside for u in n.users)]

    def row_bytes(self) -> int:
        """Of the tensors in memory for each row: what products give and read.  Several products are rarely
        read by one kernel: for each, another of these is in memory.
        """
        products = sum(n.target in PRODUCTS for n in self.wide)
        stored = [n for n in self.wide if n.target in PRODUCTS or any(map(_multiplies, n.users))]
        return products * sum(prod(self.rows.row(n)) * n.meta["val"].dtype.itemsize for n in stored)


def _multiplies(node: Node) -> bool:
    return node.target in PRODUCTS or (is_transpose(node) and any(u.target in PRODUCTS for u in node.users))


class NotByRows(Exception):
    """Something reads more than a row at a time; the message names it."""


def region_of(graph: Graph, rows: Rows, width: int, seeds: Iterable[Node], of: Collection[Node]) -> RowRegion:
    """What reads the wide nodes ``seeds``, directly or not, among ``of``, and what these wide nodes are
    computed from.  Rows of ``width`` elements are wide.  Raises ``NotByRows``.
    """
    wide: set[Node] = set()

    def is_wide(node: Node) -> bool:
        shape = shape_of(node)
        if shape is None or prod(shape) < rows.count * width or not rows.computes_rows(node):
            return False
        return node.target not in PRODUCTS or node.args[-2] not in wide

    waiting = list(seeds)
    while waiting:
        node = waiting.pop()
        if node in wide or not is_wide(node):
            continue
        wide.add(node)
        if node.target not in PRODUCTS:
            waiting += node.all_input_nodes
        waiting += [u for u in node.users if u in of]
    order = list(graph.nodes)
    between = _between(order, wide, of)
    inside, sums = wide | between, set[Node]()
    for node in order:
        if node in inside and node not in wide and (node.target in PRODUCTS or not rows.computes_rows(node)):
            raise NotByRows(f"{node.name} is no op of rows")
    last: set[Node] = set()
    for node in wide:
        for user in node.users:
            if user in inside or (user not in of and user.op != "output"):
                continue
            if is_transpose(user) and user.users and all(_adds_rows(u, user, rows) for u in user.users):
                last.add(user)
                sums.update(user.users)
            elif _adds_rows(user, node, rows):
                sums.add(user)
            elif rows.computes_rows(user):
                last.add(user)
            else:
                raise NotByRows(f"{user.name} reads all rows")
    nodes = inside | last | sums
    by_row = [n for n in nodes if n not in sums and not is_transpose(n)]
    if crossed := [n for n in by_row if any(w in nodes for w in rows.read_whole(n))]:
        raise NotByRows(f"{crossed[0].name} reads all rows")
    if any(n in nodes for s in sums for n in s.all_input_nodes if n not in wide and n not in last):
        raise NotByRows("a sum reads what has rows twice")
    return RowRegion(rows, tuple(n for n in order if n in nodes), frozenset(wide), frozenset(sums))


def _between(order: list[Node], wide: set[Node], of: Collection[Node]) -> set[Node]:
    """What is computed from wide nodes and needed for other ones."""
    after, before = set(wide), set(wide)
    for node in order:
        if node in of and any(n in after for n in node.all_input_nodes):
            after.add(node)
    for node in reversed(order):
        if any(u in before for u in node.users):
            before.add(node)
    return (after & before & set(of)) - wide


def _adds_rows(node: Node, source: Node, rows: Rows) -> bool:
    """Whether a node is a sum over all rows of ``source``, wide or the transpose of something wide."""
    if node.target is _aten.mm.default:
        left, right = node.args
        if is_transpose(source):
            return left is source and right is not source and rows.leading(right) == 1
        shape = shape_of(left)
        return right is source and left is not source and shape is not None and shape[1:] == (rows.count,)
    if node.target in (_aten.sum.default, _aten.mean.default):
        return node.meta["val"].is_floating_point()
    if node.target is not _aten.sum.dim_IntList or not node.meta["val"].is_floating_point():
        return False
    dims, leading = reduced(node), rows.leading(source)
    return dims is not None and leading is not None and set(range(leading)) <= set(dims)


__all__ = ["NotByRows", "RowRegion", "region_of"]
