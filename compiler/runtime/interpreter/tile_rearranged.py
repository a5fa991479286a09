"""Tile ops that move or count the elements of a tile, for all programs at once."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from .scalar.dtypes import value_dtype
from .tile_batch import Batch, TileStep, integer_attribute, tile_shape


def _together(values: Sequence[Tensor]) -> list[Tensor]:
    """Values of as many programs each."""
    count = max(v.shape[0] for v in values)
    return [v.expand(count, *v.shape[1:]) for v in values]


def _cat(op: ir.Operation, shadow: bool) -> TileStep:
    shape = tile_shape(op.results[0].type)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        both = _together(operands)
        return torch.cat(both, 1).reshape(both[0].shape[0], *shape)

    return step


def _gather(op: ir.Operation, shadow: bool) -> TileStep:
    axis = integer_attribute(op, "axis") + 1

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        source, indices = _together(operands)
        return torch.gather(source, axis, indices.to(torch.int64))

    return step


def _histogram(op: ir.Operation, shadow: bool) -> TileStep:
    (bins,) = tile_shape(op.results[0].type)
    dtype = value_dtype(element_of(op.results[0].type))
    numbers = torch.arange(bins)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        found = operands[0].unsqueeze(-1) == numbers
        if len(operands) > 1:
            found = found & operands[1].unsqueeze(-1)
        return found.sum(1).to(dtype)

    return step


#: Op name -> (op, shadow) -> step.
REARRANGED: dict[str, Callable[[ir.Operation, bool], TileStep]] = {
    "tt.cat": _cat,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
}
