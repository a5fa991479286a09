"""The arithmetic of a ``fuse.dot``: factors in the type of the sum, multiplied and added up."""

from ...compiler.ir.kernel import over
from ...compiler.mlir import arith, ir
from .new_ops import fold


def widened(value: ir.Value, wide: ir.Type) -> ir.Value:
    """A scalar in the type of a sum: wider, or its own."""
    if value.type == wide:
        return value
    return (arith.extf if isinstance(wide, ir.FloatType) else arith.extsi)(wide, value)


def multiplied(left: ir.Value, right: ir.Value) -> ir.Value:
    """Two scalars of one type, floats or integers."""
    return (arith.mulf if isinstance(left.type, ir.FloatType) else arith.muli)(left, right)


def added(left: ir.Value, right: ir.Value) -> ir.Value:
    """The sum of two scalars of one type, floats or integers."""
    return (arith.addf if isinstance(left.type, ir.FloatType) else arith.addi)(left, right)


def expand_dot(op: ir.Operation) -> None:
    """Replaces a ``fuse.dot`` by a multiplication in the type of its result and a ``fuse.reduce``."""
    wide = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        product = multiplied(*(widened(v, wide) for v in op.operands))
        op.results[0].replace_all_uses_with(fold("sum", product, over(op)))
    op.erase()
