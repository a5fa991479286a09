"""Loads and stores of scalar kernels: coordinates over dims become strides where they are affine, offsets
where they are not.

A value of a kernel is a tensor with one axis per kernel dim, of extent 1 where the value does not have the
dim.  An access whose coordinates are affine in the dims, and in bounds at all points, is a strided view of
the tensor's storage; any other computes the offset of every point and gathers or scatters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..analysis.index import Expr, parse
from ..mlir import ir
from .dtypes import CARRIERS, signless
from .errors import OutOfBounds, RaceError


@dataclass
class Points:
    """The points that a kernel is run for: per dim a start and a count, and the sizes by name."""

    names: tuple[str, ...]
    starts: list[int]
    counts: list[int]
    env: dict[str, Any]
    written: frozenset[int] = frozenset()  #: addresses of the storages that this call stores to
    touches: list["Touch"] = field(default_factory=list)  #: accesses of those storages so far
    _ranges: dict[str, Tensor] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        return len(self.names)

    def dim(self, name: str) -> Tensor:
        """The dim's values, along its own axis."""
        known = self._ranges.get(name)
        if known is None:
            axis = self.names.index(name)
            shape = [1] * self.rank
            shape[axis] = self.counts[axis]
            values = torch.arange(self.starts[axis], self.starts[axis] + self.counts[axis])
            known = self._ranges[name] = values.reshape(shape)
        return known

    def scalar(self, value: float, dtype: torch.dtype) -> Tensor:
        """A value without dims."""
        return torch.full([1] * self.rank, value, dtype=dtype)

    def evaluate(self, expr: Expr, indices: Sequence[Tensor]) -> Any:
        """``expr`` at every point: a tensor over the dims that it uses, or an int."""
        env = dict(self.env)
        for name in expr.symbols():
            if name in self.names:
                env[name] = self.dim(name)
        env.update({f"i{n}": index for n, index in enumerate(indices)})
        return expr.evaluate(env)


@dataclass(frozen=True)
class Coordinate:
    """One coordinate: the expression and, where it is affine in the dims, its factors (by axis) and the
    rest."""

    expr: Expr
    factors: tuple[tuple[int, Expr], ...] | None
    rest: Expr

    @staticmethod
    def of(text: str, names: tuple[str, ...]) -> "Coordinate":
        """Reads ``text`` over the dims ``names``, sizes and ``i0``.."""
        expr = parse(text)
        used = [n for n in names if n in expr.symbols()]
        rest = expr.subs(dict.fromkeys(used, 0))
        factors = []
        for name in used:
            factor = expr.coefficient(name)
            if factor is None or not factor.symbols().isdisjoint(names) or _is_indirect(factor):
                return Coordinate(expr, None, rest)
            factors.append((names.index(name), factor))
        return Coordinate(expr, None if _is_indirect(rest) else tuple(factors), rest)


def _is_indirect(expr: Expr) -> bool:
    return any(s[0] == "i" and s[1:].isdigit() for s in expr.symbols())


@dataclass(frozen=True)
class Strided:
    """An affine access that stays in bounds: start in the storage, and per axis a count and a step (in
    elements)."""

    start: int
    counts: tuple[int, ...]
    steps: tuple[int, ...]

    def view(self, tensor: Tensor) -> Tensor:
        """The elements as a view of ``tensor``'s storage; torch has no negative strides, so those axes are
        not reversed yet."""
        start = self.start + sum(s * (n - 1) for n, s in zip(self.counts, self.steps, strict=True) if s < 0)
        return torch.as_strided(tensor, self.counts, [abs(s) for s in self.steps], start)

    @property
    def reversed_axes(self) -> list[int]:
        return [axis for axis, step in enumerate(self.steps) if step < 0]

    @property
    def is_injective(self) -> bool:
        """Whether no two points meet: every step is larger than all smaller ones can add up to."""
        reach = 0
        for step, count in sorted((abs(s), n) for s, n in zip(self.steps, self.counts, strict=True) if n > 1):
            if step <= reach:
                return False
            reach += step * (count - 1)
        return True


