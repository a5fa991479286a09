"""``unroll-reductions``: a sum of a few elements, or a running sum, becomes a few loads and additions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import ClassVar

from ...compiler.analysis.contraction.product import SHORT
from ...compiler.analysis.contraction.small import is_one_by_one
from ...compiler.analysis.contraction.tiles import ProductForm
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import REDUCTIONS, Kernel, kernel_dims, kernel_ties, over, string
from ...compiler.ir.reductions import FOLD_KINDS
from ...compiler.mlir import arith, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.dots import expand_dot
from ..base.kernels import copy_at, dims_attribute, forget_tiling, kernel_body
from ..base.new_ops import index, made, number
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, Numerics, remark_on

#: (kind of reduction, whether of floats) -> the operation that joins two elements.  The largest and the
#: smallest integer stay reductions.
JOINS = {(name, True): kind.floats for name, kind in FOLD_KINDS.items() if kind.floats} | {
    (name, False): kind.integers for name, kind in FOLD_KINDS.items() if name not in ("max", "min")
}

#: The ops that are unrolled.
_FOLDING = ("fuse.reduce", "fuse.dot", "fuse.scan")

#: ``predicate`` of arith.cmpi.
_SLE, _SGE = 3, 5


@dataclass(frozen=True)
class UnrollReductions(AnalysisPass):
    """A ``fuse.reduce`` over at most ``max_points`` elements, a static number, becomes that many copies of
    what it reduces, joined in order.  The kernel is pointwise then, and fuses like one.

    Before::

        %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
        %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32

    After, with ``d1 = "2"``, which is no dim of the kernel any more::

        %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "0"]} : (tensor<8x2xf32>, i1, f32) -> f32
        %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "1"]} : (tensor<8x2xf32>, i1, f32) -> f32
        %b = arith.addf %v0, %zero : f32
        %s = arith.addf %b, %v1 : f32

    A sum of floats begins at 0.0, so that one of negative zeros is 0.0; one of products does not.

    A ``fuse.dot`` over as few elements becomes multiplications, in the type of its result, and additions.  So
    does one over 5 to 16 elements, whatever ``max_points`` and ``max_ops`` are, if it has at most 16 rows or
    columns and tensor cores would not multiply it, or would be left idle (``is_one_by_one`` in
    ``compiler/analysis/contraction/small.py``).  Matrices of a batch that fill a block stay products where
    the right one does not lie along its columns, and where a program takes four of 16 rows and columns.

    A ``fuse.scan`` over as few elements becomes the same copies.  An element that comes later joins where the
    point is at it or behind it.  The dim stays::

        %c = "fuse.scan"(%v) {kind = "prod", over = "d1", reverse = false} : (f32) -> f32

        %i = "fuse.index"() {expr = "d1"} : () -> i64
        %more = arith.cmpi sge, %i, %one : i64
        %p = arith.mulf %v0, %v1 : f32
        %c = arith.select %more, %p, %v0 : f32

    Does not fire where the dim of a reduction is needed for anything else: a store, an assertion, a scan,
    another kind of reduction; nor where what is reduced or scanned has a reduction or a scan inside, nor
    where the copies would be more than ``max_ops`` operations, nor on the largest and smallest of integers,
    as the operation does not say whether they are signed.  Nor in a kernel that reads an argument into which
    something is written: as a reduction, each element is read at the point that overwrites it, and both can
    be one kernel (``x.sub_(x.mean(0))``).

    Remarks: ``passed: unrolled``, with the number of elements in the text.
    """

    name: ClassVar[str] = "unroll-reductions"
    numerics: ClassVar[Numerics] = "reassociates"
    preserves: ClassVar[Analyses] = (Program,)
    max_points: Count = SHORT
    max_ops: Count = 64

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        calls = program.kernel_calls()
        kernels = {string(func.attributes["sym_name"]): func for _, func in calls}
        updating = _updating(calls)
        for name, func in kernels.items():
            if name in updating or not self._may_fire(func):
                continue
            kernel = Kernel.of(func)
            groups = {frozenset(over(op)) for op in kernel.reductions}
            gone = [dims for dims in sorted(groups, key=sorted) if dims and self.may_unroll(kernel, dims)]
            dots = [op for op in kernel.products if {*over(op)} in gone]
            multiplied = {frozenset(over(op)) for op in dots}
            if dots:
                for op in dots:
                    expand_dot(op)
                kernel = Kernel.of(func)
            for dims in gone:
                points = list(_points(kernel, dims))
                for op in [op for op in kernel.reductions if set(over(op)) == dims]:
                    _unroll(kernel, op, points, from_zero=dims not in multiplied)
                self._report(remarks, kernel, f"@{kernel.name} joins {len(points)} elements one by one")
            if gone:
                dropped = frozenset().union(*gone)
                func.attributes["fuse.dims"] = dims_attribute(
                    {d: e for d, e in kernel.dims.items() if d not in dropped}
                )
                kernel = Kernel.of(func)
            scans = 0
            while scan := next((op for op in kernel.scans if self.may_unroll_scan(kernel, op)), None):
                points = list(_points(kernel, frozenset(over(scan))))
                _unroll_scan(kernel, scan, points)
                self._report(remarks, kernel, f"@{kernel.name} scans {len(points)} elements one by one")
                kernel, scans = Kernel.of(func), scans + 1
            if gone or scans:
                forget_tiling(func)
                program.clean(func)

    def _may_fire(self, func: ir.Operation) -> bool:
        """Whether a kernel has a product, or joins few elements: asked before all of the kernel is read."""
        folding = [op for op in kernel_body(func) if op.name in _FOLDING]
        extents = kernel_dims(func) if folding else {}
        return any(
            isinstance(op, fuse.Dot) or 0 < _count(extents, over(op)) <= self.max_points for op in folding
        )

    def _report(self, remarks: Remarks, kernel: Kernel, text: str) -> None:
        remark_on(kernel.func, remarks, self.name, "passed", "unrolled", text)

    def may_unroll_scan(self, kernel: Kernel, scan: ir.Operation) -> bool:
        """Whether what is scanned can be computed for each of its few elements."""
        (dim,) = over(scan)
        extent = _count(kernel.dims, (dim,))
        if not 0 < extent <= self.max_points or _join(scan) is None:
            return False
        inside = _behind(kernel, scan.operands[0], dim)
        if any(op.name in REDUCTIONS or isinstance(op, fuse.Scan) for op in inside):
            return False
        return len(inside) * extent <= self.max_ops

    def may_unroll(self, kernel: Kernel, dims: frozenset[str]) -> bool:
        """Whether every use of ``dims`` ends in a reduction over just these that can be unrolled."""
        points = _count(kernel.dims, dims)
        if not points:
            return False
        reductions = [op for op in kernel.reductions if set(over(op)) & dims]
        inside = [op for op, used in kernel.op_dims.items() if used & dims and op not in reductions]
        few = points <= self.max_points and len(inside) * points <= self.max_ops
        if not few and not all(_is_small_product(kernel, op) for op in reductions):
            return False
        if any(
            op.name in REDUCTIONS or op.name in ("fuse.store", "fuse.scan") or not op.results for op in inside
        ):
            return False
        return all(_join(op) is not None and set(over(op)) == dims for op in reductions)


def _count(extents: Mapping[str, Expr], dims: Iterable[str]) -> int:
    """The points of dims; 0 where their number is not known."""
    points = 1
    for dim in dims:
        points *= extents[dim].constant or 0
    return points


def _is_small_product(kernel: Kernel, op: ir.Operation) -> bool:
    """Whether a reduction is a product whose sums are best multiplied one by one."""
    if not isinstance(op, fuse.Dot):
        return False
    shape, summed = KernelShape.of(kernel), {*over(op)}
    left, right = (kernel.value_dims.get(v, frozenset()) - summed for v in op.operands)
    m, n, k, batch = (shape.points(tuple(d)) for d in (left - right, right - left, summed, left & right))
    turned = _is_turned(shape, op.operands[1], right - left)
    return is_one_by_one(ProductForm(m, n, k, batch, str(op.operands[0].type), turned=turned))


def _is_turned(shape: KernelShape, right: ir.Value, columns: frozenset[str]) -> bool:
    """Whether a right factor is loaded, and does not lie along its columns."""
    access = next((a for a in shape.kernel.loads if a.op.results[0] == right), None)
    return access is not None and shape.contiguous_dim(access) not in columns


def _updating(calls: Sequence[tuple[ir.Operation, ir.Operation]]) -> set[str]:
    """The names of kernels that read an argument of ``@main`` into which some kernel writes."""
    destinations = {call.operands[tie] for call, func in calls for tie in kernel_ties(func)}
    written = {value for value in destinations if isinstance(value.owner, ir.Block)}
    return {
        string(func.attributes["sym_name"])
        for call, func in calls
        if written and not written.isdisjoint(call.operands)
    }


def _join(op: ir.Operation) -> str | None:
    if op.name not in _FOLDING:
        return None
    floating = isinstance(op.results[0].type, ir.FloatType)
    kind = "sum" if isinstance(op, fuse.Dot) else string(op.attributes["kind"])
    return JOINS.get((kind, floating))


def _points(kernel: Kernel, dims: frozenset[str]) -> Iterator[dict[str, int]]:
    """The values of dims, the last one fastest."""
    names = sorted(dims, key=list(kernel.dims).index)
    extents = [kernel.dims[name].constant for name in names]
    for values in product(*(range(extent or 0) for extent in extents)):
        yield dict(zip(names, values, strict=True))


def _unroll(
    kernel: Kernel, reduction: ir.Operation, points: list[dict[str, int]], *, from_zero: bool
) -> None:
    """``from_zero``: a sum of floats begins at 0.0, so that one of negative zeros is 0.0."""
    join = _join(reduction)
    assert join is not None, "may_unroll asked"
    here = ir.InsertionPoint(reduction)
    total: ir.Value | None = None
    with here, reduction.location:
        for point in points:
            value = _at(kernel, reduction.operands[0], point, here, {})
            if total is None:
                total = _from_zero(reduction, value) if from_zero else value
                continue
            total = made(join, total, value)
    assert total is not None, "a reduction of no elements is not unrolled"
    reduction.results[0].replace_all_uses_with(total)
    reduction.erase()


def _from_zero(reduction: ir.Operation, first: ir.Value) -> ir.Value:
    """What joining begins with: the first element, added to 0.0 in a sum of floats."""
    plus = FOLD_KINDS["sum"].floats
    return made(plus, first, number(first.type, 0.0)) if _join(reduction) == plus else first


def _unroll_scan(kernel: Kernel, scan: ir.Operation, points: list[dict[str, int]]) -> None:
    join = _join(scan)
    assert join is not None, "may_unroll_scan asked"
    (dim,) = over(scan)
    reverse = ir.BoolAttr(scan.attributes["reverse"]).value
    here = ir.InsertionPoint(scan)
    with here, scan.location:
        place = index(dim)
        first, *later = reversed(points) if reverse else points
        total = _at(kernel, scan.operands[0], first, here, {})
        for point in later:
            value = _at(kernel, scan.operands[0], point, here, {})
            reached = arith.cmpi(_SLE if reverse else _SGE, place, number(place.type, point[dim]))
            total = arith.select(reached, made(join, total, value), total)
    scan.results[0].replace_all_uses_with(total)
    scan.erase()


def _behind(kernel: Kernel, value: ir.Value, dim: str) -> set[ir.Operation]:
    """The ops that compute a value, as far as they depend on ``dim``."""
    found: set[ir.Operation] = set()
    ahead = [value]
    while ahead:
        value = ahead.pop()
        if dim in kernel.value_dims.get(value, frozenset()) and value.owner.operation not in found:
            found.add(value.owner.operation)
            ahead += value.owner.operation.operands
    return found


def _at(
    kernel: Kernel,
    value: ir.Value,
    point: dict[str, int],
    here: ir.InsertionPoint,
    made: dict[ir.Value, ir.Value],
) -> ir.Value:
    """``value`` where the dims of ``point`` have its values: copies of what depends on them."""
    if not kernel.value_dims.get(value, frozenset()) & point.keys():
        return value
    if value not in made:
        op = value.owner.operation
        operands = [_at(kernel, operand, point, here, made) for operand in op.operands]
        copy = copy_at(op, operands, point, here)
        made.update(zip(op.results, copy.results, strict=True))
    return made[value]
