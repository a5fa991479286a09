"""Runs passes over a module: verifies after each, and tells observers (printing, timing, dumps, numeric checks) what happened."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..compiler.analysis.remarks import Remarks
from ..compiler.dialects.verifier import verify
from ..compiler.mlir import ir
from .pass_base import Pass


class Observer:
    """Something that watches a pipeline run.  Numbers count passes from 0; the default is to do nothing."""

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called before pass ``number`` runs."""

    def after_run(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called when the pass has run and the module is not yet verified."""

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called after the pass ran and the module was verified."""

    def failed(self, number: int, p: Pass, module: ir.Module, error: Exception) -> None:
        """Called when the pass, the verifier or an observer's check after it raised ``error``; the module may be half changed."""


@dataclass
class PassManager:
    """``passes`` in order.  ``verify_each`` runs the dialect's verifier after every pass."""

    passes: Sequence[Pass]
    verify_each: bool = True
    observers: list[Observer] = field(default_factory=list)

    def run(self, module: ir.Module, remarks: Remarks | None = None) -> Remarks:
        """Runs the passes in place.  Raises what a pass or the verifier raises, after telling the observers."""
        remarks = Remarks() if remarks is None else remarks
        with module.context, ir.Location.unknown(module.context):
            for number, p in enumerate(self.passes):
                try:
                    self._run_pass(number, p, module, remarks)
                except Exception as error:
                    for observer in self.observers:
                        observer.failed(number, p, module, error)
                    raise
        return remarks

    def _run_pass(self, number: int, p: Pass, module: ir.Module, remarks: Remarks) -> None:
        for observer in self.observers:
            observer.before_pass(number, p, module)
        p.run(module, remarks)
        for observer in self.observers:
            observer.after_run(number, p, module)
        if self.verify_each:
            verify(module)
        for observer in self.observers:
            observer.after_pass(number, p, module)
