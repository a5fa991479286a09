"""Which float32 numbers of a kernel are of a moderate size, whatever is loaded: 0, infinite, NaN, or between
2**-100 and 2**100.  The reciprocal of such a number has full precision without a scale.

Square roots and integers are, and what is computed of them by products, quotients, and sums that cannot
cancel.  A loaded float32 is not.
"""

import math
from typing import NamedTuple

from ...mlir import arith, ir

#: Divisors of this size have a reciprocal of full precision.
_LEAST, _MOST = 2.0**-100, 2.0**100

#: Least and greatest size of the numbers of a type that are neither 0 nor infinite.
_SIZES = {"f16": (2.0**-24, 65504.0), "f8E4M3FN": (2.0**-9, 448.0), "f8E5M2": (2.0**-16, 57344.0)}


class _Sizes(NamedTuple):
    """Bounds of the size of a number that is neither 0, infinite nor NaN.  ``positive``: not below 0."""

    least: float = 0.0
    most: float = math.inf
    positive: bool = False


def moderate(value: ir.Value) -> bool:
    """Whether a float32 is 0, infinite, NaN, or of a size between 2**-100 and 2**100."""
    found = _sizes(value, 8)
    return found.least >= _LEAST and found.most <= _MOST


def _sizes(value: ir.Value, depth: int) -> _Sizes:
    """Of a float; ``depth``: how many operations behind one another are asked."""
    op = value.owner
    if isinstance(op, ir.Block) or depth == 0:
        return _Sizes()
    if isinstance(op, arith.ConstantOp):
        number = ir.FloatAttr(op.attributes["value"]).value
        return _Sizes(abs(number), abs(number), number >= 0) if number else _Sizes(1.0, 1.0, True)
    if isinstance(op, (arith.SIToFPOp, arith.UIToFPOp)):
        return _Sizes(1.0, 2.0**64, isinstance(op, arith.UIToFPOp))
    if isinstance(op, arith.ExtFOp):
        return _Sizes(*_SIZES.get(str(op.operands[0].type), ()))
    if op.name in _OF_ONE and len(op.operands) == 1:
        return _OF_ONE[op.name](_sizes(op.operands[0], depth - 1))
    if op.name in _OF_TWO:
        first, second = (_sizes(v, depth - 1) for v in list(op.operands)[-2:])
        if isinstance(op, arith.MulFOp) and op.operands[0] == op.operands[1]:
            return _product(first, second)._replace(positive=True)
        return _OF_TWO[op.name](first, second)
    return _Sizes()


def _root(x: _Sizes) -> _Sizes:
    """Of no number below 2**-149 or above 2**128."""
    least, most = max(x.least, 2.0**-149), min(x.most, 2.0**128)
    return _Sizes(math.sqrt(least) / 2, math.sqrt(most) * 2, True)


def _inverse_root(x: _Sizes) -> _Sizes:
    root = _root(x)
    return _Sizes(1 / root.most, 1 / root.least, True)


def _product(x: _Sizes, y: _Sizes) -> _Sizes:
    """Rounding may double a bound at most, or make a number 0."""
    return _Sizes(x.least * y.least / 2, x.most * y.most * 2, x.positive and y.positive)


def _quotient(x: _Sizes, y: _Sizes) -> _Sizes:
    least = 0.0 if y.most == math.inf else x.least / y.most / 2
    most = math.inf if y.least == 0.0 else x.most / y.least * 2
    return _Sizes(least, most, x.positive and y.positive)


def _sum(x: _Sizes, y: _Sizes) -> _Sizes:
    """Of two that are not below 0: at least the smaller one, as the other may be 0."""
    if not (x.positive and y.positive):
        return _Sizes(most=(x.most + y.most) * 2)
    return _Sizes(min(x.least, y.least), (x.most + y.most) * 2, True)


def _either(x: _Sizes, y: _Sizes) -> _Sizes:
    return _Sizes(min(x.least, y.least), max(x.most, y.most), x.positive and y.positive)


def _greater(x: _Sizes, y: _Sizes) -> _Sizes:
    """One of both; beside what is not below 0 neither is the result."""
    return _either(x, y)._replace(positive=x.positive or y.positive)


_OF_ONE = {
    "math.sqrt": _root,
    "math.rsqrt": _inverse_root,
    "math.absf": lambda x: x._replace(positive=True),
    "arith.negf": lambda x: x._replace(positive=False),
}
_OF_TWO = {
    "arith.mulf": _product,
    "arith.divf": _quotient,
    "arith.addf": _sum,
    "arith.select": _either,
    "arith.maximumf": _greater,
    "arith.minimumf": _either,
}
