"""``narrow-stores``: what lies in memory already is not written again."""

from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import backward_slice, defining_op, is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import string
from ...compiler.mlir import arith, ir
from ..analysis_manager import AnalysisManager
from ..base.kernels import kernel_body
from ..base.new_ops import negated
from ..base.program import Program
from ..pass_base import AnalysisPass, remark_on
from .conditions import negates


@dataclass(frozen=True)
class NarrowStores(AnalysisPass):
    """A store that writes a new value at some points and the old contents back at the others is guarded, so
    that it writes the new value alone.

    Before (``x[3:5] = k``, which functionalization turns into a write of the whole x)::

        %old = "fuse.load"(%x, %not_c, %zero) {at = ["d0", "d1"]} : (..) -> f32
        %v = arith.select %c, %new, %old : f32
        %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (..) -> ..

    After::

        %r = "fuse.store"(%x, %new, %c) {at = ["d0", "d1"], mode = "set"} : (..) -> ..

    The rest of x is neither read nor written.

    Does not fire on a condition that depends on loaded values, as a whole vector is stored faster than a
    selection of its elements; where the old value is that of another tensor, or its load is guarded by
    anything but the condition; on stores that add; nor on coordinates with loaded indices, as two points may
    write one element.

    Remarks: ``passed: narrowed``, with the number of stores of the kernel.
    """

    name: ClassVar[str] = "narrow-stores"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        kernels = {string(kernel.attributes["sym_name"]): kernel for _, kernel in program.kernel_calls()}
        for kernel in kernels.values():
            count = sum(_narrow(op) for op in kernel_body(kernel) if isinstance(op, fuse.Store))
            if count:
                program.clean(kernel)
                message = "what lies there already is not written again"
                remark_on(kernel, remarks, self.name, "passed", "narrowed", message, stores=count)


def _narrow(store: ir.Operation) -> bool:
    """Narrows one store; whether it did."""
    value, guard = store.operands[1], store.operands[2]
    choice = defining_op(value, arith.SelectOp)
    if choice is None or len(store.operands) != 3 or string(store.attributes["mode"]) != "set":
        return False
    condition, *arms = choice.operands
    if not _is_known(condition):
        return False
    for new, old, holds in ((*arms, True), (*reversed(arms), False)):
        if _reads_back(store, old, condition, holds):
            with ir.InsertionPoint(store), store.location:
                wanted = condition if holds else negated(condition)
                store.operands[2] = wanted if is_true(guard) else arith.andi(guard, wanted)
            store.operands[1] = new
            return True
    return False


def _reads_back(store: ir.Operation, value: ir.Value, condition: ir.Value, new_where: bool) -> bool:
    """Whether a value is what the store overwrites, at least where the condition is not ``new_where``.

    A kernel reads what it overwrites at the coordinates of the store only.
    """
    load = defining_op(value, fuse.Load)
    if load is None or len(load.operands) != 3 or load.operands[0] != store.operands[0]:
        return False
    guard = load.operands[1]
    if is_true(guard):
        return True
    return negates(guard, condition) if new_where else guard == condition


def _is_known(value: ir.Value) -> bool:
    """Whether coordinates and sizes decide a value."""
    return not any(isinstance(op, fuse.Load) for op in backward_slice([value]))
