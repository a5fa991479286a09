"""Bounds of floats that a kernel computes of its dims alone, such as the place of a pixel in a smaller image.

A bound is a float32 or float64 that the value never passes, however its operations are rounded: each is
rounded outwards, and the sum of a product is bounded with the product rounded and not, as both may be one
instruction.  What is loaded may be NaN and has no bounds, and so has all that is computed of it.
"""

import math
from collections.abc import Callable
from dataclasses import field

import numpy as np

from ...compiler.base.dataclass import dataclass
from ...compiler.mlir import arith, ir

#: Least and greatest value, both finite; None where nothing is known.
FloatRange = tuple[float, float] | None
#: Of an integer: least and greatest value; None where there is no bound.
IntegerRange = tuple[int | None, int | None]

_TYPES = ("f32", "f64")


@dataclass
class FloatRanges:
    """integers: the range of an integer value."""

    integers: Callable[[ir.Value], IntegerRange]
    known: dict[ir.Value, FloatRange] = field(default_factory=dict)

    def range(self, value: ir.Value) -> FloatRange:
        """Of a float32 or float64."""
        if value not in self.known:
            found = self._exact(value) if str(value.type) in _TYPES else None
            self.known[value] = found and _outwards(found, str(value.type))
        return self.known[value]

    def _exact(self, value: ir.Value) -> FloatRange:
        """Before the rounding of the operation that makes the value."""
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if op.name == "arith.constant":
            number = ir.FloatAttr(op.attributes["value"]).value
            return (number, number) if math.isfinite(number) else None
        if op.name == "arith.sitofp":
            low, high = self.integers(op.operands[0])
            return None if low is None or high is None else (float(low), float(high))
        if op.name == "arith.select":
            return _union(self.range(op.operands[1]), self.range(op.operands[2]))
        if op.name not in _OPS:
            return None
        found = self._of(op, [self.range(v) for v in op.operands])
        if op.name in ("arith.addf", "arith.subf"):
            found = _union(found, self._of(op, [self._unrounded(v) for v in op.operands]))
        return found

    def _unrounded(self, value: ir.Value) -> FloatRange:
        """A product as a sum takes it that is computed with it in one step."""
        product = isinstance(value.owner, arith.MulFOp)
        return self._exact(value) if product else self.range(value)

    @staticmethod
    def _of(op: ir.Operation, operands: list[FloatRange]) -> FloatRange:
        bounds = [o for o in operands if o is not None]
        return _OPS[op.name](*bounds) if len(bounds) == len(operands) else None


_Bounds = tuple[float, float]


def _union(a: FloatRange, b: FloatRange) -> FloatRange:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def _add(a: _Bounds, b: _Bounds) -> _Bounds:
    return a[0] + b[0], a[1] + b[1]


def _negative(a: _Bounds) -> _Bounds:
    return -a[1], -a[0]


def _multiply(a: _Bounds, b: _Bounds) -> _Bounds:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


_OPS: dict[str, Callable[..., _Bounds]] = {
    "arith.addf": _add,
    "arith.subf": lambda a, b: _add(a, _negative(b)),
    "arith.mulf": _multiply,
    "arith.negf": _negative,
    "arith.extf": lambda a: a,
    "arith.truncf": lambda a: a,
    "arith.maximumf": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "arith.minimumf": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "math.floor": lambda a: (float(math.floor(a[0])), float(math.floor(a[1]))),
    "math.ceil": lambda a: (float(math.ceil(a[0])), float(math.ceil(a[1]))),
}


def _outwards(exact: _Bounds, element: str) -> FloatRange:
    """The nearest numbers of a type that enclose what was computed in float64; one further each where float64
    itself may have rounded."""
    with np.errstate(over="ignore"):
        found = _beside(exact[0], element, -math.inf), _beside(exact[1], element, math.inf)
    return found if all(map(math.isfinite, found)) else None


def _beside(exact: float, element: str, towards: float) -> float:
    if element == "f64":
        return math.nextafter(exact, towards)
    rounded = np.float32(exact)
    passed = rounded > exact if towards < 0 else rounded < exact
    return float(np.nextafter(rounded, np.float32(towards)) if passed else rounded)
