"""Attention whose mask is learned runs in the one fused kernel that gives the mask a gradient.

``scaled_dot_product_attention`` takes no fused kernel for a mask that needs a gradient (the relative
positions that T5 adds to the scores): it multiplies in float32 and keeps the matrix of scores, both ways,
although the memory-efficient kernel has that gradient.

Before, where the mask needs a gradient::

    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)

After::

    bias = mask.contiguous().expand(b, h, t, s)
    out = aten._scaled_dot_product_efficient_attention(q, k, v, bias, True, 0.0, False, scale=1.0)[0]

The scores then stay on the chip; only the gradient of the mask is a matrix of their size.  The kernel is the
one that torch itself takes for the same mask without a gradient.

It does not fire on a CPU, where torch's switch for that kernel is off or algorithms have to be deterministic
(its backward adds in any order), with dropout, causal masks or grouped heads, where dtypes differ or
autocast would change them, for sizes unknown while compiling, nor where rows of the mask are no multiple of
16 elements.
"""

import logging
import operator
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.nn import functional as F

from .attention import kernel_refusal
from .attention_layout import merges_heads
from .attention_masks import attention_arguments, example

log = logging.getLogger(__name__)

_DEFAULTS = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False}

#: Rows of the mask begin at multiples of so many elements, or the kernel refuses it.
_ALIGNED = 16


def attend_with_learned_masks(gm: GraphModule) -> int:
    """Rewrites every attention with such a mask in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    if torch.are_deterministic_algorithms_enabled() or not torch.backends.cuda.mem_efficient_sdp_enabled():
        return 0
    count = 0
    for module in gm.modules():
        if not isinstance(module, GraphModule):
            continue
        biases: dict[Node, Node] = {}  # layers share a mask
        found = [node for node in module.graph.nodes if node.target is F.scaled_dot_product_attention]
        changed = sum(_rewrite(node, biases) for node in found)
        if changed:
            module.recompile()
        count += changed
    return count


def _rewrite(node: Node, biases: dict[Node, Node]) -> bool:
    given = _DEFAULTS | attention_arguments(node)
    operands = [given[name] for name in ("query", "key", "value", "attn_mask")]
    values = [example(a) for a in operands]
    out = example(node)
    if values[3] is None or not values[3].requires_grad:
        return False
    reason = "an operand has no example value"
    if out is not None and all(v is not None for v in values):
        reason = _refusal(out, *values) or _variant(given)  # type: ignore[arg-type]
    if reason or out is None:
        log.debug("the learned mask of %s stays in the matrix of scores: %s", node.name, reason)
        return False
    log.info("%s gives its mask a gradient in a fused kernel", node.name)
    q, k, v, mask = operands
    if mask not in biases:
        biases[mask] = _expanded(mask, [*values[0].shape[:3], values[1].shape[2]])  # type: ignore[union-attr]
    graph = node.graph
    with graph.inserting_before(node):
        target = torch.ops.aten._scaled_dot_product_efficient_attention.default
        arguments = (q, k, v, biases[mask], True, 0.0, False)
        made = graph.call_function(target, arguments, {"scale": given["scale"]})
        result = graph.call_function(operator.getitem, (made, 0))
        if out.is_contiguous() and not merges_heads(node):  # the kernel gives [b, t, h, d] in memory
            result = graph.call_method("contiguous", (result,))
    for new in (made, result):
        new.meta = _kept(node)
    result.meta = dict(node.meta)
    node.replace_all_uses_with(result)
    graph.erase_node(node)
    return True


def _refusal(out: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> str:
    """Why tensors forbid the kernel, or ""."""
    if q.device.type != "cuda":
        return "the kernel is for GPUs"
    if not all(t.dim() == 4 for t in (q, k, v)) or not 2 <= mask.dim() <= 4:
        return "operands are not 4-D"
    if len({t.dtype for t in (q, k, v, mask, out)}) > 1 or len({t.device for t in (q, k, v, mask)}) > 1:
        return "dtypes or devices differ"
    if any(type(n) is not int for t in (q, k, v, mask) for n in t.shape):
        return "sizes are unknown"
    (b, h, t, d), keys = q.shape, k.shape[2]
    if (b, h, keys, d) != tuple(k.shape) or k.shape != v.shape:
        return "operands are broadcast, or head sizes differ"
    wanted = (b, h, t, keys)[4 - mask.dim() :]
    if any(n not in (1, w) for n, w in zip(mask.shape, wanted, strict=True)) or mask.shape[-1] != keys:
        return "the mask is broadcast over the keys"
    if keys % _ALIGNED or any(x.stride(3) != 1 for x in (q, k, v)):
        return "rows are not aligned"
    return kernel_refusal(q) or ""


def _variant(given: dict[str, Any]) -> str:
    plain = not given["is_causal"] and not given["enable_gqa"] and given["dropout_p"] == 0
    scale = given["scale"]
    if plain and (scale is None or isinstance(scale, float | int)):
        return ""
    return "dropout, a causal mask, grouped heads or a computed scale"


def _expanded(mask: Node, shape: list[int]) -> Node:
    """The mask as the kernel takes it, right behind the node."""
    after = mask.next
    while after.op == "placeholder":
        after = after.next
    with mask.graph.inserting_before(after):
        rows = mask.graph.call_method("contiguous", (mask,))
        whole = mask.graph.call_method("expand", (rows, *shape))
    for new in (rows, whole):
        new.meta = _kept(mask)
    return whole


def _kept(node: Node) -> dict[str, Any]:
    return {key: node.meta[key] for key in ("stack_trace", "nn_module_stack") if key in node.meta}


__all__ = ["attend_with_learned_masks"]
