"""``combine-reductions``: two reductions of one value that need two reads become one reduction that needs
one.

Over the same dims of the same value:

- ``max(x)`` and ``sum(exp(x - max))`` become ``fuse.online_softmax``;
- ``mean = sum(x) / n`` and ``sum((x - mean) * (x - mean))`` become ``fuse.welford``, where n is the number of
  points reduced;
- ``sum(x) / n`` beside a ``fuse.welford`` of x is its mean;
- ``sum(exp(x - m) / s * w)``, with m and s of the online softmax of x, becomes ``fuse.online_expectation``
  (``passes/kernels/expectations.py`` has the algebra): the mean of any w, an entropy, the divergence of two
  softmaxes, the cross-entropy of two.  A term or factor of w that does not vary along the row is taken out
  of the sum.

The first three always fire.  Where the axis is looped over, they save a read of the row; where it is
resident, code generation gives the same two reductions as before, or one less.  With Welford's mean, a row
of equal elements less its mean is exactly 0 (``codegen/folds/online.py``).  The last one fires where nothing
else reads the row after its softmax.  Sums are taken in another order, so numbers change by rounding;
weights times the length of the row must be finite, and probabilities below 2**-126 count as 0.

Before::

    %m = "fuse.reduce"(%x) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32

After::

    %m, %s = "fuse.online_softmax"(%x) {over = ["d1"]} : (f32) -> (f32, f32)
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32

It does not fire where the value that is subtracted, the dims or the count differ, on a weight that needs
another reduction over the row, nor on other forms of the variance, such as ``sum(x*x) / n - mean*mean``,
which round otherwise.

Remarks: ``passed`` with the rule ``online-softmax``, ``welford``, ``mean-of-welford`` or
``online-expectation``.
"""

from functools import partial
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, const, parse
from ...compiler.ir.defining import constant_number, defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, is_kernel, is_tiled, kernel_dims, string, strings
from ...compiler.mlir import arith, ir, math
from ..pass_base import Numerics, Pass, remark_on
from .expectations import combine_expectation


@dataclass(frozen=True)
class CombineReductions(Pass):
    """Forms ``fuse.online_softmax``, ``fuse.welford`` and ``fuse.online_expectation``."""

    name: ClassVar[str] = "combine-reductions"
    numerics: ClassVar[Numerics] = "reassociates"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for op in module.body.operations:
            func = op.operation
            if not is_kernel(func) or is_tiled(func) or not func.regions[0].blocks:
                continue
            dims = kernel_dims(func)
            for reduction in sums_of(func.regions[0].blocks[0]):
                rule = (
                    combine_softmax(reduction)
                    or _combine_welford(reduction, dims)
                    or _mean_of_welford(reduction, dims)
                )
                if rule is None and combine_expectation(reduction, partial(Kernel.of, func)):
                    rule = "online-expectation"
                if rule is not None:
                    message = f"two reductions of @{string(func.attributes['sym_name'])} take one read"
                    remark_on(func, remarks, self.name, "passed", rule, message)


def sums_of(block: ir.Block) -> list[ir.Operation]:
    """The sums of a body: each rule erases no more than those up to the one that it is asked about."""
    found = [op.operation for op in block.operations if isinstance(op, fuse.Reduce)]
    return [op for op in found if string(op.attributes["kind"]) == "sum"]


def _over(op: ir.Operation) -> list[str]:
    return sorted(strings(op.attributes["over"]))


def combine_softmax(total: ir.Operation) -> str | None:
    """``total`` is sum(exp(x - max(x)))."""
    power = defining_op(total.operands[0], math.ExpOp)
    difference = defining_op(power.operands[0], arith.SubFOp) if power is not None else None
    if power is None or difference is None:
        return None
    top = defining_op(difference.operands[1], fuse.Reduce)
    if top is None or string(top.attributes["kind"]) != "max" or _over(top) != _over(total):
        return None
    value = difference.operands[0]
    if top.operands[0] != value:
        return None
    combined = _replacement("fuse.online_softmax", value, top)
    top.results[0].replace_all_uses_with(combined.results[0])
    total.results[0].replace_all_uses_with(combined.results[1])
    _erase_unused(total, power, difference, top)
    return "online-softmax"


def _combine_welford(total: ir.Operation, dims: dict[str, Expr]) -> str | None:
    """``total`` is sum((x - mean) * (x - mean)) with mean = sum(x) / n."""
    square = defining_op(total.operands[0], arith.MulFOp)
    if square is None or square.operands[0] != square.operands[1]:
        return None
    deviation = defining_op(square.operands[0], arith.SubFOp)
    if deviation is None:
        return None
    mean = defining_op(deviation.operands[1], arith.DivFOp)
    if mean is None:
        return None
    first = defining_op(mean.operands[0], fuse.Reduce)
    if first is None or string(first.attributes["kind"]) != "sum" or _over(first) != _over(total):
        return None
    value = deviation.operands[0]
    if first.operands[0] != value or _count(mean.operands[1]) != _points(total, dims):
        return None
    combined = _replacement("fuse.welford", value, first)
    mean.results[0].replace_all_uses_with(combined.results[0])
    total.results[0].replace_all_uses_with(combined.results[1])
    _erase_unused(total, square, deviation, mean, first)
    return "welford"


def _mean_of_welford(total: ir.Operation, dims: dict[str, Expr]) -> str | None:
    """``total`` is sum(x), divided by n, and the kernel has Welford's mean of x."""
    users = [use.owner.operation for use in total.operands[0].uses]
    found = [
        op
        for op in users
        if op.name == "fuse.welford" and len(op.operands) == 1 and _over(op) == _over(total)
    ]
    points = _points(total, dims)
    means = [
        op
        for op in (use.owner.operation for use in total.results[0].uses)
        if op.name == "arith.divf" and op.operands[0] == total.results[0] and _count(op.operands[1]) == points
    ]
    if not found or not means:
        return None
    if _precedes(total, found[0]):
        found[0].move_before(total)
    for mean in means:
        mean.results[0].replace_all_uses_with(found[0].results[0])
        mean.erase()
    _erase_unused(total)
    return "mean-of-welford"


def _precedes(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether ``op`` comes first of two ops of a block."""
    return next(o.operation for o in op.block.operations if o.operation in (op, other)) == op


def _points(reduction: ir.Operation, dims: dict[str, Expr]) -> Expr:
    """How many points a reduction folds into one."""
    count = const(1)
    for dim in _over(reduction):
        count = count * dims[dim]
    return count


def _count(value: ir.Value) -> Expr | None:
    """The integer that a float value is: a constant, or a converted index expression."""
    number = constant_number(value)
    if number is not None:
        return const(int(number)) if number.is_integer() else None  # an infinity is none, nor is a NaN
    converted = defining_op(value, arith.SIToFPOp)
    index = defining_op(converted.operands[0], fuse.Index) if converted is not None else None
    if index is None or len(index.operands):
        return None
    return parse(string(index.attributes["expr"]))


def _replacement(name: str, value: ir.Value, at: ir.Operation) -> ir.Operation:
    attributes = {"over": at.attributes["over"]}
    return ir.Operation.create(
        name,
        results=[value.type, value.type],
        operands=[value],
        attributes=attributes,
        loc=at.location,
        ip=ir.InsertionPoint(at),
    )


def _erase_unused(*ops: ir.Operation) -> None:
    for op in ops:
        if not any(list(result.uses) for result in op.results):
            op.erase()
