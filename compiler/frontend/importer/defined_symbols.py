"""The size symbols of one import that are defined: their values in ``@main``, names and bounds, and which of
torch's expressions the index algebra can say with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from ...base.errors import UnboundSymbol
from ...index import Expr, Facts, from_sympy, sym
from ...mlir import ir
from .module_builder import ModuleBuilder

#: A size, a host float that is known now, or an ``f64`` or ``i1`` of ``@main``.
HostValue: TypeAlias = Expr | float | ir.Value

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class DefinedSymbols:
    """The symbols that have an ``index`` value in ``@main``, or are about to get one (``announced``).

    Names are torch's own (``s0``, ``u1``); a symbol that torch has no name for is called ``p0``, ``p1``..
    ``SymbolTable`` adds how symbols come to be defined.
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        self.builder = builder
        self.known: dict[Any, HostValue] = {}  #: sympy expressions that are converted
        self.floats: dict[str, ir.Value] = {}  #: torch's symbols of floats -> their ``f64`` in @main
        self.announced: dict[str, None] = {}  #: symbols that the next op or argument defines
        self.env: Any = None  #: torch's ShapeEnv: what it knows of its symbols
        self._taken: set[Any] = set()  #: sizes that strides hold in place of the maximum of them and 1
        self._fresh = 0
        self._names: dict[Expr, str] = {}

    @contextmanager
    def inside(self, values: dict[str, ir.Value]) -> Iterator[None]:
        """While another function than ``@main`` is filled: its arguments ``values`` are the symbols' values,
        and what is computed in it is not known outside.
        """
        builder = self.builder
        outside = builder.symbol_values, builder.symbol_attributes, self._names, self.known, self.floats
        builder.symbol_values, builder.symbol_attributes = values, dict(builder.symbol_attributes)
        self._names, self.known, self.floats = {}, {}, {}
        try:
            yield
        finally:
            (
                builder.symbol_values, builder.symbol_attributes, self._names, self.known, self.floats,
            ) = outside  # fmt: skip

    def plain(self, expression: Any) -> Expr | None:
        """A sympy integer in the index algebra, whose divisors are not negative; None where it has none."""
        known = from_sympy(expression)
        if known is None or not getattr(expression, "args", ()):
            return known
        divisors = [a for d in expression.atoms(*_divisions()) for a in d.args[1:]]
        return known if all(map(self.is_divisor, divisors)) else None

    def is_divisor(self, expression: Any) -> bool:
        """Whether the index algebra may divide by a sympy integer: torch knows it not to be negative."""
        if expression.is_Integer:
            return expression > 0
        if expression.is_nonnegative:
            return True
        try:
            return bool(self.env.bound_sympy(expression).lower >= 0)
        except Exception:  # torch has no bounds of every function that it may meet
            return False

    def require(self, expression: Expr, user: str) -> Expr:
        """``expression`` itself.  Raises UnboundSymbol where one of its symbols has no definition."""
        if not self.defines(expression):
            missing = [n for n in self.missing(expression) if n not in self.announced]
            raise UnboundSymbol(symbol=missing[0], name=user or "the graph")
        return expression

    def defines(self, expression: Expr) -> bool:
        """Whether every symbol has a definition, or is about to get one."""
        return all(n in self.builder.symbol_values or n in self.announced for n in expression.symbols())

    def missing(self, expression: Expr) -> list[str]:
        """The symbols of ``expression`` that have no value yet, in order."""
        return [n for n in sorted(expression.symbols()) if n not in self.builder.symbol_values]

    def fresh(self) -> str:
        """A name that torch does not use."""
        name = f"p{self._fresh}"
        self._fresh += 1
        return name

    def value(self, expression: Expr, location: ir.Location) -> ir.Value:
        """The index value of ``expression``; a ``fuse.sym`` where it is no bare symbol."""
        return self.builder.symbol_values[self.name(expression, location)]

    def name(self, expression: Expr, location: ir.Location) -> str:
        """A symbol that is equal to ``expression``: itself, or a new ``fuse.sym``."""
        text = str(expression)
        if text in self.builder.symbol_values:
            return text
        name = self._names.get(expression)
        if name is None:
            name = self._names[expression] = self.fresh()
            self.builder.symbol(name, expression, location, self._interval(expression))
        return name

    def named(self, name: str) -> Expr:
        """The expression of a symbol that is defined."""
        return self.require(sym(name), name)

    def bounds(self, expression: Any) -> dict[str, ir.Attribute]:
        """``fuse.min`` and ``fuse.max`` of a sympy integer, as far as torch knows them.  What has no
        ``fuse.min`` counts as a size, which is never negative; a number need not be one.
        """
        try:
            found = self.env.bound_sympy(expression)
        except Exception:  # torch has no bounds of every function that it may meet
            return self._bounds(None, None)
        return self._bounds(finite(found.lower), finite(found.upper))

    def _bounds(self, low: int | None, high: int | None) -> dict[str, ir.Attribute]:
        found = {"fuse.min": self.builder.int64(_INT64_MIN if low is None else low)}
        return found if high is None else {**found, "fuse.max": self.builder.int64(high)}

    def _interval(self, expression: Expr) -> dict[str, ir.Attribute]:
        """The bounds of an expression, from those of its symbols; none where it is at least 0 anyhow."""
        known = self.builder.symbol_attributes
        symbols = {n: known.get(n, {}) for n in expression.symbols()}
        low, high = Facts.of(
            minimum={n: ir.IntegerAttr(b["fuse.min"]).value for n, b in symbols.items() if "fuse.min" in b},
            maximum={n: ir.IntegerAttr(b["fuse.max"]).value for n, b in symbols.items() if "fuse.max" in b},
        ).interval(expression)
        return {} if low is not None and low >= 0 else self._bounds(_in_int64(low), _in_int64(high))


def _divisions() -> tuple[type, ...]:
    from torch.utils._sympy.functions import FloorDiv, Mod, ModularIndexing, PythonMod

    return FloorDiv, Mod, ModularIndexing, PythonMod


def finite(bound: Any) -> int | None:
    """A bound of torch's as an integer of 64 bits; None where it is infinite, no integer or beyond them."""
    try:
        return _in_int64(int(bound))
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


def _in_int64(number: int | None) -> int | None:
    """A bound, or None for one that says nothing of a number of 64 bits."""
    return number if number is not None and -_INT64_MAX <= number < _INT64_MAX - 1 else None
