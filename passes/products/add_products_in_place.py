"""``add-products-in-place``: a product of the library adds to a value that nobody reads afterwards."""

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, Literal

from ...compiler.analysis.contraction.product import Product
from ...compiler.analysis.contraction.surroundings import Surroundings
from ...compiler.analysis.kernel.plain import added, copied
from ...compiler.analysis.program.dependences import Dependences
from ...compiler.analysis.program.storage_accesses import StorageAccesses
from ...compiler.base.dataclass import dataclass
from ...compiler.base.products import product_op
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import extern_arguments, is_kernel, is_tiled, kernel_ties, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import callee_name, operand_number
from ...compiler.ir.views import made_alone
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics
from .library_products import Where, argument_of, declare, erase_unread, is_row_major, reshaped, runs

#: Element types whose products were measured, and elements of 16 bytes.
_ELEMENTS, _VECTOR = ("bf16", "f16"), 8


@dataclass(frozen=True)
class AddProductsInPlace(AnalysisPass):
    """A matrix product of torch's libraries is added in place to its other summand, which nothing reads
    afterwards.

    The residual sums of transformers without biases (Llama, T5) are the example.

    Before::

        %p = call @mm(%a, %w) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
        %s = call @add(%h, %p, %e)                                 // %h is not read again

    After::

        %s = call @addmm_(%h, %a, %w)                              // in the storage of %h

    The library's product reads and writes the sum in its last step.  The product itself is neither written
    nor read, the kernel that follows does not write the sum, and one rounding less is made.  On an H200, in
    bfloat16, ``addmm_`` takes as long as ``mm`` or up to 1.1 us more (4096x2048 by 2048x2048: 46.1 instead of
    45.0 us; by 8192 rows: equal), and saves moving one such matrix of five.  The gradients of a value that
    several products read are such sums, too.

    It fires on ``mm`` whose result one kernel reads, with views and copies between at most, which adds it to
    a value of its shape and element type.  That value is row-major, is made in this graph in storage of its
    own, is stored for other readers anyway, and has no reader later in the graph, the results of the graph
    included.

    It does not fire where the product multiplies that summand itself, or a value that something overwrites
    between the product and the sum; for float32 and float64; where a size is no multiple of 8 (such products
    may be padded) or unknown while compiling.

    Remarks: ``passed: summed`` for each product.

    ``where``: ``gpu`` (modules for a GPU), ``everywhere`` or ``nowhere``.  ``widened``: ``left`` leaves
    products with a factor that pointwise kernels make from fewer bytes, such as weights of 8 bits, which
    ``choose-libraries`` is to see as they are; ``added`` adds them as well.
    """

    name: ClassVar[str] = "add-products-in-place"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "precision"
    where: Where = "gpu"
    widened: Literal["added", "left"] = "added"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if not runs(self.where, module):
            return
        program = analyses.get(Program)
        totals = _totals(program)
        if not totals:
            return
        storages = _Storages.of(Dependences.of(module))
        around = Surroundings(program.functions, hints_of(program.main))
        for total in sorted(totals, key=storages.place):
            chosen = next((s for s in _sums(program, total) if storages.refusal(s) is None), None)
            if chosen is None or (self.widened == "left" and _is_widened(program, chosen.product, around)):
                continue
            name = string(program.callee(chosen.product).attributes["sym_name"])
            remarks.add(
                self.name, "passed", "summed", f"@{name} adds to a value that nothing reads afterwards",
                ops=(name,), locations=(str(chosen.total.location),),
            )  # fmt: skip
            root = storages.add(chosen)
            for value in _replace(program, chosen):
                storages.new[value] = root
        program.erase_unused()


@dataclass(frozen=True)
class _Sum:
    """``total`` adds ``shaped``, which is the result of ``product`` in another shape or copied, to
    ``kept``."""

    total: ir.Operation
    kept: ir.Value
    shaped: ir.Value
    product: ir.Operation


def _totals(program: Program) -> list[ir.Operation]:
    """The calls of kernels that add the result of a matrix product, behind views and copies, to a value."""
    products = {name for name, f in program.functions.items() if _is_matrix_product(f)}
    found: dict[ir.Value, ir.Operation] = {}
    for call in program.calls() if products else ():
        if callee_name(call) not in products:
            continue
        value: ir.Value | None = call.results[0]
        while value is not None:
            users = [use.owner.operation for use in value.uses]
            value = None
            if len(users) == 1 and users[0].name == "fuse.view":
                value = users[0].results[0]
            elif len(users) == 1 and users[0].name == "func.call" and len(users[0].results) == 1:
                [reader] = users
                kernel = program.callee(reader)
                if not is_kernel(kernel) or is_tiled(kernel):
                    continue
                if copied(kernel) is not None:
                    value = reader.results[0]
                elif added(kernel) is not None:
                    found[reader.results[0]] = reader
    return list(found.values())


def _sums(program: Program, total: ir.Operation) -> Iterator[_Sum]:
    """The ways to see what a call adds as a value and a product."""
    kernel = program.callee(total)
    pair = added(kernel)
    if pair is None or defining_op(total.operands[kernel_ties(kernel)[0]], fuse.Empty) is None:
        return
    first, second = (total.operands[n] for n in pair)
    for kept, shaped in ((first, second), (second, first)):
        product = _product(program, shaped)
        if product is not None:
            yield _Sum(total, kept, shaped, product)


