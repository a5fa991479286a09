"""The derivatives of log-gamma, which libdevice lacks: digamma and polygamma.

Both are asymptotic series (Abramowitz and Stegun 6.3.18 and 6.4.11) of a point that recurrences have moved
far enough from 0; reflection makes the left half a function of the right one.
"""

import math
from fractions import Fraction

import torch

from ....fx.table import lowers
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from .elementwise import Kind, Pointwise, lower, pointwise

K = KernelBuilder

#: B2, B4, .. of Bernoulli's numbers.
_BERNOULLI = tuple(
    Fraction(n, d)
    for n, d in (
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798),
        (-174611, 330), (854513, 138), (-236364091, 2730),
    )
)  # fmt: skip
#: The largest order: the factorial of the next is no exact number of float64.
_LARGEST = 20


def _is_wide(x: Scalar) -> bool:
    return x.dtype == torch.float64


def _polynomial(k: K, x: Scalar, coefficients: list[float]) -> Scalar:
    """By Horner's rule; the constant comes first."""
    total: Scalar = k.constant(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        total = k.math("fma", total, x, coefficient)
    return total


def _turned_cotangent(k: K, x: Scalar) -> Scalar:
    """cot(pi x), of an angle of at most an eighth of a turn: it is accurate where it is 0."""
    from_pole = k.sub(x, k.math("roundeven", x))
    size = k.abs(from_pole)
    is_small = k.compare("gt", size, 0.25)
    tangent = k.math("tan", k.mul(k.select(is_small, k.sub(0.5, size), size), math.pi))
    return k.math("copysign", k.select(is_small, tangent, k.div(1, tangent)), from_pole)


def _is_integer(k: K, x: Scalar) -> Scalar:
    return k.compare("eq", x, k.math("floor", x))


@pointwise("aten.digamma.default", kind=Kind.INT_TO_FLOAT)
def digamma(k: K, x: Scalar) -> Scalar:
    """Infinite at 0, with the other sign; NaN at the other poles."""
    negative = k.compare("lt", x, 0)
    right = _digamma_of_positive(k, k.select(negative, k.sub(1, x), x))
    reflected = k.sub(right, k.mul(_turned_cotangent(k, x), math.pi))
    left = k.select(_is_integer(k, x), math.nan, reflected)
    pole = k.math("copysign", k.constant(math.inf, x.dtype), k.neg(x))
    return k.select(k.compare("eq", x, 0), pole, k.select(negative, left, right))


def _digamma_of_positive(k: K, x: Scalar) -> Scalar:
    steps, terms = (10, 8) if _is_wide(x) else (6, 5)
    near, moved = k.compare("lt", x, steps), k.add(x, steps)
    below = k.div(1, x)
    for i in range(1, steps):
        below = k.add(below, k.div(1, k.add(x, i)))
    z = k.select(near, moved, x)
    inverse = k.div(1, z)
    series = [float(b / (2 * i + 2)) for i, b in enumerate(_BERNOULLI[:terms])]
    square = k.mul(inverse, inverse)
    tail = k.math("fma", k.mul(square, _polynomial(k, square, series)), 1, k.mul(inverse, 0.5))
    far = k.sub(k.math("log", z), tail)
    return k.select(near, k.sub(far, below), far)


@lowers("aten.polygamma.default")
def polygamma(call: Call) -> object:
    order = call["n"]
    if type(order) is not int or not 0 <= order <= _LARGEST:
        call.refuse(f"a polygamma function of an order that is not in [0, {_LARGEST}]")

    def body(k: K, n: int, x: Scalar) -> Scalar:
        return digamma(k, x) if n == 0 else trigamma(k, x) if n == 1 else _of_order(k, n, x)

    return lower(call, Pointwise((), body, Kind.INT_TO_FLOAT, over=("self",)))


def trigamma(k: K, x: Scalar) -> Scalar:
    """As eager has it, whose series has three terms and whose sine at an integer is nearly 0: large, and
    not infinite.
    """
    left = k.compare("lt", x, 0.5)
    sine = k.math("sin", k.mul(x, math.pi))
    z = k.select(left, k.sub(1, x), x)
    total = k.select(left, k.neg(k.div(math.pi * math.pi, k.mul(sine, sine))), 0)
    for _ in range(6):
        total = k.add(total, k.div(1, k.mul(z, z)))
        z = k.add(z, 1)
    square = k.div(1, k.mul(z, z))
    series = k.mul(square, _polynomial(k, square, [1 / 6, -1 / 30, 1 / 42]))
    total = k.add(total, k.div(k.add(k.add(1, k.div(1, k.mul(z, 2))), series), z))
    return k.select(left, k.neg(total), total)


def _of_order(k: K, n: int, x: Scalar) -> Scalar:
    """``polygamma(n, x)`` for an order of at least 2: at the poles infinite with the sign of the series, at
    infinity NaN, as in eager.
    """
    sign = 1 if n % 2 else -1
    negative = k.compare("lt", x, 0)
    right = k.mul(_zeta(k, n + 1, k.select(negative, k.sub(1, x), x)), float(sign * math.factorial(n)))
    derivative = k.mul(_polynomial(k, _turned_cotangent(k, x), _cotangent(n)), math.pi ** (n + 1))
    left = k.sub(k.neg(right) if n % 2 else right, derivative)
    pole = k.bit_or(k.compare("eq", x, 0), k.bit_and(negative, _is_integer(k, x)))
    endless = k.compare("eq", k.math("absf", x), math.inf)
    result = k.select(pole, sign * math.inf, k.select(negative, left, right))
    return k.select(endless, k.select(negative, k.constant(sign * math.inf, x.dtype), math.nan), result)


def _cotangent(n: int) -> list[float]:
    """The coefficients of the polynomial of cot(t) that is its n-th derivative."""
    coefficients = [0, 1]
    for _ in range(n):
        slope = [i * c for i, c in enumerate(coefficients)][1:]
        coefficients = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return [float(c) for c in coefficients]


def _zeta(k: K, s: int, q: Scalar) -> Scalar:
    """Hurwitz's zeta function of an integer and a positive number, by the sum of Euler and Maclaurin."""
    steps, terms = 9, 12 if _is_wide(q) else 6
    total = _inverse_power(k, q, s)
    for i in range(1, steps):
        total = k.add(total, _inverse_power(k, k.add(q, i), s))
    w = k.add(q, steps)
    inverse = k.div(1, w)
    power, square = _inverse_power(k, w, s - 1), k.mul(inverse, inverse)
    rising, series = Fraction(1), []
    for i, bernoulli in enumerate(_BERNOULLI[:terms]):
        rising *= s if not i else (s + 2 * i - 1) * (s + 2 * i)
        series.append(float(bernoulli * rising / math.factorial(2 * i + 2)))
    tail = k.math("fma", square, _polynomial(k, square, series), k.math("fma", inverse, 0.5, 1 / (s - 1)))
    return k.add(total, k.mul(power, tail))


def _inverse_power(k: K, x: Scalar, s: int) -> Scalar:
    """``x ** -s``."""
    if s > 6:
        return k.math("powf", x, float(-s))
    inverse = k.div(1, x)
    total = inverse
    for _ in range(s - 1):
        total = k.mul(total, inverse)
    return total
