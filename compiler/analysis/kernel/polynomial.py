"""Scalar kernels as polynomials: which of them compute ReLU, or GELU by tanh, however it is spelled out.

Sums, products and casts are read as a polynomial in a value x, in ``t = tanh(sqrt(2 / pi) * (x + 0.044715 *
x ** 3))`` and in ``r = max(x, 0)``.  GELU is ``x / 2 + x * t / 2`` (Hendrycks and Gimpel 2016), and ReLU is
``r``.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from ...ir.dialects import fuse
from ...ir.kernel import string
from ...mlir import arith, func, ir
from .plain import FLOAT_CASTS, is_plain

#: From the exponents of x, t and r to the coefficient.
Polynomial = Mapping[tuple[int, int, int], float]

X: Final[Polynomial] = {(1, 0, 0): 1.0}
_T: Polynomial = {(0, 1, 0): 1.0}
_R: Polynomial = {(0, 0, 1): 1.0}
_SLOPE, _CUBE = math.sqrt(2 / math.pi), 0.044715
_INNER: Polynomial = {(1, 0, 0): _SLOPE, (3, 0, 0): _SLOPE * _CUBE}

#: By name.
ACTIVATIONS: Final[Mapping[str, Polynomial]] = {"relu": _R, "gelu": {(1, 0, 0): 0.5, (1, 1, 0): 0.5}}

#: The highest exponent that is followed.
_DEGREE = 4


def equal(found: Polynomial, expected: Polynomial) -> bool:
    """Whether two polynomials are one, but for the rounding of coefficients to float32."""
    return found.keys() == expected.keys() and all(
        math.isclose(found[k], expected[k], rel_tol=1e-6) for k in expected
    )


def polynomial(kernel: ir.Operation, read: Mapping[int, Polynomial], element: str) -> Polynomial | None:
    """What a kernel stores at each point.

    read:    by number, the arguments that it may read, as polynomials in the element of x at this point.
    element: the type of x.  No other type but wider ones may lie between.
    None where a kernel does anything else, or reads anything else.
    """
    values: dict[ir.Value, Polynomial | None] = {}
    stored: list[Polynomial | None] = []
    for op in kernel.regions[0].blocks[0].operations:
        if isinstance(op, fuse.Load):
            number = ir.BlockArgument(op.operands[0]).arg_number
            values[op.results[0]] = read.get(number) if is_plain(kernel, op) else None
        elif isinstance(op, fuse.Store):
            if string(op.attributes["mode"]) != "set" or not is_plain(kernel, op):
                return None
            stored.append(values.get(op.operands[1]))
        elif isinstance(op, arith.ConstantOp):
            values[op.results[0]] = _constant(op)
        elif op.name in _READ and str(op.results[0].type) in (element, "f32", "f64"):
            operands = [values.get(v) for v in op.operands]
            values[op.results[0]] = _of(op.name, [p for p in operands if p is not None], len(operands))
        elif not isinstance(op, func.ReturnOp):
            return None
    return stored[0] if len(stored) == 1 else None


def _constant(op: ir.Operation) -> Polynomial | None:
    attribute = op.attributes["value"]
    return {(0, 0, 0): ir.FloatAttr(attribute).value} if isinstance(attribute, ir.FloatAttr) else None


def _of(name: str, operands: list[Polynomial], count: int) -> Polynomial | None:
    return _READ[name](*operands) if len(operands) == count else None


def _negated(a: Polynomial) -> Polynomial:
    return {key: -n for key, n in a.items()}


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    total = {key: a.get(key, 0.0) + b.get(key, 0.0) for key in (a.keys() | b.keys())}
    return {key: n for key, n in total.items() if n != 0.0 or any(key)}  # infinity - infinity is no 0


def _product(a: Polynomial, b: Polynomial) -> Polynomial | None:
    product: dict[tuple[int, int, int], float] = {}
    for (i, j, k), one in a.items():
        for (l, m, n), other in b.items():
            if i + j + k + l + m + n > _DEGREE:
                return None
            key = i + l, j + m, k + n
            product[key] = product.get(key, 0.0) + one * other
    return product


def _quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    divisor = b.get((0, 0, 0), 0.0)
    return _product(a, {(0, 0, 0): 1.0 / divisor}) if len(b) == 1 and divisor else None


def _maximum(a: Polynomial, b: Polynomial) -> Polynomial | None:
    for one, other in ((a, b), (b, a)):
        if one == X and other == {(0, 0, 0): 0.0}:  # 0 * x is none: of infinity it is no number
            return _R
    return None


#: What is followed, and what becomes of the polynomials of the operands.
_READ: Mapping[str, Callable[..., Polynomial | None]] = {
    **dict.fromkeys((cast.OPERATION_NAME for cast in FLOAT_CASTS), lambda a: a),
    "arith.negf": _negated,
    "arith.addf": _sum,
    "arith.subf": lambda a, b: _sum(a, _negated(b)),
    "arith.mulf": _product,
    "arith.divf": _quotient,
    "arith.maximumf": _maximum,
    "math.tanh": lambda a: _T if equal(a, _INNER) else None,
}
