"""Loads and stores of scalar kernels.  Affine coordinates over dims become strides; other ones become
offsets.

A value of a kernel is a tensor with one axis per kernel dim, of extent 1 where the value does not have the
dim.  An access whose coordinates are affine in the dims, and in bounds at all points, is a strided view of
the tensor's storage; any other computes the offset of every point and gathers or scatters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import torch
from torch import Tensor

from ....base.dataclass import dataclass
from ....index import Expr, parse
from ....mlir import ir
from ...errors import OutOfBounds, RaceError
from .dtypes import CARRIERS, signless
from .strided import Clipped, Strided, clipped, strided


@dataclass
class Points:
    """The points that a kernel is run for: a start and a count for each dim, and the sizes by name."""

    names: tuple[str, ...]
    starts: list[int]
    counts: list[int]
    env: dict[str, Any]
    written: frozenset[int] = frozenset()  #: addresses of the storages that this call stores to
    checked: bool = True  #: whether two different values for one element, at loaded indices, are an error
    touches: list["Touch"] = field(default_factory=list)  #: accesses of those storages so far
    _ranges: dict[str, Tensor] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        return len(self.names)

    def dim(self, name: str) -> Tensor:
        """The values of a dim, along its own axis."""
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
        """``expr`` at every point: a tensor over the dims in it, or an int; 0 where a size that it divides by
        is 0.
        """
        if not _divides(expr, self.env):
            return 0
        env = dict(self.env)
        for name in expr.symbols():
            if name in self.names:
                env[name] = self.dim(name)
        env.update({f"i{n}": index for n, index in enumerate(indices)})
        return expr.evaluate(env)


def _divides(expr: Expr, sizes: Mapping[str, int]) -> bool:
    """Whether no size that ``expr`` divides by is 0.  A tensor of such a size has no elements: a kernel that
    also has other points does not read it there, and has no use for its coordinates.
    """
    return 0 not in sizes.values() or all(
        isinstance(atom, str)
        or (
            _divides(atom.num, sizes)
            and _divides(atom.den, sizes)
            and (not atom.den.symbols() <= sizes.keys() or atom.den.evaluate(sizes) != 0)
        )
        for atom in expr.atoms()
    )


def _is_indirect(expr: Expr) -> bool:
    return any(s[0] == "i" and s[1:].isdigit() for s in expr.symbols())


#: How many layouts and sizes an access remembers the strides of.
_REMEMBERED = 16


class ScalarAccess:
    """The address part of one ``fuse.load`` or ``fuse.store``."""

    def __init__(self, op: ir.Operation, names: tuple[str, ...]) -> None:
        self.op = op
        self.coordinates = [parse(ir.StringAttr(t).value) for t in ir.ArrayAttr(op.attributes["at"])]
        self._direct = not any(_is_indirect(c) for c in self.coordinates)
        self._symbols = sorted({n for c in self.coordinates for n in c.symbols()} - set(names))
        self._known: dict[Any, Strided | Clipped | None] = {}

    def strided(self, tensor: Tensor, points: Points) -> Strided | None:
        """The access as strides, if it is affine and in bounds everywhere, also where its guard is false."""
        return self._remembered(strided, tensor, points)

    def clipped(self, tensor: Tensor, points: Points) -> Clipped | None:
        """The part of the access that is in bounds, if that part is a box."""
        return self._remembered(clipped, tensor, points)

    def _remembered(self, find: Callable[..., Any], tensor: Tensor, points: Points) -> Any:
        if not self._direct:
            return None
        sizes = {n: points.env[n] for n in self._symbols}
        if not all(_divides(c, sizes) for c in self.coordinates):
            return None
        layout = (tensor.shape, tensor.stride(), tensor.storage_offset())
        key = (find, *layout, *points.starts, *points.counts, *sizes.values())
        if key not in self._known:
            if len(self._known) == _REMEMBERED:
                self._known.clear()
            coordinates = [c.subs(sizes) for c in self.coordinates]
            self._known[key] = find(coordinates, tensor, points.names, points.starts, points.counts)
        return self._known[key]

    def offsets(self, tensor: Tensor, points: Points, guard: Tensor, indices: Sequence[Tensor]) -> Tensor:
        """Storage offsets of all points, clamped into the tensor.  Raises OutOfBounds where a point outside
        has a true ``guard``.
        """
        total: Any = torch.full([1] * points.rank, tensor.storage_offset())
        for number, (coordinate, size, stride) in enumerate(
            zip(self.coordinates, tensor.shape, tensor.stride(), strict=True)
        ):
            value = points.evaluate(coordinate, indices)
            value = value if isinstance(value, Tensor) else torch.full([1] * points.rank, value)
            outside = (value < 0) | (value >= size)
            if outside.any() and (bad := outside & guard).any():
                worst = value.expand(bad.shape)[bad][0].item()
                raise OutOfBounds(
                    f"{self.op.name} has coordinate {number} ({coordinate}) = {worst} "
                    f"in a dim of size {size}",
                    self.op.location,
                )
            total = total + value.clamp(0, max(size - 1, 0)) * stride
        return total


@dataclass(frozen=True)
class Touch:
    """One access of a storage that the kernel also stores to."""

    access: ScalarAccess
    tensor: Tensor
    guard: Tensor | None
    indices: Sequence[Tensor]

    @property
    def is_load(self) -> bool:
        return self.access.op.name == "fuse.load"

    def cells(self, points: Points) -> tuple[Tensor, Tensor]:
        """(storage offsets, whether the point accesses), both for the same points."""
        guard = torch.ones([1] * points.rank, dtype=torch.bool) if self.guard is None else self.guard
        return tuple(
            torch.broadcast_tensors(self.access.offsets(self.tensor, points, guard, self.indices), guard)
        )


def touch(points: Points, new: Touch) -> None:
    """Records an access.  Raises RaceError where one point loads an element that another one stores, or a
    load follows the store.

    A point may load the old contents of an element that it stores later: that is an update in place.
    """
    storage = new.tensor.untyped_storage().data_ptr()
    if storage not in points.written or not new.tensor.numel():
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
    """Whether a point loads an element that is stored.  With ``in_place``, an element does not count that
    only this point stores.
    """
    same_width = load.tensor.element_size() == stored.tensor.element_size()
    if in_place and same_width:
        steps = load.access.strided(load.tensor, points)
        if steps is not None and steps == stored.access.strided(stored.tensor, points) and steps.is_injective:
            return False
    (read, reads), (write, writes) = load.cells(points), stored.cells(points)
    if not same_width:
        read, write = read * load.tensor.element_size(), write * stored.tensor.element_size()
    if in_place and same_width:
        cells, times = write[writes].unique(return_counts=True)
        alone = writes & ~torch.isin(write, cells[times > 1])
        read, reads, write_there, alone_there = torch.broadcast_tensors(read, reads, write, alone)
        reads = reads & ~((read == write_there) & alone_there)
    return bool(torch.isin(read[reads], write[writes]).any())


def storage_of(tensor: Tensor) -> Tensor:
    """All elements of the storage as one dim; as integers of the same width where the dtype lacks gathers."""
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = torch.as_strided(tensor, (elements,), (1,), 0)
    return (
        flat.view(CARRIERS[flat.element_size()])
        if flat.is_floating_point() and flat.element_size() < 4
        else flat
    )


def load(
    access: ScalarAccess,
    points: Points,
    tensor: Tensor,
    guard: Tensor | None,
    other: Tensor,
    indices: Sequence[Tensor],
) -> Tensor:
    """The elements at all points; ``other`` where ``guard`` is false (None: it is true everywhere)."""
    source = signless(tensor)
    if points.written:
        touch(points, Touch(access, source, guard, indices))
    steps = access.strided(source, points)
    if steps is not None:
        # nothing is in bounds of an empty tensor: the kernel has no points, this load, of fewer dims, may
        value = steps.read(source) if source.numel() else other.expand(steps.shape)
        if source.untyped_storage().data_ptr() in points.written:
            value = value.clone()  # a later store must not change what was loaded
    else:
        part = None if guard is None else access.clipped(source, points)
        if part is not None:
            found = part.read(source, guard, other)
            if found is not None:
                return found
        everywhere = torch.ones([1] * points.rank, dtype=torch.bool) if guard is None else guard
        offsets = access.offsets(source, points, everywhere, indices)
        if source.numel() == 0:
            return other.expand(torch.broadcast_shapes(offsets.shape, everywhere.shape))
        value = storage_of(source)[offsets].view(source.dtype)
    return value if guard is None else torch.where(guard, value, other)


def store(
    access: ScalarAccess,
    points: Points,
    dest: Tensor,
    value: Tensor,
    guard: Tensor | None,
    indices: Sequence[Tensor],
    mode: str,
) -> None:
    """Writes ``value`` at all points where ``guard`` is true.  Raises OutOfBounds.  Raises RaceError where
    two points set one element to different values; at loaded indices only if ``points`` are checked.
    """
    target = signless(dest)
    touch(points, Touch(access, target, guard, indices))
    if mode == "set":
        steps = access.strided(target, points)
        shape = torch.broadcast_shapes(value.shape, *([] if guard is None else [guard.shape]))
        if steps is not None and steps.is_injective and steps.takes(shape):
            steps.write(target, value, guard)
            return
    everywhere = torch.ones([1] * points.rank, dtype=torch.bool) if guard is None else guard
    offsets, value, everywhere = torch.broadcast_tensors(
        access.offsets(target, points, everywhere, indices), value, everywhere
    )
    where, what = offsets[everywhere], value[everywhere].to(target.dtype)
    if where.numel():
        _scatter(target, where, what, mode, access.op, points.checked or not indices)


def _scatter(target: Tensor, where: Tensor, what: Tensor, mode: str, op: ir.Operation, checked: bool) -> None:
    elements = target.untyped_storage().nbytes() // target.element_size()
    flat = torch.as_strided(target, (elements,), (1,), 0)
    if mode == "set":
        set_elements(flat, where, what, op, checked)
    elif mode == "add":
        flat.index_add_(0, where, what)
    else:
        flat.scatter_reduce_(0, where, what, {"max": "amax", "min": "amin"}[mode])


def set_elements(flat: Tensor, where: Tensor, what: Tensor, op: ir.Operation, checked: bool = True) -> None:
    """Stores ``what`` at ``where`` (1-d).  If ``checked``, raises RaceError where one element gets two
    different values (NaN equals NaN).
    """
    carrier = CARRIERS[flat.element_size()]
    memory, bits = flat.view(carrier), what.contiguous().view(carrier)
    memory[where] = bits
    if not checked:
        return
    lost = memory[where] != bits
    if what.is_floating_point() and lost.any():
        lost &= ~(flat.view(carrier)[where].view(flat.dtype).float().isnan() & what.float().isnan())
    if lost.any():
        first = where[lost][0].item()
        raise RaceError(
            f"{op.name} sets element {first} of its storage twice, to different values", op.location
        )
