"""``deduplicate-checks``: an index that a kernel has checked is not checked again."""

from typing import ClassVar

from ...compiler.analysis.kernel.checked_indices import IndexCheck, Span, common, index_checks, within
from ...compiler.analysis.program.dependences import callee_kind, extern_mutated
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import Kernel, index_check, string
from ...compiler.mlir import cf, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, remark_on


@dataclass(frozen=True)
class DeduplicateChecks(AnalysisPass):
    """The assertion that an index is in range is dropped where an earlier one implies it: it checked each
    element of the same tensor against a range that is no wider.

    Before (a position looks a row up in a table of 1024, and names one of 2048 places of a cache)::

        %cos = call @row(%table, %at, %o)
        %keys = call @write(%new, %at, %cache)

        func.func private @row(..) {
          %i = "fuse.load"(%at, %true, %zero) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
          ... %in_range is 0 <= %i < 1024
          cf.assert %in_range, "index out of bounds .." {fuse.index_check}

        func.func private @write(..) {
          %i = "fuse.load"(%at, %true, %zero) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
          ... %fits is 0 <= %i < 2048
          cf.assert %fits, "index out of bounds .." {fuse.index_check}
          "fuse.store"(%cache, %v, %fits, %i) ..

    After: ``@write`` asserts nothing.  Its store keeps its guard, so nothing is written beyond a tensor,
    whatever else a program does whose first assertion fails.

    What asserts keeps its place among all that has effects: without its assertion a kernel can share a launch
    with others (``combine-launches``), and needs no kernel in front of it (``check-apart``).

    Does not fire where the earlier kernel checks some elements only, or may have no point; where the bound of
    either is a symbol; on assertions with a guard, or that are no checks of indices, whose messages are the
    user's; nor behind a call that writes to a tensor in place, which may be the index.

    Remarks: ``passed: implied``, with the number of assertions.
    """

    name: ClassVar[str] = "deduplicate-checks"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        checking = {string(f.attributes["sym_name"]) for _, f in program.kernel_calls() if _checks(f)}
        found: dict[str, list[IndexCheck]] = {}
        passed: dict[ir.Value, tuple[Span, ...]] = {}  #: by index, the numbers that no assertion refused
        for call in program.calls():
            callee = program.callee(call)
            name = string(callee.attributes["sym_name"])
            if name not in checking:
                if callee_kind(callee) != "kernel" and not _only_reads(callee):
                    passed.clear()
                continue
            if name not in found:
                found[name] = index_checks(Kernel.of(callee))
            implied = []
            for number, check in enumerate(found[name]):
                index = call.operands[check.argument]
                if index in passed and within(passed[index], check.passed):
                    implied.append(number)
                elif check.whole:
                    passed[index] = common(passed[index], check.passed) if index in passed else check.passed
            if implied:
                self._drop(program, call, callee, implied, remarks)

    def _drop(
        self, program: Program, call: ir.Operation, kernel: ir.Operation, implied: list[int], remarks: Remarks
    ) -> None:
        own = program.own(call, kernel)
        checks = index_checks(Kernel.of(own))
        for number in implied:
            checks[number].op.erase()
        program.clean(own)
        message = f"@{string(own.attributes['sym_name'])} looks up what was checked before"
        remark_on(call, remarks, self.name, "passed", "implied", message, assertions=len(implied))


def _checks(kernel: ir.Operation) -> bool:
    return any(isinstance(op, cf.AssertOp) and index_check(op) for op in kernel_body(kernel))


def _only_reads(callee: ir.Operation) -> bool:
    """Whether a call of a function that is no kernel leaves its operands as they are."""
    return callee_kind(callee) == "extern" and not extern_mutated(callee)
