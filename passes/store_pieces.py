"""``store-pieces``: what makes a piece of a concatenation stores it where it lies in the result."""

from collections.abc import Set
from typing import ClassVar

from ..compiler.analysis.kernel.concatenation import EqualPieces, equal_pieces
from ..compiler.base.dataclass import dataclass
from ..compiler.base.remarks import Remarks
from ..compiler.index import Expr, const, sym
from ..compiler.ir.defining import is_true
from ..compiler.ir.kernel import kernel_dims, string
from ..compiler.ir.views import root_of, users_of
from ..compiler.mlir import ir
from .analysis_manager import Analyses, AnalysisManager
from .helpers.kernels import dims_attribute, forget_tiling, kernel_body, rewrite_dims
from .helpers.program import Program
from .pass_base import AnalysisPass, Count


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

    Fires where at least two pieces are made by kernels, and everything that reads the result is an extern op
    or the end of the program.  Does not fire where a kernel reads it, which would fuse with the selection of
    its element; on pieces of different lengths; nor where a piece lies in runs of less than ``shortest``
    bytes, which several stores would write part by part.

    Remarks: ``passed: stored``, with the number of pieces.
    """

    name: ClassVar[str] = "store-pieces"
    preserves: ClassVar[Analyses] = (Program,)
    shortest: Count = 32

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        calls = program.kernel_calls()
        kernels = {call for call, _ in calls}
        found: dict[str, EqualPieces | None] = {}
        for call, kernel in calls:
            name = string(kernel.attributes["sym_name"])
            if name not in found:
                found[name] = equal_pieces(kernel)
            cut = found[name]
            if cut is None or cut.run < self.shortest or not _wanted(kernels, call, cut):
                continue
            own = program.own(call, kernel)
            _store_each(own, cut if own is kernel else equal_pieces(own))
            program.clean(own)
            remarks.add(
                self.name, "passed", "stored", "each piece is stored where it lies in their concatenation",
                ops=(string(own.attributes["sym_name"]),), locations=(str(call.location),),
                pieces=len(cut.loads),
            )  # fmt: skip


def _wanted(kernels: Set[ir.Operation], call: ir.Operation, cut: EqualPieces) -> bool:
    """Whether two pieces or more are made by ``kernels``, calls of kernels, and none reads the result."""
    sources = (root_of(call.operands[number]) for number in cut.arguments)
    made = sum(not isinstance(v.owner, ir.Block) and v.owner.operation in kernels for v in sources)
    return made > 1 and not any(user in kernels for user in users_of(call.results[0]))


def _store_each(kernel: ir.Operation, cut: EqualPieces | None) -> None:
    assert cut is not None, "a copy of a concatenation is one"
    extents = kernel_dims(kernel)
    extents[cut.dim] = const(cut.length)
    if cut.length == 1:
        del extents[cut.dim]
    body = kernel_body(kernel)
    [store] = [op for op in body if op.name == "fuse.store"]
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
