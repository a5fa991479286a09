"""What a condition of a kernel says of index expressions."""

from ...index import Expr, const, parse, sym
from ...ir.defining import defining_op, is_true
from ...ir.dialects import fuse
from ...ir.kernel import string, strings
from ...mlir import arith, ir

#: Numbers of comparisons.
_EQ, _NE, _SLT, _SLE, _SGT, _SGE = 0, 1, 2, 3, 4, 5
_OPPOSITE = {_SLT: _SGE, _SLE: _SGT, _SGT: _SLE, _SGE: _SLT}


def zeros_where(condition: ir.Value) -> tuple[Expr, ...]:
    """Expressions that are 0 where a condition holds, as far as it compares indices: ``d0 mod 3 == 1`` gives
    ``d0 mod 3 - 1`` and its negation.
    """
    bounds, _ = bounds_where(condition, holds=True)
    return tuple(dict.fromkeys(e for e in bounds if -e in bounds))


def bounds_where(
    condition: ir.Value, holds: bool, numbers: dict[str, ir.Value] | None = None
) -> tuple[list[Expr], bool]:
    """What is at least 0 where a condition holds, or does not hold; and whether that is all it says.

    ``d0 >= d1`` gives ``d0 - d1``; ``d0 mod 2 == 0`` gives ``d0 mod 2`` and ``-(d0 mod 2)``.  ``numbers``
    gets the i64 values that an expression is compared with and that are none themselves, such as a length
    that is loaded, by the symbols that stand for them: ``i0``, ``i1`` and so on, at most one in a bound.
    """
    inverse = defining_op(condition, arith.XOrIOp)
    if inverse is not None and is_true(inverse.operands[1]):
        return bounds_where(inverse.operands[0], not holds, numbers)
    parts = defining_op(condition, arith.AndIOp if holds else arith.OrIOp)
    if parts is not None:
        found = [bounds_where(v, holds, numbers) for v in parts.operands]
        return [e for bounds, _ in found for e in bounds], all(whole for _, whole in found)
    compare = defining_op(condition, arith.CmpIOp)
    if compare is not None:
        first, second = map(_expression, compare.operands)
        if numbers is not None and (first is None) != (second is None):
            first, second = (
                _named(v, numbers) if e is None else e
                for v, e in zip(compare.operands, (first, second), strict=True)
            )
        predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
        if first is not None and second is not None:
            bounds = _compared(predicate if holds else _OPPOSITE.get(predicate, -1), first - second)
            return bounds, bool(bounds)
    return [], False


def holds_on_diagonal(condition: ir.Value, holds: bool, column: str, row: str) -> bool:
    """Whether a condition is known to hold, or not to hold, where two dims are the same number: ``i >= j``
    is, and so is ``document[i] == document[j]``.
    """
    inverse = defining_op(condition, arith.XOrIOp)
    if inverse is not None and is_true(inverse.operands[1]):
        return holds_on_diagonal(inverse.operands[0], not holds, column, row)
    parts = defining_op(condition, arith.AndIOp if holds else arith.OrIOp)
    if parts is not None:
        return all(holds_on_diagonal(v, holds, column, row) for v in parts.operands)
    compare = defining_op(condition, arith.CmpIOp)
    if compare is None:
        return False
    predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
    predicate = predicate if holds else _OPPOSITE.get(predicate, _EQ if predicate == _NE else -1)
    first, second = map(_expression, compare.operands)
    if first is None or second is None:
        one, other = compare.operands
        return predicate in (_EQ, _SLE, _SGE) and _same_on_diagonal(one, other, column, row)
    own = [e.subs({column: sym(row)}).constant for e in _compared(predicate, first - second)]
    return bool(own) and all(n is not None and n >= 0 for n in own)


def _same_on_diagonal(one: ir.Value, other: ir.Value, column: str, row: str) -> bool:
    """Whether two loads read one element where two dims are the same number."""
    first, second = (defining_op(v, fuse.Load) for v in (one, other))
    if first is None or second is None or list(first.operands) != list(second.operands):
        return False
    ends = [
        [parse(text).subs({column: sym(row)}) for text in strings(op.attributes["at"])]
        for op in (first, second)
    ]
    return ends[0] == ends[1]


def _compared(predicate: int, difference: Expr) -> list[Expr]:
    """What is at least 0 where ``a - b`` compares so with 0; nothing of other comparisons."""
    less = -difference
    known = {
        _EQ: [difference, less],
        _SLT: [less - 1],
        _SLE: [less],
        _SGT: [difference - 1],
        _SGE: [difference],
    }
    return known.get(predicate, [])


def _named(value: ir.Value, numbers: dict[str, ir.Value]) -> Expr | None:
    """The symbol that stands for a value of i64; None for other types, whose sums wrap earlier."""
    if str(value.type) != "i64":
        return None
    name = next((n for n, known in numbers.items() if known == value), f"i{len(numbers)}")
    numbers[name] = value
    return sym(name)


def _expression(value: ir.Value) -> Expr | None:
    """An integer of a kernel as an expression over dims and sizes; None where it is another."""
    op = value.owner
    if isinstance(op, fuse.Index):
        return None if len(op.operands) else parse(string(op.attributes["expr"]))
    if isinstance(op, arith.ConstantOp):
        return const(ir.IntegerAttr(op.attributes["value"]).value)
    if isinstance(op, (arith.AddIOp, arith.SubIOp)) and str(value.type) == "i64":
        first, second = map(_expression, op.operands)
        if first is None or second is None:
            return None
        return first + second if isinstance(op, arith.AddIOp) else first - second
    return None
