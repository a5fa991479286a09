"""What a suite is told, and what it consists of."""

import fnmatch
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ..session import Task
from ..turns import Turns


@dataclass(frozen=True)
class Settings:
    """Choices of the command line that suites read.

    backends: names in `BACKENDS`.   only: patterns of task keys.
    dtypes: None is the suite's own choice.   samples: device-time samples per backend.
    batch: of models.   small: tiny sizes, to try the machinery.
    check: compare models with float64 before timing.
    shard: (i, n) runs every n-th task, from the i-th (1 to n).   seed: of inputs.
    turns: with other processes; what is timed runs inside `turns.alone()`.
    """

    backends: tuple[str, ...]
    device: torch.device
    only: tuple[str, ...] = ()
    dtypes: tuple[torch.dtype, ...] | None = None
    samples: int = 100
    batch: int = 8
    small: bool = False
    check: bool = True
    shard: tuple[int, int] = (1, 1)
    seed: int = 0
    turns: Turns = field(default_factory=Turns)

    def chooses(self, key: str) -> bool:
        """Whether `key` matches `only`: a pattern matches as a whole or as a substring."""
        return not self.only or any(fnmatch.fnmatch(key, f"*{pattern}*") for pattern in self.only)

    def dtypes_or(self, own: tuple[torch.dtype, ...]) -> tuple[torch.dtype, ...]:
        """The dtypes to run of those that a case has."""
        return tuple(dtype for dtype in own if self.dtypes is None or dtype in self.dtypes)


@dataclass(frozen=True)
class Suite:
    """tasks: what to run.   line: record -> progress.   table: (records, backends) -> text."""

    tasks: Callable[[Settings], Iterator[Task]]
    line: Callable[[dict[str, Any]], str]
    table: Callable[[list[dict[str, Any]], tuple[str, ...]], str]


def short_dtype(dtype: torch.dtype) -> str:
    """ "float32" for `torch.float32`."""
    return str(dtype).removeprefix("torch.")
