"""Padding with elements of the tensor itself: one look-up for all dims, which its readers can fuse.  torch's
decomposition looks up dim after dim, so that what the first one gives is stored.

The gradient of a padding that repeats the edges (``replication_pad1d`` to ``3d``) is no scatter, but each
dim's edges get the sums of what was copied from them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...fx.eager_dtypes import computed_in
from .strides import memory_format_of_eager


def _clamped(at: Tensor, size: int) -> Tensor:
    return at.clamp(0, size - 1)


def _reflected(at: Tensor, size: int) -> Tensor:
    return size - 1 - (size - 1 - at.abs()).abs()


def _padded(place: Callable[[Tensor, int], Tensor], x: Tensor, padding: Sequence[int]) -> Tensor:
    """``x`` with the last dims padded, in the memory format that eager gives.

    ``place``: from places before, in and after a dim, and its size, to places in it.  ``padding``: (before,
    after) of the last dim, then of the one before it.  Negative ones cut.
    """
    count = len(padding) // 2
    at: list[Tensor | None] = [None] * (x.dim() - count)
    for behind in reversed(range(count)):
        size, (before, after) = x.size(-1 - behind), padding[2 * behind : 2 * behind + 2]
        places = torch.arange(-before, size + after, device=x.device)
        at.append(place(places, size).view(-1, *[1] * behind))
    found = torch.ops.aten._unsafe_index.Tensor(x, at)
    return found.contiguous(memory_format=memory_format_of_eager(x))


def _replication_pad_backward(grad: Tensor, x: Tensor, padding: Sequence[int]) -> Any:
    """The gradient of ``x``: for each element the sum of the gradients of its copies, rounded once.

    ``padding``: (before, after) of the last dim, then of the one before it.  Negative ones cut.
    """
    pairs = [(x.dim() - 1 - n, *padding[2 * n : 2 * n + 2]) for n in range(len(padding) // 2)]
    if any(min(pair) < 0 and max(pair) > grad.size(d) for d, *pair in pairs):
        return NotImplemented  # all that is left is copies
    total = grad.to(computed_in(grad))
    for dim, before, after in pairs:
        total = _folded(total, dim, before, after)
    return total.to(grad.dtype)


def _folded(grad: Tensor, dim: int, before: int, after: int) -> Tensor:
    """``grad`` without the padding of one dim, which is added to the edges."""
    around = [0, 0] * (grad.dim() - 1 - dim)
    inner = F.pad(grad, [*around, -before, -after])
    size = inner.size(dim)
    shape = [1] * dim + [size] + [1] * (grad.dim() - 1 - dim)
    at = torch.arange(size, device=grad.device).view(shape)
    if before > 0:
        copies = grad.narrow(dim, 0, before).sum(dim, keepdim=True)
        inner = torch.where(at == 0, inner + copies, inner)
    if after > 0:
        copies = grad.narrow(dim, grad.size(dim) - after, after).sum(dim, keepdim=True)
        inner = torch.where(at == size - 1, inner + copies, inner)
    return inner


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    **{f"reflection_pad{n}d.default": partial(_padded, _reflected) for n in (1, 2, 3)},
    **{f"replication_pad{n}d.default": partial(_padded, _clamped) for n in (1, 2, 3)},
    **{f"replication_pad{n}d_backward.default": _replication_pad_backward for n in (1, 2, 3)},
}
