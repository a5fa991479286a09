"""What a pass is: a frozen dataclass whose fields are its options and whose ``name`` is its command-line
name.
"""

from dataclasses import dataclass  # so that users may derive passes with it
from typing import Annotated, Any, ClassVar, Literal

from ..compiler.base.remarks import Remarks
from ..compiler.cost.devices import hardware_named
from ..compiler.cost.hardware import Hardware
from ..compiler.ir.kernel import string
from ..compiler.ir.storage import callee_name
from ..compiler.mlir import ir
from .analysis_manager import Analyses, AnalysisManager

#: How a pass may change the numbers: not at all, by reordering sums, or by computing in another precision.
Numerics = Literal["bitwise", "reassociates", "precision"]

#: The type of an option that counts something or limits a count: text below 0 is refused.
Count = Annotated[int, "at least 0"]


@dataclass(frozen=True)
class Pass:
    """A transformation of a module.

    Subclasses set ``name`` (kebab-case) and implement ``run``.  Their docstring says what the pass does,
    shows the IR before and after, and says where the pass does not fire.
    """

    name: ClassVar[str]
    numerics: ClassVar[Numerics] = "bitwise"
    preserves: ClassVar[Analyses] = ()  #: the analyses that are still true after the pass

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        """Changes ``module`` in place and adds to ``remarks`` what it did and what it refused.

        Raises ``PassError``, with the location of the op that it is about, on IR that it cannot accept.
        """
        raise NotImplementedError

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        """What the pass manager calls: ``run``, for a pass that asks for no analysis of ``module``."""
        self.run(module, remarks)


@dataclass(frozen=True)
class AnalysisPass(Pass):
    """A pass that asks for analyses of the module.  Subclasses implement ``run_with`` in place of ``run``."""

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        """Runs the pass alone: each analysis that it asks for is computed."""
        self.run_with(module, remarks, AnalysisManager(module))

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        """As ``run``; ``analyses`` are those of ``module``."""
        raise NotImplementedError


class PassError(Exception):
    """A pass got IR that it cannot accept: one sentence, and the location of the op it is about."""

    def __init__(self, message: str, location: ir.Location | None = None) -> None:
        super().__init__(message)
        self.location = location


def remark_on(
    op: ir.Operation, remarks: Remarks, pass_name: str, kind: str, rule: str, message: str, **numbers: Any
) -> None:
    """Adds a remark on a function, or on a call of one: with its name, at its place in the user's program."""
    name = callee_name(op) if op.name == "func.call" else string(op.attributes["sym_name"])
    places = (str(op.location),)
    remarks.add(pass_name, kind, rule, message, ops=(name,), locations=places, **numbers)


def hardware_of(name: str, p: Pass, module: ir.Module) -> Hardware:
    """The hardware model called ``name``, an option of ``p``.  Raises ``PassError`` on an unknown one."""
    try:
        return hardware_named(name)
    except ValueError as error:
        raise PassError(f"{p.name}: {error}", module.operation.location) from None
