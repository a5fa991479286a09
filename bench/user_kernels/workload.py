"""What a workload of the suite `user-kernels` is: a model that launches a kernel, and the same by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..graph import Built, Graph, Source


@dataclass(frozen=True)
class Launching:
    """A workload ready to run.

    model: launches a kernel between ops of torch.  by_hand: launches the kernel with these ops written in.
    exact: the same as both, of torch's ops alone.  args: of all three.  bytes: every argument read once,
    every result written once.
    """

    model: Callable[..., Any]
    by_hand: Callable[..., Any]
    exact: Callable[..., Any]
    args: tuple[Any, ...]
    bytes: int

    def judged(self) -> Built:
        """What ``GraphChecker`` judges answers by: eager's error is that of torch's ops."""
        return Built(self.exact, self.args, self.bytes)


@dataclass(frozen=True)
class Workload:
    """name: unique, with the size.  build: (source, *sizes) -> `Launching`.   dtype: of the arguments."""

    name: str
    build: Callable[..., Launching]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    dtype: torch.dtype

    def new(self, device: torch.device, *, small: bool, seed: int) -> Launching:
        """At the benchmark's size or the small one."""
        return self.build(Source(device, self.dtype, seed), *(self.small if small else self.sizes))

    def graph(self) -> Graph:
        """The workload as `GraphChecker` knows it."""
        return Graph(self.name, self.build, self.sizes, self.small, (self.dtype,))
