"""A few queries against many keys under a mask: the keys are split, where the call would not split them.

Decoding has one query and a long cache of keys, and often a mask, because the cache is longer than what is in
it.  The kernels that take a mask give all keys of a head to one program: 32 heads of one query leave three
quarters of an H100 idle, and take seven times what reading the keys takes.

Before::

    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)     # [1, 32, 1, 128]

After, with the keys in n parts and the queries of all heads that share keys as rows of one product::

    scores = bmm(q', k', out_dtype=float32) * scale + mask    # [b, heads of k, n, rows, s / n]
    top = scores.amax(-1, keepdim=True)                       # of a part
    weights = exp(scores - top)
    factor = exp(top - top.amax(2, keepdim=True))
    out = (bmm(weights, v', out_dtype=float32) * factor).sum(2) / (weights.sum(-1) * factor).sum(2)

Scores and sums are float32, as they are inside of a kernel, and a row without keys is 0, as it is there.
With one row, ``choose-libraries`` makes kernels of the products, which fuse with what is around them.

It fires on a GPU where ``cost/attention.py`` estimates that this takes less time: it says what was
measured.  What two kernels compute in less time, ``attention-calls`` has spelled out before: heads of at most
128 numbers on Hopper.  It does not fire without a mask, as the call splits keys then; for a mask that is
causal or needs a gradient, with dropout, where gradients are asked for, under autocast, where algorithms must
be deterministic, nor for sizes that are unknown while compiling.

Why not an MLIR pass: AOTAutograd chooses the kernel when it traces the op, and only the op is left then.
"""

import functools
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.nn import functional as F

from ...base.dataclass import dataclass
from ...cost.attention import MaskedAttention
from ...cost.devices import device_hardware, hardware_named
from ...cost.hardware import Hardware
from ...fx.new_node import new_node
from ..rewriting import rewrite
from .attention_masks import attention_arguments
from .matching import example, rewrite_graphs
from .memory import effect

log = logging.getLogger(__name__)


