"""A call of ``scaled_dot_product_attention`` under a mask is spelled out where one kernel takes less time.

Before::

    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.125)

After, for a mask of bools::

    x = where(mask, (q @ k.transpose(-2, -1)).float() * 0.125, -inf)
    weights = where((x == -inf).all(-1), 0, softmax(x, -1))
    out = weights.to(q.dtype) @ v

torch's kernels that take a mask read it as numbers that are added, so a mask of bools is written as such
numbers first, and they compute each score, whatever is masked.  ``derive-cascades`` makes one kernel of the
steps, into which fuses what makes the mask.  Where that is a comparison of rows and keys, as a window is, no
block is computed of which it hides each score.

It fires where the kernel was measured to take less time (``cost/attention.py``): under a mask that is
computed in the graph, as a window of positions is; one for all rows; one of floats; and one of bools in
memory for narrow heads, or of at most 1024 keys.  Of at most 16 queries, as in decoding, it fires where two
kernels are estimated to take less time than the call: one reads slices of the keys, and one joins these
(``split-reductions``).  It does not fire without a mask, or for one that became ``is_causal``, as the kernels
of the library that take none take less time; for one whose numbers are looked up in a table, which layers
may share (``attention-biases`` says where a kernel looks them up); with dropout; of fewer than 256 keys,
which nobody measured; where gradients are asked for, under autocast, for sizes that are unknown while
compiling; nor under an option that makes no such kernel: ``products`` other than ``auto``, or
``rounding="eager"``.

A row that sees no key is 0, as the op defines it.  A NaN in a score that a mask of bools hides is lost.

Remarks: why a call under a mask stays (``missed: stays``).

Why not an MLIR pass: AOTAutograd chooses torch's kernel when it traces the op.
"""

from functools import partial
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.nn import functional as F

from ...cost.attention import MOST_ROWS, LoopedAttention, MaskedAttention
from ...cost.hardware import Hardware
from ...fx.new_node import new_node
from ..captured.attention_masks import attention_arguments
from ..captured.attention_splits import hardware_of, masked_attention, runs_under_autocast
from ..captured.matching import example, rewrite_graphs
from ..rewriting import Weighed, rewrite
from .bias_tables import computed_of, is_looked_up

#: The most queries of a call whose keys are split: by ``split-reductions``, ``attention-splits`` or the
#: library.
MOST_SPLIT = 16


