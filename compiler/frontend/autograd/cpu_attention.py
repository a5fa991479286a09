"""Attention of float64 on a CPU, where torch's fake kernel misstates it: torch 2.11 says that the logarithms
of the sums, which backward reads, are float32.  There the forward op is made of others; its backward stays.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

_aten = torch.ops.aten


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    """([B, H, T, D], the logarithms [B, H, T] of the sums of exponentials) of [B, H, T, D] and two of
    [B, H, S, D].
    """
    if query.dtype != torch.float64 or not _misstated():
        return NotImplemented
    if attn_mask is not None and attn_mask.dtype != query.dtype:
        return NotImplemented  # eager refuses it
    scores = query @ key.mT * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if is_causal:
        seen = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    result, sums = _aten._safe_softmax(scores, -1) @ value, scores.logsumexp(-1)
    sums = sums.masked_fill(sums == -math.inf, 0)  # of a query that sees no key
    # as the kernel lays them out: the result as the queries, the sums [B, T, H]
    return _aten.copy(torch.empty_like(query), result), sums.transpose(1, 2).contiguous().transpose(1, 2)


@cache
def _misstated() -> bool:
    with _disable_current_modes():
        x = torch.empty(1, 1, 1, 1, dtype=torch.float64, device="meta")
        return _aten._scaled_dot_product_flash_attention_for_cpu(x, x, x)[1].dtype != x.dtype


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_scaled_dot_product_flash_attention_for_cpu.default": _attention,
}
