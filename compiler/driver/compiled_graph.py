"""What is told of a graph that is compiled, or that came from the program cache."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from ...logs import wanted
from ...logs.missed import log as missed_log
from ...logs.plan import log as plan_log
from ...logs.remarks import log as remarks_log
from ...logs.schedule import log as schedule_log
from ..base.dataclass import dataclass
from ..base.options import Options
from ..base.timing import PassTime, Timing
from ..fx.graph_text import held
from ..report.torch_trace import trace_json, trace_launches, trace_text, tracing
from ..runtime.as_torch import run_fx
from ..runtime.gpu.load import PlanKernel
from ..runtime.plans.plan import Plan
from ..runtime.plans.plan_text import plan_text
from .calling_convention import boxed
from .program import Account, CompiledGraph, FinalModule, FxParts, Interface

if TYPE_CHECKING:
    from ..cost.hardware import Hardware
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
        return boxed(run, interface, self.placeholders, tuple(self._constants(interface).values()))

    def fx_parts(
        self,
        interface: Interface,
        options: Options,
        final: Callable[[], FinalModule],
        objects: Mapping[str, Any] = MappingProxyType({}),
    ) -> FxParts:
        """What FX output is made from.  ``objects``: as in ``Compilation``."""
        return FxParts(interface, self.placeholders, self._constants(interface), objects, options, final)

    def _constants(self, interface: Interface) -> dict[str, torch.Tensor]:
        """The tensors that the graph holds, by name."""
        return {} if self.gm is None else {name: held(self.gm, name) for name in interface.constants}


def compiled_graph(
    facts: GraphFacts,
    account: Account,
    interface: Interface,
    plan: Plan | None,
    call: Callable[[list[Any]], list[Any]],
    load_module: "Callable[[], ir.Module]",
    fx: FxParts | torch.fx.GraphModule,
    *,
    kernels: Callable[[], Mapping[str, PlanKernel]] | None = None,
    passes: tuple[PassTime, ...] = (),
    levels: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    cached: bool = False,
) -> CompiledGraph:
    """The graph with its account.  ``plan``: None on the interpreter.  ``call``: what AOTAutograd calls.
    ``fx``: the graph itself where torch runs it, whatever ``output`` says.  ``kernels``: as ``load_kernels``.
    """
    compiled = CompiledGraph(
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
        load_fx=partial(_load_fx, fx),
        interface=interface,
        load_kernels=kernels,
        call=call,
        strides=interface.strides,
        levels=levels,
    )
    if isinstance(fx, FxParts) and fx.options.output == "fx":
        compiled.call = _fx_call(compiled, fx.options)
    return compiled


def _fx_call(compiled: CompiledGraph, options: Options) -> Callable[[list[Any]], list[Any]]:
    return run_fx(compiled.fx(), options.deterministic)


def _load_fx(fx: FxParts | torch.fx.GraphModule) -> torch.fx.GraphModule:
    if isinstance(fx, torch.fx.GraphModule):
        return fx
    from .fx_program import fx_program

    return fx_program(fx)


def report(compiled: CompiledGraph, options: Options) -> None:
    """Writes the log of a graph that is ready to run, adds the check of ``check_schedules``, and hands the
    graph to the user's ``on_compiled``.
    """
    if options.check_schedules:
        from ..runtime.checks.schedule_check import compared_at_first_call  # some builds have no distributed

        compiled.call = compared_at_first_call(
            compiled.call, compiled.name, compiled.launches, options.check_schedules
        )
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
    if options.compile_budget is not None:
        from ..report.budget import draw_on

        draw_on(options.compile_budget, compiled)
    if options.memory_limit is not None:
        from ..report.budget import check_memory_limit

        check_memory_limit(options.memory_limit, options.strict, compiled)
    _report_texts(compiled, options)
    if tracing():
        _trace(compiled)
    if options.remarks != "none":
        log.info("%s", compiled.remarks.render(options.remarks))
    if options.report is not None:
        _add_to_report(compiled, options, options.report)
    if options.on_compiled is not None:
        options.on_compiled(compiled)


def _report_texts(compiled: CompiledGraph, options: Options) -> None:
    """Writes the long texts for which somebody listens, each to a logger of its own (``fuse_mlir.logs``)."""
    if level := wanted(schedule_log):
        for number, launch in enumerate(compiled.launches):
            schedule_log.log(level, "%s: launch %d: %s", compiled.name, number, launch)
    if log.isEnabledFor(logging.DEBUG):
        log.debug("%s: the module that runs:\n%s", compiled.name, compiled.module)
    if (level := wanted(plan_log)) and compiled.source:
        plan_log.log(level, "%s: the program that launches it:\n%s", compiled.name, compiled.source)
    if (level := wanted(missed_log)) and (worst := compiled.remarks.worst()).items:
        text, name = worst.render("text", costs=True), _hardware(compiled, options).name
        head = "%s: missed fusions, by what they cost on the hardware model %s:\n%s"
        missed_log.log(level, head, compiled.name, name, text)
    if (level := wanted(remarks_log)) and options.remarks == "none":
        remarks_log.log(level, "%s: remarks:\n%s", compiled.name, compiled.remarks.render("text"))


def _hardware(compiled: CompiledGraph, options: Options) -> "Hardware":
    """What estimates are for."""
    from ..cost.devices import hardware_named
    from ..runtime.gpu.device_model import hardware_name

    if options.hardware != "auto":
        return hardware_named(options.hardware)
    return hardware_named("generic" if compiled.load_kernels is None else hardware_name())


def _add_to_report(compiled: CompiledGraph, options: Options, path: str | Path) -> None:
    """Adds the graph to the page of option ``report``; waits for its kernels."""
    from ..report.page.data import graph_data
    from ..report.page.page_file import add_graph
    from ..runtime.kernels.kernel_facts import kernel_facts
    from ..runtime.kernels.triton_compile import TritonCompileError

    try:
        found = {} if compiled.load_kernels is None else compiled.load_kernels()
    except TritonCompileError:  # the first call raises it
        found = {}
    data = graph_data(
        compiled.name,
        compiled.module,
        compiled.remarks,
        compiled.timing.tree(),
        _hardware(compiled, options),
        cached=compiled.cached,
        source=compiled.source,
        kernels=kernel_facts({name: kernel.cubin for name, kernel in found.items()}),
        levels=compiled.levels,
    )
    add_graph(path, data)


def _trace(compiled: CompiledGraph) -> None:
    """Writes artifacts into torch's trace."""
    prefix = f"fuse_{compiled.name}"
    trace_text(f"{prefix}_remarks", lambda: compiled.remarks.render("text"))
    trace_launches(compiled.launches)
    if compiled.cached:  # else the passes have written it
        trace_text(f"{prefix}_planned", lambda: str(compiled.module))
    if compiled.plan is not None:
        plan = compiled.plan
        trace_text(f"{prefix}_plan", lambda: plan_text(plan))
        trace_text(f"{prefix}_plan_source", lambda: compiled.source)
    trace_json(f"{prefix}_compile_seconds", compiled.timing.tree)


__all__ = ["GraphFacts", "compiled_graph", "report"]
