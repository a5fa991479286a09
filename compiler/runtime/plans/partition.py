"""The parts of a launch plan that a CUDA graph records, as plain data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Partition:
    """A function of the plan that is recorded.  ``inputs``: what it takes, by the plan's variables.

    static: positions of inputs whose address never changes.  mutated: positions of inputs that it writes
    into.  results: how many results it gives.
    """

    name: str
    inputs: tuple[str, ...]
    static: tuple[int, ...]
    mutated: tuple[int, ...]
    results: int
