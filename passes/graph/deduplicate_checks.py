"""``deduplicate-checks``: what a kernel asserts of an index is asserted where the index is first checked."""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

from ...compiler.analysis.kernel.checked_indices import IndexCheck, Span, common, index_checks, within
from ...compiler.analysis.program.dependences import (
    Dependences,
    Node,
    callee_kind,
    extern_mutated,
    has_effect,
)
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import ASSERTS, Kernel, index_check, string
from ...compiler.mlir import cf, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, remark_on


@dataclass(frozen=True)
class DeduplicateChecks(AnalysisPass):
    """The assertion that an index is in range is dropped where an earlier one implies it: it checked each
    element of the same tensor against a range that is no wider.  One that is stricter is moved there: a
    program that fails does so before anything can be seen of what it does in between.

    Before (a position looks a row up in a table of 1024, where one below 0 counts from the end, and names one
    of 2048 places of two caches)::

        %cos = call @row(%table, %at, %o)
        %keys = call @write(%k, %at, %cache)
        %values = call @write_1(%v, %at, %other_cache)

        func.func private @row(..) {
          %i = "fuse.load"(%at, %true, %zero) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
          ... %in_range is -1024 <= %i < 1024
          cf.assert %in_range, "index out of bounds .." {fuse.index_check}

        func.func private @write(..) {
          %i = "fuse.load"(%at, %true, %zero) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
          ... %fits is 0 <= %i < 2048
          cf.assert %fits, "index out of bounds .." {fuse.index_check}
          "fuse.store"(%cache, %v, %fits, %i) ..

    After: ``@write`` and ``@write_1`` assert nothing, and ``@row`` asserts what ``@write`` did behind its own
    assertion, with the message and the location of ``@write``'s.  Their stores keep their guards, so nothing
    is written beyond a tensor, whatever else a program does whose first assertion fails.

    What asserts keeps its place among all that has effects: without its assertion a kernel can share a launch
    with others (``combine-launches``), and needs no kernel in front of it (``check-apart``).

    Does not fire where the earlier kernel checks some elements only, or may have no point; where the bound of
    either is a symbol; on assertions with a guard, or that are no checks of indices, whose messages are the
    user's; nor behind a call that writes to a tensor in place, which may be the index.  A stricter assertion
    stays if it checks some elements only; behind another assertion that stays, which would fail first; and
    behind effects, and writes to an argument of ``@main``, whose memory is the caller's.

    Remarks: ``passed: implied`` or ``passed: moved``, with the number of assertions.
    """

    name: ClassVar[str] = "deduplicate-checks"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        checking = {string(f.attributes["sym_name"]) for _, f in program.kernel_calls() if _checks(f)}
        found: dict[str, list[IndexCheck]] = {}
        passed: dict[ir.Value, _Passed] = {}
        between = _Between(program)
        for call in program.calls():
            callee = program.callee(call)
            name = string(callee.attributes["sym_name"])
            if name not in checking:
                if callee_kind(callee) != "kernel" and not _only_reads(callee):
                    passed.clear()
                continue
            if name not in found:
                found[name] = index_checks(Kernel.of(callee))
            staying = [op for op in kernel_body(callee) if op.operation.name in ASSERTS]
            implied, moved = list[int](), list[tuple[int, ir.Operation]]()
            for number, check in enumerate(found[name]):
                index = call.operands[check.argument]
                known = passed.get(index)
                if known is not None and within(known.spans, check.passed):
                    implied.append(number)
                    staying.remove(check.op)
                    continue
                if not check.whole:
                    continue
                place = call
                if known is not None and staying[0] == check.op and between.nothing(known.call, call):
                    place = known.call
                    moved.append((number, place))
                    staying.remove(check.op)
                spans = check.passed if known is None else common(known.spans, check.passed)
                passed[index] = _Passed(spans, place)
            if implied or moved:
                self._drop(program, call, implied, moved, remarks)

    def _drop(
        self,
        program: Program,
        call: ir.Operation,
        implied: Sequence[int],
        moved: Sequence[tuple[int, ir.Operation]],
        remarks: Remarks,
    ) -> None:
        own = program.own(call, program.callee(call))
        name, checks = string(own.attributes["sym_name"]), index_checks(Kernel.of(own))
        for number, earlier in moved:
            place = program.own(earlier, program.callee(earlier))
            _assert_behind(place, earlier, call.operands[checks[number].argument], own, checks[number])
            message = f"what @{name} looks up is checked by @{string(place.attributes['sym_name'])}"
            remark_on(call, remarks, self.name, "passed", "moved", message, assertions=1)
        for number in (*implied, *(n for n, _ in moved)):
            checks[number].op.erase()
        program.clean(own)
        for _, earlier in moved:
            program.clean(program.callee(earlier))
        if implied:
            message = f"@{name} looks up what was checked before"
            remark_on(call, remarks, self.name, "passed", "implied", message, assertions=len(implied))


class _Passed(NamedTuple):
    """The numbers of an index that no assertion so far refuses, and the last call that asserts it."""

    spans: tuple[Span, ...]
    call: ir.Operation


@dataclass(frozen=True)
class _Between:
    """What a caller may see of what a program does between two calls of ``@main``, where no extern op writes
    in place.
    """

    program: Program

    def nothing(self, first: ir.Operation, last: ir.Operation) -> bool:
        """Whether it is nothing: no effect, nothing that fails, and no write to the caller's memory."""
        return not any(self._seen(node) for node in self._graph.nodes[self._at[first] + 1 : self._at[last]])

    def _seen(self, node: Node) -> bool:
        if node.op.name != "func.call":
            return has_effect(node.op, None)
        callee = self.program.callee(node.op)  # which may be another one than when the graph was read
        into_argument = any(self._graph.is_argument(v) for v in node.destinations)
        return into_argument or has_effect(node.op, callee)

    @cached_property
    def _graph(self) -> Dependences:
        return Dependences.of(self.program.module)

    @cached_property
    def _at(self) -> dict[ir.Operation, int]:
        return {node.op: node.index for node in self._graph.nodes}


def _assert_behind(
    place: ir.Operation, call: ir.Operation, index: ir.Value, kernel: ir.Operation, check: IndexCheck
) -> None:
    """A copy of an assertion of ``kernel``, behind all assertions of ``place``, the callee of ``call``, which
    checks the same index.
    """
    there = Kernel.of(place)
    known = next(c for c in index_checks(there) if c.whole and call.operands[c.argument] == index)
    copies: dict[ir.Value, ir.Value] = {check.index: known.index}
    end = ir.InsertionPoint.after(there.asserts[-1])
    needed, pending = set[ir.Operation](), [check.op]
    while pending:
        op = pending.pop()
        needed.add(op)
        pending += [v.owner for v in op.operands if v not in copies]
    for op in kernel_body(kernel):
        if op.operation in needed:
            copy = op.operation.clone(end)
            for position, operand in enumerate(op.operands):
                copy.operands[position] = copies.get(operand, operand)
            copies.update(zip(op.results, copy.results, strict=True))


def _checks(kernel: ir.Operation) -> bool:
    return any(isinstance(op, cf.AssertOp) and index_check(op) for op in kernel_body(kernel))


def _only_reads(callee: ir.Operation) -> bool:
    """Whether a call of a function that is no kernel leaves its operands as they are."""
    return callee_kind(callee) == "extern" and not extern_mutated(callee)
