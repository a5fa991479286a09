"""The parts of a launch plan that a CUDA graph records, and the calls that run between them, as plain
data."""

from dataclasses import dataclass

from ...base.launch import Line, line_text


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


@dataclass(frozen=True)
class Unrecorded:
    """A call that runs between CUDA graphs: what is called, why, and the user's lines it came from."""

    op: str
    reason: str
    lines: tuple[Line, ...] = ()

    def __str__(self) -> str:
        where = ", ".join(map(line_text, self.lines))
        return f"{self.op}: {self.reason}" + (f" ({where})" if where else "")
