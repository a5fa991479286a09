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
class ProductChoice:
    """What decided whether a product is a kernel or a call of the library.

    rule:               what decided, as the remark says.
    nodes:              the FX nodes that the product comes from.
    kernel_us, call_us: microseconds that a kernel and a call take, each with what is around it, by estimate
                        or as measured; None where they were not compared.
    revocable:          whether it is a kernel, and the library's where none of its tiles fits.
    """

    rule: str
    nodes: tuple[str, ...] = ()
    kernel_us: float | None = None
    call_us: float | None = None
    revocable: bool = False

    @property
    def numbers(self) -> dict[str, float]:
        """The times that are known."""
        times = {"kernel_us": self.kernel_us, "call_us": self.call_us}
        return {name: round(us, 2) for name, us in times.items() if us is not None}

    def __str__(self) -> str:
        """``library: a kernel 12.3 us, a call 9.1 us``."""
        words = {"kernel_us": "a kernel", "call_us": "a call"}
        times = ", ".join(f"{words[name]} {us} us" for name, us in self.numbers.items())
        return f"{self.rule}: {times}" if times else self.rule


@dataclass(frozen=True)
class Launch:
    """One call of ``@main``, or of a sub-graph.

    name: the kernel (after a sub-graph's name and a dot), or the torch op (``aten.mm.default``).  kind:
    "kernel", "torch", or, at the graph level, "group" (what ``control_deps`` orders).  nodes: the FX nodes
    that it computes.  lines: where the user wrote them.  Both in order of first appearance, without
    repetition.  estimate: what it does; None where they are not known.  choices: of the products that it
    computes, where passes decided who computes them.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    lines: tuple[Line, ...]
    estimate: Work | None = None
    choices: tuple[ProductChoice, ...] = ()

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
