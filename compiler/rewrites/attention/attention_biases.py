"""Attention with a bias that lies in memory stays spelled out where one kernel takes less time than a call.

Before, with a bias ``[heads, rows, keys]`` that is an argument::

    out = (q @ k.transpose(-2, -1) * scale + bias).softmax(-1) @ v

After, the same, with a mark at the last product, which ``attention`` then leaves alone.  As a mask of
``scaled_dot_product_attention``, which it would call, the bias is read once more and written to memory: where
each number of a row is -inf, the call gives 0 and not NaN, and a copy of the bias has NaN there.  Of the
spelled-out form ``derive-cascades`` makes one kernel, which reads the bias as it lies.

It fires on a GPU, where the kernel was measured to take less time than the call (``cost/attention.py``), for
a mask that is added and that no op computes but by moving it.  It does not fire for a few queries, whose keys
are split; where gradients are asked for, under autocast, for sizes that are unknown while compiling; nor
under an option that makes no such kernel: ``products`` other than ``auto``, or ``rounding="eager"``.

Remarks: why such attention becomes a call (``missed: stays``).

Why not an MLIR pass: ``attention`` makes the call before AOTAutograd traces the graph.
"""

import torch
from torch.fx import Graph, GraphModule, Node

from ...cost.attention import LoopedAttention
from ..captured.attention import DERIVED, Attention, multiplies, recognize
from ..captured.attention_splits import hardware_of, runs_under_autocast
from ..captured.matching import example, rewrite_graphs
from ..rewriting import Weighed, rewrite
from .attention_calls import MOST_SPLIT

#: Methods and functions that give the numbers of a tensor in another shape.
_MOVED = ("view", "reshape", "unsqueeze", "squeeze", "expand", "expand_as", "getitem", "transpose", "permute")


@rewrite(
    "attention-biases",
    "attention with a bias in memory stays spelled out, as one kernel takes less time than a call",
)
def keep_biases(gm: GraphModule) -> int:
    """Marks each such attention of a captured graph, and of the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.
    """
    kept = list[tuple[Node, str]]()
    count = Weighed(rewrite_graphs(gm, lambda graph: _keep(graph, kept)))
    for node, reason in kept:
        count = count.stays(node, reason)
    return count


def _keep(graph: Graph, kept: list[tuple[Node, str]]) -> int:
    """``kept`` takes what becomes a call, each with the reason."""
    count = 0
    if runs_under_autocast(graph):
        return count
    for node in graph.nodes:
        out = example(node)
        if not multiplies(node) or DERIVED in node.meta:
            continue
        if out is None or out.device.type != "cuda" or out.dim() != 4:
            continue
        found = recognize(node)
        if isinstance(found, str) or found.fused.kind != "added" or not _lies_in_memory(found.mask):
            continue
        reason = _refusal(found)
        if reason is None:
            node.meta[DERIVED] = True
            count += 1
        else:
            kept.append((node, reason))
    return count


def _lies_in_memory(node: Node | None) -> bool:
    """Whether a mask is an argument or an attribute, perhaps in another shape."""
    while node is not None and node.op in ("call_method", "call_function"):
        name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
        inputs = [n for n in node.all_input_nodes if example(n) is not None]
        if name not in _MOVED or len(inputs) != 1:
            return False
        [node] = inputs
    return node is not None


def _refusal(found: Attention) -> str | None:
    """Why attention with a bias becomes a call, or None."""
    q, k, v, mask = (example(n) for n in (found.query, found.key, found.value, found.mask))
    assert q is not None and k is not None and v is not None and mask is not None, "it was recognised"
    if found.differentiated:
        return "gradients are asked for"
    if not all(type(n) is int for value in (q, k, v, mask) for n in value.shape):
        return "sizes are unknown"
    if q.dtype not in (torch.bfloat16, torch.float16):
        return "its operands are not of 16 bits"
    if q.shape[-2] <= MOST_SPLIT:
        return "its keys are split"
    sizes = LoopedAttention(q.shape[-2], k.shape[-1], (q.shape[-1], v.shape[-1]))
    hardware = hardware_of(q.device)
    unmeasured = sizes.unmeasured(hardware)
    if unmeasured is not None:
        return unmeasured
    rows = mask.shape[-2] if mask.dim() > 1 else 1
    times = sizes.call_times(hardware, computed=False, bools=False, rows=rows)
    return None if times > 1 else f"a call takes {times} times as long as the kernel"


__all__ = ["keep_biases"]
