"""What conditions in a kernel say of each other.  Helpers of passes, not a pass."""

from ...compiler.ir.defining import defining_op, is_true
from ...compiler.mlir import arith, ir

#: ``predicate`` of arith.cmpi -> its negation.
_NEGATION = {0: 1, 1: 0, 2: 5, 3: 4, 4: 3, 5: 2, 6: 9, 7: 8, 8: 7, 9: 6}


def comparison(value: ir.Value) -> tuple[int, ir.Value, ir.Value] | None:
    """(predicate, left, right) of an integer comparison."""
    op = defining_op(value, arith.CmpIOp)
    if op is None:
        return None
    return ir.IntegerAttr(op.attributes["predicate"]).value, op.operands[0], op.operands[1]


def negates(condition: ir.Value, other: ir.Value) -> bool:
    """Whether one condition holds exactly where the other does not: a comparison, or ``xori`` with true."""
    one, two = comparison(condition), comparison(other)
    if one is not None and two is not None:
        return _NEGATION[one[0]] == two[0] and one[1:] == two[1:]
    op = defining_op(condition, arith.XOrIOp)
    return op is not None and op.operands[0] == other and is_true(op.operands[1])
