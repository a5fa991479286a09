"""``bucket-collectives``: several small collectives start as one call."""

from collections.abc import Sequence
from typing import ClassVar

from ...compiler.analysis.cost.collectives import COALESCED
from ...compiler.analysis.program.bucket_trial import REFUSED, BucketTrial
from ...compiler.analysis.program.buckets import Buckets, name_of, written
from ...compiler.analysis.program.dependences import extern_name
from ...compiler.analysis.program.program_order import sequence
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Loss, Remarks
from ...compiler.ir.kernel import extern_arguments
from ...compiler.mlir import func, ir
from ..analysis_manager import AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, Numerics, PassError, hardware_of
from .collective_moves import has_symbolic_sizes, schedulable


@dataclass(frozen=True)
class BucketCollectives(AnalysisPass):
    """All-gathers, reduce-scatters or all-reduces of one group and element type start as one call.

    Before::

        %a = call @all_gather(%w) : (tensor<8xf32>) -> tensor<64xf32>
        %b = call @wait(%a, %w) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
        %c = call @first(%x, %b, %e0) : (..) -> tensor<8xf32>
        %d = call @all_gather_1(%v) : (tensor<16xf32>) -> tensor<128xf32>
        %e = call @wait_1(%d, %v) : (tensor<128xf32>, tensor<16xf32>) -> tensor<128xf32>

    After::

        %a:2 = call @all_gather_into_tensor_bucket(%w, %v)
            : (tensor<8xf32>, tensor<16xf32>) -> (tensor<64xf32>, tensor<128xf32>)
        %b = call @wait(%a#0, %w) : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
        %c = call @first(%x, %b, %e0) : (..) -> tensor<8xf32>
        %e = call @wait_1(%a#1, %v) : (tensor<128xf32>, tensor<16xf32>) -> tensor<128xf32>

    The call is torch's ``all_gather_into_tensor_coalesced`` or its like, which takes the latency of the links
    once and copies nothing.  A bucket takes in starts, in program order, while what a start costs, latency
    and the host's time, is more than ``share`` percent of its time by the model of
    ``compiler/cost/transfers.py``.  It is kept if the schedule of the whole program says so
    (``compiler/analysis/program/bucket_trial.py``): calls may wait no longer for it than the host saves; else
    its halves are tried.  The rest of the program keeps its order, except that what depends on a bucket comes
    behind it.

    Calls with one number ``fuse.bucket`` become one bucket, whatever the model says.

    Does not fire

    1. on a collective that depends on the wait for another of the bucket;
    2. on one that writes into its operand or into memory that is there, takes several tensors already, takes
       a token, reads a tensor with gaps, or is used by anything but waits.  So what torch's own passes have
       bucketed or ordered stays;
    3. where a size of ``@main`` is symbolic: hints may differ between the processes that run it;
    4. where the peak of memory would rise by more than ``memory`` percent;
    5. where calls would wait longer for a bucket than its starts cost one by one.

    Buckets may change the order of starts.  All processes of the group have to run the same graph, so the
    default pipeline leaves this pass out; the option ``collectives="bucket"`` puts it in.

    Remarks: ``passed: bucketed`` for each bucket; ``missed: symbolic-sizes``, ``missed: memory`` and
    ``missed: slower``, with how many collectives stay by themselves.  Raises PassError where memory is
    planned, and where calls with one ``fuse.bucket`` cannot start as one, for instance ``bucket-collectives:
    bucket 0 is over two groups: "0" and "1"``.
    """

    name: ClassVar[str] = "bucket-collectives"
    numerics: ClassVar[Numerics] = "reassociates"
    hardware: str = "generic"
    share: Count = 25
    memory: Count = 0

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        calls = schedulable(self.name, module, analyses)
        if calls is None:
            return
        program, deps = calls
        buckets = Buckets(module, deps, hardware)
        given = self._given(buckets)
        order, chosen = self._chosen(program, buckets, given, remarks)
        if order is None:
            first = deps.nodes[given[0][0]]
            raise PassError(
                f"{self.name}: a collective of a fuse.bucket depends on another of it", first.op.location
            )
        if not chosen:
            return
        program.arrange([deps.nodes[n].op for n in sequence(deps, order)])
        for bucket in chosen:
            first = deps.nodes[bucket[0]]
            remarks.add(
                self.name, "passed", "bucketed", "collectives start as one call", ops=(first.name,),
                locations=tuple(dict.fromkeys(deps.nodes[n].location for n in bucket)),
                collectives=len(bucket),
            )  # fmt: skip
            _start_as_one(program, [deps.nodes[n].op for n in bucket])
        program.erase_unused()

    def _given(self, buckets: Buckets) -> list[list[int]]:
        """The buckets that the module says.  Raises PassError where one holds what cannot start as one."""
        nodes, kinds = buckets.deps.nodes, buckets.kinds
        found = written(buckets.deps)
        for number, members in found.items():
            for n in members:
                here = f"{self.name}: bucket {number}", nodes[n].op.location
                if n not in kinds:
                    raise PassError(f"{here[0]} holds @{nodes[n].name}, which no bucket may hold", here[1])
                one, other = kinds[members[0]], kinds[n]
                if one.op == other.op and one.group != other.group:
                    raise PassError(f"{here[0]} is over two groups: {one.group} and {other.group}", here[1])
                if one != other:
                    raise PassError(
                        f"{here[0]} holds two kinds of collectives: {name_of(one)} of {one.element} and "
                        f"{name_of(other)} of {other.element}, or of other arguments", here[1],
                    )  # fmt: skip
        return [members for members in found.values() if len(members) > 1]

    def _chosen(
        self, program: Program, buckets: Buckets, given: list[list[int]], remarks: Remarks
    ) -> tuple[list[int] | None, list[list[int]]]:
        """An order of the nodes with a place, and the buckets in it; no order where the given buckets
        allow none."""
        order = buckets.order(given)
        if order is None or len(buckets.kinds) < 2:
            return order, given
        starts, deps = list(buckets.kinds), buckets.deps
        if has_symbolic_sizes(self.name, program, deps, starts, remarks, lambda: _loss(buckets, len(starts))):
            return order, given
        trial = BucketTrial(buckets, given, self.memory)
        for bucket in buckets.chosen(self.share, given):
            trial.add(bucket)
        first = buckets.deps.nodes[next(iter(buckets.kinds))]
        for rule, message in REFUSED.items():
            if rule in trial.refused:
                alone = trial.refused[rule]
                remarks.refused(
                    self.name, rule, message, _loss(buckets, 0 if rule == "slower" else alone),
                    ops=(first.name,), locations=(first.location,), collectives=alone,
                )  # fmt: skip
        return buckets.order(trial.accepted), trial.accepted


