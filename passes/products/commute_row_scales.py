"""``commute-row-scales``: a product multiplies rows before they are scaled, and scales its result."""

from dataclasses import replace
from typing import ClassVar

from ...compiler.analysis.contraction.plan import plan_of
from ...compiler.analysis.contraction.product import Product
from ...compiler.analysis.contraction.roofline import margin, pointwise_microseconds, unmeasured
from ...compiler.analysis.contraction.row_scales import ScaledRows, scaled_rows
from ...compiler.analysis.contraction.surroundings import Moved, Surroundings
from ...compiler.analysis.program.dependences import Dependences
from ...compiler.analysis.program.storage_accesses import StorageAccesses
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.index import const
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import hints_of, stored_bytes
from ...compiler.ir.storage import callee_name
from ...compiler.mlir import arith, func, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.dots import widened
from ..base.kernels import dims_attribute
from ..base.new_ops import load, static_empty, store, true
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, hardware_of, remark_on
from .library_products import erase_unread, reshaped
from .product_kernel import product_kernel


@dataclass(frozen=True)
class CommuteRowScales(AnalysisPass):
    """A product of rows that are scaled becomes a kernel that multiplies the rows and scales its result.

    RMS norm in front of a product is the example: what scales a row is known when all of the row is read.

    Before::

        %s = call @rsqrt(..) : (..) -> tensor<65536x1xf32>         // of the mean of the squares of %x
        %a = call @mul(%x, %s, %d)
        %b = call @mul_1(%gain, %a, %e)                            // one gain for each place in a row
        %y = call @mm(%b, %w)

    After::

        %c = call @columns(%x, %gain, %d)                          // a prologue of the product
        %y = call @mm_kernel(%c, %w, %s, %e)                       // %s * (%c @ %w)

    The scaled rows are neither written nor read.  What computes %s reads %x as before.  It pays where the
    result is narrow, so that bytes bound the product.

    It fires on ``mm`` and ``addmm`` in bfloat16, where a kernel is estimated to take at most 0.87 of the time
    of the library's call and of the write of the scaled rows.  Both are estimated as ``choose-libraries``
    estimates them.  Nothing else reads the scaled rows.

    The roundings of the scaled rows to bfloat16 are gone, those that the program asks for, too; %c is rounded
    instead.  So this pass is in no default pipeline.

    It does not fire in float16, whose numbers may be too large for it before they are scaled; nor where
    something overwrites what the scaled rows are made of before the product runs.

    Remarks, with both figures: ``passed: kernel``, ``missed: library``.

    Raises PassError on an unknown ``hardware``.
    """

    name: ClassVar[str] = "commute-row-scales"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "precision"
    hardware: str = "generic"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        program = analyses.get(Program)
        scaled = [call for call in program.calls() if _scaled_product(program, call) is not None]
        if not scaled:
            return
        around = Surroundings(program.functions, hints_of(program.main))
        symbols, facts = program.symbols(), program.facts()
        uses = StorageAccesses.of(Dependences.of(module))
        for call in [c for c in scaled if _is_kept(program, uses, c)]:
            callee, now = program.callee(call), _scaled_product(program, call)
            assert now is not None, "another product has taken the place of one of its operands at most"
            product, found = now
            cost = around.cost(product)
            if unmeasured(product, replace(cost, reduced=False), hardware) is not None:
                continue
            kernel_us, call_us = _estimates(product, found, cost, around, hardware)
            fires = kernel_us <= margin(call_us, hardware) * call_us
            said = "multiplies rows before they are scaled" if fires else "multiplies scaled rows"
            kind, rule = ("passed", "kernel") if fires else ("missed", "library")
            numbers = {"kernel_us": round(kernel_us, 2), "call_us": round(call_us, 2)}
            remark_on(call, remarks, self.name, kind, rule, f"@{callee_name(call)} {said}", **numbers)
            if fires:
                rows = product.values["left"]
                commuted = _commuted(program, product, found, call)
                product_kernel(program, symbols, facts, call, callee, commuted)
                erase_unread(program, rows)
        program.erase_unused()


def _scaled_product(program: Program, call: ir.Operation) -> tuple[Product, ScaledRows] | None:
    """A call as a product whose left factor is scaled by rows; None where it is none."""
    callee = program.callee(call)
    product = Product.of(call, callee) if "fuse.extern" in callee.attributes else None
    found = None if product is None else _scaled(product, program)
    return None if product is None or found is None else (product, found)


