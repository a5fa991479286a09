"""Elementary functions of complex numbers as ops on pairs of reals.

The formulas are those of eager mode where infinities and NaNs depend on them: a power is the exponential of a
product with a logarithm, whose zero part multiplies an infinite one, too.
"""

import cmath
import math
from collections.abc import Callable

import torch
from torch.fx import Node

from .complex_formulas import (
    Maker,
    NoFormula,
    Pair,
    Plane,
    added,
    angle,
    both,
    conjugate,
    divided,
    magnitude,
    multiplied,
    negated,
    polar,
    reciprocal,
    scaled,
    sgn,
    tensors,
)

_aten = torch.ops.aten


def exp(m: Maker, x: Pair) -> Pair:
    """A real number stays real, exp(-inf) is 0 at any angle, and exp(inf) infinite even at none."""
    length = m(_aten.exp.default, x.re)
    turned = polar(m, length, x.im)  # type: ignore[arg-type]
    real = m(_aten.eq.Scalar, x.im, 0)
    gone = m(_aten.eq.Scalar, x.re, -math.inf)
    re, im = m.where(real, length, turned.re), m.where(real, x.im, turned.im)
    endless = m(_aten.logical_and.default, m(_aten.eq.Scalar, x.re, math.inf), m(_aten.isnan.default, re))
    re = m.where(endless, math.inf, re)
    return Pair(m.where(gone, 0.0, re), m.where(gone, 0.0, im))


def log(m: Maker, x: Pair) -> Pair:
    return Pair(m(_aten.log.default, magnitude(m, x)), angle(m, x))


def sqrt(m: Maker, x: Pair) -> Pair:
    """The part that is a sum of positive numbers first; the other one is a quotient, and loses no digits."""
    length, width = magnitude(m, x), m(_aten.abs.default, x.re)
    large = m(_aten.sqrt.default, m.add(m.mul(length, 0.5), m.mul(width, 0.5)))
    small = m(_aten.div.Tensor, m.mul(x.im, 0.5), large)
    right = m(_aten.ge.Scalar, x.re, 0)
    re = m.where(right, large, m(_aten.abs.default, small))
    im = m.where(right, small, m(_aten.copysign.Tensor, large, x.im))
    zero, endless = m(_aten.eq.Scalar, length, 0), m(_aten.isinf.default, x.im)
    re, im = m.where(zero, 0.0, re), m.where(zero, x.im, im)
    return Pair(m.where(endless, math.inf, re), m.where(endless, x.im, im))


def _products(m: Maker, x: Pair, names: tuple[str, str, str, str]) -> list[Plane]:
    of_re, of_im, other_re, other_im = (getattr(_aten, name).default for name in names)
    return [m.mul(m(of_re, x.re), m(of_im, x.im)), m.mul(m(other_re, x.re), m(other_im, x.im))]


def sin(m: Maker, x: Pair) -> Pair:
    return Pair(*_products(m, x, ("sin", "cosh", "cos", "sinh")))


def cos(m: Maker, x: Pair) -> Pair:
    re, im = _products(m, x, ("cos", "cosh", "sin", "sinh"))
    return Pair(re, m.mul(im, -1.0))


def sinh(m: Maker, x: Pair) -> Pair:
    return Pair(*_products(m, x, ("sinh", "cos", "cosh", "sin")))


def cosh(m: Maker, x: Pair) -> Pair:
    return Pair(*_products(m, x, ("cosh", "cos", "sinh", "sin")))


def tanh(m: Maker, x: Pair) -> Pair:
    """Kahan's formula; where a real part is large, the imaginary one vanishes as its exponential does."""
    tangent, sine = m(_aten.tan.default, x.im), m(_aten.sinh.default, x.re)
    wider = m.add(m.mul(tangent, tangent), 1.0)
    below = m.add(m.mul(wider, m.mul(sine, sine)), 1.0)
    cosine = m(_aten.cosh.default, x.re)
    re = m.div(m.mul(m.mul(wider, cosine), sine), below)
    im = m.div(tangent, below)
    size = m(_aten.abs.default, x.re)
    far = m(_aten.gt.Scalar, size, 20)
    decay = m(_aten.exp.default, m.mul(size, -2.0))
    turned = m(_aten.sin.default, m.mul(x.im, 2.0))
    endless = m(_aten.isinf.default, x.re)
    vanishing = m.where(endless, 0.0, m.mul(m.mul(turned, decay), 2.0))
    re = m.where(far, m.add(m(_aten.sign.default, x.re), m.mul(vanishing, 0.0)), re)
    im = m.where(far, vanishing, im)
    re = m.where(m(_aten.eq.Scalar, x.re, 0), x.re, re)
    return Pair(re, m.where(m(_aten.eq.Scalar, x.im, 0), x.im, im))


def tan(m: Maker, x: Pair) -> Pair:
    """-i tanh(ix)."""
    turned = tanh(m, Pair(m(_aten.neg.default, x.im), x.re))
    return Pair(turned.im, m(_aten.neg.default, turned.re))


