"""Bits of PTX registers as numbers: tensors of int64 that hold the bits, zeros above their width."""

import re
import struct

import torch
from torch import Tensor

#: Bits of each type.
WIDTHS = {
    "pred": 1,
    **{f"{kind}{width}": width for kind in "bsu" for width in (8, 16, 32, 64)},
    **{"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32, "tf32": 32, "f64": 64},
    **{"e4m3x2": 16, "e5m2x2": 16},
}
_FLOATS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
_OF_WIDTH = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
_HEX_FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]{8}|[0-9a-fA-F]{16})$")
_LITERALS = {"f32": ("<f", "<i"), "f64": ("<d", "<q")}
_SMALLEST = torch.finfo(torch.float32).smallest_normal


class UnknownInstruction(Exception):
    """An instruction, a modifier or an operand that the interpreter does not have; the message is which."""


def is_float(type_: str) -> bool:
    """Whether a type is one float, and no pair of them."""
    return type_ in _FLOATS


def masked(bits: Tensor, width: int) -> Tensor:
    """The lowest ``width`` bits."""
    return bits if width == 64 else bits & ((1 << width) - 1)


def number(bits: Tensor, type_: str) -> Tensor:
    """The number that a register of ``type_`` holds: a float of that type, or an int64.  One of ``u64`` above
    its half is negative.
    """
    width = WIDTHS[type_]
    bits = masked(bits, width)
    if type_ in _FLOATS:
        return bits.to(_OF_WIDTH[width]).contiguous().view(_FLOATS[type_])
    if type_.startswith("s") and width < 64:
        return bits - ((bits >> (width - 1)) << width)
    return bits


def bits_of(value: Tensor, type_: str) -> Tensor:
    """The bits of a register of ``type_`` that holds a number."""
    if type_ in _FLOATS:
        value = value.to(_FLOATS[type_]).contiguous().view(_OF_WIDTH[WIDTHS[type_]])
    return masked(value.to(torch.int64), WIDTHS[type_])


def tensor_bits(value: Tensor) -> Tensor:
    """The bits of the elements of a tensor."""
    width = 8 * value.element_size()
    return masked(value.contiguous().view(_OF_WIDTH[width]).to(torch.int64), width)


def tensor_of(bits: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor whose elements have these bits."""
    return bits.to(_OF_WIDTH[8 * dtype.itemsize]).contiguous().view(dtype)


def flushed(value: Tensor) -> Tensor:
    """float32 with zeros for numbers that are not normal."""
    return torch.where(value.abs() < _SMALLEST, torch.copysign(torch.zeros_like(value), value), value)


def immediate(text: str, type_: str) -> int | None:
    """The bits of a literal where a number of ``type_`` is expected; None for anything else."""
    found = _HEX_FLOAT.match(text)
    if found is not None:
        bits = int(found[2], 16)
        return bits - (1 << 64) if bits >> 63 else bits
    try:
        if type_ in _LITERALS and re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", text):
            form, whole = _LITERALS[type_]
            return int(struct.unpack(whole, struct.pack(form, float(text)))[0])
        return int(text.removesuffix("U"), 0)
    except ValueError:
        return None
