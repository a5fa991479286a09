"""Ops whose results lie in memory as eager mode has it, and not as their metadata or a decomposition says.

On a CPU, eager joins the parts of a rolled image, and moves channels, in the memory format of the image; on a
GPU both results are contiguous.  What a program does behind ``as_strided`` depends on it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format


def memory_format_of_eager(x: Tensor) -> torch.memory_format:
    """The one in which eager writes an image that it made of another one."""
    return suggest_memory_format(x) if x.device.type == "cpu" else torch.contiguous_format


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """Joined parts; NotImplemented where the result is contiguous, which a kernel computes."""
    if not dims or memory_format_of_eager(x) == torch.contiguous_format:
        return NotImplemented
    for shift, dim in zip(shifts, dims, strict=True):
        start = -shift % x.size(dim) if x.size(dim) else 0
        x = torch.cat([x.narrow(dim, start, x.size(dim) - start), x.narrow(dim, 0, start)], dim)
    return x


def _channel_shuffle(x: Tensor, groups: int) -> Tensor:
    channels = x.reshape(x.size(0), groups, x.size(1) // groups, *x.shape[2:]).transpose(1, 2)
    shuffled = channels.clone(memory_format=torch.contiguous_format).reshape(x.shape)
    format_ = memory_format_of_eager(x)
    return shuffled if format_ == torch.contiguous_format else shuffled.clone(memory_format=format_)


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Elements of ``x``, counted row by row, replaced or added to; the strides are those of a clone."""
    flat = x.reshape(-1).index_put((index,), source.reshape(index.shape), accumulate)
    return _laid_out(flat.reshape(x.shape), torch.empty_like(x).stride())


def _laid_out(x: Tensor, strides: Sequence[int]) -> Tensor:
    """A contiguous tensor with other strides, which have no gaps."""
    if x.stride() == tuple(strides) or not all(type(n) is int for n in strides):
        return x
    order = sorted(range(x.dim()), key=lambda d: (strides[d], x.size(d) == 1), reverse=True)
    return x.permute(order).contiguous().permute([order.index(d) for d in range(x.dim())])


#: Overloads that are decomposed for some strides on a CPU only; elsewhere the importer builds them.
ON_A_CPU = ("roll.default",)

DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "roll.default": _roll,
    "channel_shuffle.default": _channel_shuffle,
    "native_channel_shuffle.default": _channel_shuffle,
    "put.default": _put,
}
