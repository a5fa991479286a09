"""Tensor descriptors in tile code: tiles of a tensor by where they begin, for all programs at once.  What
lies outside of the tensor is not accessed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...ir.dialects.tt_descriptors import DESCRIPTOR_REDUCE
from ...ir.dialects.tt_text import FAMILIES, mirror_name
from ...ir.dialects.tt_types import block_of, element_of
from ...mlir import ir
from ..errors import RunError
from .scalar.dtypes import value_dtype
from .tile_accesses import atomic_step, read_lanes, write_lanes
from .tile_batch import Batch, TileStep, at, each_window, integer_attribute, tile_shape
from .tile_memory import Pointer, Pointers

_PAD_WITH_NAN = 2
#: ``kind`` of ``tt.descriptor_reduce`` -> ``atomic_rmw_op``, of signed and of unsigned integers.
_UPDATES = {"add": (4, 4), "min": (7, 9), "max": (6, 8), "and": (1, 1), "or": (2, 2), "xor": (3, 3)}


@dataclass(frozen=True, eq=False)
class TileDescriptor:
    """A tensor at ``base``, with its sizes and strides in elements, each (programs,), and the extents of its
    tiles.  nan: what is read outside is NaN, else 0.
    """

    base: Pointer | Pointers
    sizes: tuple[Tensor, ...]
    strides: tuple[Tensor, ...]
    block: tuple[int, ...]
    nan: bool

    def tile(self, starts: Sequence[Tensor]) -> tuple[Pointer | Pointers, Tensor]:
        """The addresses of the tile that begins at ``starts``, and which of them lie in the tensor."""
        rank = len(self.block)
        coordinates = []
        for axis, (start, extent) in enumerate(zip(starts, self.block, strict=True)):
            lanes = torch.arange(extent).reshape([extent if n == axis else 1 for n in range(rank)])
            coordinates.append(_over(start, rank) + lanes)
        return self.at(coordinates)

    def at(self, coordinates: Sequence[Tensor]) -> tuple[Pointer | Pointers, Tensor]:
        """The addresses of elements, by a coordinate for each axis, each (programs, *tile)."""
        rank = coordinates[0].ndim - 1
        offset = sum(c * _over(s, rank) for c, s in zip(coordinates, self.strides, strict=True))
        inside = torch.ones((), dtype=torch.bool)
        for coordinate, size in zip(coordinates, self.sizes, strict=True):
            inside = inside & (coordinate >= 0) & (coordinate < _over(size, rank))
        return at(self.base, lambda base: _over(base, rank) + offset), inside

    def rows(self, rows: Tensor, column: Tensor) -> tuple[Pointer | Pointers, Tensor]:
        """The addresses of a piece of some rows of a tensor of rank 2."""
        columns = _over(column, 2) + torch.arange(self.block[1]).reshape(1, 1, -1)
        return self.at([rows.to(torch.int64).unsqueeze(-1), columns])


def _over(value: Tensor, rank: int) -> Tensor:
    """A number for each program as a tile of ``rank`` axes."""
    return value.to(torch.int64).reshape([-1] + [1] * rank)


def _make(op: ir.Operation, shadow: bool) -> TileStep:
    block = block_of(op.results[0].type)
    assert block is not None
    shape, nan = tuple(block.shape), integer_attribute(op, "padding") == _PAD_WITH_NAN

    def step(batch: Batch, operands: Sequence[Any]) -> TileDescriptor:
        base, *numbers = operands
        return TileDescriptor(base, tuple(numbers[: len(shape)]), tuple(numbers[len(shape) :]), shape, nan)

    return step


def _reader(op: ir.Operation, shadow: bool) -> Callable[[Batch, TileDescriptor, Any, Tensor], Tensor]:
    """Reads a tile from addresses and the mask of those in the tensor."""
    dtype, shape = value_dtype(element_of(op.results[0].type), shadow), tile_shape(op.results[0].type)

    def read(batch: Batch, descriptor: TileDescriptor, pointer: Any, inside: Tensor) -> Tensor:
        other = torch.full((), torch.nan if descriptor.nan else 0, dtype=dtype)
        step = each_window(lambda batch, v: read_lanes(batch, v[0], inside, other, dtype, op))
        found: Tensor = step(batch, [pointer])
        return found.reshape(found.shape[0], *shape)

    return read


def _load(op: ir.Operation, shadow: bool) -> TileStep:
    read = _reader(op, shadow)
    return lambda batch, v: read(batch, v[0], *v[0].tile(v[1:]))


def _gather(op: ir.Operation, shadow: bool) -> TileStep:
    read = _reader(op, shadow)
    return lambda batch, v: read(batch, v[0], *v[0].rows(v[1], v[2]))


def _writer(
    op: ir.Operation, dtype: torch.dtype, update: TileStep | None = None
) -> Callable[[Batch, Tensor, Any, Tensor], tuple[()]]:
    """Writes a tile to the addresses that lie in the tensor, or updates what is there."""

    def write(batch: Batch, tile: Tensor, pointer: Any, inside: Tensor) -> tuple[()]:
        def step(batch: Batch, operands: Sequence[Any]) -> tuple[()]:
            shape = operands[0].offset.shape[1:]
            value = tile.reshape(tile.shape[0], *shape)
            if update is None:
                write_lanes(batch, operands[0], value, inside, dtype, op)
            else:
                update(batch, [operands[0], value, inside])
            return ()

        each_window(step)(batch, [pointer])
        return ()

    return write


def _store(op: ir.Operation, shadow: bool) -> TileStep:
    write = _writer(op, value_dtype(element_of(op.operands[1].type), shadow))
    return lambda batch, v: write(batch, v[1], *v[0].tile(v[2:]))


def _scatter(op: ir.Operation, shadow: bool) -> TileStep:
    write = _writer(op, value_dtype(element_of(op.operands[3].type), shadow))
    return lambda batch, v: write(batch, v[3], *v[0].rows(v[1], v[2]))


def _reduce(op: ir.Operation, shadow: bool) -> TileStep:
    kind = {value: name for name, value in DESCRIPTOR_REDUCE.items()}.get(integer_attribute(op, "kind"), "")
    block = block_of(op.operands[0].type)
    assert block is not None
    if kind not in _UPDATES:
        raise RunError("the interpreter has no such tt.descriptor_reduce", op.location)
    signed, unsigned = _UPDATES[kind]
    code = unsigned if str(block.element_type).startswith("ui") else signed
    dtype = value_dtype(element_of(op.operands[1].type), shadow)
    write = _writer(op, dtype, atomic_step(op, code, dtype, used=False))
    return lambda batch, v: write(batch, v[1], *v[0].tile(v[2:]))


#: Op name -> (op, shadow) -> step.
DESCRIPTORS: dict[str, Callable[[ir.Operation, bool], TileStep]] = {
    "tt.descriptor_gather": _gather,
    "tt.descriptor_load": _load,
    "tt.descriptor_reduce": _reduce,
    "tt.descriptor_scatter": _scatter,
    "tt.descriptor_store": _store,
    **{mirror_name("tt.make_tensor_descriptor", n): _make for n in FAMILIES["tt.make_tensor_descriptor"]},
}
