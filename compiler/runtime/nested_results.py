"""What sub-graphs and control flow give, as the graph around them expects it: each tensor in storage of its
own, with the strides of its type.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


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
