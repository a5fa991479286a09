"""Histograms (``histc``): how many numbers lie in each of some equal parts of a range.

A few bins look at all numbers and count theirs: one kernel without an order.  Else each number adds one to
its bin.  Counts are integers until the end, so they are exact up to what the result's dtype holds.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...fx.eager_dtypes import computed_in
from .segments import size_hint

#: How many numbers all bins may look at together.
FEW = 1 << 27


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """[bins], in the dtype of ``x``.  Equal limits stand for the least and the largest number, or, if these
    are equal, for one less and one more.  What is outside, or missing (NaN), counts nowhere.
    """
    cpu = x.device.type == "cpu"
    known = (
        (torch.float32, torch.float64)
        if cpu
        else (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    )
    if x.dtype not in known or type(bins) is not int or bins < 1 or not min <= max or not _finite(min, max):
        return NotImplemented
    given = x.reshape(-1).to(computed_in(x))
    low: Any = min
    high: Any = max
    if min == max:
        if given.numel():
            low, high = given.amin(), given.amax()
            finite = low.isfinite() & high.isfinite()
            torch.ops.aten._assert_async.msg(finite, "the range of the histogram is not finite")
        low, high = (torch.as_tensor(v, dtype=given.dtype, device=x.device) for v in (low, high))
        same = low == high
        low, high = torch.where(same, low - 1, low), torch.where(same, high + 1, high)
    place = ((given - low) * bins / (high - low)).clamp(max=bins - 1)
    inside = (given >= low) & (given <= high)
    place = torch.where(inside, torch.where(inside, place, 0).to(torch.int64), bins)
    if size_hint(given.numel() * bins) <= FEW:
        at = torch.arange(bins, device=x.device).unsqueeze(1)
        return (at == place).sum(1).to(x.dtype)
    counts = place.new_zeros(bins + 1)
    return torch.ops.aten.index_put(counts, [place], torch.ones_like(place), True)[:bins].to(x.dtype)


def _finite(*limits: float) -> bool:
    return all(float("-inf") < limit < float("inf") for limit in limits)


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {"histc.default": _histc}
