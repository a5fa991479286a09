"""Checks that all processes start the same collectives in the same order:
``options={"check_schedules": seconds}``.

At the first call of a graph with collectives, each process writes what the graph starts into the store of the
default process group, and reads what the others have written.  The store is a table of texts beside the
collectives, so a process whose schedule is another one is named before anything waits for it.  A program that
comes from the cache is compared like one that was compiled.
"""

import json
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

from ...base.launch import Launch, line_text


class SchedulesDiffer(RuntimeError):
    """Another process starts other collectives, or has not come to the same graph in time.  ``rank``: its
    number.
    """

    def __init__(self, rank: int, message: str) -> None:
        self.rank = rank
        super().__init__(message)


def collectives_of(launches: Sequence[Launch]) -> list[str]:
    """The collectives that a graph starts, in order: the torch op, what it moves, the user's lines."""
    found = []
    for launch in launches:
        moved = launch.estimate.transfer if launch.estimate is not None else None
        if moved is not None:
            where = ", ".join(map(line_text, launch.lines)) or "no line of the program"
            op = launch.name.removeprefix("_c10d_functional.").removesuffix(".default")
            found.append(f"{op} of {moved.bytes} bytes among {moved.ranks} processes ({where})")
    return found


def compared_at_first_call(
    call: Callable[[list[Any]], list[Any]], name: str, launches: Sequence[Launch], seconds: float
) -> Callable[[list[Any]], list[Any]]:
    """``call``, which compares the schedules of all processes when it is called first.

    name: of the graph.  seconds: how long a process waits for the others.  The first call raises
    ``SchedulesDiffer``.
    """
    collectives = collectives_of(launches)
    if not collectives or not dist.is_initialized():
        return call
    compared = False

    def first(arguments: list[Any]) -> list[Any]:
        nonlocal compared
        if not compared:
            compare(name, collectives, seconds)
            compared = True
        return call(arguments)

    first._boxed_call = True  # type: ignore[attr-defined]
    return first


def compare(name: str, collectives: Sequence[str], seconds: float) -> None:
    """Compares what the graph ``name`` of this process starts with what all others start.  Raises
    ``SchedulesDiffer``.
    """
    store = dist.PrefixStore("fuse_mlir/schedules", distributed_c10d._get_default_store())
    mine = dist.get_rank()
    deadline = time.monotonic() + seconds
    number = store.add(f"graphs of {mine}", 1)  # counted in the store: a new group begins anew
    store.set(f"{number} of {mine}", json.dumps([name, *collectives]))
    for other in (rank for rank in range(dist.get_world_size()) if rank != mine):
        key = f"{number} of {other}"
        try:
            store.wait([key], timedelta(seconds=max(deadline - time.monotonic(), 0.001)))
            theirs, *started = json.loads(store.get(key))
        except RuntimeError as error:  # each kind of store has its own
            raise SchedulesDiffer(
                other,
                f"rank {other} has not come to graph {number} with collectives ({name} here) within "
                f"{seconds:g} s: it runs something else, or has ended ({error})",
            ) from error
        difference = _difference(collectives, started)
        if difference is not None:
            raise SchedulesDiffer(
                other,
                f"ranks {mine} and {other} start other collectives in graph {number} with collectives "
                f"({name} here, {theirs} there): {difference}",
            )


def _difference(here: Sequence[str], there: Sequence[str]) -> str | None:
    """The first difference of two schedules; None where they are equal but for the lines of the program."""
    for number in range(max(len(here), len(there))):
        pair = [s[number] if number < len(s) else "nothing" for s in (here, there)]
        if pair[0].split(" (")[0] != pair[1].split(" (")[0]:
            return f"collective {number} is {pair[0]} here and {pair[1]} there"
    return None
