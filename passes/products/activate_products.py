"""``activate-products``: a product of the library computes the activation behind it."""

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar

from ...compiler.analysis.kernel.polynomial import ACTIVATIONS, Polynomial, X, equal, polynomial
from ...compiler.base.dataclass import dataclass
from ...compiler.base.products import ProductOp
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import extern_arguments, is_kernel, is_tiled, kernel_ties
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.storage import callee_name, operand_number
from ...compiler.ir.views import is_reshape
from ...compiler.mlir import arith, func, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import dims_attribute
from ..base.new_ops import static_empty, store
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics
from .library_products import (
    Where,
    argument_of,
    declare,
    erase_unread,
    library_product,
    reshaped,
    runs,
)

#: Element types that the library's epilogue has, and elements of 16 bytes.
_ELEMENTS, _VECTOR = ("bf16", "f16"), 8
#: Kernels behind one product that are followed.
_FOLLOWED = 16


@dataclass(frozen=True)
class ActivateProducts(AnalysisPass):
    """A matrix product of torch's libraries computes the ReLU or the GELU by tanh behind it, before it writes
    its result.

    Before::

        %y = call @addmm(%b, %x, %w) : (..) -> tensor<64x3072xbf16>
        %z = call @gelu(%y, %e) : (..) -> tensor<64x3072xbf16>    // or several kernels that spell it out

    After::

        %z = call @addmm_activation(%b, %x, %w)    // aten._addmm_activation, use_gelu = true

    The library's epilogue works on the float32 sums: one matrix less is written and read, and one rounding
    less is made.  A product without a bias gets a bias of zeros, which all products of its width share.  On
    an H200, with x [4096, 768] and w [768, 3072] in bfloat16, the product takes 34 us instead of 30 with GELU
    and 30.5 with ReLU, and the kernels that are gone took 12 to 19.

    An activation is found by what scalar kernels compute of the product, one after the other
    (``compiler/analysis/kernel/polynomial.py``).  Casts to a wider type and back may lie between, and views
    between the product and the activation.  Copies behind it are left out.

    It does not fire where anything else reads the product, or what is computed between it and the activation;
    nor on GELU by erf, which the epilogue does not have.

    Remarks: ``passed: activated`` for each product.  ``missed``, of a product with an activation behind it:
    ``factors`` (it is scaled), ``element`` (float32 and float64, whose products run elsewhere), ``sizes``
    (one is no multiple of 8, so that a row is no whole number of 16-byte vectors, or unknown while
    compiling), ``bias`` (it is no contiguous vector of the result's type), ``layout`` (the result has gaps).

    ``where``: ``gpu`` (modules for a GPU), ``everywhere`` or ``nowhere``.
    """

    name: ClassVar[str] = "activate-products"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "precision"
    where: Where = "gpu"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if not runs(self.where, module):
            return
        program = analyses.get(Program)
        known = {name: library_product(f) for name, f in program.functions.items()}
        products = {name: op for name, op in known.items() if op is not None and op.activated}
        calls = program.calls() if products else []
        zeros = _Zeros(program)
        for call in [c for c in calls if callee_name(c) in products]:
            found = _Behind.of(program, call).activation()
            if found is None:
                continue
            name = callee_name(call)
            reason = _refusal(program, call, found)
            rule, message = reason or ("activated", f"computes the {found.name} behind it")
            remarks.add(
                self.name, "missed" if reason else "passed", rule, f"@{name} {message}",
                ops=(name,), locations=(str(found.call.location),),
            )  # fmt: skip
            if reason is None:
                _replace(program, call, products[name], found, zeros)
        program.erase_unused()


@dataclass(frozen=True)
class _Activation:
    """``call`` gives the activation ``name`` of a product."""

    name: str
    call: ir.Operation


@dataclass
class _Behind:
    """What scalar kernels compute of a product.

    x:     its result, or a view of it.
    known: x, and what is computed of it alone.
    calls: the kernels that do, in an order in which each reads what is known.
    """

    program: Program
    x: ir.Value
    known: dict[ir.Value, Polynomial] = field(default_factory=dict)
    calls: list[ir.Operation] = field(default_factory=list)

    @staticmethod
    def of(program: Program, product: ir.Operation) -> "_Behind":
        """Of a call with one result."""
        x = product.results[0]
        while len(uses := list(_users(x))) == 1 and uses[0].name == "fuse.view" and is_reshape(uses[0]):
            x = uses[0].results[0]
        found = _Behind(program, x, {x: X})
        pending = [x]
        while pending:
            for op in _users(pending.pop(0)):
                if op.name == "func.call" and op not in found.calls and len(found.calls) < _FOLLOWED:
                    pending += found._follow(op)
        return found

    def _follow(self, call: ir.Operation) -> list[ir.Value]:
        """Takes note of what a call computes of known values; its result, if it is known now."""
        kernel = self.program.callee(call)
        if not is_kernel(kernel) or is_tiled(kernel) or len(call.results) != 1:
            return []
        [tie] = kernel_ties(kernel)
        given = {n: v for n, v in enumerate(call.operands) if n != tie}
        spec, result = TensorSpec.of(self.x.type), TensorSpec.of(call.results[0].type)
        if not all(v in self.known for v in given.values()) or result.sizes != spec.sizes:
            return []
        if defining_op(call.operands[tie], fuse.Empty) is None:
            return []
        read = {n: self.known[v] for n, v in given.items()}
        computed = polynomial(kernel, read, spec.element)
        if computed is None:
            return []
        self.calls.append(call)
        self.known[call.results[0]] = computed
        return [call.results[0]]

    def activation(self) -> _Activation | None:
        """The last value that is an activation, if nothing reads what lies between; None for no such."""
        spec = TensorSpec.of(self.x.type)
        for call in reversed(self.calls):
            [value] = call.results
            name = next((n for n, p in ACTIVATIONS.items() if equal(self.known[value], p)), None)
            if name is None or TensorSpec.of(value.type).element != spec.element:
                continue
            inside = self._made_of(call)
            between = [self.x, *(op.results[0] for op in inside[:-1])]
            if all(user in inside for v in between for user in _users(v)):
                return _Activation(name, call)
        return None

    def _made_of(self, call: ir.Operation) -> list[ir.Operation]:
        """The followed calls that a call's result is computed by, itself the last."""
        needed = {call}
        for earlier in reversed(self.calls):
            if any(user in needed for user in _users(earlier.results[0])):
                needed.add(earlier)
        return [c for c in self.calls if c in needed and c != call] + [call]


