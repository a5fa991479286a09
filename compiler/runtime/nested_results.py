"""What torch ops, sub-graphs and control flow give, as the graph around them expects it: with the strides of
its type, and of sub-graphs each tensor in storage of its own.
"""

import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .errors import RunError

log = logging.getLogger(__name__)

#: Ops that are known to give other strides than their fake kernels say.
_TOLD: set[str] = set()


def own_storage(results: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """``results``, those copied that share storage with an operand or an earlier result."""
    taken = {v.untyped_storage().data_ptr() for v in operands if isinstance(v, Tensor)}
    own = []
    for value in results:
        if isinstance(value, Tensor):
            if value.untyped_storage().data_ptr() in taken:
                copy = torch.empty_strided(
                    value.shape, value.stride(), dtype=value.dtype, device=value.device
                )
                value = copy.copy_(value)
            taken.add(value.untyped_storage().data_ptr())
        own.append(value)
    return own


def laid_out(tensor: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """``tensor``, copied where its strides are others.  Raises RuntimeError where its sizes are."""
    if tensor.shape != sizes:
        raise RuntimeError(f"a sub-graph gave a tensor of sizes {list(tensor.shape)}, expected {list(sizes)}")
    pairs = zip(sizes, strides, tensor.stride(), strict=True)
    if 0 in sizes or all(n == 1 or a == b for n, a, b in pairs):
        return tensor
    return torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def fitted(
    tensor: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    dtype: torch.dtype,
    op: str,
    where: str = "",
    shares: bool = False,
) -> Tensor:
    """What ``op`` gave, with the layout that its fake kernel promised: a copy where only strides differ.  The
    log says so once.  ``where``: the user's line.  Raises RunError where sizes or the dtype differ, or where
    the strides do and the result ``shares`` the storage of an operand.
    """
    promised = f"{tuple(sizes)} with strides {tuple(strides)} of {dtype}"
    given = f"{tuple(tensor.shape)} with strides {tuple(tensor.stride())} of {tensor.dtype}"
    message = f"{op} gave a tensor of sizes {given}, its fake kernel said {promised}"
    if tuple(tensor.shape) != tuple(sizes) or tensor.dtype != dtype or shares:
        raise RunError(f"{message} at {where}" if where else message)
    if op not in _TOLD:
        _TOLD.add(op)
        log.warning("%s: every such result is copied (torch.library.opcheck finds such kernels)", message)
    return torch.empty_strided(sizes, strides, dtype=dtype, device=tensor.device).copy_(tensor)
