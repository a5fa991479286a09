"""A loss behind a head of very many weights is computed some columns at a time, so that the product is never
whole in memory, nor its gradient, and each weight is read as often as without (option ``memory_limit``).

Before, in the joint graph of ``cross_entropy(x @ w, target)``, for 512 rows and 256000 classes::

    logits = aten.mm(x, w)                      # bf16[512, 256000]
    sums = logsumexp(logits, 1);  read = gather(logits, 1, target);  loss = f(sums, read)
    gradient = g(logits, sums, tangents)        # bf16[512, 256000]
    dx = aten.mm(gradient, w.t())

After, for the second of the chunks of 64000 columns::

    part = aten.mm(x, w[:, 64000:128000]);  sums_1 = logsumexp(part, 1)  # in forward
    read_1 = where(target is one of these columns, gather(part, 1, target - 64000), 0)
    sums = logsumexp(cat([sums_0, sums_1, ..]), 1);  read = sum(cat([read_0, read_1, ..]))
    again = aten.mm(x, w[:, 64000:128000])                               # in backward
    gradient = g(again, sums, tangents)                                  # bf16[512, 64000]
    dx = dx_0 + aten.mm(gradient, w[:, 64000:128000].t())                # the library adds in place

Chunks of rows read all weights once for each chunk, which takes longer than multiplying few rows; these read
what one product reads.  Sums are first taken apart (``column_sums.py``): ``sum(logits - sums)`` is
``sum(logits) - n * sums``, so that one pass over the columns gives all of them.

It fires where chunks of rows would have fewer than 512 rows, the weights have at least 64 MB, and all that
lies between the product and what is narrow again is pointwise, or a sum, maximum, logarithm of a sum of
exponentials or read along the columns, or a product that sums over them.  Rounding in 16 bits is bounded as
by ``row-chunks``, which otherwise has its turn.

It does not fire where the weights have a gradient (its parts would have to be put together), where a column
depends on others in a way that no sum of chunks gives, or where the limit is kept without it.

Why not an MLIR pass: the partitioner decides what the forward pass saves, and would save the product.
"""

import logging
from collections.abc import Callable
from functools import partial
from math import prod

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from ...base.dataclass import dataclass
from ...fx.new_node import computed_node, tidied
from ..rewriting import rewrite
from .chunking import (
    Limited,
    beside,
    bytes_of,
    erase_unread,
    heads,
    move_readers,
    regions_of,
    rows_that_fit,
)
from .column_sums import taken_apart
from .ordered import run_after
from .row_ops import PRODUCTS, Rows, called, is_pointwise, is_reshape, places_of, reduced, reshaped, shape_of
from .row_regions import NotByRows, RowRegion

log = logging.getLogger(__name__)

_aten = torch.ops.aten
#: Weights that no cache holds, and rows of a chunk for which reading them takes as long as multiplying.
_LARGE, _FEW = 64 << 20, 512
#: As of ``row-chunks``: chunks of a graph, and of one whose sums of products have 16 bits.
_MOST_CHUNKS, _MOST_ROUNDINGS = 32, 8
#: Bytes from which on ``write-in-place`` lets a result lie where an operand was.
_IN_PLACE = 1 << 20
#: Columns of a chunk are a multiple of these.
_STEP = 64
#: How partial results along columns become one.
_JOINS = {
    _aten.logsumexp.default: _aten.logsumexp.default,
    _aten.amax.default: _aten.amax.default,
    _aten.amin.default: _aten.amin.default,
    _aten.sum.dim_IntList: _aten.sum.dim_IntList,
    _aten.gather.default: _aten.sum.dim_IntList,
}


class NotByColumns(Exception):
    """Something needs all columns at a time; the message names it."""


