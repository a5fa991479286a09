"""Math functions that Triton takes from libdevice because it has no tile op for them.  Code generation and
the interpreter share this table.

``math`` ops and ``fuse.libm`` calls name a C function; libdevice's symbol is ``__nv_<name>`` for f64 and
``__nv_<name>f`` for f32.
"""

from ..base.dataclass import dataclass
from .nvidia import libdevice_symbol


@dataclass(frozen=True)
class Function:
    """A C math function.  ``torch`` is the dotted name of the torch function with the same meaning, for the
    interpreter.
    """

    name: str
    arity: int
    torch: str
    op: str | None = None  #: the ``math``/``arith`` op that becomes this function on tiles

    def symbol(self, element: str) -> str:
        """libdevice's symbol for ``element``, f32 or f64.  Raises ValueError for another type."""
        if element not in ("f32", "f64"):
            raise ValueError(f"libdevice has no '{self.name}' for {element}")
        return libdevice_symbol(self.name, element)


FUNCTIONS = (
    Function("tanh", 1, "tanh", "math.tanh"),
    Function("expm1", 1, "expm1", "math.expm1"),
    Function("log1p", 1, "log1p", "math.log1p"),
    Function("log10", 1, "log10", "math.log10"),
    Function("tan", 1, "tan", "math.tan"),
    Function("asin", 1, "asin", "math.asin"),
    Function("acos", 1, "acos", "math.acos"),
    Function("atan", 1, "atan", "math.atan"),
    Function("atan2", 2, "atan2", "math.atan2"),
    Function("sinh", 1, "sinh", "math.sinh"),
    Function("cosh", 1, "cosh", "math.cosh"),
    Function("asinh", 1, "asinh", "math.asinh"),
    Function("acosh", 1, "acosh", "math.acosh"),
    Function("atanh", 1, "atanh", "math.atanh"),
    Function("pow", 2, "pow", "math.powf"),
    Function("rint", 1, "round", "math.roundeven"),
    Function("round", 1, "", "math.round"),  # half away from zero: torch has no such function
    Function("trunc", 1, "trunc", "math.trunc"),
    Function("copysign", 2, "copysign", "math.copysign"),
    Function("cbrt", 1, "", "math.cbrt"),
    Function("erfc", 1, "erfc", "math.erfc"),
    Function("fmod", 2, "fmod", "arith.remf"),
    Function("lgamma", 1, "lgamma"),
    Function("tgamma", 1, ""),
    Function("erfinv", 1, "erfinv"),
    Function("erfcinv", 1, ""),
    Function("erfcx", 1, "special.erfcx"),
    Function("normcdf", 1, "special.ndtr"),
    Function("normcdfinv", 1, "special.ndtri"),
    Function("j0", 1, "special.bessel_j0"),
    Function("j1", 1, "special.bessel_j1"),
    Function("y0", 1, "special.bessel_y0"),
    Function("y1", 1, "special.bessel_y1"),
    Function("cyl_bessel_i0", 1, "special.i0"),
    Function("cyl_bessel_i1", 1, "special.i1"),
    Function("hypot", 2, "hypot"),
    Function("nextafter", 2, "nextafter"),
    Function("remainder", 2, ""),
    Function("fdim", 2, ""),
    Function("exp10", 1, ""),
)


def _unique(keys: list[str]) -> None:
    assert len(set(keys)) == len(keys), f"listed twice: {sorted(k for k in keys if keys.count(k) > 1)}"


_unique([f.name for f in FUNCTIONS])
_unique([f.op for f in FUNCTIONS if f.op is not None])

#: By C name.
BY_NAME = {f.name: f for f in FUNCTIONS}
#: By the op that becomes the function.
BY_OP = {f.op: f for f in FUNCTIONS if f.op is not None}
