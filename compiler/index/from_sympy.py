"""Reading sympy's integer expressions, torch's division functions included, without importing torch."""

from collections.abc import Callable
from typing import Any

from .expr import ONE, ZERO, Expr, const, sym


def from_sympy(expr: Any, rename: Callable[[str], str] | None = None) -> Expr | None:
    """The Expr of a sympy expression (or int), its symbols renamed by `rename`.

    None where it is not a polynomial, floordiv or mod in integer symbols (a float, a rational factor outside
    a floor, Min and Max, a symbol not declared integer, a denominator that is a number below 1).
    Denominators are taken to be positive; torch's functions are recognised by the name of their class.
    """
    import sympy

    try:
        return _convert(sympy.sympify(expr), rename or str, sympy)
    except (_Unsupported, sympy.SympifyError):
        return None


class _Unsupported(Exception):
    pass


def _convert(e: Any, rename: Callable[[str], str], sympy: Any) -> Expr:
    if e.is_Integer:
        return const(int(e))
    if e.is_Symbol:
        if e.is_integer is not True:
            raise _Unsupported
        return sym(rename(e.name))
    convert = _CONVERSIONS.get(type(e).__name__)
    if convert is None:
        raise _Unsupported
    return convert(e, lambda x: _convert(x, rename, sympy), sympy)


def _add(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    total = ZERO
    for arg in e.args:
        total = total + go(arg)
    return total


def _mul(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    product = ONE
    for arg in e.args:
        product = product * go(arg)
    return product


def _pow(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    base, power = e.args
    if not power.is_Integer or not 0 <= int(power) <= 16:
        raise _Unsupported
    value, factor = ONE, go(base)
    for _ in range(int(power)):
        value = value * factor
    return value


def _checked(den: Expr) -> Expr:
    n = den.constant
    if n is not None and n < 1:
        raise _Unsupported
    return den


def _floordiv(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    num, den = e.args
    return go(num).floordiv(_checked(go(den)))


def _mod(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    num, den = e.args
    return go(num).mod(_checked(go(den)))


def _modular(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    num, den, modulus = e.args
    return go(num).floordiv(_checked(go(den))).mod(_checked(go(modulus)))


def _floor(e: Any, go: Callable[[Any], Expr], sympy: Any) -> Expr:
    num, den = sympy.together(e.args[0]).as_numer_denom()
    return go(sympy.expand(num)).floordiv(_checked(go(sympy.expand(den))))


def _ceiling(e: Any, go: Callable[[Any], Expr], sympy: Any) -> Expr:
    num, den = sympy.together(e.args[0]).as_numer_denom()
    return _ceiled(go(sympy.expand(num)), go(sympy.expand(den)))


def _ceildiv(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    num, den = e.args
    return _ceiled(go(num), go(den))


def _ceiled(num: Expr, den: Expr) -> Expr:
    return (num + den - 1).floordiv(_checked(den))


def _same(e: Any, go: Callable[[Any], Expr], _: Any) -> Expr:
    return go(e.args[0])


_CONVERSIONS = {
    "Add": _add,
    "Mul": _mul,
    "Pow": _pow,
    "FloorDiv": _floordiv,
    "CleanDiv": _floordiv,
    "PythonMod": _mod,
    "Mod": _mod,
    "ModularIndexing": _modular,
    "floor": _floor,
    "ceiling": _ceiling,
    "CeilDiv": _ceildiv,
    "CeilToInt": _ceiling,
    "FloorToInt": _floor,
    "Identity": _same,
}
