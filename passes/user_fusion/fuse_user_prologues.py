"""``fuse-user-prologues``: computes a tensor where users' Triton kernels load it."""

from typing import ClassVar

from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.score import loss_of
from ...compiler.analysis.program.dependences import Node
from ...compiler.analysis.user_fusion.user_prologues import (
    Prologue,
    PrologueLoad,
    PrologueReader,
    PrologueRefusal,
    judged,
    prologues,
)
from ...compiler.analysis.user_kernel.integers import Integers
from ...compiler.analysis.user_kernel.maps import accesses
from ...compiler.base.dataclass import dataclass
from ...compiler.base.options import UserKernels
from ...compiler.base.remarks import Loss, Remarks
from ...compiler.codegen.tile_builder import TileBuilder, shape_of
from ...compiler.codegen.tile_ops import NoTileForm
from ...compiler.codegen.user_fusion.scalar_body import Place, ScalarBody
from ...compiler.cost.hardware import Hardware
from ...compiler.ir.kernel import Kernel, kernel_ties, string
from ...compiler.ir.layout import memory_element
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.names import listed
from ..base.program import Program
from ..base.results import drop_results
from ..pass_base import AnalysisPass, Numerics, hardware_of
from .configurations import fuse_alike
from .user_kernels import UsersKernel, has_users_kernels


