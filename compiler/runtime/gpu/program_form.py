"""One form of a part of a program to be timed against others: its launch plan, what Triton compiles, and what
it takes, as plain data."""

from collections.abc import Mapping

from ...base.dataclass import dataclass
from ...base.strides import span
from ...codegen.launches import KernelSource
from ..plans.plan import Plan


@dataclass(frozen=True)
class TensorArgument:
    """A tensor that a form takes; sizes, strides and offset in elements."""

    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def elements(self) -> int:
        """How many elements its storage has."""
        return self.offset + span(self.sizes, self.strides)


@dataclass(frozen=True)
class ProgramForm:
    """``arguments``: of ``@main``, in order; an int is the value of a size."""

    plan: Plan
    sources: Mapping[str, KernelSource]
    arguments: tuple[TensorArgument | int, ...]
