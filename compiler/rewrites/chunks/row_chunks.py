"""A loss behind a product with many columns is computed some rows at a time, so that the product is never
whole in memory, nor its gradient (option ``memory_limit``).

Before, in the joint graph of ``cross_entropy(x @ w, target)``, for 4096 rows and 256000 classes::

    logits = aten.mm(x, w)                      # bf16[4096, 256000]
    sums = logsumexp(logits, 1);  loss = f(sums, gather(logits, 1, target))
    gradient = g(logits, sums, tangents)        # bf16[4096, 256000]
    dx = aten.mm(gradient, w.t());  dw = aten.mm(x.t(), gradient)

After, for the first of the chunks of 512 rows::

    part = aten.mm(x[:512], w);  sums_0 = logsumexp(part, 1);  ..        # in forward
    sums = cat([sums_0, ..])
    again = aten.mm(x[:512], w)                                          # in backward
    gradient = g(again, sums[:512], tangents)                            # bf16[512, 256000]
    dx_0 = aten.mm(gradient, w.t());  dw_0 = aten.mm(x[:512].t(), gradient)
    dx = cat([dx_0, ..]);  dw = dw_0 + dw_1 + ..                         # the library adds in place

Products stay the library's.  The backward pass multiplies again what the forward pass did, which is a third
more work for products; without gradients nothing is computed twice.  The gradient of ``w`` is rounded to its
dtype once for each chunk, as where gradients are accumulated over small batches.

It fires where what products store and read of the region, with what is in memory beside it, is over the
limit.  A chunk has as many rows as fit.  At most 32 chunks are made, and 8 where a sum of products has 16
bits, as each chunk rounds it.  A chunk runs after what the one before gives (``control_deps``), so that no
kernel reads two of them.  All that lies between the product and its last readers must
compute each row from the same row: pointwise ops, reductions of rows, reads at places of a row; soft caps,
label smoothing, z-loss, distillation from a second product.  Sums over all rows may only end it.

It does not fire where something else reads the product (a result of the graph for example), where a size is
unknown while compiling, or where the limit is kept without it.

Why not an MLIR pass: the partitioner decides what the forward pass saves, and would save the product.
"""

import logging
from math import prod

import torch
from torch.fx import Graph, Node

from ...fx.new_node import computed_node, tidied
from ..rewriting import rewrite
from .chunking import (
    LEAST_ROWS,
    Limited,
    bytes_of,
    erase_unread,
    heads,
    move_readers,
    outputs_of,
    regions_of,
    rows_that_fit,
)
from .ordered import run_after
from .row_ops import PRODUCTS, is_transpose, reduced, reshaped, shape_of
from .row_regions import NotByRows, RowRegion

log = logging.getLogger(__name__)

_aten = torch.ops.aten
#: A graph grows with the number of chunks.
_MOST_CHUNKS = 32
#: Each chunk rounds a sum of products of 16 bits: eight are some 1.6 times as far from float64 as one.
_MOST_ROUNDINGS = 8
#: Rows of a chunk are a multiple of these.
_STEP = LEAST_ROWS