class Access:
    """The address part of one ``fuse.load`` or ``fuse.store``."""

    def __init__(self, op: ir.Operation, names: tuple[str, ...]) -> None:
        self.op = op
        self.coordinates = [
            Coordinate.of(ir.StringAttr(t).value, names) for t in ir.ArrayAttr(op.attributes["at"])
        ]
        self.affine = all(c.factors is not None for c in self.coordinates)

    def strided(self, tensor: Tensor, points: Points) -> Strided | None:
        """The access as strides, if it is affine and in bounds everywhere (guards do not count)."""
        if not self.affine:
            return None
        counts, steps = [1] * points.rank, [0] * points.rank
        start = tensor.storage_offset()
        for coordinate, size, stride in zip(self.coordinates, tensor.shape, tensor.stride(), strict=True):
            low = high = coordinate.rest.evaluate(points.env)
            for axis, factor in coordinate.factors or ():
                step, count = factor.evaluate(points.env), points.counts[axis]
                low += step * points.starts[axis]
                high += step * points.starts[axis]
                steps[axis] += step * stride
                counts[axis] = count
                start += step * points.starts[axis] * stride
                span = step * (count - 1)
                low, high = (low, high + span) if span >= 0 else (low + span, high)
            start += coordinate.rest.evaluate(points.env) * stride
            if (low < 0 or high >= size) and 0 not in counts:
                return None
        return Strided(start, tuple(counts), tuple(steps))

    def offsets(self, tensor: Tensor, points: Points, guard: Tensor, indices: Sequence[Tensor]) -> Tensor:
        """Storage offsets of all points, clamped into the tensor.  Raises OutOfBounds where ``guard`` holds
        outside it."""
        total: Any = torch.full([1] * points.rank, tensor.storage_offset())
        for number, (coordinate, size, stride) in enumerate(
            zip(self.coordinates, tensor.shape, tensor.stride(), strict=True)
        ):
            value = points.evaluate(coordinate.expr, indices)
            value = value if isinstance(value, Tensor) else torch.full([1] * points.rank, value)
            outside = (value < 0) | (value >= size)
            if outside.any() and (bad := outside & guard).any():
                worst = value.expand(bad.shape)[bad][0].item()
                raise OutOfBounds(
                    f"{self.op.name} has coordinate {number} ({coordinate.expr}) = {worst} "
                    f"in a dim of size {size}",
                    self.op.location,
                )
            total = total + value.clamp(0, max(size - 1, 0)) * stride
        return total


@dataclass(frozen=True)
class Touch:
    """One access of a storage that the kernel also stores to."""

    access: Access
    tensor: Tensor
    guard: Tensor | None
    indices: Sequence[Tensor]

    @property
    def is_load(self) -> bool:
        return self.access.op.name == "fuse.load"

    def cells(self, points: Points) -> tuple[Tensor, Tensor]:
        """(storage offsets, whether the point accesses): both over the same points."""
        guard = torch.ones([1] * points.rank, dtype=torch.bool) if self.guard is None else self.guard
        return tuple(
            torch.broadcast_tensors(self.access.offsets(self.tensor, points, guard, self.indices), guard)
        )


def touch(points: Points, new: Touch) -> None:
    """Notes an access.  Raises RaceError where one point reads what another stores, or a load follows the
    store.

    A load may see the old contents of an element that its own point stores later: an update in place.
    """
    storage = new.tensor.untyped_storage().data_ptr()
    if storage not in points.written:
        return
    for old in points.touches:
        if old.is_load == new.is_load or old.tensor.untyped_storage().data_ptr() != storage:
            continue
        load, stored = (new, old) if new.is_load else (old, new)
        if _meet(points, load, stored, in_place=stored is new):
            message = "reads elements that another point of the kernel stores, or that are stored before"
            raise RaceError(f"fuse.load {message}", load.access.op.location)
    points.touches.append(new)


def _meet(points: Points, load: Touch, stored: Touch, in_place: bool) -> bool:
    """Whether a point reads an element that is stored; with ``in_place`` its own does not count."""
    same_width = load.tensor.element_size() == stored.tensor.element_size()
    if in_place and same_width:
        strides = load.access.strided(load.tensor, points)
        if (
            strides is not None
            and strides == stored.access.strided(stored.tensor, points)
            and strides.is_injective
        ):
            return False
    (read, reads), (write, writes) = load.cells(points), stored.cells(points)
    if not same_width:
        read, write = read * load.tensor.element_size(), write * stored.tensor.element_size()
    if in_place and same_width:
        read, reads, write_there, writes_there = torch.broadcast_tensors(read, reads, write, writes)
        reads = reads & ~((read == write_there) & writes_there)
    return bool(torch.isin(read[reads], write[writes]).any())


