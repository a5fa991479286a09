"""Sizes: torch's SymInts as index expressions, and where each of their symbols comes from."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ...base.errors import UnboundSymbol
from ...index import Expr, Facts, const, from_sympy, sym
from ...mlir import ir
from .host_sizes import HostValue, call_host, host_size
from .module_builder import ModuleBuilder
from .values import Number

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class SymbolTable:
    """The sizes of one import.  Names are torch's own (``s0``, ``u1``); those that torch has no name for are
    ``p0``, ``p1``..
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        self.builder = builder
        self.known: dict[Any, HostValue] = {}  #: sympy's expressions that are converted
        self._fresh = 0
        self._names: dict[Expr, str] = {}
        self._announced: dict[str, None] = {}
        self._env: Any = None  #: torch's ShapeEnv: what it knows of its symbols
        self.floats: dict[str, ir.Value] = {}  #: torch's symbols of floats -> their ``f64`` in @main

    def expr(self, size: Any, user: str = "") -> Expr:
        """The expression of an int, SymInt or sympy integer that ``user`` (a node, for messages) needs.

        Raises UnboundSymbol where a symbol has no definition yet, UnsupportedSize where the algebra cannot
        say it.
        """
        if isinstance(size, int):
            return const(int(size))
        if isinstance(size, torch.SymInt):
            self._env = self._env or size.node.shape_env
            size = size.node.expr
        return self._expr(size, user)

    def stride(self, size: Any, user: str = "") -> Expr:
        """As ``expr``, of a stride of an argument of ``@main``: the type of an argument can only name what
        arguments bring, so a size that counts as at least 1 in a stride (the maximum of it and 1) is taken as
        it is.  They differ where it is 0, in a tensor without elements.
        """
        if isinstance(size, int):
            return const(int(size))
        return self._expr(size.node.expr.replace(_is_at_least_one, _other_than_one), user)

    def spell(self, size: Any) -> Expr:
        """As ``expr``, but the symbols of what the algebra can say need not be defined: for differences in
        which they cancel.
        """
        if isinstance(size, int):
            return const(int(size))
        self._env = self._env or size.node.shape_env
        known = self.plain(size.node.expr)
        return self.expr(size) if known is None else known

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
            return bool(self._env.bound_sympy(expression).lower >= 0)
        except Exception:  # torch has no bounds of every function that it may meet
            return False

    def require(self, expression: Expr, user: str) -> Expr:
        """``expression`` itself.  Raises UnboundSymbol where one of its symbols has no definition."""
        if not self.defines(expression):
            missing = [n for n in self._missing(expression) if n not in self._announced]
            raise UnboundSymbol(symbol=missing[0], name=user or "the graph")
        return expression

    def defines(self, expression: Expr) -> bool:
        """Whether every symbol has a definition, or is about to get one."""
        return all(n in self.builder.symbol_values or n in self._announced for n in expression.symbols())

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

    def attributes(self, size: torch.SymInt) -> dict[str, ir.Attribute]:
        """``fuse.min``, ``fuse.max`` and ``fuse.hint`` of a SymInt, as far as its ShapeEnv knows them."""
        self._env = self._env or size.node.shape_env
        found = self.bounds(size.node.expr)
        hint = _hint(self._env, size.node.expr)
        if hint is not None:
            found["fuse.hint"] = self.builder.int64(hint)
        return found

    def bounds(self, expression: Any) -> dict[str, ir.Attribute]:
        """``fuse.min`` and ``fuse.max`` of a sympy integer, as far as torch knows them.  What has no
        ``fuse.min`` counts as a size, which is never negative; a number need not be one.
        """
        try:
            found = self._env.bound_sympy(expression)
        except Exception:  # torch has no bounds of every function that it may meet
            return self._bounds(None, None)
        return self._bounds(_finite(found.lower), _finite(found.upper))

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

    def announce(self, fakes: Iterable[Any]) -> None:
        """Lets types name the symbols of ``fakes`` (tensors and SymInts) before something defines them."""
        for fake in fakes:
            if isinstance(fake, torch.Tensor):
                self.announce((*fake.shape, *fake.stride()))
            elif isinstance(fake, torch.SymInt):
                for symbol in sorted(fake.node.expr.free_symbols, key=str):
                    if symbol.name not in self.builder.symbol_values:
                        self._announced.setdefault(symbol.name, None)

    def settle(self, user: str) -> None:
        """Raises UnboundSymbol if an announced symbol is still without a definition."""
        for name in self._announced:
            if name not in self.builder.symbol_values:
                raise UnboundSymbol(symbol=name, name=user)
        self._announced.clear()

    def argument(self, size: torch.SymInt, value: ir.Value) -> tuple[Expr, dict[str, ir.Attribute]]:
        """Defines a SymInt argument of ``@main``; its expression and its attributes."""
        expression = size.node.expr
        bare = getattr(expression, "is_Symbol", False) and expression.name not in self.builder.symbol_values
        name = expression.name if bare else self.fresh()
        attributes = self.attributes(size)
        self.builder.define(name, value, {k: v for k, v in attributes.items() if k != "fuse.hint"})
        return sym(name), {"fuse.sym": self.builder.string(name), **attributes}

    def number(self, fake: torch.SymFloat | torch.SymBool, value: ir.Value, dtype: torch.dtype) -> Number:
        """A float or bool of ``@main``, which sizes may be computed from."""
        if isinstance(fake, torch.SymFloat) and getattr(fake.node.expr, "is_Symbol", False):
            self.floats[fake.node.expr.name] = value
        return Number(value, dtype)

    def bind_number(self, size: torch.SymInt, name: str, location: ir.Location) -> None:
        """Solves ``size == name`` for a symbol that nothing else gave."""
        expression = from_sympy(size.node.expr)
        if expression is not None:
            self._solve(size, expression, lambda: name, location)

    def bind(self, tensor: torch.Tensor, value: ir.Value, location: ir.Location) -> None:
        """Defines what symbols it can from the sizes of a tensor: those that no argument gave."""
        for dim, size in enumerate(tensor.shape):
            expression = from_sympy(size.node.expr) if isinstance(size, torch.SymInt) else None
            if expression is None:
                continue
            missing = self._missing(expression)
            if len(missing) == 1 and expression == sym(missing[0]):
                self.builder.size(value, dim, missing[0], location)
                continue

            def extent(dim: int = dim) -> str:
                name = self.fresh()
                self.builder.size(value, dim, name, location)
                return name

            self._solve(size, expression, extent, location)
        for dim, stride in enumerate(tensor.stride()):
            expression = from_sympy(stride.node.expr) if isinstance(stride, torch.SymInt) else None
            if expression is not None and self._missing(expression):

                def step(dim: int = dim) -> str:
                    return str(call_host(self, "aten.sym_stride.int", [value, dim], location, {}))

                self._solve(stride, expression, step, location)

    def _missing(self, expression: Expr) -> list[str]:
        return [n for n in sorted(expression.symbols()) if n not in self.builder.symbol_values]

    def _solve(
        self, size: torch.SymInt, expression: Expr, extent: Callable[[], str], location: ir.Location
    ) -> None:
        """Defines the one unknown symbol of ``size``, which is ``expression``, linear in it, from the name
        that ``extent`` gives.
        """
        missing = self._missing(expression)
        factor = expression.coefficient(missing[0]) if len(missing) == 1 else None
        if factor is None or (factor.constant or 0) < 1:
            return
        rest = expression - factor * sym(missing[0])
        solved = (sym(extent()) - rest).floordiv(factor)
        self._env = self._env or size.node.shape_env
        unknown = next(s for s in size.node.expr.free_symbols if s.name == missing[0])
        self.builder.symbol(missing[0], solved, location, self.bounds(unknown))

    def _expr(self, expression: Any, user: str) -> Expr:
        known = self.known.get(expression)
        if known is None:
            known = self.plain(expression)
            known = host_size(self, expression, user) if known is None else self.require(known, user)
            self.known[expression] = known
        assert isinstance(known, Expr), f"{expression} is no integer"
        return known


def _divisions() -> tuple[type, ...]:
    from torch.utils._sympy.functions import FloorDiv, Mod, ModularIndexing, PythonMod

    return FloorDiv, Mod, ModularIndexing, PythonMod


def _is_at_least_one(expression: Any) -> bool:
    """Whether a sympy expression is the maximum of 1 and one other."""
    return type(expression).__name__ == "Max" and len(expression.args) == 2 and 1 in expression.args


def _other_than_one(maximum: Any) -> Any:
    return next(a for a in maximum.args if a != 1)


def _finite(bound: Any) -> int | None:
    try:
        return _in_int64(int(bound))
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None


def _in_int64(number: int | None) -> int | None:
    """A bound, or None for one that says nothing of a number of 64 bits."""
    return number if number is not None and -_INT64_MAX <= number < _INT64_MAX - 1 else None


def _hint(env: Any, expression: Any) -> int | None:
    """The size that the example inputs had; torch renamed the table."""
    table = getattr(env, "backed_var_to_val", None)
    if table is None:
        table = getattr(env, "var_to_val", None)
    return None if not table else _finite(table.get(expression))
