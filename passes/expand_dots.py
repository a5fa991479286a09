"""``expand-dots``: a product that tensor cores do not pay for is multiplied and summed."""

from dataclasses import dataclass
from typing import ClassVar

from ..compiler.base.remarks import Remarks
from ..compiler.ir.kernel import string
from ..compiler.mlir import ir
from .analysis_manager import Analyses, AnalysisManager
from .helpers.kernels import kernel_body
from .helpers.program import Program
from .pass_base import AnalysisPass

#: From a type of operands to a wider one.
_EXTENSION = {True: "arith.extf", False: "arith.extsi"}


@dataclass(frozen=True)
class ExpandDots(AnalysisPass):
    """A ``fuse.dot`` becomes a multiplication in the type of its result and a ``fuse.reduce``, so that what
    holds for sums (roundings that need not be, few rows that share a read, slices) holds for products too.

    Before::

        %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (bf16, bf16) -> f32

    After::

        %wide_a = arith.extf %a : bf16 to f32
        %wide_b = arith.extf %b : bf16 to f32
        %p = arith.mulf %wide_a, %wide_b : f32
        %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32

    The sum is the same, in the same order.  A kernel of tile code stays as it is.
    """

    name: ClassVar[str] = "expand-dots"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        for func in {string(f.attributes["sym_name"]): f for _, f in program.kernel_calls()}.values():
            for op in kernel_body(func):
                if op.name == "fuse.dot":
                    _expand(op)


def _expand(op: ir.Operation) -> None:
    """Replaces one ``fuse.dot``."""
    wide = op.results[0].type
    floating = isinstance(wide, ir.FloatType)
    with ir.InsertionPoint(op), op.location:
        operands = [
            v if v.type == wide else ir.Operation.create(_EXTENSION[floating], [wide], [v]).results[0]
            for v in op.operands
        ]
        product = ir.Operation.create("arith.mulf" if floating else "arith.muli", [wide], operands).results[0]
        attributes = {"kind": ir.StringAttr.get("sum"), "over": op.attributes["over"]}
        total = ir.Operation.create("fuse.reduce", [wide], [product], attributes).results[0]
    op.results[0].replace_all_uses_with(total)
    op.erase()
