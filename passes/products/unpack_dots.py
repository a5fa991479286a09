"""``unpack-dots``: little is computed for each weight of few rows' products that is packed."""

from typing import ClassVar

from ...compiler.analysis.contraction.packed import MOST_PARTS, PackedWeights
from ...compiler.analysis.contraction.tensor_cores import alone, is_of_few_rows, larger_factor
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import Kernel, is_tiled, string
from ...compiler.mlir import arith, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import dims_attribute, forget_tiling, kernel_body, text_list
from ..base.new_ops import fold
from ..base.program import Program
from ..base.unrolling import unroll
from ..kernels.simplify_dims import simplify_dims
from ..pass_base import AnalysisPass, Numerics, remark_on


@dataclass(frozen=True)
class UnpackDots(AnalysisPass):
    """In a ``fuse.dot`` of few rows with weights that are made of bytes, or of words of 32 bits, a scale that
    groups of weights share is multiplied to the products of the groups, and the numbers of a byte or word are
    multiplied apart.  So little is computed for each weight that bytes bound the product.

    Before, with ``fuse.dims = {d0 = "4", d1 = "4096", d2 = "32", d3 = "128"}``::

        %b = "fuse.load"(%bytes, %true, %zero) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (..) -> i8
        %w = ...                                   // one half of %b, by d3 mod 2, as bf16
        %s = "fuse.load"(%scales, %true, %none) {at = ["d1", "d2"]} : (tensor<4096x32xbf16>, ..) -> bf16
        %t = arith.mulf %wide_w, %wide_s : f32
        %r = arith.truncf %t {fuse.implicit} : f32 to bf16
        %x = "fuse.load"(%rows, %true, %none) {at = ["d0", "d2*128 + d3"]} : (..) -> bf16
        %y = "fuse.dot"(%x, %r) {over = ["d2", "d3"]} : (bf16, bf16) -> f32

    After, with ``d3 = "64"``::

        %p0 = "fuse.dot"(%x0, %w0) {over = ["d3"]} : (bf16, bf16) -> f32    // w0: the lower halves
        %p1 = "fuse.dot"(%x1, %w1) {over = ["d3"]} : (bf16, bf16) -> f32    // x1 at "d2*128 + d3*2 + 1"
        %p = arith.addf %p0, %p1 : f32
        %g = arith.mulf %p, %wide_s : f32
        %y = "fuse.reduce"(%g) {kind = "sum", over = ["d2"]} : (f32) -> f32

    The scaled weights are not rounded to 16 bits any more, so this pass runs where ``keep-float32`` does.
    Where a scale is infinite, so is the sum of a group, if its weights have both signs, too; and where
    float32 does not hold that sum, a scale below 1 does not bring it back.

    Remark: ``passed: unpacked``.

    Where the program asks for the rounding of the scaled weights, as with numbers of a table (NF4), the scale
    stays at the weights, and is read once for each group.  A table has at most 32 entries.

    Does not fire on other products than those of 1 to 16 rows (of groups, 64) with at least 1024 rows of
    weights, nor on more than four numbers in a byte or eight in a word, nor on a kernel that reduces
    anything else.  Scales stay at the weights of groups of other than 16, 32, 64, 128 or 256 bytes, or
    words.  A kernel whose ``fuse.tile`` is there already, and tile code, are left as they are.
    """

    name: ClassVar[str] = "unpack-dots"
    numerics: ClassVar[Numerics] = "precision"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        for func in dict.fromkeys(kernel for _, kernel in program.kernel_calls()):
            if is_tiled(func) or "fuse.tile" in func.attributes or not _has_candidates(func):
                continue
            simplify_dims(func, program.facts())
            shape = KernelShape.of(Kernel.of(func))
            found = {
                op: PackedWeights.of(shape, op, larger_factor(shape, op)) for op in shape.kernel.products
            }
            packed = {op: weights for op, weights in found.items() if weights is not None}
            changes = any(w.scale is not None or w.groups or w.parts for w in packed.values())
            if not changes or len(packed) < len(found):
                continue
            in_groups = all(w.groups for w in packed.values())
            if not alone(shape, {op: w.weights for op, w in packed.items()}, in_groups):
                continue
            parts = {d: shape.points((d,)) for weights in packed.values() for d in weights.parts}
            for op, weights in packed.items():
                _scale_behind(op, weights)
            program.clean(func)
            for dim, points in parts.items():
                kernel = Kernel.of(func)
                unroll(kernel, dim, points)
                func.attributes["fuse.dims"] = dims_attribute(
                    {d: e for d, e in kernel.dims.items() if d != dim}
                )
                program.clean(func)
            forget_tiling(func)
            message = f"@{string(func.attributes['sym_name'])} multiplies weights as they are in bytes"
            remark_on(func, remarks, self.name, "passed", "unpacked", message)


def _has_candidates(func: ir.Operation) -> bool:
    """Whether a kernel loads bytes or words and all its products are of few rows or columns."""
    loaded = {str(op.results[0].type) for op in kernel_body(func) if op.name == "fuse.load"}
    if loaded.isdisjoint(MOST_PARTS):
        return False
    shape = KernelShape.of(Kernel.of(func))
    products = shape.kernel.products
    return bool(products) and not shape.kernel.uniform and all(is_of_few_rows(shape, op) for op in products)


def _scale_behind(op: ir.Operation, weights: PackedWeights) -> None:
    """Multiplies the scale of weights to their products, and sums those of groups."""
    if weights.scale is None and not weights.groups:
        return
    op.operands[weights.number] = weights.weights
    op.attributes["over"] = text_list(weights.inner)
    product = total = op.results[0]
    first: ir.Operation | None = None
    with ir.InsertionPoint.after(op), op.location:
        if weights.scale is not None:
            total = arith.mulf(product, weights.scale)
            first = total.owner.operation
        if weights.groups:
            total = fold("sum", total, weights.groups)
            first = first or total.owner.operation
    assert first is not None
    product.replace_all_uses_except(total, first)
