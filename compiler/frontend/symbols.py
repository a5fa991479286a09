"""Sizes: torch's SymInts as index expressions, and where each of their symbols comes from."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..analysis.index import Expr, const, from_sympy, sym
from ..errors import UnboundSymbol, UnsupportedSize
from ..mlir import ir
from .host_sizes import call_host, host_size
from .module_builder import ModuleBuilder

_INT64_MAX = 2**63 - 1


class SymbolTable:
    """The sizes of one import.  Names are torch's own (``s0``, ``u1``); those that torch has no name for are
    ``p0``, ``p1``..
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        self.builder = builder
        self._expressions: dict[Any, Expr] = {}
        self._fresh = 0
        self._names: dict[Expr, str] = {}
        self._announced: dict[str, None] = {}

    def expr(self, size: Any, user: str = "") -> Expr:
        """The expression of an int, SymInt or sympy integer that ``user`` (a node, for messages) needs.

        Raises UnboundSymbol where a symbol has no definition yet, UnsupportedSize where the algebra cannot
        say it.
        """
        if isinstance(size, int):
            return const(int(size))
        return self._expr(size.node.expr if isinstance(size, torch.SymInt) else size, user)

    def stride(self, size: Any, user: str = "") -> Expr:
        """As ``expr``, of a stride of an argument of ``@main``: the type of an argument can only name what
        arguments bring, so a size that counts as at least 1 in a stride (the maximum of it and 1) is taken as
        it is.  They differ where it is 0, in a tensor without elements.
        """
        if isinstance(size, int):
            return const(int(size))
        return self._expr(size.node.expr.replace(_is_at_least_one, _other_than_one), user)

    def spell(self, size: Any) -> Expr:
        """As ``expr``, but the symbols need not be defined: for differences in which they cancel."""
        if isinstance(size, int):
            return const(int(size))
        known = from_sympy(size.node.expr)
        if known is None:
            raise UnsupportedSize(expression=size)
        return known

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
            self.builder.symbol(name, expression, location)
        return name

    def named(self, name: str) -> Expr:
        """The expression of a symbol that is defined."""
        return self.require(sym(name), name)

    def attributes(self, size: torch.SymInt) -> dict[str, ir.Attribute]:
        """``fuse.min``, ``fuse.max`` and ``fuse.hint`` of a SymInt, as far as its ShapeEnv knows them."""
        builder, expression, env = self.builder, size.node.expr, size.node.shape_env
        found: dict[str, ir.Attribute] = {}
        bounds = None if env is None else env.var_to_range.get(expression)
        if bounds is not None:
            for name, bound in (("fuse.min", bounds.lower), ("fuse.max", bounds.upper)):
                number = _finite(bound)
                if number is not None:
                    found[name] = builder.int64(number)
        hint = _hint(env, expression)
        if hint is not None:
            found["fuse.hint"] = builder.int64(hint)
        return found

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

    def bind_number(self, size: torch.SymInt, name: str, location: ir.Location) -> None:
        """Solves ``size == name`` for a symbol that nothing else gave."""
        expression = from_sympy(size.node.expr)
        if expression is not None:
            self._solve(expression, lambda: name, location)

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

            self._solve(expression, extent, location)
        for dim, stride in enumerate(tensor.stride()):
            expression = from_sympy(stride.node.expr) if isinstance(stride, torch.SymInt) else None
            if expression is not None and self._missing(expression):

                def step(dim: int = dim) -> str:
                    return str(call_host(self, "aten.sym_stride.int", [value, dim], location))

                self._solve(expression, step, location)

    def _missing(self, expression: Expr) -> list[str]:
        return [n for n in sorted(expression.symbols()) if n not in self.builder.symbol_values]

    def _solve(self, expression: Expr, extent: Callable[[], str], location: ir.Location) -> None:
        """Defines the one unknown symbol of ``expression``, linear in it, from the name that ``extent``
        gives.
        """
        missing = self._missing(expression)
        factor = expression.coefficient(missing[0]) if len(missing) == 1 else None
        if factor is None or (factor.constant or 0) < 1:
            return
        rest = expression - factor * sym(missing[0])
        self.builder.symbol(missing[0], (sym(extent()) - rest).floordiv(factor), location)

    def _expr(self, expression: Any, user: str) -> Expr:
        known = self._expressions.get(expression)
        if known is None:
            known = from_sympy(expression)
            known = host_size(self, expression, user) if known is None else self.require(known, user)
            self._expressions[expression] = known
        return known


def _is_at_least_one(expression: Any) -> bool:
    """Whether a sympy expression is the maximum of 1 and one other."""
    return type(expression).__name__ == "Max" and len(expression.args) == 2 and 1 in expression.args


def _other_than_one(maximum: Any) -> Any:
    return next(a for a in maximum.args if a != 1)


def _finite(bound: Any) -> int | None:
    try:
        number = int(bound)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return number if -_INT64_MAX <= number < _INT64_MAX - 1 else None


def _hint(env: Any, expression: Any) -> int | None:
    """The size that the example inputs had; torch renamed the table."""
    table = getattr(env, "backed_var_to_val", None)
    if table is None:
        table = getattr(env, "var_to_val", None)
    return None if not table else _finite(table.get(expression))