@rewrite(
    "attention-calls",
    "attention under a mask is spelled out, as one kernel takes less time than torch's that take a mask",
)
def spell_calls(gm: GraphModule) -> int:
    """Spells out each such call in a captured graph, and in the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    kept = list[tuple[Node, str]]()
    count = Weighed(rewrite_graphs(gm, partial(_spell_graph, kept=kept)))
    for node, reason in kept:
        count = count.stays(node, reason)
    return count


def _spell_graph(graph: Graph, kept: list[tuple[Node, str]]) -> int:
    """``kept`` takes the calls under a mask that stay on a GPU, each with the reason."""
    calls = [n for n in graph.nodes if n.target is F.scaled_dot_product_attention]
    if not calls:
        return 0
    cast, count = runs_under_autocast(graph), 0
    for node in calls:
        reason = "it runs under autocast" if cast else _refusal(node)
        if reason is None:
            _spell(node)
            count += 1
        elif _has_mask_on_gpu(node):
            kept.append((node, reason))
    return count


def _has_mask_on_gpu(node: Node) -> bool:
    mask = example(attention_arguments(node).get("attn_mask"))
    return mask is not None and mask.device.type == "cuda"


def _refusal(node: Node) -> str | None:
    """Why a call stays, or None."""
    arguments = attention_arguments(node)
    values = [example(arguments.get(name)) for name in ("query", "key", "value", "attn_mask")]
    if arguments.get("dropout_p") or arguments.get("is_causal") or any(v is None for v in values):
        return "it has no mask, or a dropout"
    q, k, v, mask = (value for value in values if value is not None)
    if any(value.requires_grad for value in (q, k, v, mask)):
        return "gradients are asked for"
    if not all(type(n) is int for value in (q, k, v, mask) for n in value.shape):
        return "sizes are unknown"
    if not (q.dim() == k.dim() == v.dim() == 4 and 2 <= mask.dim() <= 4):
        return "operands are not 4-D, or the mask has one dim"
    if len({q.dtype, k.dtype, v.dtype}) > 1 or mask.dtype not in (torch.bool, torch.float32, q.dtype):
        return "operands differ in their dtype"
    heads = k.shape[1] == v.shape[1] and (q.shape[1] == k.shape[1] or bool(arguments.get("enable_gqa")))
    if not heads or q.shape[1] % k.shape[1] or len({t.shape[0] for t in (q, k, v)}) > 1:
        return "operands are broadcast"
    if q.device.type != "cuda" or q.dtype not in (torch.bfloat16, torch.float16):
        return "its operands are not of 16 bits on a GPU"
    sizes, hardware = LoopedAttention(q.shape[2], k.shape[2], (q.shape[3], v.shape[3])), hardware_of(q.device)
    unmeasured = sizes.unmeasured(hardware)
    if unmeasured is not None:
        return unmeasured
    if is_looked_up(arguments["attn_mask"], q.shape[2] + k.shape[2]):
        return "its mask is looked up in a table, which each kernel would do for each score"
    if q.shape[-2] <= MOST_SPLIT:
        few = masked_attention(q, k, v, mask, grouped=bool(arguments.get("enable_gqa")))
        return few if isinstance(few, str) else _refusal_of_few(few, hardware)
    computed = _is_computed(arguments["attn_mask"], q.shape[2] + k.shape[2])
    bools = mask.dtype == torch.bool
    times = sizes.call_times(hardware, computed=computed, bools=bools, rows=mask.shape[-2])
    return None if times > 1 else f"it takes {times} times as long as the kernel"


def _refusal_of_few(sizes: MaskedAttention, hardware: Hardware) -> str | None:
    """Why a call of a few queries stays, or None."""
    if sizes.batch * sizes.heads == 1:
        return "it has one head, of which nobody measured a kernel"
    if sizes.rows == 1:
        return "no queries share keys, whose products as calls read them as fast"
    if sizes.rows > MOST_ROWS:
        return f"{sizes.rows} rows share keys, more than one block has"
    kernel, call = sizes.kernel_us(hardware), sizes.call_us(hardware)
    if kernel <= hardware.rates.attention.margin * call:
        return None
    return f"it takes {call:.1f} us, and a kernel would take {kernel:.1f}"


def _is_computed(mask: Node, places: int) -> bool:
    """Whether a mask is computed in the graph of tensors of no more elements than ``places``."""
    return not any(
        node.op in ("placeholder", "get_attr")
        and ((value := example(node)) is None or value.numel() > places)
        for node in computed_of(mask, lambda node: node.all_input_nodes)
    )


def _spell(node: Node) -> None:
    arguments = attention_arguments(node)
    query, key, value, mask = (arguments[name] for name in ("query", "key", "value", "attn_mask"))
    q, k, given = (example(n) for n in (query, key, mask))
    assert q is not None and k is not None and given is not None, "refused without example values"
    scale = arguments.get("scale")
    with node.graph.inserting_before(node):
        emit: Any = partial(new_node, node.graph, like=node)
        if q.shape[1] != k.shape[1]:
            key, value = (emit("repeat_interleave", n, q.shape[1] // k.shape[1], 1) for n in (key, value))
        products = emit("float", emit(torch.matmul, query, emit("transpose", key, -2, -1)))
        x = emit("mul", products, q.shape[-1] ** -0.5 if scale is None else float(scale))
        if given.dtype == torch.bool:
            x = emit(torch.where, mask, x, -float("inf"))
        else:
            x = emit("add", x, mask)
        empty = emit("all", emit("eq", x, -float("inf")), -1, True)
        weights = emit("to", emit("masked_fill", emit("softmax", x, -1), empty, 0.0), q.dtype)
        result = emit(torch.matmul, weights, value)
        out = example(node)
        if out is not None and not out.is_contiguous():  # as kernels lay it out, heads last
            result = emit("transpose", emit("contiguous", emit("transpose", result, 1, 2)), 1, 2)
    if out is not None:
        result.meta["example_value"] = out
    node.replace_all_uses_with(result)
    node.graph.erase_node(node)


__all__ = ["MOST_SPLIT", "spell_calls"]
