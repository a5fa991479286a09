"""Runs passes over a module, verifies after each, and tells observers (prints, dumps, checks) about it.

A pass sees one module with one ``@main``: it runs on each nested module (a sub-graph) and then on the whole.
Each of these modules has an ``AnalysisManager``: analyses that a pass preserves reach the next one.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import field
from time import perf_counter
from typing import Protocol

from ..compiler.base.dataclass import dataclass
from ..compiler.base.remarks import Remarks
from ..compiler.base.timing import PassTime, expect_stages, stage
from ..compiler.ir.nesting import nested_modules
from ..compiler.mlir import ir
from ..compiler.verifier.verifier import Verifier
from .analysis_manager import AnalysisManager
from .pass_base import Pass


class Observer(Protocol):
    """Something that watches a pipeline run.  Passes are numbered from 0."""

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called before pass ``number`` runs."""

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called after the pass ran and the module was verified."""


@dataclass
class PassManager:
    """``passes`` in order.  ``verify_each`` runs the dialect's verifier after every pass and compares the
    analyses that the pass preserved with ones computed again; without it the verifier runs after the passes
    whose numbers are ``checkpoints``.  ``clock`` gives seconds.
    """

    passes: Sequence[Pass]
    verify_each: bool = True
    observers: Sequence[Observer] = field(default_factory=list)
    checkpoints: Container[int] = ()
    times: list[PassTime] = field(default_factory=list)  #: of the passes that ran, in order
    clock: Callable[[], float] = perf_counter

    def run(
        self, module: ir.Module, remarks: Remarks | None = None, verifier: Verifier | None = None
    ) -> Remarks:
        """Runs the passes in place.  ``verifier``: one that has verified the module.

        Raises what a pass, the verifier or an observer raises, and ``StaleAnalysis`` where a pass preserved
        an analysis that is not true any more.
        """
        remarks = Remarks() if remarks is None else remarks
        verifier = Verifier() if verifier is None else verifier
        nested = bool(nested_modules(module))  # passes make none
        managers: dict[ir.Block, AnalysisManager] = {}  # by bodies, as passes change attributes of modules
        expect_stages("pass", len(self.passes))
        with module.context, ir.Location.unknown(module.context):
            for number, p in enumerate(self.passes):
                for observer in self.observers:
                    observer.before_pass(number, p, module)
                with stage("pass", p.name):
                    start = self.clock()
                    parts = (*nested_modules(module), module) if nested else (module,)
                    managers = {m.body: managers.get(m.body) or AnalysisManager(m) for m in parts}
                    for analyses in managers.values():  # innermost first: a pass may erase the modules inside
                        p.run_with(analyses.module, remarks, analyses)
                        analyses.keep_only(p.preserves)
                    ran = self.clock()
                    verified = 0.0
                    if self.verify_each or number in self.checkpoints:
                        changed = verifier.verify(module)
                        if self.verify_each:
                            for part in nested_modules(module) if nested else ():
                                managers[part.body].check(changed)
                            managers[module.body].check(changed)
                        verified = self.clock() - ran
                    self.times.append(PassTime(p.name, ran - start, verified))
                for observer in self.observers:
                    observer.after_pass(number, p, module)
        return remarks
