"""Attention with a bias that lies in memory, or is looked up, stays spelled out where one kernel takes less
time than a call.

Before, with a bias ``[heads, rows, keys]`` that is an argument::

    out = (q @ k.transpose(-2, -1) * scale + bias).softmax(-1) @ v

After, the same, with a mark at the last product, which ``attention`` then leaves alone.  As a mask of
``scaled_dot_product_attention``, which it would call, the bias is read once more and written to memory: where
each number of a row is -inf, the call gives 0 and not NaN, and a copy of the bias has NaN there.  Of the
spelled-out form ``derive-cascades`` makes one kernel, which reads the bias as it lies.

A bias may be looked up for each row and key, in a table that a model learned::

    bias = table[:, (i[:, None] - j).clamp(-128, 128) + 128]

A call takes it from memory, a number for each head, row and key.  A kernel looks it up for each score: the
table stays in the cache of a multiprocessor (``bias_tables.py``).

It fires on a GPU, where the kernel was measured to take less time than the call, for a mask that is added and
that no op computes but by moving it; and for one that is looked up, where the clock says so of both
(``cost/attention.py``).  It does not fire for a few queries, whose keys are split; where gradients are asked
for, under autocast, for sizes that are unknown while compiling; for a table of more than 128 KiB, places in
it that other ops than sums, differences, clamps and magnitudes of integers compute, or a bias that is read
elsewhere, too, as layers may share one; nor under an option that makes no such kernel: ``products`` other
than ``auto``, or ``rounding="eager"``.

Remarks: why such attention becomes a call (``missed: stays``); both times of a bias that is looked up, also
where they are a reason not to (``missed: slower``).

Why not an MLIR pass: ``attention`` makes the call before AOTAutograd traces the graph.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ...cost.attention import LookedUpBias, LoopedAttention
from ...cost.hardware import Hardware
from ..captured.attention import DERIVED, Attention, multiplies, recognize
from ..captured.attention_splits import hardware_of, runs_under_autocast
from ..captured.matching import example, rewrite_graphs
from ..rewriting import Weighed, rewrite
from .attention_calls import MOST_SPLIT
from .bias_tables import BiasTable, lies_in_memory, table_of

#: Types of operands, as the clock names them.
_TYPES = {torch.bfloat16: "bf16", torch.float16: "f16"}
#: Why attention becomes a call, or times in microseconds: of the kernel and of the call, or none.
_Verdict = str | Mapping[str, float]


@rewrite(
    "attention-biases",
    "attention with a bias stays spelled out, as one kernel takes less time than a call",
)
def keep_biases(gm: GraphModule) -> int:
    """Marks each such attention of a captured graph, and of the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.
    """
    judged = list[tuple[Node, _Verdict]]()
    rewrite_graphs(gm, lambda graph: _keep(graph, judged))
    count = Weighed()
    for node, verdict in judged:
        if isinstance(verdict, str):
            count = count.stays(node, verdict)
        else:
            count = (count.fired if DERIVED in node.meta else count.refused)(node, verdict)
    return count


def _keep(graph: Graph, judged: list[tuple[Node, _Verdict]]) -> int:
    """``judged`` takes what was weighed."""
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
        verdict = None if isinstance(found, str) else _verdict(found)
        if verdict is None:
            continue
        judged.append((node, verdict))
        if not isinstance(verdict, str) and verdict.get("kernel_us", 0.0) <= verdict.get("call_us", 0.0):
            node.meta[DERIVED] = True
            count += 1
    return count


def _verdict(found: Attention) -> _Verdict | None:
    """Of attention with a bias that lies in memory or is looked up; None of any other."""
    q, k, v, mask = (example(n) for n in (found.query, found.key, found.value, found.mask))
    if found.fused.kind != "added" or found.mask is None or q is None or k is None or v is None:
        return None
    assert mask is not None, "it was recognised"
    known = all(type(n) is int for value in (q, k, v, mask) for n in value.shape)
    table = None
    if not lies_in_memory(found.mask):
        table = table_of(found.mask, q.shape[-2], k.shape[-1]) if known else None
        if table is None:
            return None
    if found.differentiated:
        return "gradients are asked for"
    if not known:
        return "sizes are unknown"
    if q.dtype not in _TYPES:
        return "its operands are not of 16 bits"
    if q.shape[-2] <= MOST_SPLIT:
        return "its keys are split"
    sizes = LoopedAttention(q.shape[-2], k.shape[-1], (q.shape[-1], v.shape[-1]))
    hardware = hardware_of(q.device)
    unmeasured = sizes.unmeasured(hardware)
    if unmeasured is not None:
        return unmeasured
    if isinstance(table, BiasTable):
        return _times(table, q, k, v, hardware)
    if table is not None:
        return table
    rows = mask.shape[-2] if mask.dim() > 1 else 1
    times = sizes.call_times(hardware, computed=False, bools=False, rows=rows)
    return {} if times > 1 else f"a call takes {times} times as long as the kernel"


def _times(table: BiasTable, q: Tensor, k: Tensor, v: Tensor, hardware: Hardware) -> Mapping[str, float]:
    """Of a kernel that looks the bias up for each score, and of a call with what makes its mask."""
    bias = LookedUpBias(
        scores=q.shape[:-1].numel() * k.shape[-1],
        made=table.made,
        ops=table.ops,
        head=(q.shape[-1] + v.shape[-1]) // 2,
        element=_TYPES[q.dtype],
    )
    return {"kernel_us": round(bias.kernel_us(hardware), 1), "call_us": round(bias.call_us(hardware), 1)}


__all__ = ["keep_biases"]
