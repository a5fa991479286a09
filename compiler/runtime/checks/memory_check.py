"""Checks, while a launch plan runs, that storage is allocated and freed where the plan says.

``MemoryCalls`` adds a call beside every step of the plan that allocates or frees storage.  These calls keep
count in a ``MemoryCheck``.  A step that takes over the storage of another variable takes over its count.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..errors import MemoryPlanError
from ..plans.python_text import operand_text
from ..plans.steps import Alloc, CallExtern, Free, Return, Reuse, Step, View


class MemoryCalls:
    """Gives the lines before and behind each step of ``run``, in order of the steps; they call ``memory``."""

    def __init__(self) -> None:
        self._holders: dict[str, set[str]] = {}  #: variable -> all variables of its storage

    def __call__(self, step: Step) -> tuple[Sequence[str], Sequence[str]]:
        if isinstance(step, Alloc):
            return (), self._taken(step.result.name)
        if isinstance(step, CallExtern) and step.results:
            return (), self._taken(*(value.name for value in step.results))
        if isinstance(step, Reuse | View):
            self._share(step.result.name, step.donor if isinstance(step, Reuse) else step.base)
        elif isinstance(step, Return):
            return (f"memory.finish([{', '.join(map(operand_text, step.values))}])",), ()
        elif isinstance(step, Free):
            last = self._given(step.names)
            if last:
                return (f"memory.giving({', '.join(last)})",), (
                    f"memory.given('del {', '.join(step.names)}')",
                )
        return (), ()

    def _taken(self, *names: str) -> tuple[str]:
        self._holders.update((name, {name}) for name in names)
        return (f"memory.took({', '.join(names)})",)

    def _share(self, name: str, other: str) -> None:
        if other in self._holders:
            self._holders[name] = self._holders[other]
            self._holders[name].add(name)

    def _given(self, names: Sequence[str]) -> list[str]:
        """Those of ``names`` that are the last variables of their storages."""
        last = []
        for name in names:
            sharing = self._holders.pop(name, None)
            if sharing is not None:
                sharing.discard(name)
                if not sharing:
                    last.append(name)
        return last


class MemoryCheck:
    """Counts the storages of one call.  planned: bytes that may be allocated at the same time; None where
    sizes are known only when the program runs.  ``peak``: the most bytes that were allocated in the last
    call.

    Raises ``MemoryPlanError`` where storage outlives its last use, is never freed, or exceeds the plan.
    """

    def __init__(self, planned: int | None = None) -> None:
        self.planned = planned
        self.start([])

    def start(self, args: list[Any]) -> None:
        """A call begins.  Its arguments belong to the caller."""
        self._arguments = {r for r in map(_storage, args) if r is not None}
        self._live: dict[StorageWeakRef, int] = {}
        self._leaving: list[StorageWeakRef] = []
        self.peak = 0

    def took(self, *values: Any) -> None:
        """Tensors were allocated.  Those in a storage that is already counted do not count."""
        for value in values:
            storage = _storage(value)
            if storage is not None and storage not in self._live and storage not in self._arguments:
                self._live[storage] = value.untyped_storage().nbytes()
        total = sum(self._live.values())
        self.peak = max(self.peak, total)
        if self.planned is not None and total > self.planned:
            raise MemoryPlanError(f"{total} bytes are allocated, and the plan has {self.planned} at most")

    def giving(self, *values: Any) -> None:
        """The last variables of some storages are about to be deleted."""
        storages = dict.fromkeys(map(_storage, values))  # several variables may share one storage
        self._leaving = [s for s in storages if s is not None and s in self._live]

    def given(self, line: str) -> None:
        """The variables are deleted.  Nothing else may hold their storage."""
        for storage in self._leaving:
            size = self._live.pop(storage)
            if not storage.expired():
                raise MemoryPlanError(f"storage of {size} bytes is held by something else after `{line}`")
        self._leaving = []

    def finish(self, results: list[Any]) -> None:
        """The call ends.  All storage that is left must belong to its results."""
        returned = {_storage(value) for value in results}
        for storage, size in self._live.items():
            if storage not in returned:
                raise MemoryPlanError(f"storage of {size} bytes is neither given back nor returned")


def _storage(value: Any) -> StorageWeakRef | None:
    return StorageWeakRef(value.untyped_storage()) if isinstance(value, torch.Tensor) else None
