"""``sink-waits``: each wait for a collective right before the first call that has to follow it."""

from typing import ClassVar

from ...compiler.analysis.program.collective_order import sunk
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass
from .collective_moves import move_calls


@dataclass(frozen=True)
class SinkWaits(AnalysisPass):
    """Each wait for a collective moves right before the first call of ``@main`` that has to follow it.

    Before::

        %y = call @all_reduce(%x) : (tensor<8xf32>) -> tensor<8xf32>
        %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        %a = call @beside(%b, %e0) : (..) -> tensor<8xf32>
        %c = call @reads(%z, %e1) : (..) -> tensor<8xf32>

    After::

        %y = call @all_reduce(%x) : (tensor<8xf32>) -> tensor<8xf32>
        %a = call @beside(%b, %e0) : (..) -> tensor<8xf32>
        %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        %c = call @reads(%z, %e1) : (..) -> tensor<8xf32>

    A call has to follow the wait that reads what was waited for, takes a token behind it, or writes over
    what the collective reads.  All other calls keep their order.  Memory is not considered: what a
    collective reads is held until the wait.  ``overlap-collectives`` considers it.

    Does not fire where a wait stands there already.

    Remarks: ``passed: sunk``, with the number of waits.  Raises PassError where memory is planned:
    ``sink-waits: memory is planned already: found fuse.alloc``.
    """

    name: ClassVar[str] = "sink-waits"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        told = "sunk", "waits for collectives stand where something needs them", "waits"
        move_calls(self.name, module, analyses.get(Program), remarks, sunk, lambda f: f.start_of, told)
