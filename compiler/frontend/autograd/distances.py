"""Distances between points (``cdist``, ``pdist``) and their gradients: reductions of differences, which are
computed where they are summed.

Between points i and j the p-norm of the difference; for p = 0 the number of coordinates that differ.  As in
eager, the gradient of a distance of 0 is 0, and the largest difference of ``cdist`` passes over missing ones
(NaN).  Where eager's kernels for a CPU keep those that its kernels for a GPU lose, so does this.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_aten = torch.ops.aten


def _cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None = None) -> Any:
    """[.., n, m] of [.., n, c] and [.., m, c]."""
    if not _has_kernel(x1):
        return NotImplemented
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _distance(_without_nan(difference) if math.isinf(p) else difference, p)


def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Any:
    """The gradient of ``x1``, not yet summed over dims that were broadcast."""
    if not _has_kernel(x1):
        return NotImplemented
    if 0 in (*x1.shape, *x2.shape):
        return torch.zeros_like(x1)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _slope(difference, grad.unsqueeze(-1), cdist.unsqueeze(-1), p).sum(-2)


def _pdist(x: Tensor, p: float = 2) -> Any:
    """The distances of points i < j of [n, c], row by row."""
    if not _has_kernel(x):
        return NotImplemented
    first, second = torch.triu_indices(x.size(0), x.size(0), 1, device=x.device).unbind(0)
    rows = [_aten._unsafe_index.Tensor(x, [i]) for i in (first, second)]
    difference = rows[0] - rows[1]
    lost = math.isinf(p) and not _keeps_nan(difference)
    return _distance(_without_nan(difference) if lost else difference, p)


def _pdist_backward(grad: Tensor, x: Tensor, p: float, pdist: Tensor) -> Any:
    """Each point reads where its distance to each other point is."""
    if not _has_kernel(x):
        return NotImplemented
    n = x.size(0)
    if n < 2 or 0 in x.shape:
        return torch.zeros_like(x)
    at = torch.arange(n, device=x.device)
    i, j = at.unsqueeze(1), at.unsqueeze(0)
    low, high = torch.minimum(i, j), torch.maximum(i, j)
    other = i != j
    place = torch.where(other, low * n - low * (low + 1) // 2 + high - low - 1, 0)
    given, found = (_aten._unsafe_index.Tensor(v, [place]).unsqueeze(-1) for v in (grad, pdist))
    slope = _slope(x.unsqueeze(1) - x.unsqueeze(0), given, found, p)
    return torch.where(other.unsqueeze(-1), slope, 0).sum(1)


def _has_kernel(x: Tensor) -> bool:
    """Whether eager computes distances in the dtype."""
    return x.dtype in (torch.float32, torch.float64)


def _distance(difference: Tensor, p: float) -> Tensor:
    if difference.size(-1) == 0:
        return difference.new_zeros(difference.shape[:-1])
    if p == 0:
        count = torch.where(difference != 0, 1, 0).sum(-1).to(difference.dtype)
        return torch.where(difference.isnan().any(-1), math.nan, count) if _keeps_nan(difference) else count
    if math.isinf(p):
        return difference.abs().amax(-1)
    return torch.linalg.vector_norm(difference, p, dim=-1)


def _without_nan(x: Tensor) -> Tensor:
    return torch.where(x.isnan(), 0, x)


def _keeps_nan(x: Tensor) -> bool:
    return x.device.type == "cpu"


def _slope(difference: Tensor, grad: Tensor, distance: Tensor, p: float) -> Tensor:
    """The gradient of each coordinate's difference."""
    size, sign = difference.abs(), difference.sign()
    if _keeps_nan(difference):
        sign = torch.where(difference.isnan(), difference, sign)
    if p == 0:
        return torch.zeros_like(difference * grad)
    if p == 1:
        return sign * grad
    if math.isinf(p):
        gap = size - distance
        slope = torch.where(size == distance, sign * grad, 0)
        return torch.where(gap.isnan(), gap, slope) if _keeps_nan(difference) else slope
    if p == 2:
        slope = grad * difference / distance
    else:
        slope = sign * size.pow(p - 1) * grad / distance.pow(p - 1)
        if p < 1:
            slope = torch.where(difference == 0, 0, slope)
    return torch.where(distance == 0, 0, slope)


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_cdist_forward.default": _cdist,
    "_cdist_backward.default": _cdist_backward,
    "_pdist_forward.default": _pdist,
    "_pdist_backward.default": _pdist_backward,
}
