"""``store-pieces``: what makes a piece of a concatenation stores it where it lies in the result."""

from collections.abc import Sequence, Set
from typing import ClassVar

from ...compiler.analysis.kernel.concatenation import EqualPieces, equal_pieces
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, const, sym
from ...compiler.ir.defining import defining_op, is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import kernel_dims, kernel_ties, named_sizes
from ...compiler.ir.views import root_of, users_of
from ...compiler.mlir import func, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import dims_attribute, forget_tiling, kernel_body, rewrite_dims, set_signature
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, remark_on


@dataclass(frozen=True)
class StorePieces(AnalysisPass):
    """A concatenation of equal pieces that memory has to hold gets a store for each piece.

    Before, with ``fuse.dims = {d0 = "64", d1 = "96"}``, of what other kernels make::

        %a = "fuse.load"(%x, %first, %zero) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
        %b = "fuse.load"(%y, %second, %zero) {at = ["d0", "d1 - 48"]} : (tensor<64x48xf32>, i1, f32) -> f32
        %s = arith.select %first, %a, %b : f32
        %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (..) -> tensor<64x96xf32>

    After, with ``fuse.dims = {d0 = "64", d1 = "48"}``::

        %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
        %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
        %r0 = "fuse.store"(%o, %a, %true) {at = ["d0", "d1"], mode = "set"} : (..) -> tensor<64x96xf32>
        %r = "fuse.store"(%r0, %b, %true) {at = ["d0", "d1 + 48"], mode = "set"} : (..) -> tensor<64x96xf32>

    A kernel that makes several pieces has the points of one of them.  Fusion with the kernel above would
    compute every piece at every point of the result, and what the pieces share at several coordinates (the
    gradients of ``chunk``).

    A concatenation of many tensors takes several kernels, each of which writes into the result of the one
    before; they become one.

    Fires where at least two pieces are made by kernels, and everything that reads the result is an extern op
    or the end of the program, or several kernels write it.  Does not fire where a kernel reads what one
    kernel writes: it would fuse with the selection of its element; on pieces of different lengths; nor where
    a piece lies in runs of less than ``shortest`` bytes, which several stores would write part by part.

    Remarks: ``passed: stored``, with the number of pieces.
    """

    name: ClassVar[str] = "store-pieces"
    preserves: ClassVar[Analyses] = (Program,)
    shortest: Count = 32

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        found = program.kernel_calls()
        chains = _chains(program, found, self.shortest)
        kernels = {call for call, _ in found} if chains else set()
        for calls in chains:
            if not _wanted(program, kernels, calls):
                continue
            for call in calls:
                _store_each(program.own(call, program.callee(call)))
            call = _joined(program, calls) if len(calls) > 1 else calls[0]
            kernel = program.callee(call)
            program.clean(kernel)
            stores = sum(isinstance(op, fuse.Store) for op in kernel_body(kernel))
            message = "each piece is stored where it lies in their concatenation"
            remark_on(call, remarks, self.name, "passed", "stored", message, pieces=stores)
        if chains:
            program.erase_unused()


def _chains(
    program: Program, calls: Sequence[tuple[ir.Operation, ir.Operation]], shortest: int
) -> list[list[ir.Operation]]:
    """The calls that concatenate equal pieces.  Many tensors take several calls, of which each writes into
    the result of the one before: they are one list, in order.
    """
    cuts: dict[ir.Operation, EqualPieces | None] = {}
    found: dict[ir.Operation, list[ir.Operation]] = {}
    for call, kernel in calls:
        if kernel not in cuts:
            cuts[kernel] = equal_pieces(kernel)
        cut = cuts[kernel]
        if cut is None or cut.run < shortest:
            continue
        before = defining_op(call.operands[kernel_ties(kernel)[0]], func.CallOp)
        chain = [call]
        if before is not None and before in found and len(list(before.results[0].uses)) == 1:
            known = cuts[program.callee(before)]
            same = known is not None and (known.dim, known.length) == (cut.dim, cut.length)
            if same and not named_sizes(kernel):
                chain = [*found.pop(before), call]
        found[call] = chain
    return list(found.values())


def _wanted(program: Program, kernels: Set[ir.Operation], calls: Sequence[ir.Operation]) -> bool:
    """Whether ``kernels``, calls of kernels, make two pieces or more, and memory has to hold the result:
    several kernels write it, or none reads it.
    """
    sources = [
        root_of(call.operands[number])
        for call in calls
        for number in range(len(call.operands))
        if number not in kernel_ties(program.callee(call))
    ]
    made = sum(not isinstance(v.owner, ir.Block) and v.owner.operation in kernels for v in sources)
    return made > 1 and (len(calls) > 1 or not any(user in kernels for user in users_of(calls[0].results[0])))


def _joined(program: Program, calls: Sequence[ir.Operation]) -> ir.Operation:
    """One call, where the last of ``calls`` is, of the first one's kernel with the bodies of all."""
    kernel, last = program.callee(calls[0]), calls[-1]
    block = kernel.regions[0].blocks[0]
    end = kernel_body(kernel)[-1]
    stored, operands = end.operands[0], list(calls[0].operands)
    for call in calls[1:]:
        other = program.callee(call)
        [tie] = kernel_ties(other)
        values: dict[ir.Value, ir.Value] = {}
        for number, argument in enumerate(other.regions[0].blocks[0].arguments):
            if number != tie:
                operands.append(call.operands[number])
                values[argument] = block.add_argument(argument.type, other.location)
            else:
                values[argument] = stored
        for op in kernel_body(other)[:-1]:
            copy = op.clone(ir.InsertionPoint(end)).operation
            for number, operand in enumerate(op.operands):
                copy.operands[number] = values[operand]
            values.update(zip(op.results, copy.results, strict=True))
        stored = values[kernel_body(other)[-1].operands[0]]
    end.operands[0] = stored
    set_signature(kernel, [stored.type], [{} for _ in operands])
    call = program.recall(last, kernel, operands, [stored.type])
    last.results[0].replace_all_uses_with(call.results[0])
    for each in reversed(calls):
        program.erase_call(each)
    return call


def _store_each(kernel: ir.Operation) -> None:
    cut = equal_pieces(kernel)
    assert cut is not None, "a copy of a concatenation is one"
    extents = kernel_dims(kernel)
    extents[cut.dim] = const(cut.length)
    if cut.length == 1:
        del extents[cut.dim]
    body = kernel_body(kernel)
    [store] = [op for op in body if isinstance(op, fuse.Store)]
    true = store.operands[2]
    assert is_true(true), "each point of a concatenation is stored"
    true.owner.operation.move_before(body[0])
    target = store.operands[0]
    for number, load in enumerate(cut.loads):
        here = _point(cut, number)
        load.operands[1] = true
        rewrite_dims(load, lambda e, here=here: e.subs(here), list)  # type: ignore[misc]
        new = store.clone(ir.InsertionPoint(store)).operation
        new.operands[0], new.operands[1] = target, load.results[0]
        rewrite_dims(new, lambda e, here=here: e.subs(here), list)  # type: ignore[misc]
        target = new.results[0]
    store.results[0].replace_all_uses_with(target)
    store.erase()
    kernel.attributes["fuse.dims"] = dims_attribute(extents)
    forget_tiling(kernel)


def _point(cut: EqualPieces, number: int) -> dict[str, Expr]:
    """Where a point of a piece lies in the concatenation."""
    begin = const(number * cut.length)
    return {cut.dim: begin if cut.length == 1 else sym(cut.dim) + begin}
