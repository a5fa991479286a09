"""The mask of an attention is made contiguous, so that a fused kernel can read it.

No fused kernel on a GPU takes a mask whose keys are not next to each other in memory.  torch then computes
attention by float32 products around a softmax, with the matrix of scores in memory.  A bias that is looked up
for each pair of positions is such a mask: its lookup puts the heads last in memory.

Before::

    bias = embedding(distance).permute(2, 0, 1)[None]             # strides [.., 1, t * h, h]
    mask = torch.where(seen, bias, lowest)                        # the same strides
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask)

After::

    out = scaled_dot_product_attention(q, k, v, attn_mask=mask.contiguous())

and, where an operand needs a gradient, with keys from which their mean is subtracted::

    out = scaled_dot_product_attention(q, k - k.mean(-2, keepdim=True), v, attn_mask=mask.contiguous())

The generated kernel that computes the mask writes it in the new order, so the inserted copy costs nothing.
torch still chooses the kernel: it is the one that a contiguous mask gets (the memory-efficient one, if the
mask needs a gradient).

Why the mean is subtracted: one vector added to every key adds one number to all scores of a query, which
softmax ignores.  So the gradients of a query's scores sum to 0, and the mean of the keys has no part in the
gradient of the query.  A fused backward subtracts ``dout .  out`` with an output that was rounded to 16 bits;
the gradients of its scores sum to that rounding error, which is then multiplied by the mean key.  Keys that
no layer norm has centred have a large mean: in T5 the errors of the gradients of queries and keys were twice
eager's, and are 1.1 times with centred keys.  Their own gradient is centred in turn: what rounding left of
its sum would be multiplied by what all tokens share, in the gradient of the weights that make keys of them.

It does not fire

1. off the GPU, where the strides of a mask do not matter; nor for operands that no fused kernel takes, or
   that it computes less accurately than products (the same condition as in ``attention.py``);
2. where the mask has one value for all keys, sizes or strides unknown while compiling, or a dtype that is
   neither bool nor that of the query (cuDNN misreads float32 beside 16-bit queries) nor cast by autocast;
3. in training with a number of keys that is an odd multiple of 64, whose masked gradient is NaN in cuDNN;
4. where algorithms must be deterministic: the fused gradients are not.

Why not an MLIR pass: torch chooses the attention kernel by the strides of the mask when AOTAutograd traces
the op."""

import logging
from functools import partial
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.nn import functional as F

from ...fx.new_node import new_node
from ..rewriting import rewrite
from .attention import kernel_refusal
from .attention_layout import merges_heads
from .attention_masks import attention_arguments
from .attention_rows import centre_keys
from .matching import example, rewrite_graphs

log = logging.getLogger(__name__)


@rewrite(
    "attention-mask-layout",
    "the mask of an attention is made contiguous, so that a fused kernel can read it",
)
def lay_out_masks(gm: GraphModule) -> int:
    """Rewrites the masks of every attention in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    if torch.are_deterministic_algorithms_enabled():
        return 0
    return rewrite_graphs(gm, _lay_out_graph)


def _lay_out_graph(graph: Graph) -> int:
    attentions = [n for n in graph.nodes if n.target is F.scaled_dot_product_attention]
    return sum(_lay_out(node) for node in attentions)


def _lay_out(node: Node) -> bool:
    arguments = attention_arguments(node)
    mask = arguments.get("attn_mask")
    if not isinstance(mask, Node):
        return False
    reason = _refusal(arguments)
    if reason is not None:
        log.debug("the mask of %s keeps its layout: %s", node.name, reason)
        return False
    log.info("the mask of %s is made contiguous", node.name)
    emit = partial(new_node, node.graph, like=node)
    with node.graph.inserting_before(node):
        changed = {"attn_mask": emit("contiguous", mask)}
        if _needs_gradient(arguments):
            changed["key"] = centre_keys(emit, arguments["key"], example(arguments["query"]))
    node.args, node.kwargs = (), arguments | changed
    out = example(node)
    if out is not None and out.is_contiguous() and not merges_heads(node):
        with node.graph.inserting_after(node):  # fused kernels give [b, t, h, d] in memory
            fresh = emit("contiguous")
        node.replace_all_uses_with(fresh)
        fresh.args = (node,)
        fresh.meta |= {"example_value": out}
    return True


def _needs_gradient(arguments: dict[str, Any]) -> bool:
    values = (example(arguments.get(name)) for name in ("query", "key", "value", "attn_mask"))
    return any(value is not None and value.requires_grad for value in values)


def _refusal(arguments: dict[str, Any]) -> str | None:
    """Why the mask of an attention with these arguments stays as it is, or None."""
    q, k, v, mask = (example(arguments.get(n)) for n in ("query", "key", "value", "attn_mask"))
    if q is None or k is None or v is None or mask is None:
        return "an operand has no example value"
    if q.device.type != "cuda":
        return "strides do not matter here"
    keys = k.shape[-2]
    if not all(type(n) is int for n in (*mask.shape, *mask.stride(), keys)):
        return "sizes are unknown"
    if mask.stride(-1) == 1 or mask.shape[-1] != keys:
        return "keys are contiguous, or one value serves all"
    cast = torch.is_autocast_enabled("cuda") and mask.is_floating_point()
    if mask.dtype not in (torch.bool, q.dtype) and not cast:
        return "it has another dtype"
    if keys % 128 == 64 and _needs_gradient(arguments):
        return "cuDNN's gradient is wrong for this number of keys"
    return kernel_refusal(q)


__all__ = ["lay_out_masks"]
