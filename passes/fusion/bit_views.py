"""Whether the bits of what a load reads need a selection behind the guard of the load.  A helper of
``materialize-fusion``, not a pass.
"""

import math

from ...compiler.ir.defining import constant_number, defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.mlir import arith, ir


def is_filled(value: ir.Value, guard: ir.Value, other: ir.Value) -> bool:
    """Whether ``value`` is ``other`` where ``guard`` does not hold: the bits of a load behind the guard, as
    another type, where both are 0.  So what is looked up of floats of 8 bits, which torch looks up as bytes,
    stays a load.
    """
    cast = defining_op(value, arith.BitcastOp)
    if cast is None:
        return False
    while cast is not None:
        value = cast.operands[0]
        cast = defining_op(value, arith.BitcastOp)
    load = defining_op(value, fuse.Load)
    return (
        load is not None
        and _holds(load.operands[1], guard)
        and _is_zero(load.operands[2])
        and _is_zero(other)
    )


def _holds(condition: ir.Value, guard: ir.Value) -> bool:
    """Whether a condition is the guard and more."""
    if condition == guard:
        return True
    both = defining_op(condition, arith.AndIOp)
    return both is not None and any(_holds(operand, guard) for operand in both.operands)


def _is_zero(value: ir.Value) -> bool:
    """Whether all bits of a constant are 0."""
    number = constant_number(value)
    return number == 0 and math.copysign(1.0, number) > 0