def _is_kept(program: Program, uses: StorageAccesses, call: ir.Operation) -> bool:
    """Whether a product can read what the scaled rows are made of, which nothing overwrites before it."""
    now = _scaled_product(program, call)
    assert now is not None, "it is one"
    scale, end = now[1].scale, uses.place(call)
    start = uses.maker.get(uses.deps.numbers[scale], -1)
    read = {uses.root(v) for v in (now[1].factor, scale, *now[1].columns)}
    return not any(start < n < end for root in read for n in uses.written.get(root, ()))


def _scaled(product: Product, program: Program) -> ScaledRows | None:
    """How the left factor of a product of two matrices is scaled by rows; None where it is not, or where no
    kernel computes the product."""
    specs = product.specs
    plain = (product.dims["left"], product.dims["right"]) == (
        "mk",
        "kn",
    ) and "left_scale" not in product.values
    if not plain or product.problem() is not None or product.unsupported() is not None:
        return None
    left = specs["left"]
    if left.element != "bf16" or not left.is_contiguous or not all(s.is_static for s in specs.values()):
        return None
    found = scaled_rows(product.values["left"], program.functions)
    factor = None if found is None else TensorSpec.of(found.factor.type)
    return found if factor is not None and factor.element == "bf16" and factor.is_contiguous else None


def _estimates(
    product: Product, found: ScaledRows, cost: Moved, around: Surroundings, hardware: Hardware
) -> tuple[float, float]:
    """Microseconds as a kernel of rows that are not scaled, and as a call with the write of scaled ones."""
    hints = around.hints
    scaled = stored_bytes(product.specs["left"], hints)
    read = sum(
        stored_bytes(TensorSpec.of(v.type), hints) for v in (found.factor, found.scale, *found.columns)
    )
    fused = cost.fused_bytes - scaled + read
    moved = replace(cost, fused_bytes=fused, slots={**cost.slots, "left": len(found.columns)}, reduced=False)
    kernel = plan_of(product, moved, hints, hardware).kernel_microseconds(moved)
    library = plan_of(product, cost, hints, hardware).library_microseconds(cost)
    return kernel, library + pointwise_microseconds(scaled, 0, hardware, reduces=True)


def _commuted(program: Program, product: Product, found: ScaledRows, call: ir.Operation) -> Product:
    """The product of rows that are not scaled, whose sums are."""
    left, rows = product.specs["left"], product.specs["left"].sizes[0]
    factor = _columns(program, found, call) if found.columns else found.factor
    scale = TensorSpec.contiguous((rows, const(1)), "f32", left.device)
    values = {
        **product.values,
        "left": reshaped(factor, left.type(), call),
        "left_scale": reshaped(found.scale, scale.type(), call),
    }
    return replace(
        product,
        values=values,
        dims={**product.dims, "left_scale": "m1"},
        specs={**product.specs, "left_scale": scale},
    )


def _columns(program: Program, found: ScaledRows, call: ir.Operation) -> ir.Value:
    """In front of ``call``, a kernel that multiplies each place of a row by that of the columns."""
    type_ = found.factor.type
    spec = TensorSpec.of(type_)
    walked = [f"d{n}" if size.constant != 1 else "0" for n, size in enumerate(spec.sizes)]
    values = [found.factor, *found.columns]
    types = [*(v.type for v in values), type_]
    with ir.InsertionPoint(program.callee(call)), call.location:
        kernel = func.FuncOp(program.unique_name("columns"), (types, [type_]), visibility="private").operation
        kernel.attributes["fuse.kernel"] = ir.UnitAttr.get()
        kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([len(values)])
        sizes = zip(walked, spec.sizes, strict=True)
        kernel.attributes["fuse.dims"] = dims_attribute({d: size for d, size in sizes if d != "0"})
        block = kernel.regions[0].blocks.append(*types, arg_locs=[call.location] * len(types))
    with ir.InsertionPoint(block), call.location:
        wide, guard, total = ir.F32Type.get(), true(), None
        for argument, at in zip(
            block.arguments, [walked, *([walked[-1]] for _ in found.columns)], strict=False
        ):
            loaded = widened(load(argument, ir.RankedTensorType(argument.type).element_type, at, guard), wide)
            total = loaded if total is None else arith.mulf(total, loaded)
        rounded = arith.truncf(ir.RankedTensorType(type_).element_type, total)
        func.ReturnOp([store(block.arguments[len(values)], rounded, walked, guard)])
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    program.functions[name] = kernel
    with ir.InsertionPoint(call), call.location:
        empty = static_empty(type_)
    return program.recall(call, kernel, [*values, empty], [type_]).results[0]
