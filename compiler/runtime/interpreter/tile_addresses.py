"""Addresses as numbers in tile code: a number that is made of an address, and an address that is made of a
number, where a tensor of the launch lies there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...ir.dialects.tt_types import pointee_of
from ...mlir import ir
from ..errors import RunError
from .scalar.dtypes import value_dtype
from .tile_batch import Batch, TileStep, choose
from .tile_memory import Pointer, Pointers, Window


def _int_to_ptr(op: ir.Operation, shadow: bool) -> TileStep:
    pointee = pointee_of(op.results[0].type)
    assert pointee is not None
    dtype = value_dtype(pointee)

    def step(batch: Batch, operands: Sequence[Any]) -> Any:
        given = operands[0]
        if isinstance(given, Pointer | Pointers):
            return given
        if shadow:
            raise RunError("an address made from a number has no float64 shadow", op.location)
        return _followed(batch, given.to(torch.int64), dtype, op)

    return step


def _followed(batch: Batch, addresses: Tensor, dtype: torch.dtype, op: ir.Operation) -> Pointer | Pointers:
    """The addresses as pointers.  Those at no tensor lie outside of some window, so that using them is an
    error.
    """
    found: list[tuple[Tensor, Pointer]] = []
    waiting = torch.ones_like(addresses, dtype=torch.bool)
    for address in addresses.flatten().tolist():
        window = None if not waiting.any() else batch.memory.window_at(address, dtype)
        if window is None or not bool((waiting & (addresses == address)).any()):
            continue
        start = window.flat.data_ptr()
        inside = (addresses >= start) & (addresses < start + window.flat.numel() * dtype.itemsize)
        waiting &= ~inside
        found.append((inside, Pointer(window, _elements(addresses - start, dtype, op))))
    if not found:
        raise RunError(
            "the interpreter finds no tensor of the launch at an address made from a number", op.location
        )
    made: Any = found[0][1]
    for inside, pointer in found[1:]:
        rows = inside.flatten(1) if inside.ndim > 1 else inside[:, None]
        if not torch.equal(rows.any(1), rows.all(1)):
            raise RunError("the addresses of one tile point into several tensors", op.location)
        made = choose(rows.all(1), pointer, made)
    return made  # type: ignore[no-any-return]


def _elements(distance: Tensor, dtype: torch.dtype, op: ir.Operation) -> Tensor:
    """A distance in bytes as elements; what is far outside counts as just outside."""
    return torch.div(distance, dtype.itemsize, rounding_mode="floor")


def _ptr_to_int(op: ir.Operation, shadow: bool) -> TileStep:
    def address(window: Window, offset: Tensor) -> Tensor:
        return window.flat.data_ptr() + offset * window.flat.element_size()

    def step(batch: Batch, operands: Sequence[Any]) -> Any:
        if shadow:
            raise RunError("a number made from an address has no float64 shadow", op.location)
        pointer = operands[0]
        if isinstance(pointer, Pointer):
            return address(pointer.window, pointer.offset)
        made = None
        for mask, each in pointer.choices:
            number = address(each.window, each.offset)
            made = number if made is None else choose(mask, number, made)
        return made

    return step


#: Op name -> (op, shadow) -> step.
ADDRESSES: dict[str, Callable[[ir.Operation, bool], TileStep]] = {
    "tt.int_to_ptr": _int_to_ptr,
    "tt.ptr_to_int": _ptr_to_int,
}
