"""``store-reductions``: of normalised rows the reductions are stored, and readers compute the rest."""

from typing import ClassVar

from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import argument_attributes, kernel_ties
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body, result_types, set_signature
from ..base.new_ops import load, static_empty, store
from ..base.program import Program
from ..base.results import drop_results
from ..pass_base import AnalysisPass, hardware_of
from .fusing import groups_of, measurements_of
from .recomputing import measured_apart, merge_pairs
from .reduced_rows import ReducedRows, RowUses, StoredValue, stored_value


@dataclass(frozen=True)
class StoreReductions(AnalysisPass):
    """A tensor that a kernel computes of its inputs and of reductions of them is not stored where its readers
    can compute it of the same inputs and of the reductions, which are stored instead.

    Before::

        %p = call @log_softmax(%x, %o)                 // x - max - log(sum): as many elements as %x
        %a = call @looked_up(%p, %labels, %q)
        %b = call @looked_up(%p, %paths, %r)

    After (``materialize-fusion`` makes one kernel of each group)::

        %m, %s = call @log_softmax_1(%x, %o0, %o1)     // the maximum and the sum of each row
        %p0 = call @log_softmax_2(%x, %m, %s, %o2) {fuse.group = 0 : i64}
        %a = call @looked_up(%p0, %labels, %q) {fuse.group = 0 : i64}
        %p1 = call @log_softmax_2(%x, %m, %s, %o3) {fuse.group = 1 : i64}
        %b = call @looked_up(%p1, %paths, %r) {fuse.group = 1 : i64}

    It fires where the estimate says that time is saved.  Saved are the store of the tensor and the reads of
    it, each of as many elements as the reader loads.  Paid are the reads of the inputs, but for those that
    the reader reads anyway, the reductions' store, and the operations that run more often.

    Runs in front of ``recompute-producers``, which takes what needs no reduction.  Does not fire where
    something needs the tensor in memory: a torch op, the caller, a reader that no rule lets compute it; where
    the reductions take more than an eighth of its bytes; where it needs a scan, random numbers or a look-up;
    where something later overwrites an input; where inputs would live longer by more than the tensor takes;
    with symbolic sizes; nor where ``fusions`` says that the kernel and a reader are better apart.

    Remarks: ``passed: stored``, with the bytes and microseconds saved.  Raises PassError on a table that
    cannot be read.
    """

    name: ClassVar[str] = "store-reductions"
    preserves: ClassVar[Analyses] = (Program, GroupGraph)
    hardware: str = "generic"
    fusions: str = ""

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        limits = Limits.of(hardware)
        graph = groups_of(analyses)
        apart = measured_apart(graph, measurements_of(self.name, self.fusions, module))
        gains = {r: r.gain(hardware) for r in RowUses(graph).rows() if not apart(r.producer, r.readers)}
        found = sorted((rows for rows, gain in gains.items() if gain > 0), key=lambda r: -gains[r])
        chosen: dict[int, ReducedRows] = {}
        for rows in found:  # one tensor of a kernel, and no kernel that reads another one's
            reading = {reader for other in chosen.values() for reader in other.readers}
            if rows.producer not in chosen.keys() | reading and not chosen.keys() & rows.readers:
                chosen[rows.producer] = rows
        if not chosen:
            return
        program = analyses.get(Program)
        trials = [_Trial.make(program, graph, rows) for rows in chosen.values()]
        judged = GroupGraph.of(module)  # the one of the analysis manager knows nothing of the copies
        node_of = {node.op: node.index for node in judged.deps.nodes}
        kept: list[_Trial] = []
        for trial in trials:
            pairs = [(node_of[call], node_of[reader]) for call, reader in trial.copies]
            if merge_pairs(judged, pairs, limits):
                kept.append(trial)
                trial.rows.report(self.name, remarks, hardware)
        judged.assign()
        for trial in trials:
            (trial.keep if trial in kept else trial.undo)(program)
        program.erase_unused()
        analyses.put(GroupGraph.of(module))


