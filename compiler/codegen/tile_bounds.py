"""Bounds of a tile, from the ops that compute it.  Those of floats hold for the elements that are not NaN."""

import math

from ..ir.dialects import tt
from ..mlir import ir
from . import nvidia

#: Ops that change a tile's shape, but none of its elements.
_SHAPES = ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape")

#: Conversions that keep an integer of few bits.
_KEEP_INTEGERS = ("arith.extf", "arith.truncf", "arith.sitofp")


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
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name in _SHAPES:
        return _splat(op.operands[0], element)
    if op.name != "arith.constant" or not isinstance(tt.element_of(value.type), element):
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
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name in (*_SHAPES, "tt.trans", *_KEEP_INTEGERS):
        return integer_bounds(op.operands[0])
    made = bits_made(value)
    if made is not None:
        return made[1].bounds
    if op.name in ("arith.addi", "arith.subi", "arith.addf", "arith.subf"):
        first, second = map(integer_bounds, op.operands)
        if first is None or second is None:
            return None
        low, high = second if op.name in ("arith.addi", "arith.addf") else (-second[1], -second[0])
        return first[0] + low, first[1] + high
    if op.name == "arith.andi":
        mask = splat_integer(op.operands[1])
        return None if mask is None or mask < 0 else (0, mask)
    if op.name in ("arith.uitofp", "arith.extui") and str(tt.element_of(op.operands[0].type)) == "i8":
        return 0, 255
    return None


def bits_made(value: ir.Value) -> tuple[ir.Value, nvidia.BitsText] | None:
    """The tile of integers that a tile of floats is made of, and how; None where it is made otherwise, or of
    two tiles.
    """
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name != "tt.elementwise_inline_asm":
        return None
    how = nvidia.bits_text(ir.StringAttr(op.attributes["asm_string"]).value)
    return None if how is None or how.less is None else (op.operands[0], how)


def _bounds(value: ir.Value) -> tuple[float, float]:
    constant = splat_constant(value)
    if constant is not None:
        return constant, constant
    if isinstance(value.owner, ir.Block):
        return -math.inf, math.inf
    op = value.owner.operation
    if op.name in _SHAPES:
        return _bounds(op.operands[0])
    if op.name in ("arith.maximumf", "arith.minimumf"):
        pick = max if op.name == "arith.maximumf" else min
        (low, high), (other_low, other_high) = map(_bounds, op.operands)
        return pick(low, other_low), pick(high, other_high)
    if op.name in ("math.exp", "math.exp2") or _symbol(op) == nvidia.EXP2:
        return 0.0, math.inf
    if op.name == "arith.addf":
        (low, high), (other_low, other_high) = map(_bounds, op.operands)
        return low + other_low, high + other_high  # rounding is monotonic
    if op.name == "math.absf":
        low, high = _bounds(op.operands[0])
        return max(low, -high, 0.0), max(-low, high)
    if op.name in ("arith.mulf", "arith.divf", "tt.precise_divf"):
        by = splat_constant(op.operands[1])
        if by is not None and 0.0 < by < math.inf:
            low, high = _bounds(op.operands[0])
            return (low * by, high * by) if op.name == "arith.mulf" else (low / by, high / by)
    return -math.inf, math.inf


def _symbol(op: ir.Operation) -> str:
    """The libdevice function that an op calls, or an empty string."""
    return ir.StringAttr(op.attributes["symbol"]).value if op.name == "tt.extern_elementwise" else ""
