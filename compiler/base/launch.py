"""What runs, and where in the user's program it comes from, as plain data."""

from ..cost.hardware import Hardware
from ..cost.transfers import Transfer
from .dataclass import dataclass


@dataclass(frozen=True)
class Estimate:
    """read, written: bytes.  slots: issue slots of scalar operations.  flops: multiplications and additions
    of a matrix product, a convolution or attention, on elements of type ``element``.  transfer: what a
    collective moves between processes.
    """

    read: int
    written: int
    slots: int = 0
    flops: int = 0
    element: str = "f32"
    transfer: Transfer | None = None

    @property
    def bytes(self) -> int:
        return self.read + self.written

    def seconds(self, hardware: Hardware) -> float:
        """The least time that a GPU takes for it: the longest of moving, issuing and multiplying; of a
        collective, its time on the link.
        """
        return max(
            self.transfer.seconds(hardware.link) if self.transfer is not None else 0.0,
            self.bytes / (hardware.bandwidth * 1e9),
            self.slots / hardware.slots_per_second,
            self.flops / hardware.flops_per_second(self.element),
        )


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
    repetition.  estimate: bytes and operations; None where they are not known.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    lines: tuple[Line, ...]
    estimate: Estimate | None = None

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
