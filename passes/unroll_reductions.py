"""``unroll-reductions``: a sum of a few elements becomes a few loads and additions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from ..compiler.base.remarks import Remarks
from ..compiler.ir.kernel import REDUCTIONS, Kernel, kernel_ties, over, string
from ..compiler.ir.reductions import FOLD_KINDS
from ..compiler.mlir import ir
from .analysis_manager import Analyses, AnalysisManager
from .helpers.kernels import copy_at, dims_attribute, forget_tiling, kernel_body
from .helpers.program import Program
from .pass_base import AnalysisPass, Count, Numerics

#: (kind of reduction, whether of floats) -> the operation that joins two elements.  The largest and the
#: smallest integer stay reductions.
JOINS = {(name, True): kind.floats for name, kind in FOLD_KINDS.items() if kind.floats} | {
    (name, False): kind.integers for name, kind in FOLD_KINDS.items() if name not in ("max", "min")
}


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
        %s = arith.addf %v0, %v1 : f32

    Does not fire where the dim is needed for anything else: a store, an assertion, a scan, another kind of
    reduction; nor where what is reduced has a reduction inside, nor where the copies would be more than
    ``max_ops`` operations, nor on the largest and smallest of integers, as the operation does not say whether
    they are signed.  Nor in a kernel that reads an argument into which something is written: as a reduction,
    each element is read at the point that overwrites it, and both can be one kernel (``x.sub_(x.mean(0))``).

    Remarks: ``passed: unrolled``, with the number of elements in the text.
    """

    name: ClassVar[str] = "unroll-reductions"
    numerics: ClassVar[Numerics] = "reassociates"
    preserves: ClassVar[Analyses] = (Program,)
    max_points: Count = 4
    max_ops: Count = 64

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        calls = program.kernel_calls()
        kernels = {string(func.attributes["sym_name"]): func for _, func in calls}
        updating = _updating(calls)
        for name, func in kernels.items():
            if name in updating:
                continue
            if not any(op.name == "fuse.reduce" for op in kernel_body(func)):
                continue
            kernel = Kernel.of(func)
            groups = {frozenset(over(op)) for op in kernel.reductions}
            gone = [dims for dims in sorted(groups, key=sorted) if dims and self.may_unroll(kernel, dims)]
            for dims in gone:
                points = list(_points(kernel, dims))
                for op in [op for op in kernel.reductions if set(over(op)) == dims]:
                    _unroll(kernel, op, points)
                remarks.add(
                    self.name,
                    "passed",
                    "unrolled",
                    f"@{kernel.name} joins {len(points)} elements one by one",
                    ops=(kernel.name,),
                    locations=(str(func.location),),
                )
            if gone:
                dropped = frozenset().union(*gone)
                func.attributes["fuse.dims"] = dims_attribute(
                    {d: e for d, e in kernel.dims.items() if d not in dropped}
                )
                forget_tiling(func)
                program.clean(func)

    def may_unroll(self, kernel: Kernel, dims: frozenset[str]) -> bool:
        """Whether every use of ``dims`` ends in a reduction over just these that can be unrolled."""
        points = 1
        for dim in sorted(dims):
            extent = kernel.dims[dim].constant
            if extent is None or extent < 1:
                return False
            points *= extent
        if points > self.max_points:
            return False
        reductions = [op for op in kernel.reductions if set(over(op)) & dims]
        inside = [op for op, used in kernel.op_dims.items() if used & dims and op not in reductions]
        if len(inside) * points > self.max_ops:
            return False
        if any(
            op.name in REDUCTIONS or op.name in ("fuse.store", "fuse.scan") or not op.results for op in inside
        ):
            return False
        return all(_join(op) is not None and set(over(op)) == dims for op in reductions)


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
    if op.name != "fuse.reduce":
        return None
    floating = isinstance(op.results[0].type, ir.FloatType)
    return JOINS.get((string(op.attributes["kind"]), floating))


def _points(kernel: Kernel, dims: frozenset[str]) -> Iterator[dict[str, int]]:
    """The values of dims, the last one fastest."""
    names = sorted(dims, key=list(kernel.dims).index)
    extents = [kernel.dims[name].constant for name in names]
    for values in product(*(range(extent or 0) for extent in extents)):
        yield dict(zip(names, values, strict=True))


def _unroll(kernel: Kernel, reduction: ir.Operation, points: list[dict[str, int]]) -> None:
    join = _join(reduction)
    assert join is not None, "may_unroll asked"
    here = ir.InsertionPoint(reduction)
    total: ir.Value | None = None
    for point in points:
        value = _at(kernel, reduction.operands[0], point, here, {})
        if total is None:
            total = value
            continue
        total = ir.Operation.create(
            join, results=[value.type], operands=[total, value], loc=reduction.location, ip=here
        ).results[0]
    assert total is not None, "a reduction of no elements is not unrolled"
    reduction.results[0].replace_all_uses_with(total)
    reduction.erase()


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
