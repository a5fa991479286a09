"""Bags of embeddings (``embedding_bag``), and embeddings whose rows are made shorter (``max_norm``).

``offsets`` say where in ``indices`` each bag begins; with one more than there are bags, also where the last
one ends.  A few bags look at all places and fold their own, in one kernel without an order; of many, each row
is added to its bag (``segments.py``).  Sums are float32 for narrower floats.

Calls that eager refuses, and sparse gradients, are torch's.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...fx.eager_dtypes import computed_in
from .segments import Segments

_aten = torch.ops.aten
_SUM, _MEAN, _MAX = 0, 1, 2
_LAST = "offsets[-1] can not be greater than input's length"
_FIRST = "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0"


def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """(rows of bags, the bag of each index, the number of indices of each bag, for a maximum the index whose
    row has it).
    """
    if sparse or weight.dim() != 2 or not weight.is_floating_point():
        return NotImplemented
    if per_sample_weights is not None and (mode != _SUM or per_sample_weights.dtype != weight.dtype):
        return NotImplemented
    bags = offsets.size(0) - int(include_last_offset)
    segments, real = _segments(indices, offsets, bags, padding_idx)
    if weight.device.type == "cpu" and offsets.size(0):
        _aten._assert_async.msg(offsets[0] == 0, _FIRST)
        _aten._assert_async.msg(offsets[-1] <= indices.size(0), _LAST)
    number = segments.of_places()
    count = segments.fold("sum", real.to(torch.int64), 0)
    rows = _aten.embedding(weight, indices).to(computed_in(weight))
    if mode == _MAX:
        result, chosen = _largest(segments, rows, real, indices, count)
        return result.to(weight.dtype), number.to(indices.dtype), count.to(indices.dtype), chosen
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.to(rows.dtype).unsqueeze(-1)
    result = segments.fold("sum", torch.where(real.unsqueeze(-1), rows, 0), 0)
    if mode == _MEAN:
        result = result / count.clamp(min=1).unsqueeze(-1)
    count = count.to(indices.dtype)
    return result.to(weight.dtype), number.to(indices.dtype), count, torch.empty_like(count)


def _segments(indices: Tensor, offsets: Tensor, bags: int, padding_idx: int) -> tuple[Segments, Tensor]:
    """(the bags, whether each index counts).  The first bag begins at 0, whatever the offsets say."""
    offsets, size = offsets.to(torch.int64), indices.size(0)
    at = torch.arange(bags, device=offsets.device)
    starts = torch.where(at == 0, 0, offsets[:bags])
    ends = offsets[1:] if offsets.size(0) > bags else F.pad(offsets[1:], (0, 1), value=size)
    segments = Segments(starts, ends, size)
    real = indices != padding_idx if padding_idx >= 0 else torch.ones_like(indices, dtype=torch.bool)
    return segments, real


def _largest(
    segments: Segments, rows: Tensor, real: Tensor, indices: Tensor, count: Tensor
) -> tuple[Tensor, Tensor]:
    """(the largest of each column in each bag, the index whose row has it first).  As in eager, a missing
    number (NaN) wins where it comes first, and loses elsewhere.
    """
    n = rows.size(0)
    at = torch.arange(n, device=rows.device)
    first = segments.fold("min", torch.where(real, at, n), n)
    begins = segments.spread(first, n) == at
    lost = rows.isnan() & ~begins.unsqueeze(-1)
    top = segments.fold("max", torch.where(real.unsqueeze(-1) & ~lost, rows, -math.inf), -math.inf)
    mine = segments.spread(top, 0.0)
    holds = real.unsqueeze(-1) & ((rows == mine) | (mine.isnan() & begins.unsqueeze(-1)))
    place = segments.fold("min", torch.where(holds, at.unsqueeze(-1), n), n)
    filled = (count > 0).unsqueeze(-1)
    if n == 0:
        return torch.zeros_like(top), torch.zeros_like(place).to(indices.dtype)
    chosen = torch.where(filled, _aten._unsafe_index.Tensor(indices, [place.clamp(max=n - 1)]), 0)
    return torch.where(filled, top, 0), chosen


def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Any:
    """The gradient of the weight: what each bag gives to its rows, added in float32."""
    if sparse:
        return NotImplemented
    wide, bags = grad.to(computed_in(grad)), grad.size(0)
    total = wide.new_zeros((num_weights, grad.size(1)))
    if mode == _MAX:
        columns = torch.arange(grad.size(1), device=grad.device).unsqueeze(0)
        given = torch.where((bag_size[:bags] > 0).unsqueeze(-1), wide, 0)
        total = _aten.index_put(total, [maximum_indices, columns], given, True)
        return total.to(grad.dtype)
    segments, real = _segments(indices, offsets, bags, padding_idx)
    if mode == _MEAN:
        wide = wide / bag_size[:bags].clamp(min=1).unsqueeze(-1)
    rows = segments.spread(wide, 0.0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.to(rows.dtype).unsqueeze(-1)
    if scale_grad_by_freq:
        ones = torch.ones_like(indices, dtype=torch.int64)
        frequency = _aten.index_put(ones.new_zeros(num_weights), [indices], ones, True)
        rows = rows / _aten._unsafe_index.Tensor(frequency, [indices]).unsqueeze(-1)
    total = _aten.index_put(total, [indices], torch.where(real.unsqueeze(-1), rows, 0), True)
    return total.to(grad.dtype)


def _per_sample_weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the weight of each index: its row times the gradient of its bag."""
    segments, real = _segments(indices, offsets, grad.size(0), padding_idx)
    wide = computed_in(grad)
    rows = segments.spread(grad.to(wide), 0.0) * _aten.embedding(weight, indices).to(wide)
    return torch.where(real, rows.sum(-1), 0).to(grad.dtype)


def _embedding_renorm(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows that are named and longer than ``max_norm`` are scaled to that; the others stay."""
    named = indices.reshape(-1)
    rows = _aten.embedding(weight, named)
    norm = torch.linalg.vector_norm(rows, norm_type, dim=-1, keepdim=True, dtype=computed_in(weight))
    shorter = (rows.to(norm.dtype) * (max_norm / (norm + 1e-7))).to(weight.dtype)
    return _aten.index_put(weight, [named], torch.where(norm > max_norm, shorter, rows))


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_embedding_bag.default": _embedding_bag,
    "_embedding_bag_forward_only.default": _embedding_bag,
    "_embedding_bag_backward.default": _embedding_bag_backward,
    "_embedding_bag_per_sample_weights_backward.default": _per_sample_weights_backward,
    "embedding_renorm.default": _embedding_renorm,
}
