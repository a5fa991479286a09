"""One form of a kernel to be timed against others: what to compile and how to launch it, as plain
data."""

from ...base.dataclass import dataclass
from ..kernels.cubin import CompileSource


@dataclass(frozen=True)
class Argument:
    """A tensor of ``elements`` elements of type ``element`` ("f32"); or, without an element type, the number
    ``value``."""

    element: str = ""
    elements: int = 0
    bytes: int = 0
    value: int = 0


@dataclass(frozen=True)
class Trial:
    """grid: programs along three axes.  parameters: for each parameter of the compiled kernel, the number of
    the argument and "ptr" or its type.  written: numbers of the arguments that the kernel writes into.
    """

    source: CompileSource
    grid: tuple[int, ...]
    parameters: tuple[tuple[int, str], ...]
    arguments: tuple[Argument, ...]
    written: tuple[int, ...]
