"""Softmaxes whose rows are 0 where no key is seen, as ``_safe_softmax`` gives.  A helper of
``derive-cascades``, not a pass.

Such a row has scores x that are all -inf, and then so is their maximum m; where any score is not, m is not,
or NaN.  So

    all_j (x_j == -inf)                        =  (m == -inf)
    any_j not (x_j == -inf)                    =  not (m == -inf)
    sum_j (m == -inf ? 0 : p_j) * v_j          =  m == -inf ? 0 : sum_j p_j * v_j

The last is 0 also where a value is NaN or infinite, of which eager mode has the product with 0.
"""

from math import inf

from ...compiler.ir.defining import constant_number, defining_op, is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, over, string
from ...compiler.mlir import arith, ir
from ..kernels.expectations import erase_dead

_EQUAL = 1


def select_behind(func: ir.Operation) -> None:
    """Asks the maximum of a row whether scores are all -inf, and where its probabilities are 0 then, makes
    the sums of the last product 0 instead.
    """
    kernel = Kernel.of(func)
    if len(kernel.products) < 2:
        return
    last, columns = kernel.products[-1], {*over(kernel.products[-1])}
    for op in [o for o in kernel.reductions if o.name == "fuse.reduce" and {*over(o)} == columns]:
        _ask_maximum(op)
    for place, factor in enumerate(last.operands):
        _move(last, place, factor, columns, Kernel.of(func))


def _ask_maximum(op: ir.Operation) -> None:
    """Replaces whether all of a row, or not any, is -inf."""
    kind, asked, true = string(op.attributes["kind"]), op.operands[0], None
    if kind == "any":
        turned = defining_op(asked, arith.XOrIOp)
        if turned is None or not is_true(turned.operands[1]):
            return
        asked, true = turned.operands
    compare = defining_op(asked, arith.CmpFOp) if kind in ("any", "all") else None
    if compare is None or ir.IntegerAttr(compare.attributes["predicate"]).value != _EQUAL:
        return
    x, lowest = compare.operands
    tops = [use.owner.operation for use in x.uses if isinstance(use.owner, fuse.Reduce)]
    top = next((t for t in tops if string(t.attributes["kind"]) == "max" and {*over(t)} == {*over(op)}), None)
    if top is None or constant_number(lowest) != -inf:
        return
    with ir.InsertionPoint(op), op.location:
        empty = arith.cmpf(_EQUAL, top.results[0], lowest)
        if true is not None:
            empty = arith.xori(empty, true)
    op.results[0].replace_all_uses_with(empty)
    erase_dead(op)


def _move(last: ir.Operation, place: int, factor: ir.Value, columns: set[str], kernel: Kernel) -> None:
    """Makes a factor that is 0 in some rows what it is in the others, and the sums 0 in those rows."""
    rounding = defining_op(factor, arith.TruncFOp)
    chosen = defining_op(factor if rounding is None else rounding.operands[0], arith.SelectOp)
    if chosen is None or kernel.value_dims.get(chosen.operands[0], columns) & columns:
        return
    condition, *sides = chosen.operands
    zero = next((n for n, side in enumerate(sides) if constant_number(side) == 0.0), None)
    if zero is None:
        return
    kept = sides[1 - zero]
    with ir.InsertionPoint(last), last.location:
        inner = kept
        if rounding is not None:
            inner = ir.Operation.create(
                "arith.truncf",
                [factor.type],
                [kept],
                {name: rounding.attributes[name] for name in rounding.attributes},
            ).results[0]
    last.operands[place] = inner
    with ir.InsertionPoint.after(last), last.location:
        zeros = arith.constant(last.results[0].type, 0.0)
        both = arith.select(condition, *[zeros, last.results[0]][:: 1 if zero == 0 else -1])
    last.results[0].replace_all_uses_except(both, both.owner.operation)
    erase_dead(chosen if rounding is None else rounding)


__all__ = ["select_behind"]
