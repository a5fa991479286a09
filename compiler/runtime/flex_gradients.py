"""Torch's own ``flex_attention_backward``, with the gradients that its declaration promises."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

#: The places of the gradient of the score function and of its captured tensors among the arguments.
_JOINT, _CAPTURED = 8, 12


def flex_attention_backward(*args: Any) -> tuple[Tensor, Tensor, Tensor, tuple[Any, ...]]:
    """Gradients of q, k, v and each captured tensor.  torch computes those of captured tensors that require
    gradients, as none does in a graph, and declares a tensor for each; here one that has none is 0.
    """
    captured = args[_CAPTURED]
    [results] = args[_JOINT].graph.find_nodes(op="output")
    wanted = [node is not None for node in results.args[0][-len(captured) :]] if captured else []
    given = tuple(
        t.detach().requires_grad_() if asked and isinstance(t, Tensor) and t.is_floating_point() else t
        for t, asked in zip(captured, wanted, strict=True)
    )
    with torch.no_grad():
        *made, found = torch.ops.higher_order.flex_attention_backward(
            *args[:_CAPTURED], given, *args[_CAPTURED + 1 :]
        )
    return (*made, _filled(found, captured))


def _filled(found: Sequence[Tensor | None], captured: Sequence[Any]) -> tuple[Any, ...]:
    """Gradients of captured tensors, 0 where there is none."""
    return tuple(
        torch.zeros_like(t, memory_format=torch.contiguous_format)
        if gradient is None and isinstance(t, Tensor)
        else gradient
        for gradient, t in zip(found, captured, strict=True)
    )


__all__ = ["flex_attention_backward"]
