"""Batches of programs that run together, and the form of their values.

A value has a leading axis for the programs, of extent 1 where all programs have the same value, then the axes
of the tile: a scalar is (programs,), a ``tensor<4x64xf32>`` is (programs, 4, 64).  Addresses are
``Pointer``s.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from ..errors import RunError
from .tile_memory import Memory, Pointer, Pointers

#: (batch, operands) -> result, or a tuple of results.
TileStep = Callable[["Batch", Sequence[Any]], Any]


@dataclass
class Batch:
    """Programs that run together: their numbers (int64, 1-d), the grid, and the programs that are active in
    divergent code (None: all)."""

    programs: Tensor
    grid: tuple[int, int, int]
    memory: Memory
    active: Tensor | None = None

    @property
    def count(self) -> int:
        return self.programs.numel()


def tile_shape(type_: ir.Type) -> tuple[int, ...]:
    """Extents of a tile type; a scalar has none."""
    return tuple(ir.RankedTensorType(type_).shape) if isinstance(type_, ir.RankedTensorType) else ()


def is_pointer(type_: ir.Type) -> bool:
    """Whether ``type_`` is an address or a tile of addresses."""
    return str(element_of(type_)).startswith("!tt.ptr")


def choose(mask: Tensor, a: Any, b: Any) -> Any:
    """``a`` where ``mask`` (programs,) is true, else ``b``: tiles, or addresses, also in several windows."""
    if a is b:
        return a
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.window.same_as(b.window):
        return Pointer(a.window, choose(mask, a.offset, b.offset))
    if isinstance(a, Pointer | Pointers):
        if mask.ndim > 1:
            raise RunError("an address that differs between the lanes of a program points into two tensors")
        return Pointers.of(mask, a, b)
    return torch.where(mask.reshape([-1] + [1] * (max(a.ndim, b.ndim) - 1)), a, b)


def aligned(operands: Sequence[Any]) -> list[Any]:
    """Gives scalars as many axes as the tiles that they are combined with."""
    rank = max((v.ndim for v in operands), default=0)
    return [v if v.ndim == rank else v.reshape([*v.shape, *[1] * (rank - v.ndim)]) for v in operands]


def at(pointer: Pointer | Pointers, function: Callable[[Tensor], Tensor]) -> Pointer | Pointers:
    """Addresses with changed offsets."""
    if isinstance(pointer, Pointers):
        return pointer.map(lambda p: Pointer(p.window, function(p.offset)))
    return Pointer(pointer.window, function(pointer.offset))


def each_window(step: TileStep) -> TileStep:
    """Runs ``step``, whose first operand is an address, once for each window that its programs use."""

    def steps(batch: Batch, operands: Sequence[Any]) -> Any:
        if isinstance(operands[0], Pointer):
            return step(batch, operands)
        result = None
        for mask, pointer in operands[0].choices:
            active = mask.expand(batch.count)
            inside = active if batch.active is None else active & batch.active
            made = step(replace(batch, active=inside), [pointer, *operands[1:]])
            result = made if result is None or isinstance(made, tuple) else choose(active, made, result)
        return result

    return steps


def integer_attribute(op: ir.Operation, name: str) -> int:
    """The value of an integer attribute."""
    return ir.IntegerAttr(op.attributes[name]).value
