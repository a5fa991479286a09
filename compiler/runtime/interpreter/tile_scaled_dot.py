"""``tt.dot_scaled``: a product of tiles of narrow floats, with a scale for each group of them along the
summed axis (OCP Microscaling Formats, version 1.0).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from ..errors import RunError
from .scalar.dtypes import value_dtype
from .tile_batch import Batch, TileStep, integer_attribute

#: Values of ``a_elem_type`` that are types of the tile itself.
_OWN_TYPE = {0, 1, 5, 6}
_E2M1 = 4
#: What the 4 bits of an e2m1 number mean.
_NUMBERS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
#: The exponent of a scale of 8 bits (e8m0) that means 1, and the bits that mean NaN.
_BIAS, _NAN = 127, 0xFF


def dot_scaled(op: ir.Operation, shadow: bool) -> TileStep:
    """The step of the op.  Raises RunError for numbers of 6 bits."""
    dtype = value_dtype(element_of(op.results[0].type), shadow)
    present = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    kinds = [integer_attribute(op, name) for name in ("a_elem_type", "b_elem_type")]
    packed = [_flag(op, name) for name in ("lhs_k_pack", "rhs_k_pack")]
    for kind in kinds:
        if kind not in _OWN_TYPE and kind != _E2M1:
            raise RunError("the interpreter has no numbers of 6 bits", op.location)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        a, b, c, *scales = operands
        a_scale = scales.pop(0) if present[3] else None
        b_scale = scales.pop(0) if present[4] else None
        left = _numbers(a, kinds[0], dtype, -1 if packed[0] else -2)
        right = _numbers(b, kinds[1], dtype, -2 if packed[1] else -1)
        if a_scale is not None:
            left = left * _factors(a_scale, left.shape[-1], dtype)
        if b_scale is not None:
            right = right * _factors(b_scale, right.shape[-2], dtype).mT
        return torch.matmul(left, right) + c

    return step


def _flag(op: ir.Operation, name: str) -> bool:
    return name not in op.attributes or bool(ir.BoolAttr(op.attributes[name]).value)


def _numbers(tile: Tensor, kind: int, dtype: torch.dtype, axis: int) -> Tensor:
    """The tile as ``dtype``; two e2m1 numbers share a byte along ``axis``, the first in its low half."""
    if kind != _E2M1:
        return tile.to(dtype)
    byte = tile.to(torch.int64) & 0xFF
    table = torch.tensor([*_NUMBERS, *(-n for n in _NUMBERS)], dtype=dtype)
    halves = torch.stack((table[byte & 0xF], table[byte >> 4]), tile.ndim if axis == -1 else tile.ndim - 1)
    return halves.flatten(axis - 1, axis) if axis == -1 else halves.flatten(-3, -2)


def _factors(scale: Tensor, length: int, dtype: torch.dtype) -> Tensor:
    """A factor for each of ``length`` numbers of a row; a row of ``scale`` has one for each group."""
    if not scale.dtype.is_floating_point:
        bits = scale.to(torch.int64) & 0xFF
        scale = torch.ldexp(torch.ones(bits.shape, dtype=dtype), bits - _BIAS)
        scale = torch.where(bits == _NAN, torch.nan, scale)
    return scale.to(dtype).repeat_interleave(length // scale.shape[-1], -1)
