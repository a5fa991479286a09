"""``unroll-rows``: the few rows of a product share what is read of its weights, and the few components of a
vector what is computed for all of them.
"""

from typing import ClassVar

from ...compiler.analysis.kernel.shape import is_sum_of_products
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Access, Kernel, is_kernel, is_tiled, kernel_dims, kernel_ties
from ...compiler.ir.layout import ELEMENT_BYTES
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..base.unrolling import few_points, repeats, unrolled
from ..pass_base import AnalysisPass, Count, Numerics, PassError


@dataclass(frozen=True)
class UnrollRows(AnalysisPass):
    """In a kernel that sums products, a dim of at most ``max_points`` points is unrolled if the largest load
    does not run over it: what depends on the dim is copied for each of its points, and the load is there
    once.

    Before, with ``fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}``::

        %w = "fuse.load"(%weights, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
        %x = "fuse.load"(%rows, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
        %p = arith.mulf %x, %w : f32
        %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
        %o = "fuse.store"(%out, %s, %true) {at = ["d0", "d1"], mode = "set"} : (..) -> tensor<2x64xf32>

    After, with ``fuse.dims = {d1 = "64", d2 = "256"}``::

        %w = "fuse.load"(%weights, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
        %x0 = "fuse.load"(%rows, %true, %zero) {at = ["0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
        %x1 = "fuse.load"(%rows, %true, %zero) {at = ["1", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
        ...
        %o0 = "fuse.store"(%out, %s0, %true) {at = ["0", "d1"], mode = "set"} : (..) -> tensor<2x64xf32>
        %o1 = "fuse.store"(%o0, %s1, %true) {at = ["1", "d1"], mode = "set"} : (..) -> tensor<2x64xf32>

    Of a dim that is summed (two weights of 4 bits in a byte), the products of its points are added before the
    sum.

    In any kernel that reduces, a dim that stays is unrolled if at each reduced point more than twice as many
    operations do without it as run over it: the distance of two bodies, beside the three components of their
    force.  In a tile each of its points would have lanes of its own, which compute the distance again.  What
    a component loads that is loaded for the distance already is not loaded again.  A kernel with a
    ``fuse.dot`` has tiles of their own for what does without a dim, so none of its dims is unrolled for that.

    Does not fire on a kernel with a scan or an assertion, nor, but for that, on one with another reduction or
    where every dim of so few points is one of the largest load, nor on a dim along which the kernel reads
    what it stores: there would be several stores, and a kernel reads old contents only where its one store
    writes; nor on one that stores a tensor in pieces, as the steps of a recurrence, whose work is that of its
    rows.  A tiled kernel is left as it is.
    Raises PassError on a module without ``@main``.
    """

    name: ClassVar[str] = "unroll-rows"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "reassociates"
    max_points: Count = 4

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        for func in self._candidates(module):
            while (dim := self._shared(kernel := Kernel.of(func))) is not None:
                unrolled(analyses.get(Program), kernel, dim, self.name, remarks)

    def _candidates(self, module: ir.Module) -> list[ir.Operation]:
        """The scalar kernels that reduce, store each tensor once and have a dim of so few points.  Raises
        PassError without @main.
        """
        functions = functions_of(module)
        if "main" not in functions:
            raise PassError("the module has no function @main", module.operation.location)
        return [
            func
            for func in functions.values()
            if is_kernel(func)
            and not is_tiled(func)
            and any(1 < (extent.constant or 0) <= self.max_points for extent in kernel_dims(func).values())
            and any(isinstance(op, fuse.Reduce) for op in kernel_body(func))
            and sum(isinstance(op, fuse.Store) for op in kernel_body(func)) <= len(kernel_ties(func))
        ]

    def _shared(self, kernel: Kernel) -> str | None:
        """A dim to unroll, None if there is none."""
        loads = [a for a in kernel.loads if kernel.op_dims[a.op] & kernel.reduced]
        if not loads or kernel.scans or kernel.asserts:
            return None
        products = all(map(is_sum_of_products, kernel.reductions))
        largest = max(loads, key=lambda a: _bytes(kernel, a))
        stored = {a.argument for a in kernel.stores}
        old = [a for a in kernel.loads if a.argument in stored]
        kept, along_old = (
            frozenset[str]().union(*(kernel.op_dims[a.op] for a in accesses))
            for accesses in ((largest, *old), old)
        )
        for dim in kernel.dims:
            if not few_points(kernel, dim, self.max_points):
                continue
            if (products and dim not in kept) or (dim not in along_old and repeats(kernel, dim)):
                return dim
        return None


def _bytes(kernel: Kernel, access: Access) -> int:
    """Elements that an access reads of static dims, in bytes."""
    total = ELEMENT_BYTES[kernel.spec(access.argument).element]
    for dim in kernel.op_dims[access.op]:
        total *= kernel.dims[dim].constant or 1 << 20
    return total