def storage_of(tensor: Tensor) -> Tensor:
    """All elements of the storage as one dim, in integers of the same width where the dtype lacks gathers."""
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = torch.as_strided(tensor, (elements,), (1,), 0)
    return (
        flat.view(CARRIERS[flat.element_size()])
        if flat.is_floating_point() and flat.element_size() < 4
        else flat
    )


def load(
    access: Access,
    points: Points,
    tensor: Tensor,
    guard: Tensor | None,
    other: Tensor,
    indices: Sequence[Tensor],
) -> Tensor:
    """The elements at all points; ``other`` where ``guard`` is false (None: true everywhere)."""
    source = signless(tensor)
    if points.written:
        touch(points, Touch(access, source, guard, indices))
    strided = access.strided(source, points)
    if strided is not None:
        value = strided.view(source)
        if strided.reversed_axes:
            value = value.flip(strided.reversed_axes)
        elif source.untyped_storage().data_ptr() in points.written:
            value = value.clone()  # the stores come later, the loaded numbers are those of now
    else:
        everywhere = torch.ones([1] * points.rank, dtype=torch.bool) if guard is None else guard
        offsets = access.offsets(source, points, everywhere, indices)
        if source.numel() == 0:
            return other.expand(torch.broadcast_shapes(offsets.shape, everywhere.shape))
        value = storage_of(source)[offsets].view(source.dtype)
    return value if guard is None else torch.where(guard, value, other)


def store(
    access: Access,
    points: Points,
    dest: Tensor,
    value: Tensor,
    guard: Tensor | None,
    indices: Sequence[Tensor],
    mode: str,
) -> None:
    """Writes ``value`` at all points where ``guard`` holds.  Raises OutOfBounds, or RaceError where two
    points set one element to different values."""
    target = signless(dest)
    touch(points, Touch(access, target, guard, indices))
    if mode == "set":
        strided = access.strided(target, points)
        shape = torch.broadcast_shapes(value.shape, *([] if guard is None else [guard.shape]))
        if (
            strided is not None
            and strided.is_injective
            and all(n in (1, m) for n, m in zip(shape, strided.counts, strict=True))
        ):
            view = strided.view(target)
            axes = strided.reversed_axes
            value, guard = (
                (value.flip(axes), None if guard is None else guard.flip(axes)) if axes else (value, guard)
            )
            view.copy_(value if guard is None else torch.where(guard, value, view))
            return
    everywhere = torch.ones([1] * points.rank, dtype=torch.bool) if guard is None else guard
    offsets, value, everywhere = torch.broadcast_tensors(
        access.offsets(target, points, everywhere, indices), value, everywhere
    )
    where, what = offsets[everywhere], value[everywhere].to(target.dtype)
    if where.numel():
        _scatter(target, where, what, mode, access.op)


def _scatter(target: Tensor, where: Tensor, what: Tensor, mode: str, op: ir.Operation) -> None:
    elements = target.untyped_storage().nbytes() // target.element_size()
    flat = torch.as_strided(target, (elements,), (1,), 0)
    if mode == "set":
        carrier = CARRIERS[target.element_size()]
        reject_conflicts(where, what, op)
        flat.view(carrier)[where] = what.view(carrier)
    elif mode == "add":
        flat.index_add_(0, where, what)
    else:
        flat.scatter_reduce_(0, where, what, {"max": "amax", "min": "amin"}[mode])


def reject_conflicts(where: Tensor, what: Tensor, op: ir.Operation) -> None:
    """Raises RaceError if ``op`` sets an element to two values that differ (NaN equals NaN)."""
    order = torch.argsort(where, stable=True)
    element, value = where[order], what[order]
    same = element[1:] == element[:-1]
    if not same.any():
        return
    comparable = value.float() if value.element_size() < 2 and value.is_floating_point() else value
    differ = comparable[1:] != comparable[:-1]
    if comparable.is_floating_point():
        differ &= ~(comparable[1:].isnan() & comparable[:-1].isnan())
    if (same & differ).any():
        first = element[1:][same & differ][0].item()
        raise RaceError(
            f"{op.name} sets element {first} of its storage twice, to different values", op.location
        )