def _users(value: ir.Value) -> Iterator[ir.Operation]:
    return (use.owner.operation for use in value.uses)


def _refusal(program: Program, product: ir.Operation, found: _Activation) -> tuple[str, str] | None:
    """The rule and the reason why a product does not compute an activation, or None."""
    callee = program.callee(product)
    arguments, named = extern_arguments(callee.attributes)
    if named or not all(isinstance(a, fuse.Arg) for a in arguments):
        return "factors", "is scaled, and stays apart from the activation behind it"
    *added, left, right = (TensorSpec.of(product.operands[operand_number(a)].type) for a in arguments)
    result = TensorSpec.of(product.results[0].type)
    if any(spec.element not in _ELEMENTS for spec in (left, right, result)):
        return "element", f"multiplies {left.element}, for which the library has no activations"
    sizes = [size.constant for spec in (left, right) for size in spec.sizes]
    if any(not n or n % _VECTOR for n in sizes):  # of empty factors the library returns the bias as it is
        return "sizes", f"has a size that is 0, unknown or no multiple of {_VECTOR}"
    columns = right.sizes[-1]
    vector = TensorSpec.contiguous((columns,), result.element, result.device)
    if any((a.sizes, a.strides, a.element) != (vector.sizes, vector.strides, vector.element) for a in added):
        return "bias", "has a bias that is no contiguous vector of its type"
    if not result.is_contiguous or not TensorSpec.of(found.call.results[0].type).is_contiguous:
        return "layout", "has a result with gaps"
    return None


@dataclass
class _Zeros:
    """A zero for each column of a product, before all that is computed; one tensor for each width."""

    program: Program
    made: dict[TensorSpec, ir.Value] = field(default_factory=dict)

    def like(self, product: ir.Operation) -> ir.Value:
        matrix = TensorSpec.of(product.results[0].type)
        spec = TensorSpec.contiguous(matrix.sizes[1:], matrix.element, matrix.device)
        if spec not in self.made:
            self.made[spec] = self._make(spec, product)
        return self.made[spec]

    def _make(self, spec: TensorSpec, product: ir.Operation) -> ir.Value:
        program, type_ = self.program, spec.type()
        name = program.unique_name("zeros")
        with ir.InsertionPoint(program.callee(product)), product.location:
            kernel = func.FuncOp(name, ([type_], [type_]), visibility="private").operation
            kernel.attributes["fuse.kernel"] = ir.UnitAttr.get()
            kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([0])
            kernel.attributes["fuse.dims"] = dims_attribute({"d0": spec.sizes[0]})
            block = kernel.regions[0].blocks.append(type_, arg_locs=[product.location])
        with ir.InsertionPoint(block), product.location:
            zero = arith.constant(ir.RankedTensorType(type_).element_type, 0.0)
            func.ReturnOp([store(block.arguments[0], zero, ["d0"])])
        program.functions[name] = kernel
        with ir.InsertionPoint.at_block_begin(program.block), product.location:
            empty = static_empty(type_)
        call = program.recall(product, kernel, [empty], [type_])
        call.move_after(empty.owner.operation)
        return call.results[0]


def _replace(
    program: Program, product: ir.Operation, op: ProductOp, found: _Activation, zeros: _Zeros
) -> None:
    """Puts the op that computes the activation in the place of the product."""
    callee, result = program.callee(product), product.results[0]
    given = [product.operands[operand_number(a)] for a in extern_arguments(callee.attributes)[0]]
    operands = [*([zeros.like(product)] if op.added is None else []), *given]
    declared = declare(
        program,
        callee,
        f"{op.activated}_default",
        f"aten.{op.activated}.default",
        ([v.type for v in operands], result.type),
        [argument_of(n) for n in range(len(operands))],
        {"use_gelu": ir.BoolAttr.get(True)} if found.name == "gelu" else {},
    )
    new = program.recall(product, declared, operands, [result.type])
    made = found.call.results[0]
    made.replace_all_uses_with(reshaped(new.results[0], made.type, product))
    erase_unread(program, made)
