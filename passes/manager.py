"""Runs passes over a module: verifies after each, and tells observers (printing, timing, dumps, numeric checks) what happened."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..compiler.analysis.remarks import Remarks
from ..compiler.dialects.verifier import verify
from ..compiler.mlir import ir
from .pass_base import Pass


class Observer(Protocol):
    """Something that watches a pipeline run."""

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called before pass ``number`` (from 0) runs."""

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called after the pass ran and the module was verified."""


@dataclass
class PassManager:
    """``passes`` in order.  ``verify_each`` runs the dialect's verifier after every pass."""

    passes: Sequence[Pass]
    verify_each: bool = True
    observers: list[Observer] = field(default_factory=list)

    def run(self, module: ir.Module, remarks: Remarks | None = None) -> Remarks:
        """Runs the passes in place.  Raises what a pass or the verifier raises."""
        remarks = Remarks() if remarks is None else remarks
        with module.context, ir.Location.unknown(module.context):
            for number, p in enumerate(self.passes):
                for observer in self.observers:
                    observer.before_pass(number, p, module)
                p.run(module, remarks)
                if self.verify_each:
                    verify(module)
                for observer in self.observers:
                    observer.after_pass(number, p, module)
        return remarks
