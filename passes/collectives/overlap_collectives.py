"""``overlap-collectives``: the order of calls in which collectives run beside most of the other work."""

from typing import ClassVar

from ...compiler.analysis.cost.estimate import estimates
from ...compiler.analysis.program.collective_order import Flights
from ...compiler.analysis.program.overlap import overlap_order
from ...compiler.analysis.program.program_order import sequence
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Loss, Remarks
from ...compiler.cost.clock import microseconds
from ...compiler.cost.hardware import Hardware
from ...compiler.cost.work import Work
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..pass_base import AnalysisPass, Count, hardware_of
from .collective_moves import has_symbolic_sizes, schedulable


@dataclass(frozen=True)
class OverlapCollectives(AnalysisPass):
    """Collectives start earlier, and are waited for later, so that other calls of ``@main`` run beside them.

    Before::

        %a = call @all_gather(%w) : (tensor<8xf32>) -> tensor<64xf32>
        %b = call @wait(%a, %w) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
        %c = call @first(%x, %b, %e0) : (..) -> tensor<8xf32>
        %d = call @all_gather_1(%v) : (tensor<8xf32>) -> tensor<64xf32>
        %e = call @wait_1(%d, %v) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
        %f = call @second(%c, %e, %e1) : (..) -> tensor<8xf32>

    After::

        %a = call @all_gather(%w) : (tensor<8xf32>) -> tensor<64xf32>
        %d = call @all_gather_1(%v) : (tensor<8xf32>) -> tensor<64xf32>
        %b = call @wait(%a, %w) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
        %c = call @first(%x, %b, %e0) : (..) -> tensor<8xf32>
        %e = call @wait_1(%d, %v) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
        %f = call @second(%c, %e, %e1) : (..) -> tensor<8xf32>

    ``compiler/analysis/program/overlap_walk.py`` finds the order, by the model of time of ``streams.py``;
    ``compiler/cost/transfers.py`` has the time of a collective.  ``memory``: how many percent the peak of
    memory may rise.  Dependences, tokens and effects hold, and collectives keep their order.

    Does not fire

    1. without collectives;
    2. where a size of ``@main`` is symbolic: hints may differ between the processes that run it, and all of
    them
       have to find the same order;
    3. where the model's time would fall by less than ``least`` percent.

    Remarks: ``passed: overlapped`` and ``missed: symbolic-sizes``.  ``passed`` has the model's microseconds
    and how many of them are exposed, and the peak, before and after.  Raises PassError where memory is
    planned: ``overlap-collectives: memory is planned already: found fuse.alloc``.
    """

    name: ClassVar[str] = "overlap-collectives"
    hardware: str = "generic"
    memory: Count = 5
    least: Count = 1

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        calls = schedulable(self.name, module, analyses)
        if calls is None:
            return
        program, deps = calls
        starts = Flights.of(deps).starts
        if not starts:
            return  # nothing calls what is declared
        if has_symbolic_sizes(self.name, program, deps, starts, remarks, lambda: _loss(module, hardware)):
            return
        first = deps.nodes[starts[0]]
        orders = overlap_order(module, deps, hardware)
        before, after = orders.given, orders.best(orders.limits(self.memory))
        saved = before.timeline.seconds - after.timeline.seconds
        if saved <= 0 or 100 * saved < self.least * before.timeline.seconds:
            return
        remarks.add(
            self.name, "passed", "overlapped", "other calls run beside collectives", ops=(first.name,),
            locations=(first.location,), collectives=len(starts), us_before=round(before.timeline.seconds *
            1e6, 1), us_after=round(after.timeline.seconds * 1e6, 1),
            exposed_before=round(before.timeline.exposed * 1e6, 1),
            exposed_after=round(after.timeline.exposed * 1e6, 1), peak_before=before.peaks.kept,
            peak_after=after.peaks.kept,
        )  # fmt: skip
        program.arrange([deps.nodes[n].op for n in sequence(deps, after.order)])


def _loss(module: ir.Module, hardware: Hardware) -> Loss:
    """The time of the collectives: at most so much other work would run beside them."""
    ring = hardware.rates.collectives.ring
    moved = [work.transfer for work in estimates(module).values() if work.transfer is not None]
    return Loss(0, round(sum(microseconds(Work(transfer=t), hardware, ring) for t in moved), 2))
