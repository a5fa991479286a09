"""torch's dtypes in MLIR: how an element lies in memory, and the type that arithmetic on it has.

| column | meaning |
|---|---|
| element | the element type of a tensor, spelt as in MLIR (`ui8` says unsigned) |
| value | the type of a loaded value: signless, since signedness lives in the operations |
| compute | the dtype that eager computes in (the *opmath* type): 16-bit and 8-bit floats compute in float32 |
| capability | the compute capability, 89 for 8.9, from which on Triton converts it for a GPU |
"""

from functools import cache
from typing import Literal

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ...base.dataclass import dataclass
from ...ir.layout import ELEMENT_BYTES

Kind = Literal["float", "signed", "unsigned", "bool", "complex"]


@dataclass(frozen=True)
class Dtype:
    """One row of the table; see the module's docstring."""

    torch: torch.dtype
    element: str
    value: str
    kind: Kind
    bits: int
    compute: torch.dtype
    capability: int = 80

    @property
    def generated(self) -> bool:
        """Whether kernels may compute on it; complex numbers only pass through extern ops."""
        return self.kind != "complex"


_ROWS = (
    Dtype(torch.float64, "f64", "f64", "float", 64, torch.float64),
    Dtype(torch.float32, "f32", "f32", "float", 32, torch.float32),
    Dtype(torch.float16, "f16", "f16", "float", 16, torch.float32),
    Dtype(torch.bfloat16, "bf16", "bf16", "float", 16, torch.float32),
    Dtype(torch.float8_e4m3fn, "f8E4M3FN", "f8E4M3FN", "float", 8, torch.float32, 89),
    Dtype(torch.float8_e5m2, "f8E5M2", "f8E5M2", "float", 8, torch.float32),
    Dtype(torch.int64, "i64", "i64", "signed", 64, torch.int64),
    Dtype(torch.int32, "i32", "i32", "signed", 32, torch.int32),
    Dtype(torch.int16, "i16", "i16", "signed", 16, torch.int16),
    Dtype(torch.int8, "i8", "i8", "signed", 8, torch.int8),
    Dtype(torch.uint64, "ui64", "i64", "unsigned", 64, torch.uint64),
    Dtype(torch.uint32, "ui32", "i32", "unsigned", 32, torch.uint32),
    Dtype(torch.uint16, "ui16", "i16", "unsigned", 16, torch.uint16),
    Dtype(torch.uint8, "ui8", "i8", "unsigned", 8, torch.uint8),
    Dtype(torch.bool, "i1", "i1", "bool", 1, torch.bool),
    Dtype(torch.complex64, "complex<f32>", "complex<f32>", "complex", 64, torch.complex64),
    Dtype(torch.complex128, "complex<f64>", "complex<f64>", "complex", 128, torch.complex128),
)

BY_TORCH: dict[torch.dtype, Dtype] = {row.torch: row for row in _ROWS}
BY_ELEMENT: dict[str, Dtype] = {row.element: row for row in _ROWS}

assert len(BY_TORCH) == len(BY_ELEMENT) == len(_ROWS), "a dtype or an element type has two rows"
assert BY_ELEMENT.keys() == ELEMENT_BYTES.keys(), "the table and ir/layout.py name different element types"
assert all(row.torch.itemsize == ELEMENT_BYTES[row.element] for row in _ROWS), (
    "an element has another size in memory"
)
assert all(row.compute in BY_TORCH for row in _ROWS)


def is_float(dtype: torch.dtype) -> bool:
    return BY_TORCH[dtype].kind == "float"


@cache
def largest_when_saturating(dtype: torch.dtype) -> float | None:
    """The value that eager stores for numbers beyond an 8-bit float's range, or None where it stores inf or
    NaN.

    torch changed this for float8_e4m3fn, so torch itself is asked.
    """
    if dtype not in (torch.float8_e4m3fn, torch.float8_e5m2):
        return None
    with _disable_current_modes():  # an import usually happens inside a FakeTensorMode
        stored = torch.tensor(1e9).to(dtype).float().item()
    return stored if stored == torch.finfo(dtype).max else None
