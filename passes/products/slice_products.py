"""``slice-products``: the warps of a program sum slices of a product of few rows."""

from typing import ClassVar

from ...compiler.analysis.contraction.tensor_cores import nearest, sides_of
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.analysis.tiling.few_row_rules import FewRowSides
from ...compiler.analysis.tiling.product_rules import Products
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import const, sym
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, is_tiled, natural, string
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import dimmed, dims_attribute, forget_tiling, kernel_body, rewrite_dims, text_list
from ..base.new_ops import fold
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, hardware_of, remark_on
from .cascades import move_along


@dataclass(frozen=True)
class SliceProducts(AnalysisPass):
    """In a kernel with a product of few rows that tensor cores compute, the dim that is summed becomes two:
    slices of it, and the points of a slice.  The product is that of each slice, and a ``fuse.reduce`` adds
    the slices.  So each warp of a program can sum a slice of the same rows of weights: such a product reads
    each weight once, and programs of one warp would be too few to read as fast as memory allows.

    A step of all slices is one piece of memory.

    Before, with ``fuse.dims = {d0 = "4", d1 = "4096", d2 = "14336"}``::

        %w = "fuse.load"(%weights, %true, %zero) {at = ["d1", "d2"]} : (tensor<4096x14336xi8>, i1, i8) -> i8
        ...
        %s = "fuse.dot"(%x, %wide) {over = ["d2"]} : (bf16, bf16) -> f32

    After, with ``fuse.dims = {d0 = "4", d1 = "4096", d2 = "28", d3 = "4", d4 = "128"}``::

        %w = "fuse.load"(%weights, %true, %zero) {at = ["d1", "d2*512 + d3*128 + d4"]} : (..) -> i8
        ...
        %p = "fuse.dot"(%x, %wide) {over = ["d2", "d4"]} : (bf16, bf16) -> f32
        %s = "fuse.reduce"(%p) {kind = "sum", over = ["d3"]} : (f32) -> f32

    A single row that is multiplied gets a dim of one point, as products of tiles have rows and columns.

    Remark: ``passed: sliced``, with the number of slices.

    Does not fire where ``few_row_blocks`` (``compiler/analysis/contraction/few_row_blocks.py``) asks for no
    slices, such as of a sum that is no whole number of steps of them, on kernels with another reduction, nor
    on a kernel whose ``fuse.tile`` is there already.
    """

    name: ClassVar[str] = "slice-products"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "reassociates"
    hardware: str = "generic"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        program = analyses.get(Program)
        for func in dict.fromkeys(kernel for _, kernel in program.kernel_calls()):
            products = [op for op in kernel_body(func) if isinstance(op, fuse.Dot)]
            if not products or is_tiled(func) or "fuse.tile" in func.attributes:
                continue
            _give_row(func, products)
            kernel = Kernel.of(func)
            subject = Products(KernelShape.of(kernel))
            sides = FewRowSides.of(subject)
            if sides is None or sides.slices is not None:
                continue
            blocks = sides.blocks(subject, hardware)
            [dim, *others] = sides.summed.dims
            points = kernel.dims[dim].constant
            if blocks.slices == 1 or others or points is None:
                continue
            _slice(kernel, products, dim, blocks.slices, points // blocks.slices, blocks.summed)
            program.clean(func)
            name = string(func.attributes["sym_name"])
            message = f"@{name} sums {blocks.slices} slices of {dim} beside each other"
            remark_on(func, remarks, self.name, "passed", "sliced", message, slices=blocks.slices)


def _give_row(func: ir.Operation, products: list[ir.Operation]) -> None:
    """Gives a single row of products a dim of one point, along which it is loaded: tiles of a product have
    rows and columns.
    """
    kernel = Kernel.of(func)
    shape = KernelShape.of(kernel)
    rows = [
        factor
        for op in products
        for factor, side in zip(op.operands, sides_of(shape, op), strict=True)
        if not side
    ]
    dim = f"d{1 + max(natural(d)[1] for d in kernel.dims)}"
    for load in nearest(rows, fuse.Load):
        move_along(load, dim)
    if rows:
        func.attributes["fuse.dims"] = dims_attribute({**kernel.dims, dim: const(1)})


def _slice(
    kernel: Kernel, products: list[ir.Operation], dim: str, slices: int, length: int, piece: int
) -> None:
    """Cuts a dim into ``slices`` of ``length`` points: each takes every so-many-th ``piece`` of it."""
    last = max(natural(d)[1] for d in kernel.dims)
    number, inner = f"d{last + 1}", f"d{last + 2}"
    point = sym(dim) * (slices * piece) + sym(number) * piece + sym(inner)
    dims = {dim: const(length // piece), number: const(slices), inner: const(piece)}
    for op in dimmed(kernel.func):
        rewrite_dims(op, lambda e: e.subs({dim: point}), lambda names: names)
    for op in products:
        op.attributes["over"] = text_list([dim, inner])
        with ir.InsertionPoint.after(op), op.location:
            total = fold("sum", op.results[0], [number])
        op.results[0].replace_all_uses_except(total, total.owner.operation)
    kernel.func.attributes["fuse.dims"] = dims_attribute({**kernel.dims, **dims})
    forget_tiling(kernel.func)