@dataclass(frozen=True)
class FuseUserPrologues(AnalysisPass):
    """A user's Triton kernel that loads what a scalar kernel stores computes it in place of the load.

    Before::

        %h = call @add(%x, %y, %o)                      // h = x + y, at ["d0", "d1"]
        %n = call @rms_norm(%h, %w, %p)                 // a user's kernel
        ...
          %v = "tt.load"(%at, %mask, %other)            // element [p0, l0] of %h

    After::

        %n = call @fused_add_rms_norm(%w, %p, %x, %y)
        ...
          %a = "tt.load"(%at_x, %mask, %zero)
          %b = "tt.load"(%at_y, %mask, %zero)
          %s = arith.addf %a, %b
          %v = arith.select %mask, %s, %other

    The map of the load, the views between the kernels and the producer's store say at which point of the
    producer an element was computed.  Its inputs are loaded at the composed map.  The value is rounded to the
    element type of the tensor, as the store rounds it.  A lane whose mask is false gets the load's ``other``,
    and 0 where it has none, as Triton gives it.  All loads of the tensor are replaced.

    It fires where the estimate of the other fusions says that time is saved.  Saved are the store of the
    tensor and its loads, and the producer's launch and reads; where something else needs the tensor in
    memory, only the loads.  Paid are the loads of the inputs, and the operations, as often as the programs of
    the kernel load each element.

    Does not fire where a rule of ``compiler/analysis/user_fusion/user_prologues.py`` refuses: the kernel also
    writes to the tensor, or loads it through a descriptor or at elements that are not known; the producer
    reduces, asserts or draws random numbers; an input is overwritten before the user's kernel ends; the
    estimate is negative.

    Remarks: ``passed: fused`` with what it saves; ``missed`` with the name of the rule, and what
    it would save at most (``--sort=cost``).
    """

    name: ClassVar[str] = "fuse-user-prologues"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "precision"
    hardware: str = "generic"
    user_kernels: UserKernels = "fused"  #: apart: nothing is done

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if self.user_kernels == "fused" and has_users_kernels(module):
            fuse_alike(self.name, module, remarks, analyses, self._run)

    def _run(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware, program = hardware_of(self.hardware, self, module), analyses.get(Program)
        writers: dict[int, _Writer] = {}  #: by the place of the reader in the program
        graph = analyses.get(GroupGraph)
        for found in list(prologues(graph)):
            for node, rule in found.refused:
                self._missed(found, node, rule, remarks, hardware)
            refusal = judged(found, hardware) if found.readers else None
            for reader in found.readers:
                why = refusal
                if why is None:
                    if reader.node.index not in writers:
                        writers[reader.node.index] = _Writer(program, reader)
                    why = writers[reader.node.index].write(found, reader)
                if why is not None:
                    self._missed(found, reader.node, why, remarks, hardware)
                    continue
                gain = found.gain()
                remarks.add(
                    self.name,
                    "passed",
                    "fused",
                    f"{reader.node.name} computes the result of {found.producer.name} where it loads it",
                    ops=(found.producer.name, reader.node.name),
                    locations=(found.producer.location, reader.node.location),
                    saved_bytes=gain.saved_bytes,
                    slots=gain.slots,
                    saved_us=round(gain.microseconds(hardware), 2),
                )
        for index in sorted(writers, reverse=True):  # a call may take the results of those before it
            writers[index].finish()
        for call in {made.op for writer in writers.values() for made in writer.producers}:
            _drop_unused(program, call)
        program.erase_unused()

    def _missed(
        self, found: Prologue, node: Node, refusal: PrologueRefusal, remarks: Remarks, hardware: Hardware
    ) -> None:
        remarks.refused(
            self.name,
            refusal.rule,
            f"{found.producer.name} and {node.name} stay apart: {refusal.message}",
            _loss(found, refusal, hardware),
            ops=(found.producer.name, node.name),
            locations=(found.producer.location, node.location),
            **refusal.numbers,
        )


def _loss(found: Prologue, refusal: PrologueRefusal, hardware: Hardware) -> Loss:
    """The tensor is loaded, and stored and computed by a launch of its own where no one else reads it."""
    if refusal.rule == "slower":
        return Loss(max(0, int(refusal.numbers["saved_bytes"])), 0.0)
    graph, value = found.graph, found.producer.results[found.result]
    alone = len([u for u in graph.deps.users[value] if graph.deps.nodes[u].kind != "fuse.after"]) == 1
    return loss_of(graph.bytes_of(value) * (1 + alone), hardware, int(alone))


def _drop_unused(program: Program, call: ir.Operation) -> None:
    """Removes the results of a producer that nothing reads any more, and its call where none is left."""
    for result in call.results:
        _erase_views(result)
    live = [bool(list(result.uses)) for result in call.results]
    if all(live):
        return
    kernel = program.callee(call)
    empties = [call.operands[tie].owner.operation for tie in kernel_ties(kernel)]
    if any(live):
        drop_results(program, call, kernel, live)
    else:
        program.erase_call(call)
    for empty in empties:
        if not list(empty.results[0].uses):
            empty.erase()


def _erase_views(value: ir.Value) -> None:
    for op in [use.owner.operation for use in value.uses]:
        if op.name == "fuse.view":
            _erase_views(op.results[0])
            if not list(op.results[0].uses):
                op.erase()


class _Writer:
    """Writes producers into the kernel of one call.  Loads are replaced in the end, as addresses of other
    loads may be made of their values.
    """

    def __init__(self, program: Program, reader: PrologueReader) -> None:
        before = _operations(reader.node.callee)
        call = reader.node.op
        self.kernel = UsersKernel(program, call, program.own(call, program.callee(call)))
        after = _operations(self.kernel.kernel)
        self._ops = dict(
            zip(before, after, strict=True)
        )  #: where other calls keep the function, a copy of it
        self._integers: Integers = accesses(self.kernel.kernel).integers
        self._values: dict[ir.Operation, ir.Value] = {}
        self.producers: list[Node] = []

    def write(self, found: Prologue, reader: PrologueReader) -> PrologueRefusal | None:
        """Computes the tensor at each load; nothing uses the values yet.  Returns why it cannot."""
        made = {}
        there = set(_operations(self.kernel.kernel))
        try:
            for load in reader.loads:
                made[self._ops[load.op]] = self._emitted(found, load)
        except NoTileForm:
            for op in reversed(_operations(self.kernel.kernel)):
                if op not in there:
                    op.erase()
            return PrologueRefusal("no-form")
        self._values.update(made)
        self.producers.append(found.producer)
        return None

    def finish(self) -> None:
        """Replaces the loads, and the call."""
        for load, value in self._values.items():
            load.results[0].replace_all_uses_with(value)
            load.erase()
        nodes = list({node.index: node for node in self.producers}.values())
        call, own = self.kernel.call, string(self.kernel.kernel.attributes["sym_name"])
        name = f"fused{listed([*(node.name for node in nodes), own])}" if nodes else ""
        self.kernel.finish(call.results, name, [*(node.op.location for node in nodes), call.location])

    def _emitted(self, found: Prologue, load: PrologueLoad) -> ir.Value:
        """The value of a load, computed in front of it."""
        op, producer = self._ops[load.op], found.kernel
        bases, others = {}, {}
        names = {n: name for name, n in producer.symbols.items()}
        for n, argument in enumerate(producer.arguments):
            value = found.producer.op.operands[n]
            if n in names:
                others[argument] = self.kernel.size(names[n])
            elif n in found.loaded:
                bases[n] = self.kernel.base(value, _pointer(producer, n))
            elif not isinstance(argument.type, ir.RankedTensorType):  # a number, or a token
                others[argument] = self.kernel.argument(value)
        mask, other = _masked(op)
        with ir.InsertionPoint(op), op.location:
            place = Place(load.at, self._integers, load.point, bases, self.kernel.sizes(), others, mask)
            value = ScalarBody(producer, place, {}).emit(found.body)[found.store]
            builder = TileBuilder()
            shape = shape_of(op.results[0])
            value = builder.to(value, shape)
            if mask is None:
                return value
            return builder.select(mask, value, builder.fill(0, value) if other is None else other)


def _operations(parent: ir.Operation | None) -> list[ir.Operation]:
    """All operations inside ``parent``, those around others first."""
    assert parent is not None
    found: list[ir.Operation] = []
    for region in parent.regions:
        for block in region.blocks:
            for op in block.operations:
                found.append(op.operation)
                if len(op.operation.regions):
                    found += _operations(op.operation)
    return found


def _masked(load: ir.Operation) -> tuple[ir.Value | None, ir.Value | None]:
    """The mask of a ``tt.load``, and what it gives where that is false."""
    _, masks, others = list(ir.DenseI32ArrayAttr(load.attributes["operandSegmentSizes"]))
    operands = list(load.operands)
    return operands[1] if masks else None, operands[1 + masks] if others else None


def _pointer(kernel: Kernel, argument: int) -> ir.Type:
    return ir.Type.parse(f"!tt.ptr<{memory_element(kernel.spec(argument).element)}>")
