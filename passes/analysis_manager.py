"""What passes have found out about a module, kept until a pass changes it: MLIR's analysis manager.

An *analysis* is a class that is computed from a module and changes nothing, such as ``Program`` (the
functions and calls of ``@main``) or ``GroupGraph`` (groups of calls and what they depend on).  A pass that
asks for one is an ``AnalysisPass``: it calls ``analyses.get(Program)`` and gets what an earlier pass
computed, if every pass since then has preserved it.

A pass *preserves* an analysis if, after the pass, the cached object is equal to one that is computed again.
Either the pass changes nothing that the analysis is about, or it makes each change through the methods of the
analysis, which keep it current.  The pass says so in its ``preserves``; the pass manager forgets all other
analyses when the pass ends, and where it verifies after every pass it computes those that were preserved
again and compares them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, cast

from ..compiler.mlir import ir


class Analysis(Protocol):
    """What can be computed from a module and kept."""

    @staticmethod
    def of(module: ir.Module) -> Any:
        """Computes it."""

    def state(self) -> Mapping[str, object]:
        """What must be equal after a pass that preserves the analysis, by name; the rest is computed from
        it or is a cache.
        """


#: Classes of analyses: what a pass preserves.
Analyses = tuple[type[Analysis], ...]


class StaleAnalysis(Exception):
    """A pass says that it preserves an analysis, and it is not true of the module any more: a bug of the
    pass.
    """


A = TypeVar("A", bound=Analysis)


class AnalysisManager:
    """The analyses of one module, by their classes."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self._cached: dict[type[Analysis], Analysis] = {}
        self._computed: dict[type[Analysis], Mapping[str, object]] = {}  #: by `check`, of this module

    def get(self, analysis: type[A]) -> A:
        """The analysis of the module, computed unless it is cached.  Raises what computing it raises.

        The cache is not cleared within a pass.  A pass that changes the module other than through the
        analysis computes it again and ``put``s it here.
        """
        found = self.cached(analysis)
        if found is None:
            found = self._cached[analysis] = cast(A, analysis.of(self.module))
        return found

    def put(self, analysis: Analysis) -> None:
        """Takes the analysis of the module as it is now, which replaces the cached one."""
        self._cached[type(analysis)] = analysis

    def cached(self, analysis: type[A]) -> A | None:
        """The analysis if it is cached; None if not."""
        return cast("A | None", self._cached.get(analysis))

    def keep_only(self, preserved: Iterable[type[Analysis]]) -> None:
        """Forgets all other analyses: a pass has ended that preserves these."""
        self._cached = {kind: self._cached[kind] for kind in preserved if kind in self._cached}

    def check(self, changed: bool = True) -> None:
        """Compares the cached analyses with ones computed again.  ``changed``: whether the module may be
        another than at the last check, for which they were computed.  Raises ``StaleAnalysis`` where one
        differs.
        """
        known, self._computed = {} if changed else self._computed, {}
        for kind, found in self._cached.items():
            kept = found.state()
            if kind not in known or known[kind] != kept:
                again = kind.of(self.module).state()
                for name, value in again.items():
                    if kept[name] != value:
                        what = f"{kind.__name__}, whose {name} differ when it is computed again"
                        raise StaleAnalysis(f"the pass preserves {what}")
                known[kind] = again
        self._computed = known
