"""``concat-products-in-place``: products of the library are written into their concatenation."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from ...compiler.analysis.kernel.concatenation import Concatenation, concatenation
from ...compiler.analysis.program.dependences import Dependences
from ...compiler.analysis.program.storage_accesses import StorageAccesses
from ...compiler.base.dataclass import dataclass
from ...compiler.base.products import ProductOp
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, const, contiguous_strides, sym
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import extern_arguments, is_kernel, is_tiled, kernel_ties
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.storage import callee_name
from ...compiler.ir.views import made_alone, users_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.new_ops import static_empty, static_view
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

_ALIGNMENT = 16  #: bytes


@dataclass(frozen=True)
class ConcatProductsInPlace(AnalysisPass):
    """Products of torch's libraries write their results into the concatenation of them.

    Before::

        %a = call @mm(%x, %v) : (..) -> tensor<64x32xbf16>
        %b = call @mm_1(%x, %w) : (..) -> tensor<64x64xbf16>
        %c = call @cat(%a, %b, %e) : (..) -> tensor<64x96xbf16>

    After::

        %c = "fuse.empty"() {syms = []} : () -> tensor<64x96xbf16>
        %p = "fuse.view"(%c) {map = ["v0", "v1"], syms = []} : (tensor<64x96xbf16>)
            -> tensor<64x32xbf16, #fuse.layout<"64,32", "96,1", "0", "">>
        %a = call @mm_out(%x, %v, %p)                  // aten.mm.out
        %q = "fuse.view"(%c) {map = ["v0", "v1 + 32"], syms = []} : (tensor<64x96xbf16>)
            -> tensor<64x64xbf16, #fuse.layout<"64,64", "96,1", "32", "">>
        %b = call @mm_out_1(%x, %w, %q)

    So are products that updates put into a tensor until none of its old values is left, if these updates have
    become one kernel: ``z = zeros(..)``, ``z[:n] = a @ b``, ``z[n:] = c @ d``.

    The library writes rows with gaps between them at no cost.  The kernel that reads and writes all of the
    result is gone, and so are its operands: the result is in memory once instead of twice.  All products run
    where the last of them ran.

    It fires on ``mm`` and ``bmm`` along any dim, and on ``addmm`` along the first: for rows with gaps the
    library adds the bias in a second pass.  Views that keep the last dim may lie between, for a concatenation
    along the first dim or the last.

    It does not fire where an operand of the concatenation is anything else, has another reader or appears
    twice; where element types differ or sizes are unknown while compiling.

    Remarks: ``passed: written`` for each concatenation that goes.  ``missed``, of one whose operands are all
    products: ``views`` (views between do not keep the dim), ``bias`` (rows would lie apart, and the library
    would add a bias in a pass of its own), ``unaligned`` (a row or a part would not start at a multiple of 16
    bytes), ``lifetime`` (what a product reads could be given back before the last of them runs),
    ``overwritten`` (what a product reads is overwritten before that).

    ``where``: ``everywhere``, ``gpu`` (modules for a GPU) or ``nowhere``.
    """

    name: ClassVar[str] = "concat-products-in-place"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "reassociates"  # the library may sum in another order for rows with gaps
    where: Where = "everywhere"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if not runs(self.where, module):
            return
        program = analyses.get(Program)
        found = _concats(program)
        if not found:
            return
        uses = StorageAccesses.of(Dependences.of(module))
        refused = {id(concat): concat.refusal(uses) for concat in found}  # of the program as it was
        told = {(r.rule, r.message) for r in remarks.items if r.pass_name == self.name}  # by an earlier run
        for concat in found:
            names = [callee_name(p) for p in concat.products]
            said, reason = ", ".join(f"@{n}" for n in names), refused[id(concat)]
            rule, message = reason or ("written", "are written where their concatenation has them")
            if reason is None or (rule, f"{said} {message}") not in told:
                remarks.add(
                    self.name, "missed" if reason else "passed", rule, f"{said} {message}",
                    ops=tuple(names), locations=(str(concat.call.location),),
                )  # fmt: skip
            if reason is None:
                _write(program, concat, max(concat.products, key=uses.place))
        program.erase_unused()


@dataclass(frozen=True)
class _Concat:
    """``call`` concatenates the results of ``products``, behind views, along their own dim ``dim``; None
    where views do not say which that is."""

    call: ir.Operation
    products: tuple[ir.Operation, ...]
    ops: tuple[ProductOp, ...]
    dim: int | None

    @property
    def specs(self) -> list[TensorSpec]:
        """Of the products."""
        return [TensorSpec.of(p.results[0].type) for p in self.products]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of all products together."""
        every = [_static(spec) for spec in self.specs]
        return tuple(sum(e[n] for e in every) if n == self.dim else size for n, size in enumerate(every[0]))

    def refusal(self, uses: StorageAccesses) -> tuple[str, str] | None:
        """The rule and the reason why products are not written where they will lie, or None."""
        if (
            self.dim is None
            or math.prod(self.sizes) != TensorSpec.of(self.call.results[0].type).numel.constant
        ):
            return "views", "are concatenated behind views that do not keep the dim"
        if len({_other_sizes(spec, self.dim) for spec in self.specs}) > 1:
            return "views", "have other sizes than what is concatenated"
        if self.dim != 0 and not all(op.wide_rows for op in self.ops):
            return "bias", "would get their bias in a pass of its own, as their rows would lie apart"
        if not self._is_aligned():
            return "unaligned", "would not start where vectors do in their concatenation"
        last = max(map(uses.place, self.products))
        for product in self.products:
            for root in {uses.root(v) for v in product.operands}:
                readers = uses.read.get(root, ())
                if not uses.deps.is_argument(root) and all(n < last for n in readers):
                    return "lifetime", "read what could be given back before the last of them runs"
                if any(uses.place(product) < n < last for n in uses.written.get(root, ())):
                    return "overwritten", "read what is overwritten before the last of them runs"
        return None

    def _is_aligned(self) -> bool:
        """Whether every row of every part starts as far from the beginning as vectors do."""
        assert self.dim is not None, "it is known where products are written"
        element = self.specs[0].element_bytes
        inner = math.prod(self.sizes[self.dim + 1 :]) * element
        starts = [_static(spec)[self.dim] * inner for spec in self.specs]
        return all(n % _ALIGNMENT == 0 for n in (self.sizes[-1] * element, *starts))


