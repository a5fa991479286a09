"""The query of an attention is stored heads last, so that merging the heads of the result needs no copy.

A fused attention kernel gives its result the strides of ``q``.  From a contiguous query ``[b, h, t, d]`` it
makes a contiguous result ``[b, h, t, d]``; to merge its heads, ``[b, t, h * d]``, copies it.

Before, with a ``q`` that only the attention reads::

    q = torch.cat((low, high), dim=-1)                      # contiguous [b, h, t, d]
    out = scaled_dot_product_attention(q, k, v)
    merged = out.transpose(1, 2).flatten(2)                 # a copy

After::

    q = torch.cat((low, high), dim=-1).transpose(1, 2).contiguous().transpose(1, 2)
    out = scaled_dot_product_attention(q, k, v)
    merged = out.transpose(1, 2).flatten(2)                 # a view

The generated kernel that computes ``q`` writes it in the new order, so the inserted copy costs nothing.

It does not fire where ``q`` comes from an op that no generated kernel computes (a product, an input, a view
of either), has another reader, or is not contiguous; nor where the result is read by anything else than a
merge of its heads.

Why not an MLIR pass: which strides the library's kernel gives its result is decided when AOTAutograd traces
it, and everything behind it is traced with those strides.
"""

import logging
import operator
from functools import partial

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional as F

from ...fx.new_node import new_node
from ..rewriting import rewrite
from .matching import rewrite_graphs

log = logging.getLogger(__name__)

#: What is generated code, and gives fresh memory.
COMPUTED = frozenset({
    torch.cat, torch.concat, torch.add, torch.sub, torch.mul, torch.div, torch.where,
    operator.add, operator.sub, operator.mul, operator.truediv,
})  # fmt: skip

#: Ways to write the permutation 0, 2, 1, 3.
SWAPS = (("transpose", [1, 2]), ("transpose", [2, 1]), ("permute", [0, 2, 1, 3]), (torch.transpose, [1, 2]))

#: What copies its operand unless that is contiguous.
MERGES = ("contiguous", "reshape", "flatten", torch.reshape, torch.flatten)


def merges_heads(out: Node) -> bool:
    """Whether ``[b, h, t, d]`` is only made ``[b, t, h * d]`` (or a contiguous ``[b, t, h, d]``)."""
    if len(out.users) != 1:
        return False
    swap = next(iter(out.users))
    swapped = [d % 4 if isinstance(d, int) else d for d in swap.args[1:]]
    if (swap.target, swapped) not in SWAPS or len(swap.users) != 1:
        return False
    return next(iter(swap.users)).target in MERGES


@rewrite(
    "attention-layout",
    "the query of an attention is stored heads last, so that merging the heads of the result needs no copy",
)
def lay_out_queries(gm: GraphModule) -> int:
    """Rewrites the queries of every attention in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    return rewrite_graphs(gm, _lay_out_graph)


def _lay_out_graph(graph: Graph) -> int:
    found = [node for node in graph.nodes if _needs_layout(node)]
    for node in found:
        _lay_out(node)
    return len(found)


def _needs_layout(node: Node) -> bool:
    if node.target is not F.scaled_dot_product_attention or not node.args or not merges_heads(node):
        return False
    query = node.args[0]
    if not isinstance(query, Node) or query.target not in COMPUTED or len(query.users) != 1:
        return False
    value = query.meta.get("example_value")
    if not isinstance(value, Tensor) or value.dim() != 4:
        return False
    _, h, t, d = value.shape
    contiguous = zip(value.stride(), (h * t * d, t * d, d, 1), strict=True)
    if not all(statically_known_true(have == want) for have, want in contiguous):
        return False
    return all(statically_known_true(extent > 1) for extent in (h, t))


def _lay_out(node: Node) -> None:
    graph, query = node.graph, node.args[0]
    log.info("%s gives %s the layout in which heads are merged", query, node.name)
    call = partial(new_node, graph, like=node)
    with graph.inserting_before(node):
        fresh = call("contiguous", call("transpose", query, 1, 2))
        again = call("transpose", fresh, 1, 2)
    node.args = (again, *node.args[1:])


__all__ = ["COMPUTED", "MERGES", "SWAPS", "lay_out_queries", "merges_heads"]
