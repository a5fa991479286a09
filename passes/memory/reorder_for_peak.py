"""``reorder-for-peak``: the order of calls in which the fewest bytes are alive at a time."""

from typing import ClassVar

from ...compiler.analysis.program.dependences import Dependences
from ...compiler.analysis.program.peak_order import PeakOrder, StorageUses
from ...compiler.analysis.program.program_order import sequence
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.sizes import hints_of
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.kernels import require_unplanned
from ..base.program import Program
from ..pass_base import AnalysisPass, Count


@dataclass(frozen=True)
class ReorderForPeak(AnalysisPass):
    """Calls that let memory be freed run before calls that need more, where that lowers the peak of
    ``@main``.

    Before::

        %a = call @wide(%x, %e0) : (..) -> tensor<4096xf32>
        %b = call @wide(%y, %e1) : (..) -> tensor<4096xf32>     // both are alive
        %s = call @sum(%a, %e2) : (..) -> tensor<1xf32>
        %t = call @sum(%b, %e3) : (..) -> tensor<1xf32>

    After::

        %a = call @wide(%x, %e0) : (..) -> tensor<4096xf32>
        %s = call @sum(%a, %e2) : (..) -> tensor<1xf32>
        %b = call @wide(%y, %e1) : (..) -> tensor<4096xf32>
        %t = call @sum(%b, %e3) : (..) -> tensor<1xf32>

    The launches, the bytes that they move and the dependences stay the same.
    ``compiler/analysis/program/peak_order.py`` says which orders are tried and how they are judged.

    Does not fire where the peak would fall by less than ``least`` percent: in the program's own order, what
    a call has written is more often still in the cache when the next one reads it.

    Remarks: ``passed: reordered``, with the peak before and after.  Raises PassError where memory is planned:
    ``reorder-for-peak: memory is planned already: found fuse.alloc``.
    """

    name: ClassVar[str] = "reorder-for-peak"
    least: Count = 1

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        deps = Dependences.of(module)
        require_unplanned(deps, self.name)
        orders = PeakOrder(StorageUses.of(deps, hints_of(program.main)))
        before = orders.peaks(orders.program)
        order, after = orders.best(before)
        gains = [100 * (old - new) / max(old, 1) for old, new in zip(before, after, strict=True)]
        if order == orders.program or max(gains) < self.least:
            return
        moved = [n for n, was in zip(order, orders.program, strict=True) if n != was]
        remarks.add(
            self.name, "passed", "reordered", "what gives memory back runs earlier",
            ops=(deps.nodes[moved[0]].name,), locations=(deps.nodes[moved[0]].location,),
            calls=len(moved), peak_before=before.kept, peak_after=after.kept,
            peak_before_with_arguments=before.given, peak_after_with_arguments=after.given,
        )  # fmt: skip
        program.arrange([deps.nodes[n].op for n in sequence(deps, order)])
