"""``flex_attention`` is spelled out where one kernel of its two products takes less time than Inductor's.

Before::

    both = higher_order.flex_attention(q, k, v, score, blocks, 0.125, {}, (bias,), ())
    y = both[0]

After, for a ``score`` that adds ``bias[h, i - j]``, and a mask ``i >= j``::

    s = (q @ k.mT).float() * 0.125
    x = where(i >= j, s + bias[h, i - j], -inf)
    y = where(amax(x, -1) == -inf, 0, softmax(x, -1) @ v)

``derive-cascades`` makes one kernel of that, which fuses with what is around it.  The functions are computed
for each score, whatever they are made of, so nothing in them crosses the keys.  A row that admits no key is
0, as torch defines the op; its logarithm of a sum is -inf.

Keys that the mask does not admit are left out as far as the kernel reads its comparisons: an order of ``i``
and ``j``, or of ``j`` and a number that is looked up for a row.  A mask that compares two look-ups, such as
those of documents, or that is a choice of two, says nothing of the kind.  There the tables of the
``BlockMask`` bound the keys of each block of rows, in front of the mask::

    x = where((first[i // 128] <= j) & (j < last[i // 128]) & (document[i] == document[j]), s, -inf)

It fires where tensor cores multiply the operands, and the kernel was measured to take less time
(``cost/attention.py``), in sizes that are known.  With ``flex_attention="generated"`` it fires wherever the
functions allow it.  It does not fire

- where a function does more than compute each score by itself, or is not read by the rules above: what only
  tables of blocks say, and a choice between masks (``|``) that bounds keys from both sides;
- where all scores are admitted by the mask function but not by the tables, as eager does not look at these;
- with ``rounding="eager"``, where no chain of products runs on line.

Remarks: why a call stays (``missed: stays``).

Why not an MLIR pass: the functions are FX graphs, and the op is a call of Inductor where it stays.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from ...cost.attention import LoopedAttention
from ...cost.hardware import Hardware
from ...fx.new_node import tidied
from ..rewriting import Weighed, rewrite
from .flex_masks import LookUps, NotRead
from .flex_spelled import LOG_2, FlexCall, FlexGraph, for_each_head

#: The places of the score function and of the ``BlockMask`` among the arguments.
_SCORE, _BLOCKS = 3, 4


@rewrite("flex-kernels", "flex_attention is spelled out, as one kernel of its products is faster")
def spell_flex_attention(flex: FlexGraph) -> int:
    """Rewrites a graph with ``meta["val"]`` in place; how many calls are spelled out."""
    count = Weighed()
    for node in flex.gm.graph.find_nodes(op="call_function", target=torch.ops.higher_order.flex_attention):
        try:
            call = FlexCall.of(flex.gm, node, _SCORE, _BLOCKS)
            if not flex.forced:
                _weigh(call, flex.hardware())
        except NotRead as reason:
            count = count.stays(node, str(reason))
            continue
        call.spell_out(flex, _results)
        count = count.counted(count + 1)
    tidied(flex.gm, count)
    return count


def _weigh(call: FlexCall, hardware: Hardware) -> None:
    """Raises NotRead where Inductor's kernel was measured to take less time, or nobody measured it."""
    q, k, v = (call.node.args[n].meta["val"] for n in range(3))  # type: ignore[union-attr]
    if not all(isinstance(n, int) for t in (q, k, v) for n in t.shape):
        raise NotRead("its sizes are unknown while compiling")
    sizes = LoopedAttention(q.shape[-2], k.shape[-2], (q.shape[-1], v.shape[-1]))
    reason = sizes.unmeasured(hardware)
    if reason is not None:
        raise NotRead(reason)
    look_ups = call.look_ups
    times = sizes.flex_times(
        hardware,
        pairs=look_ups is LookUps.PAIRS,
        distances=look_ups is LookUps.DISTANCES,
        choice=call.choice,
    )
    if times < 1:
        raise NotRead(f"Inductor's kernel takes {times} of the time")


def _results(
    call: FlexCall,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    score: GraphModule,
    blocks: tuple[Any, ...],
    scale: float,
    options: Any,
    of_score: tuple[Any, ...] = (),
    of_mask: tuple[Any, ...] = (),
) -> tuple[Callable[[], Tensor], ...]:
    """What gives the result, the logarithm of the sum of each row, and its largest score, both in units of
    log 2.
    """
    scores = call.scores(q, for_each_head(q, k), score, blocks, scale, of_score, of_mask)
    x = scores.where_seen(scores.changed, -math.inf)

    def result() -> Tensor:
        empty = logarithm().unsqueeze(-1) == -math.inf
        return torch.where(empty, 0, torch.softmax(x, -1).to(q.dtype) @ for_each_head(q, v))

    def logarithm() -> Tensor:
        return x.logsumexp(-1)

    return result, lambda: logarithm() / LOG_2, lambda: x.amax(-1) / LOG_2


__all__ = ["spell_flex_attention"]