@rewrite(
    "attention-splits",
    "a few queries against many keys under a mask: the keys are split, which torch's kernels do not do",
)
def split_keys(gm: GraphModule) -> int:
    """Rewrites every attention of a captured graph, and of the graphs inside it, that is estimated to be
    faster so; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    if torch.are_deterministic_algorithms_enabled():
        return 0
    return rewrite_graphs(gm, _split_graph)


def _split_graph(graph: Graph) -> int:
    attentions = [n for n in graph.nodes if n.target is F.scaled_dot_product_attention]
    if not attentions or runs_under_autocast(graph):
        return 0
    return sum(_split(node) for node in attentions)


def runs_under_autocast(graph: Graph) -> bool:
    """Whether autocast is on, or a node of the graph begins or ends a region of it."""
    return torch.is_autocast_enabled("cuda") or any(map(_is_autocast, graph.nodes))


def _is_autocast(node: Node) -> bool:
    return effect(node).opaque and "autocast" in getattr(node.target, "__name__", "")


def _split(node: Node) -> bool:
    arguments = attention_arguments(node)
    values = {name: example(arguments.get(name)) for name in ("query", "key", "value", "attn_mask")}
    if arguments.get("dropout_p") or arguments.get("is_causal") or None in values.values():
        return False
    q, k, v, mask = values.values()
    assert q is not None and k is not None and v is not None and mask is not None
    sizes = masked_attention(q, k, v, mask, grouped=bool(arguments.get("enable_gqa")))
    if isinstance(sizes, str):
        log.debug("the keys of %s are not split: %s", node.name, sizes)
        return False
    parts = parts_of(sizes, q.device)
    if parts == 1:
        return False
    log.info("the keys of %s are split into %d parts", node.name, parts)
    out, scale = example(node), arguments.get("scale")
    with node.graph.inserting_before(node):
        emit = partial(new_node, node.graph, like=node)
        by = KeySplit(
            sizes, parts, sizes.width**-0.5 if scale is None else float(scale), q.dtype, q.device.type
        )
        query, key, value = (arguments[name] for name in ("query", "key", "value"))
        result = split_attention(emit, by, query, key, value, arguments["attn_mask"], mask)
        if out is None or not out.is_contiguous():  # as kernels lay it out, heads last
            result = emit("transpose", emit("contiguous", emit("transpose", result, 1, 2)), 1, 2)
    if out is not None:
        result.meta["example_value"] = out
    node.replace_all_uses_with(result)
    node.graph.erase_node(node)
    return True


def parts_of(sizes: MaskedAttention, device: torch.device) -> int:
    """Into how many parts the keys of an attention are split; 1 for none."""
    return sizes.parts(hardware_of(device)) if device.type == "cuda" else 1


def masked_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, grouped: bool
) -> MaskedAttention | str:
    """The sizes of an attention of such operands, or why its keys cannot be split.

    q: ``[b, h, t, d]``.  k, v: ``[b, h, s, d]``, with fewer heads where ``grouped``.  mask: two to four dims.
    """
    if any(value.requires_grad for value in (q, k, v, mask)):
        return "gradients are asked for"
    if not all(type(n) is int for value in (q, k, v, mask) for n in (*value.shape, *value.stride())):
        return "sizes are unknown"
    if not (q.dim() == k.dim() == v.dim() == 4 and 2 <= mask.dim() <= 4 and k.shape == v.shape):
        return "operands are not 4-D, or the mask has one dim"
    if len({q.dtype, k.dtype, v.dtype}) > 1 or q.dtype not in (torch.float16, torch.bfloat16):
        return "operands are not of 16 bits"
    if mask.dtype not in (torch.bool, q.dtype) or not q.device == k.device == v.device == mask.device:
        return "the mask has another dtype or device"
    (batch, heads, queries, width), (key_batch, key_heads, keys, key_width) = q.shape, k.shape
    fits = heads == key_heads or (grouped and key_heads and heads % key_heads == 0)
    if (key_batch, key_width) != (batch, width) or not fits or 0 in q.shape or mask.shape[-1] != keys:
        return "operands are broadcast, or the mask has one value for all keys"
    if len(mask.shape) > 2 and mask.shape[-3] not in (1, heads):
        return "the mask is broadcast over groups of heads"
    copies = int(not (_is_whole(k) and _is_whole(v)))
    return MaskedAttention(batch, heads, key_heads, queries, keys, width, q.element_size(), copies)


def _is_whole(value: Tensor) -> bool:
    """Whether heads follow each other in memory, so that parts of their keys are one dim."""
    return value.is_contiguous()


@functools.cache
def hardware_of(device: torch.device) -> Hardware:
    """The model of a GPU; a generic one where there is none."""
    if not torch.cuda.is_available():
        return hardware_named("generic")
    return device_hardware(torch.cuda.get_device_properties(device))


@dataclass(frozen=True)
class KeySplit:
    """How an attention is split.  dtype, device (its type): of the operands."""

    sizes: MaskedAttention
    parts: int
    scale: float
    dtype: torch.dtype
    device: str


def split_attention(
    emit: Callable[..., Node],
    by: KeySplit,
    query: Node,
    key: Node,
    value: Node,
    mask: Node,
    mask_value: Tensor,
) -> Node:
    """Makes products over parts of the keys, in the place of an attention; its contiguous result.

    emit: makes a node.  mask_value: an example of the mask, with two to four dims.
    """
    b, h, d, n = by.sizes.batch, by.sizes.key_heads, by.sizes.width, by.parts
    group, t, s = by.sizes.heads // h, by.sizes.queries, by.sizes.keys // n
    rows = group * t
    wide = partial(_wide_product, emit, by.device == "cuda")
    queries = emit("expand", emit("reshape", query, b, h, 1, rows, d), b, h, n, rows, d)
    keys = emit("transpose", emit("reshape", key, b * h * n, s, d), 1, 2)
    scores = wide(emit("reshape", queries, b * h * n, rows, d), keys)
    scores = emit("mul", emit("view", scores, b, h, n, group, t, s), by.scale)
    seen = _by_parts(emit, mask, mask_value, h, n)
    if mask_value.dtype == torch.bool:
        scores = emit("masked_fill", scores, emit("logical_not", seen), -float("inf"))
    else:
        scores = emit("add", scores, emit("float", seen))
    top = emit("amax", scores, 5, True)
    weights = emit("exp", emit("sub", scores, _or_zero(emit, top)))
    narrow = emit("reshape", emit("to", weights, by.dtype), b * h * n, rows, s)
    parted = emit("view", wide(narrow, emit("reshape", value, b * h * n, s, d)), b, h, n, group, t, d)
    factor = emit("exp", emit("sub", top, _or_zero(emit, emit("amax", top, 2, True))))
    whole = emit("sum", emit("mul", emit("sum", weights, 5, True), factor), 2)
    whole = emit("masked_fill", whole, emit("eq", whole, 0.0), 1.0)
    result = emit("div", emit("sum", emit("mul", parted, factor), 2), whole)
    return emit("reshape", emit("to", result, by.dtype), b, by.sizes.heads, t, d)


def _or_zero(emit: Callable[..., Node], top: Node) -> Node:
    """The largest score, or 0 where there is none: -inf - -inf is NaN."""
    return emit("masked_fill", top, emit("eq", top, -float("inf")), 0.0)


def _wide_product(emit: Any, on_gpu: bool, left: Node, right: Node) -> Node:
    """A product of 16-bit operands with a float32 result, which only a GPU has."""
    if on_gpu:
        return emit(torch.bmm, left, right, out_dtype=torch.float32)
    return emit(torch.bmm, emit("float", left), emit("float", right))


def _by_parts(emit: Any, mask: Node, value: Tensor, heads: int, parts: int) -> Node:
    """A mask ``[.., h or 1, t or 1, s]`` as ``[b or 1, heads or 1, parts, group or 1, t or 1, s / parts]``;
    ``value`` is an example of it.
    """
    for _ in range(4 - value.dim()):
        mask = emit("unsqueeze", mask, 0)
    one = value.dim() < 3 or value.shape[-3] == 1
    by_group = emit("unsqueeze", mask, 1) if one else emit("unflatten", mask, 1, (heads, -1))
    return emit("permute", emit("unflatten", by_group, -1, (parts, -1)), 0, 1, 4, 2, 3, 5)


__all__ = [
    "KeySplit",
    "hardware_of",
    "masked_attention",
    "parts_of",
    "runs_under_autocast",
    "split_attention",
    "split_keys",
]
