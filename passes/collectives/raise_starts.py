"""``raise-starts``: each collective starts right after the last call that has to come before it."""

from typing import ClassVar

from ...compiler.analysis.program.collective_order import raised
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass
from .collective_moves import move_calls


@dataclass(frozen=True)
class RaiseStarts(AnalysisPass):
    """Each start of a collective moves right after the last call of ``@main`` that has to come before it.

    Before::

        %a = call @beside(%b, %e0) : (..) -> tensor<8xf32>
        %y = call @all_gather(%x) : (tensor<8xf32>) -> tensor<64xf32>
        %z = call @wait(%y, %x) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>

    After::

        %y = call @all_gather(%x) : (tensor<8xf32>) -> tensor<64xf32>
        %a = call @beside(%b, %e0) : (..) -> tensor<8xf32>
        %z = call @wait(%y, %x) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>

    A call has to come before the start that makes what the collective reads, reads what it writes in place,
    or has an effect, such as the start of an earlier collective.  All other calls keep their order.  Memory
    is not considered: the result of a collective is there from its start.  ``overlap-collectives``
    considers it.

    Does not fire where a start stands there already.

    Remarks: ``passed: raised``, with the number of starts.  Raises PassError where memory is planned:
    ``raise-starts: memory is planned already: found fuse.alloc``.
    """

    name: ClassVar[str] = "raise-starts"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        told = "raised", "collectives start as soon as they can", "starts"
        move_calls(self.name, module, analyses.get(Program), remarks, raised, lambda f: f.starts, told)