def _loss(buckets: Buckets, collectives: int) -> Loss:
    """Of so many collectives that start one by one; 0 where a schedule says that this is faster."""
    return Loss(0, round(buckets.saved(range(collectives)) * 1e6, 2) if collectives else 0.0)


def _start_as_one(program: Program, calls: Sequence[ir.Operation]) -> None:
    """Replaces calls that stand one behind the other by one, in the place of the last."""
    last, callee = calls[-1], program.callee(calls[0])
    operands = [call.operands[0] for call in calls]
    types = [call.results[0].type for call in calls]
    op = extern_name(callee)
    name = program.unique_name(f"{op.split('.')[1]}_bucket")
    with ir.InsertionPoint(callee), callee.location:
        type_ = ir.FunctionType.get([v.type for v in operands], types)
        made = func.FuncOp(name, type_, visibility="private").operation
    tensors = [ir.Attribute.parse(f"#fuse.arg<{n} : i64>") for n in range(len(calls))]
    attributes = {
        n: callee.attributes[n]
        for n in ("fuse.effect", "fuse.kwargs", "fuse.ranks")
        if n in callee.attributes
    }
    attributes["fuse.extern"] = ir.StringAttr.get(COALESCED[op])
    tail = extern_arguments(callee.attributes)[0][1:]
    attributes["fuse.args"] = ir.ArrayAttr.get([ir.ArrayAttr.get(tensors), *tail])
    for key, attribute in attributes.items():
        made.attributes[key] = attribute
    program.functions[name] = made
    if "fuse.bucket" in last.attributes:
        del last.attributes["fuse.bucket"]
    whole = program.recall(last, made, operands, types)
    for call, result in zip(calls, whole.results, strict=True):
        call.results[0].replace_all_uses_with(result)
    for call in calls:
        program.erase_call(call)
