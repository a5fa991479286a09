"""What is told of a graph that is compiled, or that came from the program cache."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ..base.options import Options
from ..base.timing import PassTime, Timing
from ..runtime.plans.plan import Plan
from .calling_convention import boxed
from .program import Account, CompiledGraph, Interface

if TYPE_CHECKING:
    from ..mlir import ir

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GraphFacts:
    """What is known of a graph before its program is.

    name: as in ``Request``.  key: its name in the program cache, None where it is not looked up there.
    placeholders: how many it has.  gm: the graph, which holds the program's constants; None where it is known
    that there are none.
    """

    name: str
    key: str | None
    placeholders: int
    timing: Timing
    gm: torch.fx.GraphModule | None = None

    def boxed(
        self, run: Callable[[list[Any]], list[Any]], interface: Interface
    ) -> Callable[[list[Any]], list[Any]]:
        """What AOTAutograd calls, where ``run`` calls ``@main``."""
        return boxed(run, interface, self.placeholders, self.gm)


def compiled_graph(
    facts: GraphFacts,
    account: Account,
    interface: Interface,
    plan: Plan | None,
    call: Callable[[list[Any]], list[Any]],
    load_module: "Callable[[], ir.Module]",
    *,
    passes: tuple[PassTime, ...] = (),
    cached: bool = False,
) -> CompiledGraph:
    """The graph with its account.  ``plan``: None on the interpreter.  ``call``: what AOTAutograd calls."""
    return CompiledGraph(
        name=facts.name,
        remarks=account.remarks,
        fallbacks=list(account.fallbacks),
        launches_before=account.launches_before,
        launches=account.launches,
        timing=facts.timing,
        passes=passes,
        plan=plan,
        cached=cached,
        key=facts.key,
        load_module=load_module,
        call=call,
        strides=interface.strides,
    )


def report(compiled: CompiledGraph, options: Options) -> None:
    """Writes the log of a graph that is ready to run, and hands it to the user's ``on_compiled``."""
    compiled.timing.seconds = sum(compiled.seconds.values())
    log.info(
        "%s: %d kernels -> %d launches, %d torch ops (%d fallbacks); %s",
        compiled.name,
        compiled.launches_before,
        compiled.launches_after,
        compiled.externs,
        len(compiled.fallbacks),
        ", ".join(f"{stage} {s:.2f} s" for stage, s in compiled.seconds.items()),
    )
    if options.cudagraphs:
        recorded, between = len(compiled.partitions), len(compiled.unrecorded)
        log.info("%s: %d CUDA graphs, %d calls run between them", compiled.name, recorded, between)
        for call in compiled.unrecorded:
            log.info("%s: not recorded: %s", compiled.name, call)
    if log.isEnabledFor(logging.DEBUG):
        _report_all(compiled, options)
    if options.remarks != "none":
        log.info("%s", compiled.remarks.render(options.remarks))
    if options.on_compiled is not None:
        options.on_compiled(compiled)


def _report_all(compiled: CompiledGraph, options: Options) -> None:
    for number, launch in enumerate(compiled.launches):
        log.debug("%s: launch %d: %s", compiled.name, number, launch)
    log.debug("%s: the module that runs:\n%s", compiled.name, compiled.module)
    if compiled.source:
        log.debug("%s: the program that launches it:\n%s", compiled.name, compiled.source)
    if options.remarks == "none":
        log.debug("%s: remarks:\n%s", compiled.name, compiled.remarks.render("text"))


__all__ = ["GraphFacts", "compiled_graph", "report"]
