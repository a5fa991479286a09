"""``unroll-rows``: the few rows of a product share what is read of its weights, and the few components of a
vector what is computed for all of them.
"""

from typing import ClassVar

from ...compiler.analysis.kernel.shape import is_sum_of_products
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.slots import slots
from ...compiler.index import parse
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Access, Kernel, is_kernel, is_tiled, kernel_dims, over, string, strings
from ...compiler.ir.layout import ELEMENT_BYTES
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.dots import added
from ..base.kernels import copy_at, dims_attribute, forget_tiling, kernel_body, text_list
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, Numerics, PassError

#: Ops that compute nothing.
_ACCESSES = (fuse.Load, fuse.Store, fuse.Reduce, fuse.Index)
#: How many times as many operations do without a dim as run over it, where it is unrolled for their sake.
_SHARED = 2


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
    writes.  A tiled kernel is left as it is.
    Raises PassError on a module without ``@main``.
    """

    name: ClassVar[str] = "unroll-rows"
    preserves: ClassVar[Analyses] = (Program,)
    numerics: ClassVar[Numerics] = "reassociates"
    max_points: Count = 4

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        for func in self._candidates(module):
            name = string(func.attributes["sym_name"])
            while (dim := self._shared(kernel := Kernel.of(func))) is not None:
                points = kernel.dims[dim].constant
                assert points is not None
                unroll(kernel, dim, points)
                dims = {d: e for d, e in kernel.dims.items() if d != dim}
                func.attributes["fuse.dims"] = dims_attribute(dims)
                forget_tiling(func)
                analyses.get(Program).clean(func)
                message = f"@{name} computes {points} points of {dim} beside each other"
                remarks.add(
                    self.name, "passed", "unrolled", message, ops=(name,), locations=(str(func.location),)
                )

    def _candidates(self, module: ir.Module) -> list[ir.Operation]:
        """The scalar kernels that reduce and have a dim of so few points.  Raises PassError without @main."""
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
        for dim, extent in kernel.dims.items():
            if extent.constant is None or not 1 < extent.constant <= self.max_points:
                continue
            if (products and dim not in kept) or (dim not in along_old and _repeats(kernel, dim)):
                return dim
        return None


def _repeats(kernel: Kernel, dim: str) -> bool:
    """Whether a tile would compute most of what runs at each reduced point again for each of ``dim``."""
    rest = kernel.dims.keys() - {dim}
    if dim in kernel.reduced or kernel.products:
        return False
    everywhere = [op for op, dims in kernel.op_dims.items() if rest <= dims and not isinstance(op, _ACCESSES)]
    shared = sum(slots(op.name) for op in everywhere if dim not in kernel.op_dims[op])
    return shared > _SHARED * sum(slots(op.name) for op in everywhere if dim in kernel.op_dims[op])


def _bytes(kernel: Kernel, access: Access) -> int:
    """Elements that an access reads of static dims, in bytes."""
    total = ELEMENT_BYTES[kernel.spec(access.argument).element]
    for dim in kernel.op_dims[access.op]:
        total *= kernel.dims[dim].constant or 1 << 20
    return total


def unroll(kernel: Kernel, dim: str, points: int) -> None:
    """Copies what depends on ``dim`` for each of its points, in program order."""
    made: list[dict[ir.Value, ir.Value]] = [{} for _ in range(points)]
    copied: list[ir.Operation] = []
    loaded: dict[tuple[object, ...], ir.Operation] = {}
    stored = {a.argument for a in kernel.stores}
    # The dims are looked up before anything changes: the hash of an op is that of its operands, too.
    for op, dims in [(op, kernel.op_dims[op]) for op in kernel_body(kernel.func)[:-1]]:
        if isinstance(op, fuse.Reduce) and dim in over(op):
            _sum(op, dim, made)
        elif isinstance(op, fuse.Dot) and dim in over(op):
            _add_products(op, dim, made)
        elif dim in dims and isinstance(op, fuse.Store):
            _store(op, dim, made)
        elif dim in dims:
            for point in range(points):
                copy = _copy(op, dim, point, made[point])
                made[point].update(zip(op.results, _once(copy, loaded, stored).results, strict=True))
            copied.append(op)
        else:
            _once(op, loaded, stored, erases=False)
    for op in reversed(copied):
        if all(not list(r.uses) for r in op.results):
            op.erase()


def _once(
    op: ir.Operation, loaded: dict[tuple[object, ...], ir.Operation], stored: set[int], erases: bool = True
) -> ir.Operation:
    """The load in front of this one that reads the same, in place of it; else the op itself, noted."""
    if not isinstance(op, fuse.Load) or ir.BlockArgument(op.operands[0]).arg_number in stored:
        return op
    first = loaded.setdefault((*op.operands, *strings(op.attributes["at"])), op)
    if first is not op and erases:
        op.erase()
        return first
    return op


def _copy(op: ir.Operation, dim: str, point: int, made: dict[ir.Value, ir.Value]) -> ir.Operation:
    """A copy at a point of a dim; the index that is a number there is a constant."""
    operands = [made.get(operand, operand) for operand in op.operands]
    copy = copy_at(op, operands, {dim: point}, ir.InsertionPoint(op))
    value = parse(string(copy.attributes["expr"])).constant if copy.name == "fuse.index" else None
    if value is None or len(copy.operands):
        return copy
    type_ = copy.results[0].type
    with ir.InsertionPoint(copy), copy.location:
        constant = ir.Operation.create(
            "arith.constant", [type_], attributes={"value": ir.IntegerAttr.get(type_, value)}
        )
    copy.erase()
    return constant


def _store(op: ir.Operation, dim: str, made: list[dict[ir.Value, ir.Value]]) -> None:
    target = op.operands[0]
    for point, values in enumerate(made):
        copy = _copy(op, dim, point, values)
        copy.operands[0] = target
        target = copy.results[0]
    op.results[0].replace_all_uses_with(target)
    op.erase()


def _add_products(op: ir.Operation, dim: str, made: list[dict[ir.Value, ir.Value]]) -> None:
    """A product for each point of a dim that it sums, beside others."""
    first, *others = [_copy(op, dim, point, values).results[0] for point, values in enumerate(made)]
    with ir.InsertionPoint(op), op.location:
        for value in others:
            first = added(first, value)
    op.results[0].replace_all_uses_with(first)
    op.erase()


def _sum(op: ir.Operation, dim: str, made: list[dict[ir.Value, ir.Value]]) -> None:
    first, *others = [values.get(op.operands[0], op.operands[0]) for values in made]
    with ir.InsertionPoint(op), op.location:
        for value in others:
            first = added(first, value)
    op.operands[0] = first
    rest = [n for n in over(op) if n != dim]
    if rest:
        op.attributes["over"] = text_list(rest)
    else:
        op.results[0].replace_all_uses_with(first)
        op.erase()
