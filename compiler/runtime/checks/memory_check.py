"""Checks, while a launch plan runs, that storage is taken and given back where the plan says.

``checked`` puts a call beside every line of the plan that takes storage or gives it back; they keep count in
a ``MemoryCheck``. A line that takes storage over from another variable hands its count on.
"""

import dataclasses
import re
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..errors import MemoryPlanError
from ..plans.bound_plan import BoundPlan

_RUN = "def run(args):\n"
_TAKES = re.compile(r"    (\w+) = empty_(?:cuda|cpu)\(")
_CALLS = re.compile(r"    (\w+(?:, \w+)*) = extern_")
_SHARES = re.compile(r"    (\w+) = reinterpret\((\w+),")
_GIVES = re.compile(r"    del (\w+(?:, \w+)*)$")
_RETURNS = re.compile(r"    return (\[.*\])$")


def checked(plan: BoundPlan) -> BoundPlan:
    """The plan with calls of ``memory``, a ``MemoryCheck``, which has to be in scope."""
    before, _, run = plan.source.rpartition(_RUN)
    lines = ["    memory.start(args)"]
    holders: dict[str, set[str]] = {}  # variable -> all variables of its storage
    for line in run.splitlines():
        if found := _GIVES.match(line):
            lines += _given(found[1].split(", "), line, holders)
        elif found := _RETURNS.match(line):
            lines += [f"    memory.finish({found[1]})", line]
        else:
            lines.append(line)
            if found := _TAKES.match(line) or _CALLS.match(line):
                for name in found[1].split(", "):
                    holders[name] = {name}
                lines.append(f"    memory.took({found[1]})")
            elif (found := _SHARES.match(line)) and found[2] in holders:
                holders[found[1]] = holders[found[2]]
                holders[found[1]].add(found[1])
    return dataclasses.replace(plan, source=f"{before}{_RUN}" + "\n".join(lines) + "\n")


def _given(names: list[str], line: str, holders: dict[str, set[str]]) -> list[str]:
    """A ``del`` with what checks it, where no other variable goes on with the storage."""
    last = []
    for name in names:
        sharing = holders.pop(name, None)
        if sharing is not None:
            sharing.discard(name)
            if not sharing:
                last.append(name)
    if not last:
        return [line]
    return [f"    memory.giving({', '.join(last)})", line, f"    memory.given({line.strip()!r})"]


class MemoryCheck:
    """Counts the storages of one call.  planned: bytes that may be allocated at a time, or None where sizes
    are known only when the program runs.  ``peak``: what was, in the last call.

    Raises ``MemoryPlanError`` where storage outlives its last use, is never given back, or exceeds the plan.
    """

    def __init__(self, planned: int | None = None) -> None:
        self.planned = planned
        self.start([])

    def start(self, args: list[Any]) -> None:
        """A call begins; its arguments are the caller's."""
        self._arguments = {r for r in map(_storage, args) if r is not None}
        self._live: dict[StorageWeakRef, int] = {}
        self._leaving: list[StorageWeakRef] = []
        self.peak = 0

    def took(self, *values: Any) -> None:
        """Tensors were made; those that share known storage do not count."""
        for value in values:
            storage = _storage(value)
            if storage is not None and storage not in self._live and storage not in self._arguments:
                self._live[storage] = value.untyped_storage().nbytes()
        total = sum(self._live.values())
        self.peak = max(self.peak, total)
        if self.planned is not None and total > self.planned:
            raise MemoryPlanError(f"{total} bytes are allocated, and the plan has {self.planned} at most")

    def giving(self, *values: Any) -> None:
        """The last variables of some storages are about to go."""
        storages = dict.fromkeys(map(_storage, values))  # several variables may show one
        self._leaving = [s for s in storages if s is not None and s in self._live]

    def given(self, line: str) -> None:
        """They are gone, and nothing else may hold the storage."""
        for storage in self._leaving:
            size = self._live.pop(storage)
            if not storage.expired():
                raise MemoryPlanError(f"storage of {size} bytes is held by something else after `{line}`")
        self._leaving = []

    def finish(self, results: list[Any]) -> None:
        """What is left is what the call returns."""
        returned = {_storage(value) for value in results}
        for storage, size in self._live.items():
            if storage not in returned:
                raise MemoryPlanError(f"storage of {size} bytes is neither given back nor returned")


def _storage(value: Any) -> StorageWeakRef | None:
    return StorageWeakRef(value.untyped_storage()) if isinstance(value, torch.Tensor) else None
