"""``choose-libraries``: which matrix products are kernels, and which calls of torch's libraries."""

from typing import ClassVar, Literal

from ...compiler.analysis.contraction.arguments import NotAProduct
from ...compiler.analysis.contraction.kernel_or_call import Decision, Offers
from ...compiler.analysis.contraction.product import Product
from ...compiler.analysis.contraction.surroundings import Surroundings
from ...compiler.analysis.program.provenance import node_names
from ...compiler.base.dataclass import dataclass
from ...compiler.base.launch import ProductChoice
from ...compiler.base.options import Products
from ...compiler.base.remarks import Remarks
from ...compiler.ir.choices import note_choice
from ...compiler.ir.kernel import CASCADE, WIDE, string
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import device_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, Numerics, PassError, hardware_of, remark_on
from .library_call import stand_instead
from .product_kernel import product_kernel


@dataclass(frozen=True)
class ChooseLibraries(AnalysisPass):
    """A call of torch's libraries that sums products becomes a kernel with a ``fuse.dot`` where the kernel is
    estimated to take less time.

    Before::

        %y = call @mm(%x, %w) : (tensor<1x4096xbf16>, tensor<4096x14336xbf16, ..>) -> tensor<1x14336xbf16>

    After::

        %e = "fuse.empty"() {syms = []} : () -> tensor<1x14336xbf16>
        %y = call @mm_kernel(%x, %w, %e) : (.., .., tensor<1x14336xbf16>) -> tensor<1x14336xbf16>

        func.func private @mm_kernel(..) attributes {fuse.dims = {d0 = "14336", d1 = "4096"}, ..} {
          ...
          %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (bf16, bf16) -> f32

    Where the choice is an estimate's, ``fuse.instead = @mm`` keeps the declaration: ``review-libraries`` may
    call it after all.

    ``FORMS`` in ``compiler/base/product_forms.py`` lists the ops and says what each of their arguments is:
    ``mm``, ``bmm``, ``addmm``, ``_scaled_mm``, convolutions of 1x1 and others.  A kernel reads its operands
    in any strides.  ``fuse.precision`` of the call becomes ``precision`` of the ``fuse.dot``, and the
    ``use_fast_accum`` of a ``_scaled_mm`` of 8-bit floats its ``fast_accum``.

    The kernel fuses with what makes its operands (weights of 8 or 4 bits that are widened) and with what
    reads its result, which a call cannot.  Both are estimated with that in mind, by a roofline: the kernel
    moves what the pointwise kernels in front of the product read; the call moves, beside that, its operands,
    and they are launched apart.  Each decision is a remark with both figures.

    ``products``: ``library`` keeps all calls, and ``auto`` keeps those of a module for the CPU.
    ``generated`` makes kernels of all products that can be one.  For a GPU, ``auto`` chooses by the estimates
    of products of two matrices with at most ``max_rows`` rows or columns, in bf16, f16 or f32, where the
    weights lie along the dim that is summed and sums have at least 256 elements
    (``compiler/analysis/contraction/few_rows.py``).  How many rows of weights there are may be unknown.
    Products of more rows become kernels where the kernel is estimated to take at most the part of the call's
    time that ``ContractionPlan.margin`` says, from 0.87 to 0.95 by what is around them and how long they take
    (``roofline.py``), in bf16 and f16, of sizes that are known when compiling: products of matrices, batches
    of them, and convolutions over images whose channels lie side by side.  The number of rows may be a symbol
    of at most 64 where weights are made from fewer bytes.  What pointwise kernels compute in front of a
    product and behind it counts on both sides.  Any gain suffices where pointwise kernels make a factor from
    fewer bytes, such as weights of 8 bits.  ``tensor_cores`` says whether products of more rows
    that tensor cores multiply are weighed: ``all`` or ``none``.

    Rows in segments, each of which has a matrix of its own, are a product, too (``_grouped_mm``): the tokens
    of experts.  Where segments end is data, in a tensor.  The kernel looks the matrix of a row up, and
    asserts that ends do not decrease or pass the last row.  What is summed may come in segments instead, each
    of which makes a matrix: the gradient of the weights of experts.  Two products of the same rows, which a
    gate joins, are weighed as a whole (rule ``pair``), with what makes the rows (``segment_pairs.py``).
    Segments of fewer than 256 rows, and sums in segments, are the library's.

    Products that sum along each other's columns are weighed as a whole (rule ``chain``): two matrices times
    each other, of at least 4096 rows and at most 128 columns, with what is computed between them, which
    nothing else reads.  Each product of a chain becomes a kernel where one kernel of all is estimated to take
    at most as much of the time of the calls and the kernels between them (``chains.py``).  With at most 256
    columns and summed elements, a chain needs a block of 128 rows for every second multiprocessor, weights
    that descriptors can copy, and no reduction between its products (``wide.py``).  ``fuse.wide`` marks its
    kernels, so that fusion makes them one.

    A product of at least 64 rows and 256 columns, what is computed of it, and a product that sums this along
    its columns are weighed as a whole, too, in batches (rule ``cascade``): attention that a program spells
    out, of heads of at most 256 numbers in bf16 or f16, where nothing else reads the scores
    (``cascades.py``).
    Where the pair is estimated to take longer, a ``missed`` remark of the rule says so.  A declaration with
    ``fuse.cascade`` is such a product without an estimate: the rewrite ``attention-gradients`` has weighed it
    with the whole of its joint graph.
    ``fuse.cascade`` marks both kernels, and ``derive-cascades`` makes one of them, or leaves them to
    ``review-libraries``.

    Weights that are made from fewer bytes and lie across what is summed (8-bit weights stored K x N) become a
    kernel with at most 4 rows where it is estimated to take at most half of the time of the call and of what
    widens them: nothing was fitted to such kernels, but the call moves five times the bytes.

    Weights that are made of bytes, and lie along what is summed, become a kernel with at most ``packed_rows``
    rows, as ``unpack-dots`` leaves little to compute for each; of more than 16, those in groups of at least
    32 bytes that share a scale.

    On a GPU, ``auto`` makes kernels of all products that sum at most 4 elements, of any sizes and types (rule
    ``short``): transforms of points and colours, products of small matrices, outer products.  Such a product
    is pointwise work (``unroll-reductions``), bound by bytes, and fuses like it.

    Small products are weighed by estimates of their own (``small.py``), in bf16, f16 and f32: sums of 5 to 16
    elements with at most 16 columns, batches of matrices of 16 or 32 rows and columns, batches of dot
    products and of matrices times vectors.  The library runs a program for each matrix of a batch, so that
    262144 dot products of 64 elements take it ten times as long as a kernel.  Rows and batches may be of any
    size, also unknown ones; the estimates take their hints.

    The library keeps products of more rows where more than casts lies between a reduction and a factor (rule
    ``front``; not of a batch of matrices of at most 128 rows and columns, as a block computes such a factor
    once), where more than one tensor as large as the result is read behind a sum of more than 768
    elements (``beside``), and where tensors are concatenated to a factor unless a block reads one of them:
    none is computed, and all but the last have a multiple of 64 summed elements, or of 256 rows or columns
    (``pieces``).

    Does not fire on types that ``fuse.dot`` does not multiply, on tensors of another device than the
    module's, on sizes that torch alone knows to be equal (``s0 floordiv 2`` and ``s1``, rule ``sizes``), nor
    on arguments with which an op of ``FORMS`` is no sum of products of two tensors, or that it does not have
    (rule ``form``): a convolution that is not 1x1, or has strides, padding or groups, a factor ``alpha`` that
    is not known when compiling, scales of blocks.  Nor on integers times a number that their type does not
    hold (rule ``number``).

    Raises PassError on an unknown ``hardware``, on a product whose shapes do not match, on arguments that are
    no tensors, numbers or truth values where torch takes nothing else, and on ``fuse.precision = "tf32"`` of
    other types than f32.
    """

    name: ClassVar[str] = "choose-libraries"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "reassociates"
    hardware: str = "generic"
    products: Products = "auto"
    max_rows: Count = 4
    packed_rows: Count = 64
    tensor_cores: Literal["none", "all"] = "all"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        program = analyses.get(Program)
        if self.products == "library" or (self.products == "auto" and device_of(module) == "cpu"):
            return
        around = Surroundings(program.functions, hints_of(program.main))
        symbols, known = program.symbols(), program.facts()
        offers = Offers(
            around,
            known,
            hardware,
            self.products,
            self.max_rows,
            self.packed_rows,
            self.tensor_cores == "all",
        )
        calls = list(program.calls())
        read = [self._product(call, program) for call in calls]
        chained = offers.chained(p for p in read if isinstance(p, Product))
        chains = [chained.get(p.result) if isinstance(p, Product) else None for p in read]
        for call, chain in zip(calls, chains, strict=True):
            product = self._product(call, program)  # of the values that there are now
            if product is None:
                continue
            callee = program.callee(call)
            name = string(callee.attributes["sym_name"])
            if chain is not None and not chain.pays and not chain.pair:
                said = "does not become one kernel with the other product of its pair"
                message = f"@{name} {said}: it is estimated to take longer"
                numbers = {"kernel_us": chain.kernel, "call_us": chain.library}
                remark_on(call, remarks, self.name, "missed", "cascade", message, **numbers)
                chain = None
            if isinstance(product, NotAProduct):
                message = f"@{name} is the library's: {product}"
                remark_on(call, remarks, self.name, "missed", "form", message)
                note_choice(call, ProductChoice("form", tuple(node_names(call.location))))
                continue
            decided = CASCADE in callee.attributes and self.tensor_cores == "all"
            choice = Decision(True, "cascade") if decided else offers.of(product, chain)
            said = "becomes a kernel" if choice.generated else f"is the library's: {choice.why}"
            kind = "passed" if choice.generated else "missed"
            remark_on(call, remarks, self.name, kind, choice.rule, f"@{name} {said}", **choice.numbers)
            note_choice(call, choice.noted(node_names(call.location)))
            if choice.generated:
                kernel = product_kernel(program, symbols, known, call, callee, product)
                if self.products == "auto" and choice.rule != "short":
                    stand_instead(kernel, callee, product)
                if chain is not None and chain.wide:
                    kernel.attributes[WIDE] = ir.UnitAttr.get()
                if decided or (chain is not None and chain.cascade):
                    kernel.attributes[CASCADE] = ir.UnitAttr.get()
        program.erase_unused()

    def _product(self, call: ir.Operation, program: Program) -> Product | NotAProduct | None:
        """What a call multiplies, or why it is no product; None where its op never is one."""
        callee = program.callee(call)
        try:
            product = Product.read(call, callee) if "fuse.extern" in callee.attributes else None
        except NotAProduct as reason:
            if reason.legal:
                return reason
            raise PassError(f"{self.name}: {reason}", call.location) from None
        problem = None if product is None else product.problem()
        if problem is not None:
            raise PassError(f"{self.name}: {problem}", call.location)
        return product
