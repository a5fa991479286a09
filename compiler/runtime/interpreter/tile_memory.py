"""The memory of one launch: bounds, and a log of which programs accessed what, to find races.

All programs run in lock step here, so a race would go unnoticed: ``x[i] += 1; y[i] = x[i + 1]`` looks right.
For each element the log keeps the smallest and the largest number of the programs that read it, wrote it, or
updated it atomically.  Two programs conflict when one of them writes (or atomically updates) an element that
the other accesses in another way.  They also conflict when both write it, unless they write the same value (a
result that programs compute redundantly).
"""

from collections.abc import Callable, Sequence
from dataclasses import field

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...base.strides import span
from ...mlir import ir
from ..errors import OutOfBounds, RaceError
from .scalar.dtypes import CARRIERS, signless
from .scalar.scalar_access import set_elements

_NOBODY = torch.iinfo(torch.int32).max


class _Log:
    """For each element, the smallest and the largest number of the programs that accessed it in one way."""

    def __init__(self, elements: int) -> None:
        self.lowest = torch.full((elements,), _NOBODY, dtype=torch.int32)
        self.highest = torch.full((elements,), -1, dtype=torch.int32)

    def add(self, where: Tensor, program: Tensor) -> None:
        self.lowest.scatter_reduce_(0, where, program, "amin")
        self.highest.scatter_reduce_(0, where, program, "amax")

    def others(self, where: Tensor, program: Tensor) -> Tensor:
        """Where the log has a program other than ``program``."""
        lowest, highest = self.lowest[where], self.highest[where]
        return (highest >= 0) & ((lowest != program) | (highest != program))


class LoggedStorage:
    """One storage during a launch: its bytes, and its log in units of ``granule`` bytes."""

    def __init__(self, granule: int, checked: bool, nbytes: int) -> None:
        self.granule, self._checked = granule, checked
        self._elements = nbytes // granule
        #: By the kind of access.  Most storages are accessed in one way, and have one log.
        self._logs: dict[str, _Log] = {}

    def touch(
        self,
        kind: str,
        where: Tensor,
        program: Tensor,
        width: int,
        op: ir.Operation,
        changed: Tensor | None = None,
    ) -> None:
        """Records that programs accessed elements (offsets in units of ``width`` bytes).  Raises RaceError on
        a conflict.

        ``changed`` marks the writes that change their element: writing the value that another program already
        wrote is no conflict.
        """
        if not self._checked or not where.numel():
            return
        ratio, program = width // self.granule, program.to(torch.int32)
        for part in range(ratio):
            cells = where * ratio + part if ratio > 1 else where
            for other in (k for k in _CONFLICTS[kind] if k in self._logs):
                bad = self._logs[other].others(cells, program)
                if other == kind == "write" and changed is not None:
                    bad &= changed
                if bad.any():
                    raise self._race(kind, other, where[bad][0].item(), program[bad][0].item(), op)
            if kind not in self._logs:
                self._logs[kind] = _Log(self._elements)
            self._logs[kind].add(cells, program)

    @staticmethod
    def _race(kind: str, other: str, element: float, program: float, op: ir.Operation) -> RaceError:
        did = {"read": "reads", "write": "writes", "atomic": "atomically updates"}
        what = f"{did[kind]} element {element} of a storage that another program {did[other]}"
        message = f"{op.name} of program {program} {what}"
        return RaceError(message, op.location)


#: For each kind of access, the kinds that conflict with it when another program made them.
_CONFLICTS = {"read": ("write", "atomic"), "write": ("write", "read", "atomic"), "atomic": ("write", "read")}


@dataclass(frozen=True, eq=False)
class Window:
    """A storage as elements of one dtype.  The tensor owns the offsets from ``first`` to ``last`` in
    the storage."""

    storage: LoggedStorage
    flat: Tensor
    first: int
    last: int

    def same_as(self, other: "Window") -> bool:
        """Whether both windows are the same tensor."""
        return self.storage is other.storage and (self.first, self.last) == (other.first, other.last)

    def bits(self) -> Tensor:
        """The elements as integers of the same width."""
        return self.flat.view(CARRIERS[self.flat.element_size()])

    def check(self, where: Tensor, op: ir.Operation) -> None:
        """Raises OutOfBounds for an offset that the tensor does not own."""
        if not where.numel():
            return
        low, high = where.min().item(), where.max().item()
        if low < self.first or high > self.last:
            worst = low if low < self.first else high
            message = f"{op.name} accesses offset {worst} of a tensor that owns {self.first} to {self.last}"
            raise OutOfBounds(message, op.location)

    def viewed(self, dtype: torch.dtype) -> "Window":
        """The same memory with another dtype of the same width."""
        return (
            self
            if dtype == self.flat.dtype
            else Window(self.storage, self.flat.view(dtype), self.first, self.last)
        )

    def read(self, where: Tensor, program: Tensor, op: ir.Operation) -> Tensor:
        """The elements at ``where`` (1-d)."""
        self.check(where, op)
        self.storage.touch("read", where, program, self.flat.element_size(), op)
        return self.bits()[where].view(self.flat.dtype)

    def write(self, where: Tensor, what: Tensor, program: Tensor, op: ir.Operation) -> None:
        """Stores ``what`` at ``where`` (both 1-d)."""
        self.check(where, op)
        changed = self.bits()[where] != what.contiguous().view(CARRIERS[what.element_size()])
        self.storage.touch("write", where, program, self.flat.element_size(), op, changed)
        set_elements(self.flat, where, what, op)


