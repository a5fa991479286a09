"""Bounds of a tile, from the ops that compute it.  Those of floats hold for the elements that are not NaN."""

import math

from ..ir.dialects import tt
from ..mlir import arith, ir
from ..mlir import math as mlir_math
from . import nvidia

#: Ops that change a tile's shape, but none of its elements.
_SHAPES = (tt.Splat, tt.Broadcast, tt.ExpandDims, tt.Reshape)

#: Conversions that keep an integer of few bits.
_KEEP_INTEGERS = (arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp)


def at_least(value: ir.Value) -> float:
    """A lower bound of all elements of a float tile."""
    return _bounds(value)[0]


def at_most(value: ir.Value) -> float:
    """An upper bound of all elements of a float tile."""
    return _bounds(value)[1]


def splat_constant(value: ir.Value) -> float | None:
    """The number that a float tile holds in every element, where that is a constant."""
    attribute = _splat(value, ir.FloatType)
    return None if attribute is None else float(ir.FloatAttr(attribute).value)


def splat_integer(value: ir.Value) -> int | None:
    """The number that a tile of integers holds in every element, where that is a constant."""
    attribute = _splat(value, ir.IntegerType)
    return None if attribute is None else int(ir.IntegerAttr(attribute))


def _splat(value: ir.Value, element: type[ir.Type]) -> ir.Attribute | None:
    """The constant of type ``element`` that a tile holds in every element."""
    op = value.owner
    if isinstance(op, ir.Block):
        return None
    if isinstance(op, _SHAPES):
        return _splat(op.operands[0], element)
    if not isinstance(op, arith.ConstantOp) or not isinstance(tt.element_of(value.type), element):
        return None
    attribute = op.attributes["value"]
    if isinstance(value.type, ir.RankedTensorType):
        attribute = ir.DenseElementsAttr(attribute).get_splat_value()
    return attribute


def integer_bounds(value: ir.Value) -> tuple[int, int] | None:
    """The least and the most of a tile of small integers, or of floats that are such; None where they are not
    known.
    """
    number = splat_integer(value)
    if number is not None:
        return number, number
    exact = splat_constant(value)
    if exact is not None:
        return (int(exact), int(exact)) if exact.is_integer() else None
    op = value.owner
    if isinstance(op, ir.Block):
        return None
    if isinstance(op, (*_SHAPES, tt.Trans, *_KEEP_INTEGERS)):
        return integer_bounds(op.operands[0])
    made = bits_made(value)
    if made is not None:
        return made[1].bounds
    if isinstance(op, (arith.AddIOp, arith.SubIOp, arith.AddFOp, arith.SubFOp)):
        first, second = map(integer_bounds, op.operands)
        if first is None or second is None:
            return None
        low, high = second if isinstance(op, (arith.AddIOp, arith.AddFOp)) else (-second[1], -second[0])
        return first[0] + low, first[1] + high
    if isinstance(op, arith.AndIOp):
        mask = splat_integer(op.operands[1])
        return None if mask is None or mask < 0 else (0, mask)
    if isinstance(op, (arith.UIToFPOp, arith.ExtUIOp)) and str(tt.element_of(op.operands[0].type)) == "i8":
        return 0, 255
    return None


def bits_made(value: ir.Value) -> tuple[ir.Value, nvidia.BitsText] | None:
    """The tile of integers that a tile of floats is made of, and how; None where it is made otherwise, or of
    two tiles.
    """
    op = None if isinstance(value.owner, ir.Block) else value.owner
    if op is None or not isinstance(op, tt.ElementwiseInlineAsm):
        return None
    how = nvidia.bits_text(ir.StringAttr(op.attributes["asm_string"]).value)
    return None if how is None or how.less is None else (op.operands[0], how)


def _bounds(value: ir.Value) -> tuple[float, float]:
    constant = splat_constant(value)
    if constant is not None:
        return constant, constant
    op = value.owner
    if isinstance(op, ir.Block):
        return -math.inf, math.inf
    if isinstance(op, _SHAPES):
        return _bounds(op.operands[0])
    if isinstance(op, (arith.MaximumFOp, arith.MinimumFOp)):
        pick = max if isinstance(op, arith.MaximumFOp) else min
        (low, high), (other_low, other_high) = map(_bounds, op.operands)
        return pick(low, other_low), pick(high, other_high)
    if isinstance(op, (mlir_math.ExpOp, mlir_math.Exp2Op)) or _symbol(op) == nvidia.EXP2:
        return 0.0, math.inf
    if isinstance(op, arith.AddFOp):
        (low, high), (other_low, other_high) = map(_bounds, op.operands)
        return low + other_low, high + other_high  # rounding is monotonic
    if isinstance(op, mlir_math.AbsFOp):
        low, high = _bounds(op.operands[0])
        return max(low, -high, 0.0), max(-low, high)
    if isinstance(op, (arith.MulFOp, arith.DivFOp, tt.PreciseDivf)):
        by = splat_constant(op.operands[1])
        if by is not None and 0.0 < by < math.inf:
            low, high = _bounds(op.operands[0])
            return (low * by, high * by) if isinstance(op, arith.MulFOp) else (low / by, high / by)
    return -math.inf, math.inf


def _symbol(op: ir.Operation) -> str:
    """The libdevice function that an op calls, or an empty string."""
    return ir.StringAttr(op.attributes["symbol"]).value if isinstance(op, tt.ExternElementwise) else ""