@dataclass(frozen=True, eq=False)
class _Trial:
    """Both forms of a tensor in ``@main``: ``call``, which stores it, and ``instead``, which stores the
    reductions, with a call of the rest for each reader: ``copies``, calls and readers.
    """

    rows: ReducedRows
    call: ir.Operation
    instead: ir.Operation
    copies: tuple[tuple[ir.Operation, ir.Operation], ...]

    @staticmethod
    def make(program: Program, graph: GroupGraph, rows: ReducedRows) -> "_Trial":
        call, kernel = graph.deps.nodes[rows.producer].op, rows.kernel
        like = TensorSpec.of(call.results[rows.result].type)
        buffers = [stored_value(kernel, value, like) for value in rows.reductions]
        storing = _storing(program, rows, buffers)
        with ir.InsertionPoint(call), call.location:
            empties = [static_empty(buffer.spec.type()) for buffer in buffers]
        instead = program.recall(call, storing, [*call.operands, *empties], result_types(storing))
        stored = list(instead.results)[len(call.results) :]
        rest = _rest(program, rows, buffers)
        live = [number == rows.result for number in range(len(call.results))]
        value, tie = call.results[rows.result], kernel_ties(kernel.func)[rows.result]
        calls = []
        for node in sorted(rows.readers):  # all of one kernel, before any of them gives fewer results
            reader = graph.deps.nodes[node].op
            operands = [*call.operands, *stored]
            empty = defining_op(operands[tie], fuse.Empty)
            assert empty is not None, "a fresh tensor"
            operands[tie] = empty.clone(ir.InsertionPoint(reader)).results[0]
            copy = program.recall(call, rest, operands, result_types(rest))
            copy.move_before(reader)
            calls.append((copy, reader))
        copies = []
        for made, reader in calls:
            copy = drop_results(program, made, rest, live, asserts=False)
            _read(reader, value, copy.results[0])
            copies.append((copy, reader))
        return _Trial(rows, call, instead, tuple(copies))

    def keep(self, program: Program) -> None:
        """The reductions are stored, and the tensor is not."""
        count = len(self.call.results)
        for old, new in zip(self.call.results, list(self.instead.results)[:count], strict=True):
            old.replace_all_uses_with(new)
        program.erase_call(self.call)
        live = [number != self.rows.result for number in range(len(self.instead.results))]
        drop_results(program, self.instead, program.callee(self.instead), live)

    def undo(self, program: Program) -> None:
        """The tensor is stored, as before."""
        for copy, reader in self.copies:
            [tie] = kernel_ties(program.callee(copy))
            empty = copy.operands[tie].owner.operation
            _read(reader, copy.results[0], self.call.results[self.rows.result])
            program.erase_call(copy)
            empty.erase()
        added = [v.owner.operation for v in list(self.instead.operands)[len(self.call.operands) :]]
        program.erase_call(self.instead)
        for empty in added:
            empty.erase()


def _read(reader: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    for number, operand in enumerate(reader.operands):
        if operand == old:
            reader.operands[number] = new


def _storing(program: Program, rows: ReducedRows, buffers: list[StoredValue]) -> ir.Operation:
    """A copy of the kernel that stores the reductions as well."""
    new, attributes = program.copy(rows.kernel.func), argument_attributes(rows.kernel.func)
    body, types, ties = kernel_body(new), result_types(new), list(kernel_ties(new))
    *_, end = body
    returned = list(end.operands)
    for value, buffer in zip(_copied(rows, body), buffers, strict=True):
        argument = new.regions[0].blocks[0].add_argument(buffer.spec.type(), new.location)
        with ir.InsertionPoint(end), value.owner.operation.location:
            returned.append(store(argument, value, buffer.dims))
        types.append(argument.type)
        ties.append(len(attributes))
        attributes.append({})
    ir.Operation.create("func.return", [], returned, loc=end.location, ip=ir.InsertionPoint(end))
    end.erase()
    new.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get(ties)
    set_signature(new, types, attributes)
    return new


def _rest(program: Program, rows: ReducedRows, buffers: list[StoredValue]) -> ir.Operation:
    """A copy of the kernel that loads the reductions."""
    new, attributes = program.copy(rows.kernel.func), argument_attributes(rows.kernel.func)
    for value, buffer in zip(_copied(rows, kernel_body(new)), buffers, strict=True):
        argument = new.regions[0].blocks[0].add_argument(buffer.spec.type(), new.location)
        attributes.append({})
        fold = value.owner.operation
        with ir.InsertionPoint(fold), fold.location:
            value.replace_all_uses_with(load(argument, value.type, buffer.dims))
    set_signature(new, result_types(new), attributes)
    return new


def _copied(rows: ReducedRows, body: list[ir.Operation]) -> list[ir.Value]:
    """The reductions' values in a copy of the kernel's body."""
    original = {op: number for number, op in enumerate(kernel_body(rows.kernel.func))}
    return [
        body[original[value.owner.operation]].results[ir.OpResult(value).result_number]
        for value in rows.reductions
    ]
