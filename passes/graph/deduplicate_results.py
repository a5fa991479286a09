"""``deduplicate-results``: what a kernel writes to two places is read from one."""

from collections.abc import Hashable
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import kernel_ties, string
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, remark_on
from .sharing import Sharing


@dataclass(frozen=True)
class DeduplicateResults(AnalysisPass):
    """Where a kernel stores one value to the same coordinates of two tensors, readers of one read the other.

    Before (``x.add_(1)``, then ``x @ w``: functionalization gives the product the sum, and copies the sum to
    x)::

        %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
        %y:2 = call @add_copy_(%x, %e) : (.., ..) -> (.., ..)        // fuse.ties = array<i64: 1, 0>
        %z = call @mm(%y#0, %w)
        return {fuse.mutates = {"1" = 0 : i64}} %z, %y#1

    After::

        %z = call @mm(%y#1, %w)                                      // %y#0 is dead

    ``eliminate-dead`` then removes the store and its destination.

    Does not fire where the tensors differ in type; on a result without readers or that is returned, which
    must have storage of its own; on destinations other than a fresh ``fuse.empty``; nor where something else
    writes to either storage: what is read later would be another value.

    Remarks: ``passed: one-place``, with the number of equal results.
    """

    name: ClassVar[str] = "deduplicate-results"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        several = [(call, kernel) for call, kernel in program.kernel_calls() if len(call.results) > 1]
        equal = [(call, kernel, group) for call, kernel in several for group in _equal_results(kernel)]
        if not equal:
            return
        sharing = Sharing.of(module)
        for call, kernel, group in equal:
            free = [n for n in group if _is_free(call, kernel, n, sharing)]
            kept = [n for n in group if n not in free and _is_stable(call.results[n], sharing)]
            first = kept[0] if kept else free.pop(0) if free else None
            if first is None or not free:
                continue
            for number in free:
                call.results[number].replace_all_uses_with(call.results[first])
            message = "what it writes to several places is read from one"
            remark_on(call, remarks, self.name, "passed", "one-place", message, results=len(free) + 1)


def _equal_results(kernel: ir.Operation) -> list[list[int]]:
    """The numbers of results that hold the same values, where there are several."""
    block = kernel.regions[0].blocks[0]
    found: dict[Hashable, list[int]] = {}
    for number, value in enumerate(block.operations[len(block.operations) - 1].operands):
        store = value.owner.operation
        whole = isinstance(store.operands[0].owner, ir.Block)  # else it goes on from another store
        if whole and string(store.attributes["mode"]) == "set":
            key = (store.attributes["at"], value.type, *list(store.operands)[1:])
            found.setdefault(key, []).append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]


def _is_free(call: ir.Operation, kernel: ir.Operation, number: int, sharing: Sharing) -> bool:
    """Whether a result is read, and need not exist."""
    result = call.results[number]
    is_fresh = defining_op(call.operands[kernel_ties(kernel)[number]], fuse.Empty) is not None
    is_read = any(not isinstance(use.owner, fuse.After) for use in result.uses)
    return (
        is_fresh and is_read and sharing.roots[result] not in sharing.returned and _is_stable(result, sharing)
    )


def _is_stable(result: ir.Value, sharing: Sharing) -> bool:
    """Whether a result stays what it is."""
    return result not in sharing.kept and result not in sharing.moving
