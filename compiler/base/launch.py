"""What runs, and where in the user's program it comes from, as plain data."""

from ..cost.work import Work
from .dataclass import dataclass

#: A place in the user's program: (file, line); line 0 where the first says all, as of a module whose calls
#: are in torch's files.
Line = tuple[str, int]


def line_text(line: Line) -> str:
    """``model.py:12``, or the first alone where there is no line."""
    return f"{line[0]}:{line[1]}" if line[1] else line[0]


@dataclass(frozen=True)
class Launch:
    """One call of ``@main``, or of a sub-graph.

    name: the kernel (after a sub-graph's name and a dot), or the torch op (``aten.mm.default``).  kind:
    "kernel", "torch", or, at the graph level, "group" (what ``control_deps`` orders).  nodes: the FX nodes
    that it computes.  lines: where the user wrote them.  Both in order of first appearance, without
    repetition.  estimate: what it does; None where they are not known.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    lines: tuple[Line, ...]
    estimate: Work | None = None

    def __str__(self) -> str:
        where = ", ".join(map(line_text, self.lines)) or "no line of the program"
        return f"{self.name} computes {', '.join(self.nodes) or 'no node of the graph'} of {where}"


@dataclass(frozen=True)
class Unrecorded:
    """A call that runs between CUDA graphs: what is called, why, and the user's lines it came from."""

    op: str
    reason: str
    lines: tuple[Line, ...] = ()

    def __str__(self) -> str:
        where = ", ".join(map(line_text, self.lines))
        return f"{self.op}: {self.reason}" + (f" ({where})" if where else "")
