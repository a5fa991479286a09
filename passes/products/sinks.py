"""Softmaxes of scores and of numbers beside them (sinks, the 1 of a "softmax plus one").  A helper of
``derive-cascades``, not a pass.

Such a softmax subtracts ``c = max(m, s)`` with the maximum m of the scores of a row and a number s beside
them, and its sum is ``l = sum_j exp(x_j - c) + exp(s - c)``.  As c does not depend on j,

    sum_j exp(x_j - c) * w_j  =  exp(m - c) * sum_j exp(x_j - m) * w_j

for the sum of exponentials (w = 1) and for that of values.  The factor is at most 1, as c is at least m.
What is left is a softmax's exponentials, which run on line.  The quotient may be written as the exponential
of a difference with log l, of which a backward pass computes it again.  In a row whose scores are all -inf,
exp(x - m) is NaN and exp(x - c) is 0 if s is finite, so that the sum is taken to be 0.  If s is infinite
there, what is divided by l is NaN.
"""

from math import inf

from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, over, string
from ...compiler.mlir import arith, ir, math
from ..kernels.expectations import factors_of

_EQUAL = 1


def subtract_maxima(func: ir.Operation) -> None:
    """Makes ``exp(x - c)`` of a row, which sums and the last product of a kernel add up, ``exp(x - m)``.
    Nothing changes where c is m, is not known to be at least m, or where something else reads it.
    """
    kernel = Kernel.of(func)
    if len(kernel.products) < 2:
        return
    last, columns = kernel.products[-1], {*over(kernel.products[-1])}
    _divide(kernel, columns)
    kernel = Kernel.of(func)
    for power in [op for op in kernel.op_dims if op.name == "math.exp"]:
        difference = defining_op(power.operands[0], arith.SubFOp)
        if difference is None:
            continue
        x, c = difference.operands
        top = _maximum(c, x, columns)
        if top is None or c == top or kernel.value_dims.get(c, columns) & columns:
            continue
        readers = {use.owner.operation for use in power.results[0].uses}
        sums = [op for op in readers if _reduces(op, "sum", columns)]
        others = readers - {*sums}
        signs = [[f.sign for f in factors_of(v) if f.value == power.results[0]] for v in last.operands]
        if others and (len(others) > 1 or sorted(signs) != [[], [1]]):
            continue
        with ir.InsertionPoint(power), power.location:
            new = math.exp(arith.subf(x, top))
        power.results[0].replace_all_uses_with(new)
        for op in [*sums, *([last] if others else [])]:
            _scale(op, top, c)


def _divide(kernel: Kernel, columns: set[str]) -> None:
    """Makes ``exp(x - c - log l)`` of a row ``exp(x - c) / l``, where l adds up these exponentials, and maybe
    others, and c is not the maximum of x alone, of which ``fuse.online_softmax`` is.
    """
    for power in [op for op in kernel.op_dims if op.name == "math.exp"]:
        difference = defining_op(power.operands[0], arith.SubFOp)
        if difference is None:
            continue
        less = defining_op(difference.operands[0], arith.SubFOp)
        log = defining_op(difference.operands[1], math.LogOp)
        if less is None or log is None:
            continue
        x, c = less.operands
        top = _maximum(c, x, columns)
        known = [use.owner.operation for use in less.results[0].uses]
        same = next((op for op in known if op.name == "math.exp"), None)
        if top is None or c == top or same is None:
            continue
        if not _is_total(log.operands[0], same.results[0], columns):
            continue  # the logarithm of a number below 0 is NaN, the quotient is not
        with ir.InsertionPoint(power), power.location:
            quotient = arith.divf(same.results[0], log.operands[0])
        power.results[0].replace_all_uses_with(quotient)
        power.erase()


def _is_total(value: ir.Value, power: ir.Value, columns: set[str]) -> bool:
    """Whether a number is the sum of ``power`` over columns, or adds exponentials to it."""
    pending, found = [value], False
    while pending:
        term = pending.pop()
        total, more = defining_op(term, fuse.Reduce), defining_op(term, arith.AddFOp)
        if total is not None and total.operands[0] == power and _reduces(total, "sum", columns):
            found = True
        elif more is not None:
            pending += list(more.operands)
        elif defining_op(term, math.ExpOp) is None:
            return False
    return found


def _maximum(c: ir.Value, x: ir.Value, columns: set[str]) -> ir.Value | None:
    """The maximum of x over columns, if c is a tree of maxima that it is part of."""
    pending = [c]
    while pending:
        value = pending.pop()
        top = defining_op(value, fuse.Reduce)
        if top is not None and top.operands[0] == x and _reduces(top, "max", columns):
            return value
        larger = defining_op(value, arith.MaximumFOp)
        pending += [] if larger is None else list(larger.operands)
    return None


def _reduces(op: ir.Operation, kind: str, columns: set[str]) -> bool:
    return op.name == "fuse.reduce" and string(op.attributes["kind"]) == kind and {*over(op)} == columns


def _scale(total: ir.Operation, top: ir.Value, c: ir.Value) -> None:
    """Multiplies a sum by exp(top - c), behind it.  Where top is -inf it is c - c: 0 where c is finite."""
    value = total.results[0]
    with ir.InsertionPoint.after(total), total.location:
        factor = math.exp(arith.subf(top, c))
        empty = arith.cmpf(_EQUAL, top, arith.constant(value.type, -inf))
        kept = arith.select(empty, arith.subf(c, c), value)
        scaled = arith.mulf(kept, factor)
    value.replace_all_uses_except(scaled, kept.owner.operation)


__all__ = ["subtract_maxima"]
