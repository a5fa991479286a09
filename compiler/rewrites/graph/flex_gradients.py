"""The gradient of ``flex_attention`` is spelled out, so that kernels of its products never store scores.

Before::

    grads = higher_order.flex_attention_backward(q, k, v, out, lse, g, None, score, joint, blocks, 0.125, ..)
    dq, dk, dv = grads[0], grads[1], grads[2]

After, for a ``joint`` function that multiplies what the score function's gradient takes::

    s = (q @ k.mT).float() * 0.125
    p = where(i >= j, exp(score(s) - lse), 0)
    ds = joint(s, p * ((g @ v.mT).float() - (out * g).sum(-1, keepdim=True))) * 0.125
    dq, dk, dv = ds @ k, ds.mT @ q, p.mT @ g

``derive-cascades`` makes a kernel of each of the last three products, as of the gradients of attention that a
program spells out.  No kernel adds in memory, so equal inputs give equal bits.  A row that admits no key has
gradients of 0, as torch defines the op.

It fires with ``flex_attention="generated"`` and ``products="generated"``, under the conditions of
``flex-kernels``: Inductor's kernels were measured to take less time.  It does not fire where a captured
tensor has a gradient, which is a sum over scores.

Remarks: why a call stays (``missed: stays``).

Why not an MLIR pass: the functions are FX graphs, and the op is a call of Inductor where it stays.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ...fx.new_node import tidied
from ..rewriting import Weighed, rewrite
from .flex_masks import NotRead, read_score
from .flex_spelled import LOG_2, FlexCall, FlexGraph, for_each_head, function_of

#: The places of the score function, of its gradient and of the ``BlockMask`` among the arguments.
_SCORE, _JOINT, _BLOCKS = 7, 8, 9
#: The result that is gradients of captured tensors.
_CAPTURED = 3


@rewrite("flex-gradients", "the gradient of flex_attention is spelled out, so that no kernel stores scores")
def spell_flex_gradients(flex: FlexGraph) -> int:
    """Rewrites a graph with ``meta["val"]`` in place; how many calls are spelled out."""
    count, target = Weighed(), torch.ops.higher_order.flex_attention_backward
    for node in flex.gm.graph.find_nodes(op="call_function", target=target):
        if not flex.gradients:
            count = count.stays(node, "Inductor's kernels of its gradients take less time")
            continue
        for user in list(node.users):
            if not user.users:
                node.graph.erase_node(user)
        try:
            call = FlexCall.of(flex.gm, node, _SCORE, _BLOCKS)
            if any(user.args[1] == _CAPTURED for user in node.users):
                raise NotRead("a captured tensor has a gradient")
            joint = _of_scores(function_of(flex.gm, node.args[_JOINT]))
        except NotRead as reason:
            count = count.stays(node, str(reason))
            continue
        call.spell_out(flex, lambda *given, joint=joint: _results(joint, *given))
        count = count.counted(count + 1)
    tidied(flex.gm, count)
    return count


def _of_scores(function: GraphModule) -> GraphModule:
    """The gradient of the scores alone, of what the gradient of a score function takes.  Raises NotRead where
    it is not computed for each score by itself.
    """
    graph, inside = Graph(), dict[Node, Node]()
    for node in function.graph.nodes:
        if node.op == "output":
            graph.output(inside[node.args[0][0]])
        else:
            inside[node] = graph.node_copy(node, inside.__getitem__)
    graph.eliminate_dead_code()
    found = GraphModule(function, graph)
    read_score(found)
    return found


def _results(
    joint: GraphModule,
    call: FlexCall,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logarithm: Tensor,
    given: Tensor | None,
    of_logarithm: Tensor | None,
    score: GraphModule,
    _: GraphModule,
    blocks: tuple[Any, ...],
    scale: float,
    options: Any,
    of_score: tuple[Any, ...] = (),
    of_mask: tuple[Any, ...] = (),
) -> tuple[Callable[[], Tensor], ...]:
    """What gives the gradients of q, k and v.  ``given``: the gradient of ``out``.  ``of_logarithm``: that of
    ``logarithm``, in units of log 2.
    """
    given = torch.zeros_like(out) if given is None else given
    keys = for_each_head(q, k)
    scores = call.scores(q, keys, score, blocks, scale, of_score, of_mask)
    shift = torch.where(logarithm == -math.inf, 0, logarithm * LOG_2).unsqueeze(-1)
    p = scores.where_seen(torch.exp(scores.changed - shift), 0)
    along = (given @ for_each_head(q, v).transpose(-2, -1)).to(torch.float32)
    mean = (out.to(torch.float32) * given.to(torch.float32)).sum(-1, keepdim=True)
    if of_logarithm is not None:
        mean = mean - (of_logarithm / LOG_2).unsqueeze(-1)
    inner = joint(scores.products, *scores.places, p * (along - mean), *of_score)
    ds = scores.where_seen(inner.to(torch.float32) * scale, 0).to(q.dtype)
    return (
        lambda: ds @ keys,
        lambda: _summed(ds.transpose(-2, -1) @ q, k),
        lambda: _summed(p.to(q.dtype).transpose(-2, -1) @ given, v),
    )


def _summed(each: Tensor, of: Tensor) -> Tensor:
    """The gradient of keys or values of which heads, or a batch, share one."""
    if each.shape[1] != of.shape[1]:
        each = each.unflatten(1, (of.shape[1], -1)).sum(2)
    return each if each.shape[0] == of.shape[0] else each.sum(0, keepdim=True)


__all__ = ["spell_flex_gradients"]