@dataclass(frozen=True, eq=False)
class Pointer:
    """A tile of addresses in one window.  ``offset``: int64, in elements from the storage's start, of shape
    (programs, *tile)."""

    window: Window
    offset: Tensor

    @property
    def ndim(self) -> int:
        return self.offset.ndim


@dataclass(frozen=True, eq=False)
class Pointers:
    """A tile of addresses that may lie in another window for each program.  A program uses the first pointer
    whose mask (programs,) is true.

    No two masks are true for one program; a program for which none is true uses no address.
    """

    choices: tuple[tuple[Tensor, Pointer], ...]

    @staticmethod
    def picked(number: Tensor, pointers: Sequence[Pointer], active: Tensor | None) -> "Pointers":
        """``pointers[number]`` for each program that is ``active`` (None: all).  Raises IndexError."""
        used = number if active is None else number.expand(active.shape)[active]
        return Pointers(tuple((number == n, pointers[n]) for n in used.unique().tolist()))

    @staticmethod
    def of(mask: Tensor, a: "Pointer | Pointers", b: "Pointer | Pointers") -> "Pointers":
        """``a`` where ``mask`` (programs,) is true, else ``b``."""
        found = [(m & mask, p) for m, p in _choices(a)] + [(m & ~mask, p) for m, p in _choices(b)]
        return Pointers(tuple((m, p) for m, p in found if m.any()))

    def map(self, function: Callable[[Pointer], Pointer]) -> "Pointers":
        """Applies the same change to every address."""
        return Pointers(tuple((m, function(p)) for m, p in self.choices))


def _choices(pointer: Pointer | Pointers) -> tuple[tuple[Tensor, Pointer], ...]:
    if isinstance(pointer, Pointers):
        return pointer.choices
    return ((torch.ones(1, dtype=torch.bool), pointer),)


@dataclass
class Memory:
    """All storages of a launch."""

    checked: bool
    _storages: dict[int, LoggedStorage] = field(default_factory=dict)
    _tensors: dict[int, Tensor] = field(default_factory=dict)  #: one of each storage

    @staticmethod
    def of(tensors: Sequence[Tensor], checked: bool) -> "Memory":
        """The storages of ``tensors``; a shared one occurs once.  Of several that begin at one address, as in
        a launch plan, which has addresses alone, the longest holds the others.
        """
        memory = Memory(checked)
        granules: dict[int, int] = {}
        for tensor in tensors:
            key, nbytes = tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()
            granules[key] = min(granules.get(key, 8), tensor.element_size())
            known = memory._tensors.get(key)
            if known is None or known.untyped_storage().nbytes() < nbytes:
                memory._tensors[key] = tensor
        for key, tensor in memory._tensors.items():
            nbytes = tensor.untyped_storage().nbytes()
            memory._storages[key] = LoggedStorage(granules[key], checked, nbytes)
        return memory

    def window_at(self, address: int, dtype: torch.dtype) -> Window | None:
        """The storage that holds ``address``, as elements of ``dtype``; None where no tensor of the launch is
        there.
        """
        for start, tensor in self._tensors.items():
            storage = self._storages[start]
            size = tensor.untyped_storage().nbytes()
            if start <= address < start + size and not storage.granule > dtype.itemsize:
                count = size // dtype.itemsize
                flat = torch.empty(0, dtype=dtype).set_(tensor.untyped_storage(), 0, (count,), (1,))
                return Window(storage, flat, 0, count - 1)
        return None

    def base(self, tensor: Tensor, rank: int = 1) -> Pointer:
        """The address of a tensor's first element, the same for all programs."""
        source = signless(tensor)
        elements = source.untyped_storage().nbytes() // source.element_size()
        flat = torch.as_strided(source, (elements,), (1,), 0)
        start = source.storage_offset()
        last = start - 1 + span(source.shape, source.stride())
        storage = self._storages[tensor.untyped_storage().data_ptr()]
        return Pointer(Window(storage, flat, start, last), torch.full([1] * rank, start))
