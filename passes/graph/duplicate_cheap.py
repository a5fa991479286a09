"""``duplicate-cheap``: each consumer gets its own copy of what is cheaper to compute than to load."""

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from ...compiler.analysis.kernel.accesses import Summary
from ...compiler.analysis.kernel.info import KernelInfo
from ...compiler.analysis.program.dependences import extern_mutated
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import is_kernel, kernel_ties, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import estimate, hints_of
from ...compiler.ir.storage import aliased_operands
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Count


@dataclass(frozen=True)
class DuplicateCheap(AnalysisPass):
    """A cheap producer with several consumers is called once for each consumer kernel, so that each can fuse
    its own.

    Before::

        %m = call @causal_mask(%o)              // reads no tensor
        %a = call @where(%x, %m, %p)
        %b = call @where(%y, %m, %q)

    After::

        %m = call @causal_mask(%o)
        %a = call @where(%x, %m, %p)
        %m1 = call @causal_mask(%o1)
        %b = call @where(%y, %m1, %q)

    Cheap is a kernel without reductions and asserts, of at most ``max_weight`` issue slots per point, that
    reads no tensor, or one tensor that has at most half the bytes of the result (a cast, a broadcast, the
    distances between positions), at any number of places.  What a copy reads may be cheap, too: each copy
    then has its own.
    Consumers that are not kernels (extern ops, views, the return) share the original; without any, it is the
    first kernel's.

    Does not fire on a producer with one consumer, with several results, with loaded indices, or that stores
    into anything but a fresh ``fuse.empty``; where something may overwrite what it reads; nor where its
    result is overwritten later: a copy would hold the contents of before.
    """

    name: ClassVar[str] = "duplicate-cheap"
    preserves: ClassVar[Analyses] = (Program,)
    max_weight: Count = 16

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        hints = hints_of(program.main)
        summaries: dict[str, Summary | None] = {}
        while self._split_all(program, hints, summaries):  # what only copies read comes next
            pass

    def _split_all(
        self, program: Program, hints: dict[str, int], summaries: dict[str, Summary | None]
    ) -> bool:
        """Makes a copy of each cheap call for each of its readers; whether there was any."""
        calls, found = program.kernel_calls(), False

        @cache
        def readers() -> dict[ir.Value, list[ir.Operation]]:
            reading: dict[ir.Value, list[ir.Operation]] = {}
            for call, _ in calls:
                for value in dict.fromkeys(call.operands):
                    reading.setdefault(value, []).append(call)
            return reading

        for call, kernel in calls:
            if len(call.results) != 1 or len(list(call.results[0].uses)) < 2:
                continue
            name = string(kernel.attributes["sym_name"])
            if name not in summaries:
                summaries[name] = KernelInfo.of(kernel).summary
            summary = summaries[name]
            if summary is not None and self.is_cheap(program, call, summary, hints):
                found |= _split(program, call, kernel, readers().get(call.results[0], []))
        return found

    def is_cheap(self, program: Program, call: ir.Operation, summary: Summary, hints: dict[str, int]) -> bool:
        """Whether a copy of ``call`` costs less than loading its result."""
        if (
            len(call.results) != 1
            or not summary.is_pointwise
            or summary.asserts
            or summary.weight > self.max_weight
        ):
            return False
        if defining_op(call.operands[summary.ties[0]], fuse.Empty) is None or not all(
            w.is_plain for w in summary.writes
        ):
            return False
        if (
            any(r.indirect for r in summary.reads)
            or len({call.operands[r.argument] for r in summary.reads}) > 1
        ):
            return False
        if _changes(program, call.results[0]):
            return False
        for read in summary.reads:
            source = call.operands[read.argument]
            if _is_written(program, source) or 2 * _bytes(source, hints) > _bytes(call.results[0], hints):
                return False
        return True


def _is_written(program: Program, value: ir.Value) -> bool:
    """Whether some operation may change the storage that ``value`` is in: it, or a value tied to or viewing
    it, is a destination.
    """
    if isinstance(value.owner, ir.Block):
        # An argument: any mutation of it goes through itself or its views.
        return any(_may_write(program, use) for use in value.uses)
    owner = value.owner.operation
    return owner.name == "fuse.view" or any(_may_write(program, use) for use in value.uses)


def _may_write(program: Program, use: ir.OpOperand) -> bool:
    owner = use.owner.operation
    if owner.name == "func.call":
        callee = program.callee(owner)
        if is_kernel(callee) and "fuse.ties" in callee.attributes:
            return use.operand_number in list(ir.DenseI64ArrayAttr(callee.attributes["fuse.ties"]))
        return "fuse.mutated" in callee.attributes or "fuse.aliases" in callee.attributes
    return owner.name == "fuse.view"


def _changes(program: Program, value: ir.Value) -> bool:
    """Whether a call writes to a value, or to a view of it."""
    for use in value.uses:
        owner, number = use.owner.operation, use.operand_number
        if owner.name == "fuse.view":
            same = list(owner.results)
        elif owner.name != "func.call":
            continue
        else:
            callee = program.callee(owner)
            if number in (kernel_ties(callee) if is_kernel(callee) else extern_mutated(callee)):
                return True
            same = [owner.results[r] for r, operand in aliased_operands(callee).items() if operand == number]
        if any(_changes(program, result) for result in same):
            return True
    return False


def _bytes(value: ir.Value, hints: dict[str, int]) -> int:
    spec = TensorSpec.of(value.type)
    return estimate(spec.numel, hints) * spec.element_bytes


def _split(program: Program, call: ir.Operation, kernel: ir.Operation, users: Sequence[ir.Operation]) -> bool:
    """``users``: the calls of kernels that read the result, in order.  Whether one of them got a copy."""
    others = len({use.owner.operation for use in call.results[0].uses}) > len(users)
    (tie,) = ir.DenseI64ArrayAttr(kernel.attributes["fuse.ties"])
    instead = users if others else users[1:]
    for user in instead:
        here = ir.InsertionPoint(user)
        empty = call.operands[tie].owner.operation.clone(here)
        copy = call.clone(here)
        copy.operands[tie] = empty.results[0]
        program.callers[string(kernel.attributes["sym_name"])] += 1
        for i, operand in enumerate(user.operands):
            if operand == call.results[0]:
                user.operands[i] = copy.results[0]
    return bool(instead)
