"""``write-in-place``: a result goes where an operand lies that nobody needs any more."""

from dataclasses import field
from typing import ClassVar

from ...compiler.analysis.kernel.in_place import REFUSALS, why_not_in_place
from ...compiler.analysis.program.lifetimes import storage_bytes
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Facts, const, offset, simplify, sym
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, argument_attributes, kernel_ties, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import Storage
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.kernels import kernel_body, result_types, set_signature
from ..base.new_ops import static_view
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, remark_on
from ..products.library_products import argument_of, declare
from .partial_writes import copy_in


@dataclass(frozen=True)
class WriteInPlace(AnalysisPass):
    """A kernel that reads each element of a tensor for the last time where it writes the element at the same
    place of a fresh tensor writes into the old tensor.

    Before::

        %m = call @mm(%a, %b)                                       // nothing else reads %m
        %o = "fuse.empty"() {syms = []} : () -> tensor<8x4x64xf32>
        %y = call @gelu(%m, %o) : (.., ..) -> tensor<8x4x64xf32>    // fuse.ties = array<i64: 1>

    After::

        %m = call @mm(%a, %b)
        %z = call @gelu_1(%m) : (..) -> tensor<32x64xf32>           // fuse.ties = array<i64: 0>
        %y = "fuse.view"(%z) {map = ["v0*4 + v1", "v2"], syms = []} : (..) -> tensor<8x4x64xf32>

    One tensor is then alive in place of two, and what is written is in the cache already.  A kernel that only
    copies the old tensor, in front of an update of the copy, is gone.  The kernel may reduce: it reads a row,
    and then writes it.  Whether a result may lie where an operand lies is said by the rules of
    ``compiler/analysis/kernel/in_place.py``.

    An argument with ``fuse.donated``, which autograd saved, is first taken over: ``%t = call @take_over(%a)``
    gives its tensor where nothing else owns the memory at that time, else a copy.

    Does not fire on a tensor that something reads later, through any view; on other arguments of
    ``@main``, which the caller owns; on a tensor that is another operand of the call, too; on another
    element type, device or number of elements; on destinations that other calls write to; nor below
    ``min_bytes``, but for a kernel that only copies: each update in place orders two launches, which
    small tensors do not repay.

    Remarks: ``passed: in-place``, or ``missed`` with the rule that refuses: ``written-apart``, ``gather``,
    ``other-map``, ``other-points``, ``independent``.
    """

    name: ClassVar[str] = "write-in-place"
    min_bytes: Count = 1 << 20

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        calls = program.kernel_calls()
        storage = _Storage.of(program)
        chosen = [(call, kernel, self._pairs(storage, call, kernel, remarks)) for call, kernel in calls]
        made: dict[tuple[str, tuple[tuple[int, int], ...]], ir.Operation] = {}
        for call, kernel, pairs in chosen:
            if pairs:
                key = (_name(kernel), tuple(pairs.items()))
                if key not in made:
                    made[key] = _in_place(program, kernel, pairs)
                _replace(program, call, kernel_ties(kernel), made[key], pairs)
        for argument in storage.taken:
            _take_over(program, argument)
        for call, kernel in program.kernel_calls() if made else ():
            if kernel in made.values() and _changes_nothing(kernel):
                call.results[0].replace_all_uses_with(call.operands[0])
                program.erase_call(call)
        program.erase_unused()

    def _pairs(
        self, storage: "_Storage", call: ir.Operation, kernel: ir.Operation, remarks: Remarks
    ) -> dict[int, int]:
        """Result number -> number of the operand that it is written over."""
        summary: Kernel | None = None
        pairs: dict[int, int] = {}
        least = self.min_bytes if copy_in(kernel) is None else 0
        for result, tie in enumerate(kernel_ties(kernel)):
            for operand in storage.candidates(call, tie, least):
                if operand in pairs.values():
                    continue
                summary = summary or Kernel.of(kernel)
                if all(load.argument != operand for load in summary.loads):
                    continue  # it is written to, or nothing is read of it: there is no place to keep
                rule = why_not_in_place(summary, operand, result)
                numbers = {"operand": operand, "result": result, "bytes": storage.bytes(call.operands[tie])}
                text = "written over what it reads" if rule is None else REFUSALS[rule]
                kind = "passed" if rule is None else "missed"
                remark_on(call, remarks, self.name, kind, rule or "in-place", text, **numbers)
                if rule is None:
                    pairs[result] = operand
                    storage.join(call.operands[tie], call.operands[operand])
                    break
        return pairs


