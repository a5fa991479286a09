"""Loads, stores and atomics of tile code, for all programs at once."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...codegen.nvidia import TableText
from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from ..errors import RunError
from .scalar.dtypes import CARRIERS, poison, value_dtype
from .tile_batch import Batch, TileStep, aligned, at, each_window, integer_attribute
from .tile_memory import Pointer


def _lanes(batch: Batch, pointer: Pointer, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """(offsets, live, programs) of all lanes, each (programs, *tile)."""
    shape = [batch.count, *pointer.offset.shape[1:]]
    live = torch.ones((), dtype=torch.bool) if mask is None else mask
    if batch.active is not None:
        live = live & batch.active.reshape([-1] + [1] * (len(shape) - 1))
    programs = batch.programs.reshape([-1] + [1] * (len(shape) - 1))
    return pointer.offset.expand(shape), live.expand(shape), programs.expand(shape)


def _addptr(op: ir.Operation, shadow: bool) -> TileStep:
    return lambda batch, v: at(v[0], lambda offset: offset + v[1].to(torch.int64))


def _load(op: ir.Operation, shadow: bool) -> TileStep:
    dtype = value_dtype(element_of(op.results[0].type), shadow)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        pointer, mask, other = [*operands, None, None][:3]
        return read_lanes(batch, pointer, mask, other, dtype, op)

    return each_window(step)


def read_lanes(
    batch: Batch,
    pointer: Pointer,
    mask: Tensor | None,
    other: Tensor | None,
    dtype: torch.dtype,
    op: ir.Operation,
) -> Tensor:
    """What is at a tile of addresses, as ``dtype``; ``other`` where the mask is false."""
    offsets, live, programs = _lanes(batch, pointer, mask)
    window = pointer.window.viewed(_memory_dtype(pointer, dtype))
    if live.all():
        return window.read(offsets.reshape(-1), programs.reshape(-1), op).to(dtype).view(offsets.shape)
    if other is None:
        value = poison(torch.empty(offsets.shape, dtype=dtype))  # undefined in Triton
    else:
        value = other.expand(offsets.shape).clone()
    found = window.read(offsets[live], programs[live], op).to(dtype)
    value.view(CARRIERS[value.element_size()])[live] = found.view(CARRIERS[value.element_size()])
    return value


def table_step(op: ir.Operation, table: TableText, shadow: bool) -> TileStep:
    """What looks up a table at an address, by bits of a tile."""
    dtype = value_dtype(element_of(op.results[0].type), shadow)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        pointer, bits = operands
        entry = bits.to(torch.int64) >> table.shift & table.entries - 1
        offset, _ = aligned([pointer.offset, entry])
        there = Pointer(pointer.window, offset + entry)
        return read_lanes(batch, there, None, None, dtype, op)

    return each_window(step)


def _memory_dtype(pointer: Pointer, dtype: torch.dtype) -> torch.dtype:
    """The window as values of ``dtype``: reinterpreted if that has the same width but is another
    type."""
    held = pointer.window.flat.dtype
    same_kind = held.is_floating_point == dtype.is_floating_point
    return held if same_kind or held.itemsize != dtype.itemsize else dtype


def _store(op: ir.Operation, shadow: bool) -> TileStep:
    dtype = value_dtype(element_of(op.operands[1].type), shadow)

    def step(batch: Batch, operands: Sequence[Any]) -> tuple[()]:
        pointer, value, mask = [*operands, None][:3]
        write_lanes(batch, pointer, value, mask, dtype, op)
        return ()

    return each_window(step)


def write_lanes(
    batch: Batch, pointer: Pointer, value: Tensor, mask: Tensor | None, dtype: torch.dtype, op: ir.Operation
) -> None:
    """Stores a tile of ``dtype`` where the mask is true."""
    offsets, live, programs = _lanes(batch, pointer, mask)
    window = pointer.window.viewed(_memory_dtype(pointer, dtype))
    value = value.expand(offsets.shape)
    if live.all():
        offsets, value, programs = (t.reshape(-1) for t in (offsets, value, programs))
    else:
        offsets, value, programs = offsets[live], value[live], programs[live]
    window.write(offsets, value.to(window.flat.dtype), programs, op)


#: ``atomic_rmw_op`` -> (old, operand) -> new.
_ATOMICS: dict[int, Callable[[Tensor, Tensor], Tensor]] = {
    1: torch.bitwise_and,
    2: torch.bitwise_or,
    3: torch.bitwise_xor,
    4: torch.add,
    5: torch.add,
    6: torch.maximum,
    7: torch.minimum,
    10: lambda old, new: new,
}
_UNSIGNED_ATOMICS = {8: torch.maximum, 9: torch.minimum}
_UPDATES = {4: "sum", 5: "sum", 6: "amax", 7: "amin"}


def _atomic_rmw(op: ir.Operation, shadow: bool) -> TileStep:
    code = integer_attribute(op, "atomic_rmw_op")
    if code not in _ATOMICS and code not in _UNSIGNED_ATOMICS:
        raise RunError(f"tt.atomic_rmw has no operation {code}", op.location)
    used = any(True for _ in op.results[0].uses)
    return each_window(atomic_step(op, code, value_dtype(element_of(op.operands[1].type), shadow), used))


def atomic_step(op: ir.Operation, code: int, dtype: torch.dtype, used: bool) -> TileStep:
    """The step of an atomic update, from pointer, tile of ``dtype`` and mask to what was there before;
    that is made up where it is not ``used``.  ``code``: of ``_ATOMICS``.
    """

    def update(old: Tensor, new: Tensor) -> Tensor:
        if code in _UNSIGNED_ATOMICS:
            lowest = torch.iinfo(old.dtype).min
            return _UNSIGNED_ATOMICS[code](old ^ lowest, new ^ lowest) ^ lowest
        return _ATOMICS[code](old, new)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        pointer, value, mask = [*operands, None][:3]
        offsets, live, programs = _lanes(batch, pointer, mask)
        window = pointer.window.viewed(_memory_dtype(pointer, dtype))
        if window.flat.dtype.is_floating_point != dtype.is_floating_point:
            raise RunError("an atomic on the bits of a float has no float64 shadow", op.location)
        where, what = offsets[live], value.expand(offsets.shape)[live].to(window.flat.dtype)
        window.check(where, op)
        window.storage.touch("atomic", where, programs[live], window.flat.element_size(), op)
        flat, old = window.flat, poison(torch.empty(offsets.shape, dtype=window.flat.dtype))
        if not used and code in _UPDATES:
            if _UPDATES[code] == "sum":
                flat.index_add_(0, where, what)
            else:
                flat.scatter_reduce_(0, where, what, _UPDATES[code])
            return old
        seen = torch.empty_like(what)
        for lane, element in enumerate(where.tolist()):  # program order: lanes are sorted by program
            seen[lane] = flat[element]
            flat[element] = update(flat[element], what[lane])
        old[live] = seen
        return old

    return step


def _atomic_cas(op: ir.Operation, shadow: bool) -> TileStep:
    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        pointer, compared, value = operands
        offsets, live, programs = _lanes(batch, pointer, None)
        where = offsets[live]
        pointer.window.check(where, op)
        pointer.window.storage.touch("atomic", where, programs[live], pointer.window.flat.element_size(), op)
        flat, old = pointer.window.flat, poison(torch.empty(offsets.shape, dtype=pointer.window.flat.dtype))
        expected, what = (v.expand(offsets.shape)[live].to(flat.dtype) for v in (compared, value))
        seen = torch.empty_like(what)
        for lane, element in enumerate(where.tolist()):
            seen[lane] = flat[element]
            if torch.equal(seen[lane], expected[lane]):
                flat[element] = what[lane]
        old[live] = seen
        return old

    return each_window(step)


#: Op name -> (op, shadow) -> step.
ACCESSES: dict[str, Callable[[ir.Operation, bool], TileStep]] = {
    "tt.addptr": _addptr,
    "tt.atomic_cas": _atomic_cas,
    "tt.atomic_rmw": _atomic_rmw,
    "tt.load": _load,
    "tt.store": _store,
}
