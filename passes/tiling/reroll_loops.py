"""``reroll-loops``: the steps of a recurrence that a program spells out become a loop in the kernel."""

from typing import ClassVar

from ...compiler.analysis.cost.traffic import ATTRIBUTE, Traffic
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.codegen.reroll.copies import Copies, copies_of
from ...compiler.codegen.reroll.loop import StepLoop, held_registers
from ...compiler.codegen.reroll.order import Ordered
from ...compiler.cost.clock import microseconds
from ...compiler.cost.hardware import Hardware
from ...compiler.cost.work import Work
from ...compiler.ir.kernel import is_kernel, is_tiled, is_users, string
from ...compiler.ir.tile import Tile
from ...compiler.mlir import ir
from ..pass_base import Count, Pass, PassError, hardware_of


@dataclass(frozen=True)
class RerollLoops(Pass):
    """Copies of one body in straight-line tile code, each of which takes values of the one before, become one
    loop, which carries these values in registers.

    Before, of ``h = a[t] * h + x[t]`` for 64 steps (two are shown)::

        %p1 = "tt.addptr"(%p, %c1024) : (tensor<128x!tt.ptr<f32>>, tensor<128xi32>) -> ..
        %x1 = "tt.load"(%p1) : (tensor<128x!tt.ptr<f32>>) -> tensor<128xf32>
        %m1 = arith.mulf %a1, %h0 : tensor<128xf32>
        %h1 = arith.addf %m1, %x1 : tensor<128xf32>
        "tt.store"(%o1, %h1) : (tensor<128x!tt.ptr<f32>>, tensor<128xf32>) -> ()
        %p2 = "tt.addptr"(%p, %c2048) : (tensor<128x!tt.ptr<f32>>, tensor<128xi32>) -> ..
        %x2 = "tt.load"(%p2) : (tensor<128x!tt.ptr<f32>>) -> tensor<128xf32>
        ...

    After, of one copy to an iteration::

        %last:3 = scf.for %t = %c0 to %c62 step %c1 iter_args(%h = %h0, %a = %a1, %x = %x1) {
          ... a and x of the next copy are loaded, at c1024 * t + ..
          %m = arith.mulf %a, %h : tensor<128xf32>
          %n = arith.addf %m, %x : tensor<128xf32>
          "tt.store"(%o, %n) : (tensor<128x!tt.ptr<f32>>, tensor<128xf32>) -> ()
          scf.yield %n, %next_a, %next_x
        }

    A program runs straight-line code once, so that it waits for each line of its instructions; and Triton's
    time grows with them.  An iteration computes ``unrolled`` copies, fewer where their loads take more than
    ``registers`` of a thread, and loads for the next iteration what no state has a part in.  Copies that are
    left over stand in front of the loop, as do the first ones, where they differ: a state that is zero.

    Ops may differ between copies in integers that grow evenly: offsets.  Everything takes the order of the
    stores: what the first store needs, then what the second needs beyond it.

    Fires where the copies have at least ``least_ops`` ops.  Does not fire on a kernel whose bytes take
    ``unrolled`` times as long as its operations (``StreamingRates``): straight-line code has more loads under
    way.  Nor on copies that do not take a value of the one before, as the points of a strip; on a kernel that
    loads what it stores, asserts, or adds in memory; nor where ops behind the copies take values of many of
    them.  It leaves users' kernels alone.

    Remarks: ``passed: rerolled``; ``missed: kept``, with what keeps the copies as they are.

    Raises PassError: ``reroll-loops: kernel @k has no fuse.tile``.
    """

    name: ClassVar[str] = "reroll-loops"
    hardware: str = "generic"
    least_ops: Count = 512
    unrolled: Count = 4
    registers: Count = 32

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        hardware = hardware_of(self.hardware, self, module)
        for op in module.body.operations:
            func = op.operation
            if is_kernel(op) and is_tiled(op) and not is_users(op) and func.regions[0].blocks:
                block = func.regions[0].blocks[0]
                if len(block.operations) >= self.least_ops and not _moves_bytes(func, hardware):
                    self._reroll(func, block, remarks)

    def _reroll(self, func: ir.Operation, block: ir.Block, remarks: Remarks) -> None:
        name, location = string(func.attributes["sym_name"]), str(func.location)
        if "fuse.tile" not in func.attributes:
            raise PassError(f"reroll-loops: kernel @{name} has no fuse.tile", func.location)
        ordered = Ordered.of(list(block.operations)[:-1])
        copies = ordered if isinstance(ordered, str) else copies_of(ordered, self.least_ops)
        if copies is None or isinstance(ordered, str):
            return
        if isinstance(copies, Copies) and ordered.loads_what_it_stores():
            copies = "it loads what it stores, and a loop would do so in another order"
        if isinstance(copies, str):
            message = f"@{name} stays straight-line code: {copies}"
            remarks.add(self.name, "missed", "kept", message, ops=(name,), locations=(location,))
            return
        threads = 32 * Tile.of(func.attributes["fuse.tile"]).num_warps
        held = held_registers(ordered, copies, threads)
        unrolled = max(1, min(self.unrolled, int(self.registers / max(held, 1)), copies.count // 2))
        StepLoop(ordered, copies, unrolled).rewrite(block)
        message = f"@{name} goes through {copies.count} steps in a loop"
        remarks.add(
            self.name, "passed", "rerolled", message, ops=(name,), locations=(location,),
            steps=copies.count, period=copies.period, unrolled=unrolled,
        )  # fmt: skip


def _moves_bytes(func: ir.Operation, gpu: Hardware) -> bool:
    """Whether the time of a kernel is that of its bytes."""
    if ATTRIBUTE not in func.attributes:
        return False
    traffic, streaming = Traffic.of_attribute(func.attributes[ATTRIBUTE]), gpu.rates.streaming
    moved = microseconds(Work(sum(traffic.reads), sum(traffic.writes)), gpu, streaming.pointwise)
    return moved > streaming.unrolled * microseconds(Work(slots=traffic.slots), gpu, streaming.pointwise)
