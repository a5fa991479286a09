"""``check-apart``: what a kernel with products asserts is asserted by a kernel in front of it."""

from typing import ClassVar

from ...compiler.analysis.contraction.tensor_cores import sides_of
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.choices import CHOICE
from ...compiler.ir.contractions import PRODUCTS
from ...compiler.ir.kernel import Kernel, code_of, string
from ...compiler.ir.sizes import hints_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, hardware_of, remark_on
from .slice_kernels import KernelPart, Original

#: Rows and columns from which on the tensor cores of Hopper multiply without waiting for each product.
_LEAST = 64


@dataclass(frozen=True)
class CheckApart(AnalysisPass):
    """What a kernel with products asserts, such as that looked-up rows are rows of a tensor, is asserted by a
    kernel of its own in front of it.

    Before::

        %y = call @rows(%x, %index, %w, %o) : (..) -> ..

        func.func private @rows(..) {
          ...
          cf.assert %inside, "index out of bounds .."
          %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32

    After::

        call @rows_checks(%index) : (..) -> ()
        %y = call @rows(%x, %index, %w, %o) : (..) -> ..

    An assertion that fails calls a function.  The ptxas of CUDA 12.8 lets no product of Hopper's tensor cores
    (``wgmma``) run on while the next one is issued, in a kernel that calls a function anywhere (its note
    C7510): such a kernel takes 1.2 to 1.4 times as long.  What is looked up is guarded by the same condition
    in both kernels, so nothing is read beyond a tensor.

    Each set of dims that assertions run over has a kernel, so that none goes through points of others.

    Does not fire where a product has fewer than 64 rows or columns, which other instructions multiply, on
    GPUs without descriptors (before Hopper), on kernels without products, nor on tile code.

    Raises PassError on an unknown ``hardware``.
    """

    name: ClassVar[str] = "check-apart"
    preserves: ClassVar[Analyses] = (Program,)
    hardware: str = "generic"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if not hardware_of(self.hardware, self, module).descriptors:
            return
        program = analyses.get(Program)
        hints, known = hints_of(program.main), set[tuple[bytes, tuple[ir.Value, ...]]]()
        for call, func in program.kernel_calls():
            if not any(op.name in PRODUCTS for op in kernel_body(func)):
                continue
            kernel = Kernel.of(func)
            if not kernel.asserts or not _multiplies_blocks(KernelShape.of(kernel, hints=hints)):
                continue
            own = program.own(call, func)
            name = string(own.attributes["sym_name"])
            _check_apart(program, call, Kernel.of(own), known)
            program.clean(own)
            message = f"@{name} multiplies, and another kernel asserts"
            remark_on(own, remarks, self.name, "passed", "apart", message)


def _multiplies_blocks(shape: KernelShape) -> bool:
    sides = [sides_of(shape, op) for op in shape.kernel.products]
    return any(min(shape.points(tuple(side)) for side in both) >= _LEAST for both in sides)


def _check_apart(
    program: Program, call: ir.Operation, kernel: Kernel, known: set[tuple[bytes, tuple[ir.Value, ...]]]
) -> None:
    """Moves the assertions of a kernel to others.  ``known``: the code and the operands of those that are
    called already: what two products look up alike is asserted once.
    """
    by_dims: dict[frozenset[str], list[ir.Operation]] = {}
    for op in kernel.asserts:
        by_dims.setdefault(kernel.op_dims[op], []).append(op)
    body = kernel_body(kernel.func)
    for checks in by_dims.values():
        needed = set(checks)
        for op in reversed(body):
            if op in needed:
                needed |= {v.owner for v in op.operands if not isinstance(v.owner, ir.Block)}
        ops = [op for op in body if op in needed]
        original = Original(program, call, kernel)
        part = KernelPart(original, f"{kernel.name}_checks", ops=ops, buffers=[], tokens=True)
        for op in ops:
            part.copy(op)
        part.finish(kernel.dims)
        program.clean(part.func)
        [checked] = [c for c in program.calls() if program.callee(c) == part.func]
        if CHOICE in checked.attributes:
            del checked.attributes[CHOICE]
        same = code_of(part.func), tuple(checked.operands)
        if same in known:
            program.erase_call(checked)
        known.add(same)
    for op in kernel.asserts:
        op.erase()
    program.erase_unused()
