"""How the interpreter represents elements: dtypes of tensors and of scalar values, their float64 shadow,
their bits, and the values of uninitialised memory.
"""

import torch

from ....mlir import ir
from ...errors import RunError
from ...torch_types import TORCH_DTYPES

#: Types of scalar values.  MLIR's integers are signless; torch's signed dtypes hold them.
VALUE_DTYPES: dict[str, torch.dtype] = {
    **{e: d for e, d in TORCH_DTYPES.items() if not e.startswith(("ui", "complex"))},
    "index": torch.int64,
}

#: Unsigned dtypes in memory, and the signed ones that loads and stores use for the same bits.
SIGNLESS: dict[torch.dtype, torch.dtype] = {
    torch.uint8: torch.int8,
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}

#: Integer dtypes by their bytes.  Gathers and scatters move elements as integers of the same width, as not
#: every dtype has these operations.
CARRIERS: dict[int, torch.dtype] = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def signless(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` with an unsigned dtype replaced by the signed one of the same width (the same memory)."""
    dtype = SIGNLESS.get(tensor.dtype)
    return tensor if dtype is None else tensor.view(dtype)


def memory_dtype(element: str, shadow: bool = False) -> torch.dtype:
    """The dtype of tensors of ``element`` (its MLIR spelling); with ``shadow``, float64 for every float."""
    dtype = TORCH_DTYPES[element]
    if shadow and dtype.is_floating_point:
        return torch.float64
    return torch.complex128 if shadow and dtype.is_complex else dtype


def value_dtype(type_: ir.Type, shadow: bool = False) -> torch.dtype:
    """The dtype of a scalar value.  Raises RunError for a type that scalars cannot have."""
    dtype = VALUE_DTYPES.get(str(type_))
    if dtype is None:
        raise RunError(f"no scalar value has the type {type_}")
    return torch.float64 if shadow and dtype.is_floating_point else dtype


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fills uninitialised memory with NaN, the largest integer, or True.  Returns ``tensor``."""
    if tensor.dtype in SIGNLESS:  # all ones: the largest unsigned number
        signless(tensor).fill_(-1)
        return tensor
    if tensor.dtype == torch.bool:
        return tensor.fill_(True)
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.fill_(float("nan"))
    return tensor.fill_(torch.iinfo(tensor.dtype).max)
