"""The C math functions that ``fuse.libm`` may name, by number of arguments, without the type suffix."""

_BY_ARITY: dict[int, tuple[str, ...]] = {
    1: (
        "acos", "acosh", "airy_ai", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh",
        "cyl_bessel_i0", "cyl_bessel_i1", "digamma", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp",
        "exp10", "exp2", "expm1", "fabs", "floor", "i0", "i0e", "i1", "i1e", "isinf", "isnan", "j0", "j1",
        "lgamma", "log", "log10", "log1p", "log2", "log_ndtr", "logb", "ndtri", "nearbyint", "normcdf",
        "normcdfinv", "rint", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma",
        "trunc", "y0", "y1",
    ),
    2: (
        "atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "igamma", "igammac", "ldexp",
        "nextafter", "pow", "remainder", "zeta",
    ),
    3: ("fma",),
}  # fmt: skip

#: Name -> number of arguments.
ARITY: dict[str, int] = {name: arity for arity, names in _BY_ARITY.items() for name in names}
assert len(ARITY) == sum(map(len, _BY_ARITY.values())), "a function is listed twice"