def sigmoid(m: Maker, x: Pair) -> Pair:
    return reciprocal(m, _one_and_decay(m, x))


def silu(m: Maker, x: Pair) -> Pair:
    return divided(m, x, _one_and_decay(m, x))


def _one_and_decay(m: Maker, x: Pair) -> Pair:
    return added(m, exp(m, negated(m, x)), Pair(1.0, 0.0))


def expm1(m: Maker, x: Pair) -> Pair:
    half = m(_aten.sin.default, m.mul(x.im, 0.5))
    grown = m.mul(m(_aten.expm1.default, x.re), m(_aten.cos.default, x.im))
    im = m.mul(m(_aten.exp.default, x.re), m(_aten.sin.default, x.im))
    return Pair(m.sub(grown, m.mul(m.mul(half, half), 2.0)), im)


def log1p(m: Maker, x: Pair) -> Pair:
    """Near 0 by the square of the size less 1, which is a small number without cancellation."""
    moved = Pair(m.add(x.re, 1.0), x.im)
    excess = m.add(m.mul(x.re, m.add(x.re, 2.0)), m.mul(x.im, x.im))
    near = m.mul(m(_aten.log1p.default, excess), 0.5)
    far = m(_aten.log.default, magnitude(m, moved))
    re = m.where(m(_aten.lt.Scalar, magnitude(m, x), 0.5), near, far)
    missing = both(m, _aten.isnan.default, _aten.logical_or.default, x)
    return Pair(m.where(missing, math.nan, re), angle(m, moved))


def power(m: Maker, x: Pair, exponent: Pair) -> Pair:
    """exp(exponent * log(x)), where neither is a number; a number is a base with a logarithm."""
    if isinstance(x.re, Node) or isinstance(x.im, Node):
        logarithm = log(m, Pair(*tensors(m, x)))
    else:
        base = complex(x.re, x.im)
        if base == 0 or not cmath.isfinite(base):
            raise NoFormula
        number = cmath.log(base)
        logarithm = Pair(number.real, number.imag)
    product = multiplied(m, exponent, logarithm)
    if not isinstance(exponent.im, Node) and exponent.im == 0:  # no angle, not even a missing one, shrinks it
        product = Pair(m.mul(exponent.re, logarithm.re), product.im)
    return exp(m, Pair(*tensors(m, product)))


def to_number(m: Maker, x: Pair, exponent: complex) -> Pair:
    """A power that is a number; some have a formula of their own, as in eager."""
    if exponent == 0:
        return Pair(m(_aten.full_like.default, x.re, 1.0), m(_aten.full_like.default, x.re, 0.0))
    if exponent == 1:
        return x
    special = _POWERS.get(exponent)
    return special(m, x) if special is not None else power(m, x, Pair(exponent.real, exponent.imag))


def _square(m: Maker, x: Pair) -> Pair:
    return multiplied(m, x, x)


def _rsqrt(m: Maker, x: Pair) -> Pair:
    return reciprocal(m, sqrt(m, x))


_POWERS: dict[complex, Callable[[Maker, Pair], Pair]] = {
    2: _square,
    3: lambda m, x: multiplied(m, _square(m, x), x),
    0.5: sqrt,
    -0.5: _rsqrt,
    -1: reciprocal,
    -2: lambda m, x: reciprocal(m, _square(m, x)),
}


#: Ops of one complex tensor, by packet.
UNARY: dict[str, Callable[[Maker, Pair], Pair]] = {
    "neg": negated, "reciprocal": reciprocal, "exp": exp, "log": log, "sqrt": sqrt, "sgn": sgn, "sin": sin,
    "cos": cos, "sinh": sinh, "cosh": cosh, "tanh": tanh, "tan": tan, "sigmoid": sigmoid, "silu": silu,
    "expm1": expm1, "log1p": log1p, "rsqrt": _rsqrt, "square": _square,
    "exp2": lambda m, x: exp(m, scaled(m, x, math.log(2))),
    "log2": lambda m, x: scaled(m, log(m, x), 1 / math.log(2)),
    "log10": lambda m, x: scaled(m, log(m, x), 1 / math.log(10)),
    "conj_physical": conjugate, "_conj_physical": conjugate,
}  # fmt: skip
#: Ops of one complex tensor whose result is real.
TO_REAL: dict[str, Callable[[Maker, Pair], Node]] = {
    "abs": magnitude,
    "angle": angle,
    "isnan": lambda m, x: both(m, _aten.isnan.default, _aten.logical_or.default, x),
    "isinf": lambda m, x: both(m, _aten.isinf.default, _aten.logical_or.default, x),
    "isfinite": lambda m, x: both(m, _aten.isfinite.default, _aten.logical_and.default, x),
    "logical_not": lambda m, x: both(m, _aten.logical_not.default, _aten.logical_and.default, x),
}
