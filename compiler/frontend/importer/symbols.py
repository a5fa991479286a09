"""Sizes: torch's SymInts as index expressions, and where each of their symbols comes from."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ...base.errors import UnboundSymbol
from ...index import Expr, const, from_sympy, sym
from ...mlir import ir
from .defined_symbols import DefinedSymbols, finite
from .host_sizes import call_host, host_size
from .values import Number


class SymbolTable(DefinedSymbols):
    """The sizes of one import: an expression for each SymInt, and a definition for each symbol, which an
    argument of ``@main``, the result of an extern call or the shape of a tensor gives.
    """

    def expr(self, size: Any, user: str = "") -> Expr:
        """The expression of an int, SymInt or sympy integer that ``user`` (a node, for messages) needs.

        Raises UnboundSymbol where a symbol has no definition yet, UnsupportedSize where the algebra cannot
        say it.
        """
        if isinstance(size, int):
            return const(int(size))
        if isinstance(size, torch.SymInt):
            self.env = self.env or size.node.shape_env
            if _is_one(size):
                return const(1)
            size = size.node.expr
        return self._expr(size, user)

    def strides(
        self, fake: torch.Tensor, user: str = "", *, argument: bool = False, view: bool = False
    ) -> tuple[Expr, ...]:
        """As ``expr``, of the strides of ``fake``, an ``argument`` of ``@main``, a ``view``, or neither.

        A size that counts as at least 1 in a stride (the maximum of it and 1) is taken as it is: they differ
        where it is 0, in a tensor without elements.  So it is in arguments, whose types can only name what
        arguments bring, in a tensor that has this size, and from then on in views, which address what these
        do.  Any other maximum, a number of the program, is what it is.
        """
        sizes = {n.node.expr for n in fake.shape if isinstance(n, torch.SymInt)}

        def is_taken(expression: Any) -> bool:
            if not _is_at_least_one(expression):
                return False
            size = _other_than_one(expression)
            if argument or (not view and size in sizes):
                self._taken.add(size)
            return size in self._taken

        def spelled(stride: Any) -> Expr:
            if isinstance(stride, torch.SymInt) and stride.node.expr.args:
                taken = stride.node.expr.replace(is_taken, _other_than_one)
                if taken != stride.node.expr:
                    return self._expr(taken, user)
            return self.expr(stride, user)

        return tuple(spelled(stride) for stride in fake.stride())

    def spell(self, size: Any) -> Expr:
        """As ``expr``, but the symbols of what the algebra can say need not be defined: for differences in
        which they cancel.
        """
        if isinstance(size, int):
            return const(int(size))
        self.env = self.env or size.node.shape_env
        known = self.plain(size.node.expr)
        return self.expr(size) if known is None else known

    def attributes(self, size: torch.SymInt) -> dict[str, ir.Attribute]:
        """``fuse.min``, ``fuse.max`` and ``fuse.hint`` of a SymInt, as far as its ShapeEnv knows them."""
        self.env = self.env or size.node.shape_env
        found = self.bounds(size.node.expr)
        hint = _hint(self.env, size.node.expr)
        if hint is not None:
            found["fuse.hint"] = self.builder.int64(hint)
        return found

    def announce(self, fakes: Iterable[Any]) -> None:
        """Lets types name the symbols of ``fakes`` (tensors and SymInts) before something defines them."""
        for fake in fakes:
            if isinstance(fake, torch.Tensor):
                self.announce((*fake.shape, *fake.stride()))
            elif isinstance(fake, torch.SymInt):
                for symbol in sorted(fake.node.expr.free_symbols, key=str):
                    if symbol.name not in self.builder.symbol_values:
                        self.announced.setdefault(symbol.name, None)

    def settle(self, user: str) -> None:
        """Raises UnboundSymbol if an announced symbol is still without a definition."""
        for name in self.announced:
            if name not in self.builder.symbol_values:
                raise UnboundSymbol(symbol=name, name=user)
        self.announced.clear()

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
            missing = self.missing(expression)
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
            if expression is not None and self.missing(expression):

                def step(dim: int = dim) -> str:
                    return str(call_host(self, "aten.sym_stride.int", [value, dim], location, {}))

                self._solve(stride, expression, step, location)

    def _solve(
        self, size: torch.SymInt, expression: Expr, extent: Callable[[], str], location: ir.Location
    ) -> None:
        """Defines the one unknown symbol of ``size``, which is ``expression``, linear in it, from the name
        that ``extent`` gives.
        """
        missing = self.missing(expression)
        factor = expression.coefficient(missing[0]) if len(missing) == 1 else None
        if factor is None or (factor.constant or 0) < 1:
            return
        rest = expression - factor * sym(missing[0])
        solved = (sym(extent()) - rest).floordiv(factor)
        self.env = self.env or size.node.shape_env
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


def _is_at_least_one(expression: Any) -> bool:
    """Whether a sympy expression is the maximum of 1 and one other."""
    return type(expression).__name__ == "Max" and len(expression.args) == 2 and 1 in expression.args


def _other_than_one(maximum: Any) -> Any:
    return next(a for a in maximum.args if a != 1)


def _hint(env: Any, expression: Any) -> int | None:
    """The size that the example inputs had; torch renamed the table."""
    table = getattr(env, "backed_var_to_val", None)
    if table is None:
        table = getattr(env, "var_to_val", None)
    return None if not table else finite(table.get(expression))


def _is_one(size: torch.SymInt) -> bool:
    """Whether torch has a guard that says that a computed size is 1, which the size does not show: it
    broadcast ``x[: n // 2]`` with ``x`` of 2 rows.  A bare symbol would be a number already.
    """
    node = size.node
    return bool(node.expr.args) and node.hint == 1 and statically_known_true(size == 1)
