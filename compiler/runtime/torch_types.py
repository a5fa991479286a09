"""Element types as torch dtypes."""

import torch

#: MLIR spelling of an element type -> torch dtype.
TORCH_DTYPES: dict[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "ui64": torch.uint64,
    "ui32": torch.uint32,
    "ui16": torch.uint16,
    "ui8": torch.uint8,
    "i1": torch.bool,
    "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
}
