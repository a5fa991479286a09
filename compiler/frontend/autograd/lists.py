"""Ops of lists of tensors (``torch._foreach_*``) that no pointwise rule covers, as an op for each element."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Tensors = Sequence[Tensor]


def _norms(tensors: Tensors, ord: float = 2, dtype: torch.dtype | None = None) -> list[Tensor]:
    """The norm of each tensor: a 0-d tensor in ``dtype``, or in its own."""
    return [torch.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in tensors]


def _sums_of_powers(tensors: Tensors, ord: float = 2, dtype: torch.dtype | None = None) -> Any:
    """sum(abs(x)**ord) of each tensor, which is its norm without the root."""
    if isinstance(ord, complex) or not all(t.is_floating_point() for t in tensors):
        return NotImplemented
    return [_sum_of_powers(tensor, ord, dtype) for tensor in tensors]


def _sum_of_powers(x: Tensor, ord: float, dtype: torch.dtype | None) -> Tensor:
    if ord == 2:
        return (x * x if dtype is None else x.to(dtype).square()).sum(dtype=dtype)
    return x.abs().to(dtype or x.dtype).pow(ord).sum(dtype=dtype)


def _copies(tensors: Tensors, sources: Tensors, non_blocking: bool = False) -> list[Tensor]:
    """Each source with the sizes and dtype of its tensor."""
    return [torch.ops.aten.copy(t, s, non_blocking) for t, s in zip(tensors, sources, strict=True)]


def _zeros(tensors: Tensors) -> list[Tensor]:
    return [torch.zeros_like(tensor) for tensor in tensors]


def _clones(tensors: Tensors, memory_format: torch.memory_format | None = None) -> list[Tensor]:
    return [tensor.clone(memory_format=memory_format) for tensor in tensors]


def _maxima(tensors: Tensors) -> list[Tensor]:
    return [torch.max(tensor) for tensor in tensors]


def _products(tensors: Tensors, others: Tensors) -> list[Tensor]:
    """Matrix products, which are calls of the library as any other."""
    return [torch.mm(a, b) for a, b in zip(tensors, others, strict=True)]


#: Clipping gradients begins with norms: a reduction for each tensor, all of which share launches; some
#: optimisers begin with zeros and end with copies.
DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_foreach_norm.Scalar": _norms,
    "_foreach_powsum.Scalar": _sums_of_powers,
    "_foreach_copy.default": _copies,
    "_foreach_zero.default": _zeros,
    "_foreach_clone.default": _clones,
    "_foreach_max.default": _maxima,
    "_foreach_mm.default": _products,
}
