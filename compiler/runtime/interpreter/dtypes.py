"""How the interpreter keeps elements: dtypes of tensors and of scalar values, their shadow, bits, poison."""

import torch

from ...mlir import ir
from ..errors import RunError
from ..torch_types import TORCH_DTYPES

#: Types of scalar values; integers have no sign, so torch's signed dtypes hold them.
VALUE_DTYPES: dict[str, torch.dtype] = {
    **{e: d for e, d in TORCH_DTYPES.items() if not e.startswith(("ui", "complex"))},
    "index": torch.int64,
}

#: Unsigned memory, seen as the signless integers that loads and stores deal in.
SIGNLESS: dict[torch.dtype, torch.dtype] = {
    torch.uint8: torch.int8,
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}

#: Integers as wide as a dtype, by bytes: gathers and scatters move bits, and not every dtype has those
#: operations.
CARRIERS: dict[int, torch.dtype] = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def signless(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` with an unsigned dtype replaced by the signed one of the same width (the same memory)."""
    dtype = SIGNLESS.get(tensor.dtype)
    return tensor if dtype is None else tensor.view(dtype)


def memory_dtype(element: str, shadow: bool = False) -> torch.dtype:
    """How tensors of ``element`` (its MLIR spelling) are kept; with ``shadow`` every float as float64."""
    dtype = TORCH_DTYPES[element]
    if shadow and dtype.is_floating_point:
        return torch.float64
    return torch.complex128 if shadow and dtype.is_complex else dtype


def value_dtype(type_: ir.Type, shadow: bool = False) -> torch.dtype:
    """The dtype of a scalar value.  Raises RunError for a type that no scalar has."""
    dtype = VALUE_DTYPES.get(str(type_))
    if dtype is None:
        raise RunError(f"no scalar value has the type {type_}")
    return torch.float64 if shadow and dtype.is_floating_point else dtype


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fills memory that nobody has written: NaN, the largest integer, True.  Returns ``tensor``."""
    if tensor.dtype in SIGNLESS:  # all ones: the largest unsigned number
        signless(tensor).fill_(-1)
        return tensor
    if tensor.dtype == torch.bool:
        return tensor.fill_(True)
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.fill_(float("nan"))
    return tensor.fill_(torch.iinfo(tensor.dtype).max)