@rewrite(
    "column-chunks",
    "a loss is computed some columns at a time, and the product in front of it is never whole",
)
def chunk_columns(limited: Limited) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many products are computed in chunks."""
    gm, count = limited.gm, 0
    gm.graph.eliminate_dead_code()
    for product in sorted(heads(gm.graph), key=bytes_of, reverse=True):
        if not product.users or bytes_of(product.args[-1]) < _LARGE:  # type: ignore[arg-type]
            continue
        try:
            if _rows_fit(gm.graph, regions_of(gm.graph, product), limited.limit):
                continue
            taken_apart(gm.graph, product)
            regions = regions_of(gm.graph, product)
            _chunk(gm.graph, regions, limited.limit)
        except (NotByRows, NotByColumns) as reason:
            log.debug("%s is not cut into columns: %s", product.name, reason)
            continue
        count += 1
    return tidied(gm, count)


def _rows_fit(graph: Graph, regions: list[RowRegion], limit: int) -> bool:
    """Whether chunks of rows are long enough, or the limit is kept without any."""
    return all(rows >= min(_FEW, regions[0].rows.count) for rows in rows_that_fit(graph, regions, limit))


def _chunk(graph: Graph, regions: list[RowRegion], limit: int) -> None:
    plans = [_Columns.of(region) for region in regions]
    taken = beside(graph, regions)
    sizes = [plan.size(limit - b) for plan, b in zip(plans, taken, strict=True)]
    for number, (plan, size) in enumerate(zip(plans, sizes, strict=True)):
        made = plan.emit(size)
        if number:
            for node in made:  # else the forward pass might save what is computed again
                node.meta["partitioner_tag"] = "must_be_in_backward"
    erase_unread(graph, {node for region in regions for node in region.nodes if node in region.wide})


@dataclass(frozen=True)
class _Columns:
    """Wide nodes of a region, and what reads them along their columns.

    wide, reductions: in the order of the graph.  count: columns.
    """

    rows: Rows
    wide: tuple[Node, ...]
    reductions: tuple[Node, ...]
    count: int

    @classmethod
    def of(cls, region: RowRegion) -> "_Columns":
        """Raises ``NotByColumns``."""
        if region.sums:
            raise NotByColumns(f"{next(iter(region.sums)).name} adds up rows")
        wide = region.wide
        reductions = [n for n in region.nodes if n not in wide and any(i in wide for i in n.all_input_nodes)]
        reads = [n for r in reductions for n in r.all_input_nodes if n in wide]
        needed, waiting = set[Node](), list(reads)
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed.add(node)
                place = places_of(region.rows, node)  # of what is 0 elsewhere, the zeros are not read
                read = node.all_input_nodes if place is None else place
                waiting += [n for n in read if n in wide]
        counts = {prod(region.rows.row(n)) for n in needed}
        if len(counts) != 1:
            raise NotByColumns("products differ in how many columns they have")
        columns = tuple(n for n in region.nodes if n in needed)
        found = cls(region.rows, columns, tuple(reductions), counts.pop())
        behind = set(reductions)
        for node in region.nodes:
            if node not in wide and any(n in behind for n in node.all_input_nodes):
                behind.add(node)
        for node in found.wide:
            place = places_of(region.rows, node)
            if any(n in behind for n in (node.all_input_nodes if place is None else place)):
                raise NotByColumns(f"{node.name} reads what all columns give")
            if not found._is_by_columns(node):
                raise NotByColumns(f"{node.name} is no op of columns")
        for node in reductions:
            if not found._joins(node):
                raise NotByColumns(f"{node.name} reads all columns")
        return found

    def _is_by_columns(self, node: Node) -> bool:
        rows, target = self.rows, node.target
        if target in PRODUCTS:
            *bias, left, right = node.args
            given = left not in self.wide and right not in self.wide
            return given and all(self._kind(b, node) is not None for b in bias)  # type: ignore[arg-type]
        if places_of(rows, node) is not None:
            return True
        if is_reshape(target):
            return node.args[0] in self.wide
        likes = (_aten.zeros_like.default, _aten.full_like.default, _aten.ones_like.default)
        if target is _aten.expand.default or target in likes or is_pointwise(target):
            return all(self._kind(n, node) is not None for n in node.all_input_nodes)
        return False

    def _kind(self, node: Node, reader: Node) -> str | None:
        """How some columns of ``reader`` read an operand: ``wide``, of which some are computed; ``one``
        number; ``rows``, one for each row; ``columns``, one for each column; ``given``, a number for each.
        """
        if node in self.wide:
            return "wide"
        shape, by_row = shape_of(node), self.rows.is_of(node, reader)
        if shape is None:
            return None
        if prod(shape) == 1:
            return "one"
        if by_row:
            return {1: "rows", self.count: "given"}.get(prod(self.rows.row(node)))
        return "columns" if by_row is False and prod(shape) == self.count else None

    @property
    def _size(self) -> int:
        return self.rows.count * self.count

    def _joins(self, node: Node) -> bool:
        """Whether results of some columns give that of all."""
        if node.target is _aten.mm.default:
            return node.args[0] in self.wide and node.args[1] not in self.wide
        source = node.args[0]
        if node.target not in _JOINS or source not in self.wide:
            return False
        leading = self.rows.leading_of(source)
        if node.target is _aten.gather.default:
            dim, index = node.args[1], node.args[2]
            one = isinstance(index, Node) and self.rows.leading(index) and prod(self.rows.row(index)) == 1
            return bool(one) and dim % len(shape_of(source) or ()) == leading  # type: ignore[operator]
        return reduced(node) == list(range(leading, len(shape_of(source) or ())))

    def column_bytes(self, free: int) -> int:
        """Of what is in memory for each column: products, and what products read, which lies where the first
        product was if that is all, and ``free`` bytes are enough for the pass ``write-in-place``."""
        products = [n for n in self.wide if n.target in PRODUCTS]
        read = [r.args[0] for r in self.reductions if r.target is _aten.mm.default]
        stored = [n.meta["val"].dtype.itemsize for n in dict.fromkeys([*products, *read])]  # type: ignore
        alike = len(products) == 1 and len(read) == 1 and len(set(stored)) == 1
        in_place = alike and min(free, self._size * stored[0] // _MOST_ROUNDINGS) >= _IN_PLACE
        return self.rows.count * (stored[0] if in_place else sum(stored))

    def size(self, free: int) -> int:
        """How many columns a chunk has."""
        rounds = any(
            n.target is _aten.mm.default and n.meta["val"].dtype.itemsize < 4 for n in self.reductions
        )
        fits = max(_STEP, free // max(1, self.column_bytes(free)) // _STEP * _STEP)
        chunks = min(-(-self.count // fits), _MOST_ROUNDINGS if rounds else _MOST_CHUNKS)
        return -(-self.count // (chunks * _STEP)) * _STEP

    def emit(self, size: int) -> list[Node]:
        """Makes the chunks behind what reads the columns; the new nodes."""
        graph = self.wide[0].graph
        inside = {*self.wide, *self.reductions}
        last = [n for n in graph.nodes if n in inside][-1]
        move_readers(graph, inside, last)
        before = set(graph.nodes)
        parts: dict[Node, list[Node]] = {n: [] for n in self.reductions}
        with graph.inserting_before(last.next):
            for start in range(0, self.count, size):
                self._emit_some(start, min(start + size, self.count), parts)
            for node, given in parts.items():
                node.replace_all_uses_with(self._whole(node, given))
        for node in self.reductions:
            graph.erase_node(node)
        return [n for n in graph.nodes if n not in before]

    def _emit_some(self, start: int, stop: int, parts: dict[Node, list[Node]]) -> None:
        done: dict[Node, Node] = {}
        before = [given[-1] for given in parts.values() if given]

        def some(node: Node, dim: int) -> Node:
            return computed_node(node, _aten.slice.Tensor, node, dim, start, stop)

        def operand(node: Node, reader: Node) -> Node:
            kind, shape = self._kind(node, reader), shape_of(node) or ()
            if kind == "wide":
                return done[node]
            if kind == "one":  # of no dims only where it had none: it would not widen what it meets
                return reshaped(node, [1] * min(2, len(shape)), reader)
            if kind == "rows":
                return reshaped(node, [self.rows.count, 1], reader)
            return some(reshaped(node, [1 if kind == "columns" else self.rows.count, self.count], reader), 1)

        for node in self.wide:
            done[node] = self._compute(node, stop - start, start, partial(operand, reader=node), some)
            if before and node.target in PRODUCTS:
                run_after(done[node], before)
        for node in self.reductions:
            self._reduce(node, done, start, stop, some, parts[node])

    def _compute(
        self,
        node: Node,
        count: int,
        start: int,
        operand: Callable[[Node], Node],
        some: Callable[[Node, int], Node],
    ) -> Node:
        sizes = [self.rows.count, count]
        if node.target in PRODUCTS:
            *bias, left, right = node.args
            return called(node, node.target, *map(operand, bias), left, some(right, 1), **node.kwargs)  # type: ignore
        if (place := places_of(self.rows, node)) is not None:
            index, number = place
            if isinstance(number, Node):
                number = reshaped(number, [self.rows.count, 1], node)
            value, index = node.meta["val"], reshaped(index, [self.rows.count, 1], node)
            columns = called(node, _aten.arange.start, start, start + count, device=value.device)
            there = called(node, _aten.eq.Tensor, index, columns)
            made = {"dtype": value.dtype, "device": value.device}
            zero = called(node, _aten.full.default, [], 0, **made)
            if not isinstance(number, Node):
                number = called(node, _aten.full.default, [], number, **made)
            return called(node, _aten.where.self, there, number, zero)
        source = node.args[0]
        if is_reshape(node.target):
            return operand(source)  # type: ignore[arg-type]
        if node.target is _aten.expand.default:
            return called(node, node.target, operand(source), sizes)  # type: ignore[arg-type]
        args, kwargs = map_arg((node.args, node.kwargs), operand)
        return called(node, node.target, *args, **kwargs)

    def _reduce(
        self,
        node: Node,
        done: dict[Node, Node],
        start: int,
        stop: int,
        some: Callable[[Node, int], Node],
        given: list[Node],
    ) -> None:
        source = done[node.args[0]]  # type: ignore[index]
        if node.target is _aten.mm.default:
            part = computed_node(node, _aten.mm.default, source, some(node.args[1], 0))  # type: ignore[arg-type]
            # as of rows, the library adds it in the storage of the sum, or in float32
            given[:] = [computed_node(node, _aten.add.Tensor, *given, part)] if given else [part]
        elif node.target is _aten.gather.default:
            given.append(self._read(node, source, start, stop))
        else:
            kwargs = node.kwargs if node.target is _aten.sum.dim_IntList else {}
            given.append(called(node, node.target, source, [1], True, **kwargs))

    def _read(self, node: Node, source: Node, start: int, stop: int) -> Node:
        """What some columns give to a read at one place, and 0 where it is elsewhere.  The first and the last
        find places that are in none."""
        index = reshaped(node.args[2], [self.rows.count, 1], node)  # type: ignore[arg-type]
        zero = called(node, _aten.full.default, [], 0, dtype=torch.int64, device=index.meta["val"].device)
        there, place = None, index
        if start:
            there = called(node, _aten.ge.Scalar, index, start)
            place = called(node, _aten.sub.Tensor, index, start)
        if stop < self.count:
            below = called(node, _aten.lt.Scalar, index, stop)
            there = below if there is None else called(node, _aten.logical_and.default, there, below)
        if there is not None:
            place = called(node, _aten.where.self, there, place, zero)
        read = called(node, _aten.gather.default, source, 1, place)
        if there is None:
            return read
        value = read.meta["val"]
        nothing = called(node, _aten.full.default, [], 0, dtype=value.dtype, device=value.device)
        return called(node, _aten.where.self, there, read, nothing)

    def _whole(self, node: Node, parts: list[Node]) -> Node:
        if node.target is _aten.mm.default:
            return parts[0]
        shape = list(shape_of(node) or ())
        if len(parts) == 1:
            return reshaped(parts[0], shape, node)
        cat = called(node, _aten.cat.default, parts, 1)
        kwargs = node.kwargs if node.target is _aten.sum.dim_IntList else {}
        return reshaped(called(node, _JOINS[node.target], cat, [1], True, **kwargs), shape, node)


__all__ = ["chunk_columns"]
