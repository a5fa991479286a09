"""Float functions: what ``math`` ops compute, and the C functions of ``fuse.libm``."""

import math

import numpy as np
import torch
from torch import Tensor

from .scalar_integers import Function, disjoint


def _round_away(x: Tensor) -> Tensor:
    """Rounds to the nearest integer, halves away from zero.  It is exact, unlike floor(x + 0.5)."""
    whole = x.trunc()
    return torch.where((x - whole).abs() >= 0.5, whole + torch.copysign(torch.ones_like(x), x), whole)


def _fma(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """a*b + c in float64, where the product of two float32 is exact."""
    return (a.double() * b.double() + c.double()).to(a.dtype)


def _cbrt(x: Tensor) -> Tensor:
    root = torch.sign(x) * x.abs().double().pow(1.0 / 3.0).to(x.dtype)
    return torch.where(x == 0, x, root)


def _leading_zeros(x: Tensor) -> Tensor:
    bits = torch.iinfo(x.dtype).bits
    smeared = x.clone()
    for step in (1, 2, 4, 8, 16, 32):
        if step < bits:
            smeared |= _shift_right(smeared, step)
    return bits - _popcount(smeared)


def _shift_right(x: Tensor, by: int) -> Tensor:
    return (x >> by) & ~(-1 << (torch.iinfo(x.dtype).bits - by))


def _trailing_zeros(x: Tensor) -> Tensor:
    return _popcount(~x & (x - 1))


def _popcount(x: Tensor) -> Tensor:
    total = torch.zeros_like(x)
    for bit in range(torch.iinfo(x.dtype).bits):
        total += (x >> bit) & 1
    return total


def _ipow(base: Tensor, exponent: Tensor) -> Tensor:
    positive = torch.pow(base, exponent.clamp(min=0))
    odd = torch.where(exponent % 2 == 0, torch.ones_like(base), base)
    inverse = torch.where(
        base == 1, torch.ones_like(base), torch.where(base == -1, odd, torch.zeros_like(base))
    )
    return torch.where(exponent >= 0, positive, inverse)


def _isnormal(x: Tensor) -> Tensor:
    return torch.isfinite(x) & (x.abs() >= torch.finfo(x.dtype).tiny)


def _clamp(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(x, low), high)


#: Op name -> function.
MATH: dict[str, Function] = {
    "math.absf": torch.abs,
    "math.absi": torch.abs,
    "math.acos": torch.acos,
    "math.acosh": torch.acosh,
    "math.asin": torch.asin,
    "math.asinh": torch.asinh,
    "math.atan": torch.atan,
    "math.atan2": torch.atan2,
    "math.atanh": torch.atanh,
    "math.cbrt": _cbrt,
    "math.ceil": torch.ceil,
    "math.clampf": _clamp,
    "math.copysign": torch.copysign,
    "math.cos": torch.cos,
    "math.cosh": torch.cosh,
    "math.ctlz": _leading_zeros,
    "math.ctpop": _popcount,
    "math.cttz": _trailing_zeros,
    "math.erf": torch.erf,
    "math.erfc": torch.erfc,
    "math.exp": torch.exp,
    "math.exp2": torch.exp2,
    "math.expm1": torch.expm1,
    "math.floor": torch.floor,
    "math.fma": _fma,
    "math.fpowi": lambda x, n: torch.pow(x, n.to(x.dtype)),
    "math.ipowi": _ipow,
    "math.isfinite": torch.isfinite,
    "math.isinf": torch.isinf,
    "math.isnan": torch.isnan,
    "math.isnormal": _isnormal,
    "math.log": torch.log,
    "math.log10": torch.log10,
    "math.log1p": torch.log1p,
    "math.log2": torch.log2,
    "math.powf": torch.pow,
    "math.round": _round_away,
    "math.roundeven": torch.round,
    "math.rsqrt": torch.rsqrt,
    "math.sin": torch.sin,
    "math.sincos": lambda x: (torch.sin(x), torch.cos(x)),
    "math.sinh": torch.sinh,
    "math.sqrt": torch.sqrt,
    "math.tan": torch.tan,
    "math.tanh": torch.tanh,
    "math.trunc": torch.trunc,
}


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    return torch.ldexp(x, exponent.to(torch.int32)).to(x.dtype)


def _tgamma(x: Tensor) -> Tensor:
    wide = x.double()
    reflected = math.pi / (torch.sin(math.pi * wide) * torch.exp(torch.lgamma(1 - wide)))
    result = torch.where(wide < 0.5, reflected, torch.exp(torch.lgamma(wide)))
    return torch.where((wide < 0) & (wide == wide.floor()), math.nan, result).to(x.dtype)


def _special(name: str) -> Function:
    return getattr(torch.special, name)


def _fdim(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(a.isnan() | b.isnan(), math.nan, torch.clamp(a - b, min=0)).to(a.dtype)


def fmod(x: Tensor, y: Tensor) -> Tensor:
    """C's fmod: x - n*y, where n is x/y without its fraction; exact.

    torch's is NaN in vector lanes where x/y overflows (`findings/torch-fmod-of-a-large-quotient.sh`).
    """
    kept = torch.result_type(x, y)
    with np.errstate(invalid="ignore"):  # an infinite x, or y of zero, gives NaN
        exact = np.fmod(x.double().numpy(), y.double().numpy())
    return torch.from_numpy(np.asarray(exact)).to(kept)


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    """IEEE 754's remainder: x - n*y, where n is the integer nearest to x/y, and the even one of two."""
    size = y.abs()
    rest = fmod(x, 2 * size).abs()
    less = rest - size
    rest = torch.where(2 * rest > size, torch.where(2 * less >= size, less - size, less), rest)
    return torch.where(torch.signbit(x), -rest, rest)


#: ``math`` ops that have no C function of the same name.
_NOT_IN_C = frozenset(
    {
        *("absf", "absi", "clampf", "ctlz", "ctpop", "cttz", "fpowi", "ipowi"),
        *("isfinite", "isnormal", "powf", "roundeven", "sincos"),
    }
)

#: ``fuse.libm`` by the C (or libdevice) name without the type suffix.
LIBM: dict[str, Function] = disjoint(
    {n.removeprefix("math."): f for n, f in MATH.items() if n.removeprefix("math.") not in _NOT_IN_C},
    {
        "airy_ai": _special("airy_ai"),
        "cyl_bessel_i0": torch.special.i0,
        "cyl_bessel_i1": torch.special.i1,
        "digamma": torch.digamma,
        "erfcinv": lambda x: torch.erfinv(1.0 - x.double()).to(x.dtype),
        "erfcx": torch.special.erfcx,
        "erfinv": torch.erfinv,
        "exp10": lambda x: torch.pow(10.0, x),
        "fabs": torch.abs,
        "fdim": _fdim,
        "fmax": torch.fmax,
        "fmin": torch.fmin,
        "fmod": fmod,
        "hypot": torch.hypot,
        "i0": torch.special.i0,
        "i0e": torch.special.i0e,
        "i1": torch.special.i1,
        "i1e": torch.special.i1e,
        "igamma": torch.special.gammainc,
        "igammac": torch.special.gammaincc,
        "j0": torch.special.bessel_j0,
        "j1": torch.special.bessel_j1,
        "ldexp": _ldexp,
        "lgamma": torch.lgamma,
        "log_ndtr": torch.special.log_ndtr,
        "logb": lambda x: torch.floor(torch.log2(x.abs())),
        "ndtri": torch.special.ndtri,
        "nearbyint": torch.round,
        "nextafter": torch.nextafter,
        "normcdf": torch.special.ndtr,
        "normcdfinv": torch.special.ndtri,
        "pow": torch.pow,
        "remainder": _remainder,
        "rint": torch.round,
        "sigmoid": torch.sigmoid,
        "tgamma": _tgamma,
        "y0": torch.special.bessel_y0,
        "y1": torch.special.bessel_y1,
        "zeta": torch.special.zeta,
    },
)
