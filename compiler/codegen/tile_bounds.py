"""Bounds of a float tile, from the ops that compute it.  They hold for the elements that are not NaN."""

import math

from ..ir.dialects import tt
from ..mlir import ir
from . import nvidia

#: Ops that change a tile's shape, but none of its elements.
_SHAPES = ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape")


def at_least(value: ir.Value) -> float:
    """A lower bound of all elements of a float tile."""
    return _bounds(value)[0]


def at_most(value: ir.Value) -> float:
    """An upper bound of all elements of a float tile."""
    return _bounds(value)[1]


def splat_constant(value: ir.Value) -> float | None:
    """The number that a float tile holds in every element, where that is a constant."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name in _SHAPES:
        return splat_constant(op.operands[0])
    if op.name != "arith.constant" or not isinstance(tt.element_of(value.type), ir.FloatType):
        return None
    attribute = op.attributes["value"]
    if isinstance(value.type, ir.RankedTensorType):
        attribute = ir.DenseElementsAttr(attribute).get_splat_value()
    return float(ir.FloatAttr(attribute).value)


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