def _is_matrix_product(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "fuse.extern" in attributes and string(attributes["fuse.extern"]) == "aten.mm.default"


def _product(program: Program, value: ir.Value) -> ir.Operation | None:
    """The call of ``mm`` that a value is the result of, behind views and copies; each has one reader."""
    while (op := made_alone(value)) is not None and op.name == "func.call":
        callee = program.callee(op)
        if _is_matrix_product(callee):
            return op
        argument = copied(callee) if is_kernel(callee) and not is_tiled(callee) else None
        if argument is None:
            return None
        value = op.operands[argument]
    return None


def _is_widened(program: Program, call: ir.Operation, around: Surroundings) -> bool:
    """Whether pointwise kernels make a factor from fewer bytes."""
    product = Product.of(call, program.callee(call))
    return product is not None and product.problem() is None and around.cost(product).widened


@dataclass
class _Storages(StorageAccesses):
    """Kept current while products move behind others.

    made: roots that a product made.  new: the roots of values that were not there before.
    """

    made: set[int] = field(default_factory=set)
    new: dict[ir.Value, int] = field(default_factory=dict)
    same: dict[int, int] = field(default_factory=dict)  #: of a sum, the storage that it is in now

    def root(self, value: ir.Value) -> int:
        root = self.new[value] if value in self.new else super().root(value)
        while root in self.same:
            root = self.same[root]
        return root

    def refusal(self, found: _Sum) -> str | None:
        """Why the product is not computed in the storage of what it is added to; None where it is."""
        product = found.product.results[0]
        specs = [TensorSpec.of(v.type) for v in (found.total.results[0], found.kept, found.shaped)]
        elements = {s.element for s in (*specs, TensorSpec.of(product.type))}
        if len(elements) > 1 or specs[0].element not in _ELEMENTS:
            return "the element types differ or are wide"
        sizes = [n.constant for v in found.product.operands for n in TensorSpec.of(v.type).sizes]
        if any(n is None or n % _VECTOR for n in sizes):
            return "a size is unknown or no multiple of a vector"
        if len({s.sizes for s in specs}) > 1:
            return "it is broadcast"
        if specs[0].offset != specs[1].offset:  # the sum, where it was, has another type than what lies there
            return "its layout is another one"
        if not all(map(is_row_major, (found.total.results[0], found.kept, found.shaped, product))):
            return "its layout is another one"
        root = self.root(found.kept)
        if root == self.root(found.shaped):
            return "it is added to itself"
        if not self._is_fresh(root):
            return "its storage is not fresh"
        here = self.place(found.total)
        factors = {self.root(v) for v in found.product.operands}
        if root in factors:
            return "the product reads it"
        between = range(self.place(found.product) + 1, here)
        if any(n in between for factor in factors for n in self.written.get(factor, ())):
            return "what the product reads is overwritten before the sum"
        readers = self.read.get(root, set())
        if any(n > here for n in readers):
            return "it is read later"
        if root not in self.made and not self._is_product(root) and len(readers) < 2:
            return "nothing else wants it in memory"
        return None

    def add(self, found: _Sum) -> int:
        """Takes note that ``found`` is computed in place; the root of its storage."""
        here, root = self.place(found.total), self.root(found.kept)
        for value in found.product.operands:
            self.read.setdefault(self.root(value), set()).add(here)
        old = self.root(found.total.results[0])
        self.same[old] = root
        self.read.setdefault(root, set()).update(self.read.pop(old, ()))
        self.written.setdefault(root, set()).update({here, *self.written.pop(old, ())})
        self.made.add(root)
        return root

    def _is_fresh(self, root: int) -> bool:
        """Whether an operation of this graph makes the storage."""
        made = root in self.made or defining_op(self.deps.values[root], fuse.Empty) is not None
        return made or self._is_product(root)

    def _is_product(self, root: int) -> bool:
        """Whether a product of the library makes it."""
        callee = self.deps.nodes[self.maker[root]].callee if root in self.maker else None
        if callee is None or "fuse.extern" not in callee.attributes:
            return False
        op = product_op(string(callee.attributes["fuse.extern"]))
        return op is not None and op.fresh


def _replace(program: Program, found: _Sum) -> list[ir.Value]:
    """Puts the product into the place of the sum; the values that are new in the storage."""
    total, product = found.total, found.product
    adding = program.callee(total)
    made = TensorSpec.of(product.results[0].type)
    matrix = reshaped(found.kept, made.type(), total)
    given, _ = extern_arguments(program.callee(product).attributes)
    arguments = [matrix, *product.operands]
    numbers = [0, *(1 + operand_number(a) for a in given)]
    declared = declare(
        program,
        adding,
        "addmm__default",
        "aten.addmm_.default",
        ([v.type for v in arguments], matrix.type),
        [argument_of(n) for n in numbers],
        {},
        writes=0,
    )
    call = program.recall(total, declared, arguments, [matrix.type])
    result = reshaped(call.results[0], total.results[0].type, total)
    total.results[0].replace_all_uses_with(result)
    erase_unread(program, total.results[0])
    return [matrix, call.results[0], result]
