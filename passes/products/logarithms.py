"""Logarithms of sums of exponentials, which stand beside a softmax or in it.  A helper of
``derive-cascades``, not a pass.

``logsumexp`` of scores x with the maximum m is ``log(sum_j exp(x_j - c)) + c``, where c is m, or 0 where m is
infinite.  With the sum of exponentials of the softmax, ``l = sum_j exp(x_j - m)``, that is

    sum_j exp(x_j - c)  =  l, or exp(m) where m is infinite: 0 and infinity
    exp(x - logsumexp)  =  exp(x - m - log l)

so that one fold has both.  In a row whose m is infinite, l is NaN and so is what is multiplied by
exp(x - m): as it is by exp(x - logsumexp), which subtracts equal infinities.
"""

from collections.abc import Iterator
from math import inf

from ...compiler.ir.defining import constant_number, defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, over, string
from ...compiler.mlir import arith, ir, math
from ..base.new_ops import fold
from ..kernels.expectations import erase_dead

_EQUAL = 1


def subtract_infinite_maxima(func: ir.Operation) -> None:
    """Makes ``exp(x - c)``, which is summed along the columns of the last product, ``exp(x - m)``, and
    ``exp(x - logsumexp)`` that of a softmax.  Nothing changes where c is another value.
    """
    kernel = Kernel.of(func)
    if len(kernel.products) < 2:
        return
    columns = {*over(kernel.products[-1])}
    for op in list(kernel.op_dims):
        top = _guarded(op)
        if top is None or {*over(top)} != columns:
            continue
        [x], c = top.operands, op.results[0]
        guarded = list(_sums(x, c, columns))
        if not guarded:
            continue
        with ir.InsertionPoint.after(top), top.location:
            power = math.exp(arith.subf(x, top.results[0]))
            total = fold("sum", power, over(guarded[0]))
        same = [known for known in _sums(x, top.results[0], columns) if known.results[0] != total]
        for known in same:
            known.results[0].replace_all_uses_with(total)
        for known in guarded:
            _open(known, op, top.results[0], total)
        erase_dead(*same, *guarded)


def _guarded(op: ir.Operation) -> ir.Operation | None:
    """The maximum m of a row, if an op gives m, or 0 where m is infinite."""
    top = defining_op(op.operands[2], fuse.Reduce) if op.name == "arith.select" else None
    if top is None or string(top.attributes["kind"]) != "max" or constant_number(op.operands[1]) != 0.0:
        return None
    compare = defining_op(op.operands[0], arith.CmpFOp)
    if compare is None or ir.IntegerAttr(compare.attributes["predicate"]).value != _EQUAL:
        return None
    size = defining_op(compare.operands[0], math.AbsFOp)
    infinite = size is not None and size.operands[0] == top.results[0]
    return top if infinite and constant_number(compare.operands[1]) == inf else None


def _sums(x: ir.Value, c: ir.Value, columns: set[str]) -> Iterator[ir.Operation]:
    """The sums of exp(x - c) over columns."""
    for difference in _users(c, "arith.subf"):
        if list(difference.operands) == [x, c]:
            for power in _users(difference.results[0], "math.exp"):
                for op in _users(power.results[0], "fuse.reduce"):
                    if string(op.attributes["kind"]) == "sum" and {*over(op)} == columns:
                        yield op


def _users(value: ir.Value, name: str) -> list[ir.Operation]:
    return [op for op in dict.fromkeys(use.owner.operation for use in value.uses) if op.name == name]


def _open(known: ir.Operation, guard: ir.Operation, top: ir.Value, total: ir.Value) -> None:
    """Replaces a sum of exp(x - c) by the softmax's, and logsumexp where it is subtracted from x."""
    [x] = top.owner.operation.operands
    for log in _users(known.results[0], "math.log"):
        for whole in _users(log.results[0], "arith.addf"):
            if {*whole.operands} != {log.results[0], guard.results[0]}:
                continue
            for difference in _users(whole.results[0], "arith.subf"):
                if list(difference.operands) == [x, whole.results[0]]:
                    with ir.InsertionPoint(difference), difference.location:
                        difference.operands[1] = arith.addf(top, math.log(total))
    with ir.InsertionPoint.after(known), known.location:
        kept = arith.select(guard.operands[0], math.exp(top), total)
    known.results[0].replace_all_uses_with(kept)


__all__ = ["subtract_infinite_maxima"]
