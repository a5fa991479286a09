"""One form of a part of a program to be timed against others: its launch plan, what Triton compiles, and what
it takes, as plain data."""

from collections.abc import Mapping

from ...base.dataclass import dataclass
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
        last = sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True))
        return self.offset + last + 1


@dataclass(frozen=True)
class ProgramForm:
    """``arguments``: of ``@main``, in order; an int is the value of a size."""

    plan: Plan
    sources: Mapping[str, KernelSource]
    arguments: tuple[TensorArgument | int, ...]