@rewrite(
    "row-chunks", "a loss is computed some rows at a time, and the product in front of it is never whole"
)
def chunk_rows(limited: Limited) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many products are computed in chunks."""
    gm, count = limited.gm, 0
    gm.graph.eliminate_dead_code()
    for product in sorted(heads(gm.graph), key=bytes_of, reverse=True):
        if not product.users:  # computed in chunks, or erased
            continue
        try:
            regions = regions_of(gm.graph, product)
        except NotByRows as reason:
            log.debug("%s stays whole: %s", product.name, reason)
            continue
        count += _chunk(gm.graph, regions, limited.limit)
    return tidied(gm, count)


def _chunk(graph: Graph, regions: list[RowRegion], limit: int) -> int:
    """How many products are computed in chunks: none where the limit is kept without."""
    outputs = outputs_of(regions)
    fits = rows_that_fit(graph, regions, limit)
    if all(rows >= regions[0].rows.count for rows in fits):
        return 0
    replaced: dict[Node, Node] = {}
    for number, region in enumerate(regions):
        made = _Chunks(region, replaced)
        made.emit(_size(region, fits[number]), outputs[number])
        if number:
            for node in made.nodes:  # else the forward pass might save what is computed again
                node.meta["partitioner_tag"] = "must_be_in_backward"
    products = sum(n.target in PRODUCTS for n in regions[0].wide)
    erase_unread(graph, {node for region in regions for node in region.nodes})
    return products


def _size(region: RowRegion, fits: int) -> int:
    """How many rows a chunk has where so many fit."""
    rounds = any(n.target is _aten.mm.default and n.meta["val"].dtype.itemsize < 4 for n in region.sums)
    least = -(-region.rows.count // (_MOST_ROUNDINGS if rounds else _MOST_CHUNKS))
    return max(fits // _STEP, -(-least // _STEP)) * _STEP


class _Chunks:
    """Computes a region in chunks.  ``replaced``: what stands for narrow nodes of regions before."""

    def __init__(self, region: RowRegion, replaced: dict[Node, Node]) -> None:
        self._region, self._replaced = region, replaced
        self._inside = set(region.nodes)
        self.nodes: list[Node] = []

    def emit(self, size: int, outputs: list[Node]) -> None:
        """Makes the chunks of ``size`` rows behind the region, and lets others read their results."""
        region, graph = self._region, self._region.nodes[0].graph
        last = region.nodes[-1]
        move_readers(graph, self._inside, last)
        behind, before = last.next, set(graph.nodes)
        parts: dict[Node, list[Node]] = {n: [] for n in outputs}
        with graph.inserting_before(behind):
            for start in range(0, region.rows.count, size):
                done: dict[Node, Node] = {}
                before_it = [parts[node][-1] for node in outputs] if start else []
                stop = min(start + size, region.rows.count)
                for node in region.nodes:
                    if node in region.sums:
                        self._add(node, done, start, stop, parts[node])
                    else:
                        done[node] = self._compute(node, done, start, stop)
                        if start and node in region.wide and node.target in PRODUCTS:
                            run_after(done[node], before_it)
                        if node in parts:
                            parts[node].append(done[node])
            for node in outputs:
                whole = self._whole(node, parts[node])
                self._replaced[node] = whole
                node.replace_all_uses_with(whole, lambda user: user not in self._inside)
        self.nodes = [n for n in graph.nodes if n not in before]

    def _compute(self, node: Node, done: dict[Node, Node], start: int, stop: int) -> Node:
        if is_transpose(node):
            return computed_node(node, _aten.permute.default, done[node.args[0]], [1, 0])  # type: ignore[index]
        return self._region.rows.compute(
            node, stop - start, lambda n, rows: self._operand(n, done, start, stop) if rows else self._now(n)
        )

    def _operand(self, node: Node, done: dict[Node, Node], start: int, stop: int) -> Node:
        """Some rows of a node."""
        if node not in done:
            rows, now = self._region.rows, self._now(node)
            flat = reshaped(now, [rows.count, *rows.row(node)], node)
            done[node] = computed_node(node, _aten.slice.Tensor, flat, 0, start, stop)
        return done[node]

    def _now(self, node: Node) -> Node:
        return self._replaced.get(node, node)

    def _add(self, node: Node, done: dict[Node, Node], start: int, stop: int, sums: list[Node]) -> None:
        """Adds what some rows contribute to a sum over all."""
        if node.target is not _aten.mm.default:
            source = node.args[0]
            assert isinstance(source, Node)
            part = self._sum(node, done[source])
            sums[:] = [computed_node(node, _aten.add.Tensor, sums[0], part)] if sums else [part]
            return
        left, right = node.args
        assert isinstance(left, Node) and isinstance(right, Node)
        if left in done and is_transpose(left):
            factors = done[left], self._operand(right, done, start, stop)
        else:
            factors = computed_node(node, _aten.slice.Tensor, self._now(left), 1, start, stop), done[right]
        if sums and node.meta["val"].dtype.itemsize >= 4:
            sums[:] = [computed_node(node, _aten.addmm.default, *sums, *factors)]
            return
        product = computed_node(node, _aten.mm.default, *factors)
        # of 16 bits, the pass `add-products-in-place` has the library add it in the storage of the sum
        sums[:] = [computed_node(node, _aten.add.Tensor, *sums, product)] if sums else [product]

    def _sum(self, node: Node, source: Node) -> Node:
        """The sum of some rows: in float32 where the result has 16 bits."""
        value = node.meta["val"]
        wide = torch.float32 if value.dtype.itemsize < 4 else value.dtype
        dims = list(range(source.meta["val"].dim()))
        if node.target is _aten.sum.dim_IntList:
            fewer = self._region.rows.leading_of(node.args[0]) - 1
            dims = sorted({max(0, d - fewer) for d in reduced(node) or ()})
        return computed_node(node, _aten.sum.dim_IntList, source, dims, dtype=wide)

    def _whole(self, node: Node, parts: list[Node]) -> Node:
        value = node.meta["val"]
        whole = parts[0] if len(parts) == 1 else computed_node(node, _aten.cat.default, parts)
        if node.target is _aten.mean.default:
            whole = computed_node(node, _aten.div.Scalar, whole, prod(shape_of(node.args[0]) or ()))
        if whole.meta["val"].dtype != value.dtype:
            whole = computed_node(node, _aten._to_copy.default, whole, dtype=value.dtype)
        return reshaped(whole, list(value.shape), node)


__all__ = ["chunk_rows"]
