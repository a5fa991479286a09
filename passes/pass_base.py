"""What a pass is: a frozen dataclass whose fields are its options and whose ``name`` is its command-line
name.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from ..compiler.base.hardware import Hardware, hardware_named
from ..compiler.base.remarks import Remarks
from ..compiler.mlir import ir

#: How a pass may change the numbers: not at all, by reordering sums, or by computing in another precision.
Numerics = Literal["bitwise", "reassociates", "precision"]

#: The type of an option that counts something or limits a count: text below 0 is refused.
Count = Annotated[int, "at least 0"]


@dataclass(frozen=True)
class Pass:
    """A transformation of a module.  Subclasses set ``name`` (kebab-case) and say in the docstring what it
    does, IR before and after, and when not.
    """

    name: ClassVar[str]
    numerics: ClassVar[Numerics] = "bitwise"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        """Changes ``module`` in place.  Raises ``CompileError`` with a location on input that it cannot
        accept.
        """
        raise NotImplementedError


class PassError(Exception):
    """A pass got IR that it cannot accept: one sentence, and the location of the op it is about."""

    def __init__(self, message: str, location: ir.Location | None = None) -> None:
        super().__init__(message)
        self.location = location


def hardware_of(name: str, p: Pass, module: ir.Module) -> Hardware:
    """The hardware model called ``name``, an option of ``p``.  Raises ``PassError`` on an unknown one."""
    try:
        return hardware_named(name)
    except ValueError as error:
        raise PassError(f"{p.name}: {error}", module.operation.location) from None
