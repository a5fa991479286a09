"""What is known of the arguments of a user's Triton kernel before a launch.  Nothing here needs MLIR."""

from typing import Any

import torch

from ...base.dataclass import dataclass


@dataclass(frozen=True)
class PointerKind:
    """An argument that is a tensor of global memory.  dtype: Triton's name of its elements ("fp32");
    aligned: its address is known to be a multiple of 16 bytes.
    """

    dtype: str
    aligned: bool = False


@dataclass(frozen=True)
class NumberKind:
    """An argument that is a number whose value is not known.  type: Triton's name ("i32", "i64", "fp32");
    divisible: it is known to be a multiple of 16.
    """

    type: str
    divisible: bool = False


@dataclass(frozen=True)
class DescriptorKind:
    """An argument that is a tensor descriptor made by the host, of tiles of shape ``block``."""

    dtype: str
    block: tuple[int, ...]


def described(value: Any) -> Any:
    """What is known of an argument from torch's side: a description, or ``value`` itself where it is a plain
    Python value.  Nothing is assumed of the alignment of tensors and of the values of symbols.
    """
    if isinstance(value, torch.Tensor):
        from triton._utils import canonicalize_dtype

        return PointerKind(canonicalize_dtype(value.dtype))
    if isinstance(value, torch.SymInt):
        return NumberKind("i64")
    if isinstance(value, torch.SymFloat):
        return NumberKind("fp32")
    if isinstance(value, torch.SymBool):
        return NumberKind("u1")
    return value


def debugging() -> bool:
    """Whether Triton keeps the assertions of all kernels (``TRITON_DEBUG``)."""
    from triton import knobs

    return bool(knobs.runtime.debug)


__all__ = ["DescriptorKind", "NumberKind", "PointerKind", "debugging", "described"]
