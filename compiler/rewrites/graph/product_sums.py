"""A matrix product is added in place to its other summand, which no node reads afterwards.

The residual sums of transformers without biases (Llama, T5) are the example.

Before::

    n = norm(h)
    s = aten.add(h, aten.mm(f(n), w))                        # h is not read again
    norm(s)

After::

    n = norm(h)
    s = aten.addmm_(h, f(n), w)                              # in the storage of h
    norm(s)

The library's product reads and writes the sum in its last step.  The product itself is neither written nor
read, the kernel that follows does not write the sum, and one rounding less is made.  On an H200, in bfloat16,
``addmm_`` takes as long as ``mm`` or up to 1.1 us more (4096x2048 by 2048x2048: 46.1 instead of 45.0 us; by
8192 rows: equal), and saves moving one such matrix of five.  The gradients of a value that several products
read are such sums, too.

It fires on a product without a bias that has one reader, with views and copies between at most, where the
other summand has its shape and element type, is contiguous, is made in this graph by an op that allocates its
result, is stored for other readers anyway, and has no reader later in the graph, the results of the graph
included.

It does not fire where the product multiplies that summand itself; for float32 and float64; where a size is no
multiple of 8 (such products may be padded) or unknown while compiling; nor in a forward graph of training,
which saves its sums.

Why not an MLIR pass: the result is another op of torch's libraries, whose choice depends on the strides that
are chosen on the FX graph.
"""

import logging
from functools import partial

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from ...fx.collectives import waits_by_start
from ...fx.new_node import new_node
from ...fx.products import overloads
from ...fx.table import LOWERINGS, target_name
from ...fx.views import RESHAPES, Waits, may_share_storage, storage_readers, storage_root
from ..rewriting import rewrite
from .product_epilogues import DTYPES, VECTOR

log = logging.getLogger(__name__)

_aten = torch.ops.aten

#: Products whose result is fresh memory; that of one that writes an operand is, as far as later readers go.
_PRODUCTS = frozenset(overloads(lambda op: op.fresh or op.writes))


@rewrite(
    "product-sums",
    "a matrix product is added in place to its other summand, which no node reads afterwards",
)
def add_products_in_place(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many sums became part of a product."""
    order = {node: number for number, node in enumerate(gm.graph.nodes)}
    waits = waits_by_start(gm.graph)
    count = 0
    for node in list(gm.graph.nodes):
        if node.target is not _aten.add.Tensor or node.kwargs or len(node.args) != 2:
            continue
        for kept, added in (node.args, node.args[::-1]):
            if not isinstance(kept, Node) or not isinstance(added, Node):
                continue
            product = _product(added)
            reason = "there is no product" if product is None else _refusal(node, kept, product, order, waits)
            if reason is None:
                assert product is not None, "there is one"
                order[_add(node, kept, product)] = order[node]
                log.info("%s is added to %s in place", product.name, kept.name)
                count += 1
                break
            log.debug("%s is not added to %s in place: %s", added.name, kept.name, reason)
    if count:
        gm.graph.eliminate_dead_code()
        gm.recompile()
    return count


def _product(node: Node) -> Node | None:
    """The product that a node is, behind views and copies; each with one reader."""
    while len(node.users) == 1:
        if node.target is _aten.mm.default:
            return node
        copied = node.target is _aten.clone.default and not node.kwargs
        if not (copied or node.target in RESHAPES) or not isinstance(node.args[0], Node):
            return None
        node = node.args[0]
    return None


def _refusal(total: Node, kept: Node, product: Node, order: dict[Node, int], waits: Waits) -> str | None:
    """Why ``kept`` plus the product is not computed in the storage of ``kept``, or None."""
    values = [n.meta.get("val") for n in (total, kept, product)]
    if not all(isinstance(v, Tensor) for v in values):
        return "an operand is no tensor"
    if len({v.dtype for v in values}) > 1 or values[0].dtype not in DTYPES:
        return "the element types differ or are wide"
    left, right = product.args
    sizes = [n for a in (left, right) for n in a.meta["val"].shape]  # type: ignore[union-attr]
    if any(type(n) is not int or n % VECTOR for n in sizes):
        return "a size is unknown or no multiple of a vector"
    if values[0].shape != values[1].shape or values[0].numel() != values[2].numel():
        return "it is broadcast"
    if not all(v.is_contiguous() for v in values):
        return "its layout is another one"
    root = storage_root(kept)
    if not _is_fresh(root):
        return "its storage is not fresh"
    if any(storage_root(operand) is root for operand in (left, right)):
        return "the product reads it"
    readers = storage_readers(root, waits)
    if any(order.get(user, len(order)) > order[total] for user in readers):
        return "it is read later"
    if root.target not in _PRODUCTS and len(readers) < 2:
        return "nothing else wants it in memory"
    return None


def _add(total: Node, kept: Node, product: Node) -> Node:
    """Puts the product into the place of the sum; the node that adds."""
    graph, sizes = total.graph, list(product.meta["val"].shape)
    before, after = (n.meta["val"] for n in (kept, total))
    call = partial(new_node, graph, like=total)
    with graph.inserting_before(total):
        matrix = kept
        if list(before.shape) != sizes:
            matrix = call(_aten.view.default, kept, sizes, val=before.view(sizes))
        # In the metadata the new value shares the storage of the sum, to which views behind it refer.
        flat = after if list(after.shape) == sizes else after.view(sizes)
        made = result = call(_aten.addmm_.default, matrix, *product.args, val=flat)
        if list(after.shape) != sizes:
            result = call(_aten.view.default, made, list(after.shape), val=after)
    total.replace_all_uses_with(result)
    graph.erase_node(total)
    return made


def _is_fresh(node: Node) -> bool:
    """Whether an op of this graph makes the value in storage of its own."""
    if node.op != "call_function" or not isinstance(node.meta.get("val"), Tensor):
        return False
    if node.target in _PRODUCTS:
        return True
    lowering = LOWERINGS.get(target_name(node.target))
    return lowering is not None and not may_share_storage(node) and not node.target._schema.is_mutable  # type: ignore[union-attr]


__all__ = ["add_products_in_place"]