@dataclass
class _Storage:
    """The storage behind every tensor of ``@main`` and where it is used last, as decisions are made.

    Values stay what they are meanwhile: ``over`` says which root goes over which other.  ``donated``:
    arguments that may be written over.  ``taken``: those that are.
    """

    storage: Storage
    last: dict[ir.Value, int]
    position: dict[ir.Operation, int]
    arguments: frozenset[ir.Value]
    hints: dict[str, int]
    donated: frozenset[ir.Value] = frozenset()
    over: dict[ir.Value, ir.Value] = field(default_factory=dict)
    taken: dict[ir.Value, None] = field(default_factory=dict)

    @staticmethod
    def of(program: Program) -> "_Storage":
        storage = Storage(program.main, program.module)
        ops = [op.operation for op in program.block.operations]
        last: dict[ir.Value, int] = {}
        for position, op in enumerate(ops):
            if op.name not in ("fuse.view", "fuse.after"):
                last.update((storage.root(value), position) for value in op.operands)
        position_of = {op: position for position, op in enumerate(ops)}
        named = zip(program.block.arguments, argument_attributes(program.main), strict=True)
        donated = frozenset(value for value, attributes in named if "fuse.donated" in attributes)
        arguments = frozenset(program.block.arguments) - donated
        return _Storage(storage, last, position_of, arguments, hints_of(program.main), donated)

    def root(self, value: ir.Value) -> ir.Value:
        root = self.storage.root(value)
        while root in self.over:
            root = self.over[root]
        return root

    def bytes(self, value: ir.Value) -> int:
        return storage_bytes(self.storage.root(value), self.hints)

    def candidates(self, call: ir.Operation, tie: int, min_bytes: int) -> list[int]:
        """The operands of a call that its destination, operand ``tie``, may lie in, as far as the rest of
        ``@main`` is concerned: those of the same type first.
        """
        destination = call.operands[tie]
        if not self._is_fresh(destination) or self.bytes(destination) < min_bytes:
            return []
        roots = [self.root(v) for v in call.operands if isinstance(v.type, ir.RankedTensorType)]
        wanted = TensorSpec.of(destination.type)
        found = []
        for number, value in enumerate(call.operands):
            if not isinstance(value.type, ir.RankedTensorType) or number == tie:
                continue
            root = self.root(value)
            dies = root not in self.arguments and self.last[root] == self.position[call]
            if not dies or roots.count(root) > 1:
                continue
            spec, whole = TensorSpec.of(value.type), TensorSpec.of(root.type)
            alike = (spec.element, spec.device) == (wanted.element, wanted.device)
            known = value.type == destination.type or (spec.is_static and wanted.is_static)
            if alike and known and whole.storage_elements == wanted.storage_elements:
                found.append(number)
        return sorted(found, key=lambda number: call.operands[number].type != destination.type)

    def _is_fresh(self, value: ir.Value) -> bool:
        """Whether a destination is storage that one call takes whole."""
        owner = value.owner
        return (
            not isinstance(owner, ir.Block)
            and isinstance(owner, fuse.Empty)
            and sum(not isinstance(use.owner, fuse.After) for use in value.uses) == 1
        )

    def join(self, destination: ir.Value, source: ir.Value) -> None:
        """Puts a destination over a tensor that dies."""
        old, root = self.storage.root(destination), self.root(source)
        if root in self.donated:
            self.taken[root] = None
        self.over[old] = root
        self.last[root] = max(self.last[root], self.last[old])


