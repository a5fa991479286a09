"""``launch-early``: around products of few rows, launches begin while the one before them ends."""

from typing import ClassVar

from ...compiler.analysis.cost.traffic import ATTRIBUTE, Traffic
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.codegen.nvidia import EARLY_CONSTRAINTS, EARLY_TEXT, LAUNCHING_TEXT, WAITING_TEXT
from ...compiler.codegen.tile_builder import TileBuilder
from ...compiler.ir.choices import choices_of
from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import is_kernel, is_tiled, is_users, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.tile import Tile
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, hardware_of

#: Bytes of a weight below which its product takes a launch, not memory's time.
_LEAST_WEIGHT = 1 << 20


@dataclass(frozen=True)
class LaunchEarly(AnalysisPass):
    """Programs of a product of few rows, and of the kernels beside it, are launched while the launch before
    them ends, and wait for it before anything else.

    Before (a norm, then a product)::

        func.func private @norm(..) attributes {fuse.grid = ["1"], ..} {
          %0 = "tt.load"(..) ..

    After::

        func.func private @norm(..) attributes {fuse.grid = ["1"], ..} {
          "tt.elementwise_inline_asm"(%none)
              {asm_string = "griddepcontrol.launch_dependents; griddepcontrol.wait; .. // launched early", ..}
          %0 = "tt.load"(..) ..

    The first instruction lets the next launch begin once all programs of this one have begun.  The second
    waits until the launch before is complete, and what it wrote can be read.  Since a launch that waits is
    complete only behind the one before it, nothing else has to be known of the launches further back, nor of
    those that follow.  What launches a kernel reads in its PTX that it waits (``runtime/gpu/launcher.py``),
    and tells the driver that it may begin early.  Launched in another way, it waits for nothing.

    Where a tile loads ``ahead``, the next launch is let begin behind each of these loads instead, which keeps
    them in their order: ptxas moves none across this instruction.  So it is in kernels that wait for nothing,
    too.

    What is saved is the time from the end of a launch to the beginning of the next.  It is a large part of
    the time where products of few rows follow each other, each of which reads its weights in a few
    microseconds.

    Does not fire on GPUs without bulk copies (before Hopper), which have no such launches, on users' kernels,
    nor on kernels that are not beside a product of few rows.  Such a product is a kernel that sums without
    tensor cores, and most of its bytes are of arguments of ``@main`` that it reads whole, 1 MiB at least of
    each.

    Remarks: ``passed: early``, with the number of kernels.  Raises PassError on an unknown ``hardware``.
    """

    name: ClassVar[str] = "launch-early"
    hardware: str = "generic"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        if not hardware.descriptors:
            return
        program = analyses.get(Program)
        calls = [(call, program.callee(call)) for call in program.calls()]
        products = [_multiplies_few_rows(call, callee) for call, callee in calls]
        near, tiled = dict[str, ir.Operation](), dict[str, ir.Operation]()
        for number, (_, callee) in enumerate(calls):
            if is_kernel(callee) and is_tiled(callee) and not is_users(callee):
                name = string(callee.attributes["sym_name"])
                tiled[name] = callee
                if any(products[max(number - 1, 0) : number + 2]):
                    near[name] = callee
        for name, kernel in tiled.items():
            _begin(kernel, name in near)
        if near:
            remarks.add(
                self.name, "passed", "early", "kernels beside products of few rows are launched early",
                ops=tuple(near), locations=tuple(str(k.location) for k in near.values()), kernels=len(near),
            )  # fmt: skip


def _multiplies_few_rows(call: ir.Operation, callee: ir.Operation) -> bool:
    """Whether a call is a product that takes the time in which its weights are read."""
    if ATTRIBUTE not in callee.attributes or not any(c.rule == "kernel" for c in choices_of(call)):
        return False
    traffic = Traffic.of_attribute(callee.attributes[ATTRIBUTE])
    weights = sum(
        size
        for number, value in enumerate(call.operands)
        if isinstance(value, ir.BlockArgument)
        and _LEAST_WEIGHT <= (size := _bytes(value)) <= traffic.reads[number]
    )
    return not traffic.flops and 2 * weights > sum(traffic.reads) + sum(traffic.writes)


def _bytes(value: ir.Value) -> int:
    """Of a tensor of static sizes; 0 of any other value."""
    if not isinstance(value.type, ir.RankedTensorType):
        return 0
    spec = TensorSpec.of(value.type)
    return (spec.numel.constant or 0) * spec.element_bytes


def _begin(kernel: ir.Operation, waits: bool) -> None:
    """Lets a kernel wait at its beginning, if it ``waits``, and let the next launch begin: there, or behind
    the loads that its tile has in front of all that is reduced.
    """
    block = kernel.regions[0].blocks[0]
    ahead = "fuse.tile" in kernel.attributes and Tile.of(kernel.attributes["fuse.tile"]).ahead
    with kernel.location:
        if waits:
            _say(WAITING_TEXT if ahead else EARLY_TEXT, ir.InsertionPoint.at_block_begin(block))
        for load in _ahead(block) if ahead else ():
            _say(LAUNCHING_TEXT, ir.InsertionPoint.after(load))


def _ahead(block: ir.Block) -> list[ir.Operation]:
    """Of a block, and of each inside of it, the loads in front of the first reduction."""
    found = list[ir.Operation]()
    for op in block.operations:
        if isinstance(op, tt.Reduce):
            return found
        if isinstance(op, tt.Load):
            found.append(op.operation)
        for region in op.regions:
            for inner in region.blocks:
                found += _ahead(inner)
    return found


def _say(text: str, here: ir.InsertionPoint) -> None:
    builder = TileBuilder()
    with here:
        tt.ElementwiseInlineAsm(
            [builder.constant(0, "i32")],
            asm_string=ir.StringAttr.get(text),
            constraints=ir.StringAttr.get(EARLY_CONSTRAINTS),
            packed_element=builder.attribute(1),
            pure=ir.BoolAttr.get(False),
            result=ir.IntegerType.get_signless(32),
        )