def _static(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(size.constant or 0 for size in spec.sizes)


def _other_sizes(spec: TensorSpec, dim: int) -> tuple[Expr, ...]:
    return (*spec.sizes[:dim], *spec.sizes[dim + 1 :])


def _concats(program: Program) -> list[_Concat]:
    """The concatenations of products alone, of one element type and of sizes that are known."""
    products = {n: op for n, f in program.functions.items() if (op := library_product(f)) and op.out}
    if not products:
        return []
    read = Counter(
        reader
        for call in program.calls()
        if callee_name(call) in products
        for reader in users_of(call.results[0])
    )
    kernels = {}
    for name in {callee_name(call) for call, count in read.items() if count > 1 and call.name == "func.call"}:
        kernel = program.functions[name]
        if is_kernel(kernel) and not is_tiled(kernel) and (cut := concatenation(kernel)) is not None:
            kernels[name] = cut
    found = []
    for call in program.calls() if kernels else ():
        cut = kernels.get(callee_name(call))
        concat = None if cut is None else _concat(program, products, call, cut)
        if concat is not None:
            found.append(concat)
    return found


def _concat(
    program: Program, products: dict[str, ProductOp], call: ir.Operation, cut: Concatenation
) -> _Concat | None:
    parts = [call.operands[n] for n in cut.arguments]
    made = [_product(program, products, part) for part in parts]
    calls = tuple(product for product in made if product is not None)
    if len(calls) < len(made) or len(set(calls)) < len(calls):
        return None
    destination = call.operands[kernel_ties(program.callee(call))[0]]
    if defining_op(destination, fuse.Empty) is None or len(list(destination.uses)) != 1:
        return None
    whole = TensorSpec.of(call.results[0].type)
    specs = [TensorSpec.of(v.type) for v in (*parts, *(c.results[0] for c in calls))]
    if any((s.element, s.device) != (whole.element, whole.device) or not s.is_static for s in specs):
        return None
    if not whole.is_contiguous or whole.numel.constant == 0 or not all(s.is_row_major for s in specs):
        return None
    ops = tuple(products[callee_name(c)] for c in calls)
    return _Concat(call, calls, ops, _own_dim(cut.dim, whole.rank, parts, calls))


def _product(program: Program, products: dict[str, ProductOp], value: ir.Value) -> ir.Operation | None:
    """The call of a product that a value is the result of, behind views; each has one reader."""
    op = made_alone(value)
    if op is None or op.name != "func.call":
        return None
    if not all(isinstance(v.type, ir.RankedTensorType) for v in op.operands):
        return None
    return op if callee_name(op) in products else None


def _own_dim(dim: int, rank: int, parts: Sequence[ir.Value], products: Sequence[ir.Operation]) -> int | None:
    """The products' own dim that a dim of their views, of ``rank`` dims, is; None where views do not say.

    Views that keep the last dim flatten or split those before it, so the first dim stays the slowest.
    """
    pairs = [
        (TensorSpec.of(p.results[0].type), TensorSpec.of(v.type))
        for p, v in zip(products, parts, strict=True)
    ]
    if len({product.rank for product, _ in pairs}) > 1:
        return None
    if all(product.sizes == part.sizes for product, part in pairs):
        return dim
    if any(product.sizes[-1] != part.sizes[-1] for product, part in pairs):
        return None
    if dim == 0:
        return 0
    return pairs[0][0].rank - 1 if dim == rank - 1 else None


def _write(program: Program, concat: _Concat, last: ir.Operation) -> None:
    """Puts the products, in front of the ``last``, where they will lie; their concatenation is the buffer."""
    call, spec, dim = concat.call, concat.specs[0], concat.dim
    assert dim is not None, "it is known where products are written"
    whole = TensorSpec.contiguous(tuple(map(const, concat.sizes)), spec.element, spec.device)
    with ir.InsertionPoint(last), call.location:
        buffer = static_empty(whole.type())
    start = 0
    for product, part in zip(concat.products, concat.specs, strict=True):
        _write_part(program, product, part, last, (buffer, dim, start))
        start += _static(part)[dim]
    result = reshaped(buffer, call.results[0].type, call)
    call.results[0].replace_all_uses_with(result)
    erase_unread(program, call.results[0])


def _write_part(
    program: Program,
    product: ir.Operation,
    spec: TensorSpec,
    last: ir.Operation,
    place: tuple[ir.Value, int, int],
) -> None:
    """Calls a product in front of ``last`` that writes into a buffer, along a dim from a start on."""
    buffer, dim, start = place
    strides = contiguous_strides(TensorSpec.of(buffer.type).sizes)
    inside = TensorSpec(spec.sizes, strides, strides[dim] * start, spec.element, spec.device)
    map_ = [sym(f"v{n}") + (start if n == dim else 0) for n in range(spec.rank)]
    callee = program.callee(product)
    with ir.InsertionPoint(last), product.location:
        out = static_view(buffer, inside.type(), map_)
    operands = [*product.operands, out]
    written = library_product(callee)
    assert written is not None, "it is a product"
    given, named = extern_arguments(callee.attributes)
    declared = declare(
        program,
        callee,
        f"{written.name}_out",
        f"aten.{written.name}.{written.out}",
        ([v.type for v in operands], out.type),
        given,
        {**named, "out": argument_of(len(operands) - 1)},
        writes=len(operands) - 1,
    )
    new = program.recall(product, declared, operands, [out.type])
    new.move_before(last)
