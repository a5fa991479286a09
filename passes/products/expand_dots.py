"""``expand-dots``: a product that tensor cores do not pay for is multiplied and summed."""

from typing import ClassVar

from ...compiler.analysis.contraction.tensor_cores import reason_to_sum
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.contractions import DOT, ONLINE_DOT
from ...compiler.ir.kernel import Kernel, string
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.dots import expand_dot
from ..base.kernels import kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics
from .cascades import give_rows


@dataclass(frozen=True)
class ExpandDots(AnalysisPass):
    """A ``fuse.dot`` of few rows becomes a multiplication in the type of its result and a ``fuse.reduce``, so
    that what holds for sums (roundings that need not be, few rows that share a read) holds for it too.

    Before::

        %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (bf16, bf16) -> f32

    After::

        %wide_a = arith.extf %a : bf16 to f32
        %wide_b = arith.extf %b : bf16 to f32
        %p = arith.mulf %wide_a, %wide_b : f32
        %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32

    The terms are the same.  What order they are added in is up to the machine that adds them.

    Remarks: ``analysis``, with one of two conditions: ``few-rows``, where one operand has at most 4 points
    beside those that are summed; ``types``, where tensor cores do not take the types;
    ``narrow-loads``, where factors in f64 are made of elements of 8 or 16 bits, at which Triton fails.

    Does not fire on other products, which become products of tiles (``apply-tiling``), nor on tile code.  A
    product of few rows stays one of tiles where tensor cores are faster: 2 to 4 rows times int8 that is
    loaded and cast to bf16 or f16 (or uint8 to f16), and 3 or 4 rows times loaded bf16 or f16.  Nothing else
    is computed of these weights, the larger factor; or they are made of bytes otherwise, such as halves of
    them, and multiplied by 1 to 4 rows.  At least 1024 rows of them lie along what is summed, start at
    multiples of 16 bytes and have 128 bytes or more.  The kernel reduces nothing beside products with two
    such factors at most, and the products of groups of weights.  So do the products of a kernel with a
    ``fuse.online_dot``: bytes of keys bound them, and tensor cores fill up the rows.  Where it has no dim of
    rows, it gets one of one point.
    """

    name: ClassVar[str] = "expand-dots"
    numerics: ClassVar[Numerics] = "reassociates"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        for name, func in {string(f.attributes["sym_name"]): f for _, f in program.kernel_calls()}.items():
            names = {op.name for op in kernel_body(func)}
            if ONLINE_DOT in names:
                give_rows(func)
            elif DOT not in names:
                continue
            shape = KernelShape.of(Kernel.of(func))
            reasons = {op: reason_to_sum(shape, op) for op in shape.kernel.products}
            for op, reason in reasons.items():
                if reason is not None:
                    place = (str(op.location),)
                    remarks.add(
                        self.name, "analysis", reason.rule, reason.message, ops=(name,), locations=place
                    )
                    expand_dot(op)