def _take_over(program: Program, argument: ir.Value) -> None:
    """All of ``@main`` reads and writes what ``fuse.take_over`` gives for an argument."""
    name = "take_over"
    if name not in program.functions or argument.type != _first_input(program.functions[name]):
        types = [argument.type], argument.type
        declared = declare(program, program.main, name, "fuse.take_over", types, [argument_of(0)], {})
        name = _name(declared)
    call = ir.Operation.create(
        "func.call", [argument.type], [argument], {"callee": ir.FlatSymbolRefAttr.get(name)},
        loc=argument.location, ip=ir.InsertionPoint.at_block_begin(program.block),
    )  # fmt: skip
    program.callers[name] = program.callers.get(name, 0) + 1
    argument.replace_all_uses_except(call.results[0], call)


def _first_input(function: ir.Operation) -> ir.Type:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs[0]


def _in_place(program: Program, kernel: ir.Operation, pairs: dict[int, int]) -> ir.Operation:
    """A copy of a kernel that stores results over arguments that it loads, behind all loads, and has no
    destinations for them.
    """
    new = program.copy(kernel)
    block = new.regions[0].blocks[0]
    *body, end = kernel_body(new)
    types, ties = result_types(new), list(kernel_ties(new))
    values = list(end.operands)
    loads = {op.operands[0]: op for op in reversed(body) if isinstance(op, fuse.Load)}
    for result, argument in pairs.items():
        old = values[result].owner.operation
        over = block.arguments[argument]
        store = ir.Operation.create(
            "fuse.store",
            [over.type],
            [over, *list(old.operands)[1:]],
            {"at": loads[over].attributes["at"], "mode": old.attributes["mode"]},
            loc=old.location,
            ip=ir.InsertionPoint(end),
        )
        values[result], types[result] = store.results[0], over.type
    ir.Operation.create("func.return", [], values, loc=end.location, ip=ir.InsertionPoint(end))
    replaced = [v.owner.operation for v in end.operands]
    end.erase()
    for result in pairs:
        replaced[result].erase()
    gone = sorted((ties[result] for result in pairs), reverse=True)
    attributes = argument_attributes(new)
    for number in gone:
        block.erase_argument(number)
        del attributes[number]
    tied = [pairs.get(result, tie) for result, tie in enumerate(ties)]
    tied = [tie - sum(number < tie for number in gone) for tie in tied]
    new.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get(tied)
    set_signature(new, types, attributes)
    return new


def _changes_nothing(kernel: ir.Operation) -> bool:
    """Whether a kernel of one argument stores each element that it loads where it lies."""
    copied = copy_in(kernel)
    if copied is None or len(kernel.regions[0].blocks[0].arguments) != 1:
        return False
    load, store = copied
    return load.operands[0] == store.operands[0] and load.attributes["at"] == store.attributes["at"]


def _replace(
    program: Program, call: ir.Operation, ties: tuple[int, ...], kernel: ir.Operation, pairs: dict[int, int]
) -> None:
    """Calls ``kernel`` instead; readers of a result whose type has changed read a view of it."""
    gone = {ties[result] for result in pairs}
    operands = [v for number, v in enumerate(call.operands) if number not in gone]
    destinations = [call.operands[number].owner.operation for number in sorted(gone)]
    new = program.recall(call, kernel, operands, result_types(kernel))
    for old, made in zip(call.results, new.results, strict=True):
        old.replace_all_uses_with(made if old.type == made.type else _view(made, old.type, call))
    program.erase_call(call)
    for empty in destinations:
        for use in list(empty.results[0].uses):  # a time: it is the same for what is written over
            use.owner.operation.operands[0] = new.results[0]
        empty.erase()


def _view(value: ir.Value, type_: ir.Type, call: ir.Operation) -> ir.Value:
    """The same storage as another static type: the element at each place is found by its address."""
    source, wanted = TensorSpec.of(value.type), TensorSpec.of(type_)
    names = [sym(f"v{number}") for number in range(len(wanted.sizes))]
    facts = Facts.of(extents={f"v{number}": str(size) for number, size in enumerate(wanted.sizes)})
    place = offset(names, wanted.strides, wanted.offset - source.offset, facts)
    coords = [
        const(0) if size.constant == 1 else simplify(place.floordiv(stride).mod(size), facts)
        for size, stride in zip(source.sizes, source.strides, strict=True)
    ]
    with ir.InsertionPoint(call), call.location:
        return static_view(value, type_, coords)


def _name(function: ir.Operation) -> str:
    return string(function.attributes["sym_name"])
