"""Writes the graph level: ``@main``, its ``fuse`` ops and calls, and the declarations beside it.

Ops are made through ``ir.Operation.create`` with types and attributes that are made once an import: this is
the cost of an import.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...base.errors import UnboundSymbol
from ...index import Expr
from ...ir.layout import TensorSpec
from ...mlir import ir


class ModuleBuilder:
    """One module under construction.  ``device`` is the module's default device, ``None`` in a
    ``TensorSpec``.
    """

    def __init__(self, context: ir.Context, device: str) -> None:
        self.context = context
        self.device = device
        with context:
            self.unknown = ir.Location.unknown()
            self.module = ir.Module.create(loc=self.unknown)
            self.index_type = ir.IndexType.get()
            self.unit = ir.UnitAttr.get()
            self._int64 = ir.IntegerType.get_signless(64)
            self._float64 = ir.F64Type.get()
        self._body = ir.InsertionPoint(self.module.body)
        self._types: dict[Any, ir.Type] = {}
        self._strings: dict[str, ir.Attribute] = {}
        self._coordinates: dict[tuple[Expr, ...], ir.Attribute] = {}
        self._names: set[str] = {"main"}
        self.declarations: dict[str, ir.Operation] = {}
        self.symbol_values: dict[
            str, ir.Value
        ] = {}  #: every size symbol defined so far -> its index value in @main
        self.symbol_attributes: dict[
            str, dict[str, ir.Attribute]
        ] = {}  #: bounds that kernels repeat on their arguments
        self.module.operation.attributes["fuse.device"] = self.string(device)
        self.main = self.function("main", self.unknown, public=True)
        self.main_block = self.main.regions[0].blocks.append()
        self.main_point = ir.InsertionPoint(self.main_block)

    # Types and attributes, each made once.
    def element_type(self, text: str) -> ir.Type:
        """The type spelt ``text``."""
        known = self._types.get(text)
        if known is None:
            known = self._types[text] = ir.Type.parse(text, self.context)
        return known

    def tensor_type(self, spec: TensorSpec) -> ir.Type:
        known = self._types.get(spec)
        if known is None:
            with self.context:
                known = self._types[spec] = spec.type()
        return known

    def coordinates(self, at: Sequence[Expr]) -> ir.Attribute:
        """The array of the expressions' texts, made once."""
        key = tuple(at)
        known = self._coordinates.get(key)
        if known is None:
            known = self._coordinates[key] = self.strings(key)
        return known

    def string(self, text: str) -> ir.Attribute:
        known = self._strings.get(text)
        if known is None:
            known = self._strings[text] = ir.StringAttr.get(text, context=self.context)
        return known

    def strings(self, texts: Sequence[Any]) -> ir.Attribute:
        """The array of the elements' texts."""
        return ir.ArrayAttr.get([self.string(str(t)) for t in texts], context=self.context)

    def int64(self, value: int) -> ir.Attribute:
        return ir.IntegerAttr.get(self._int64, value)

    def float64(self, value: float) -> ir.Attribute:
        return ir.FloatAttr.get(self._float64, value, loc=self.unknown)

    def int64s(self, values: Sequence[int]) -> ir.Attribute:
        return ir.DenseI64ArrayAttr.get(list(values), context=self.context)

    # Functions.
    def unique(self, name: str) -> str:
        """``name``, or ``name_1``, ``name_2``.. where it is taken."""
        candidate, n = name, 0
        while candidate in self._names:
            n += 1
            candidate = f"{name}_{n}"
        self._names.add(candidate)
        return candidate

    def release(self, name: str) -> None:
        """Makes ``name`` free again, after its function was erased."""
        self._names.discard(name)

    def function(self, name: str, location: ir.Location, *, public: bool = False) -> ir.Operation:
        """A ``func.func`` without blocks; whoever fills it sets ``function_type``."""
        attributes = {"sym_name": self.string(name), "function_type": self.function_type([], [])}
        if not public:
            attributes["sym_visibility"] = self.string("private")
        return ir.Operation.create("func.func", attributes=attributes, regions=1, loc=location, ip=self._body)

    def function_type(self, inputs: Sequence[ir.Type], results: Sequence[ir.Type]) -> ir.Attribute:
        return ir.TypeAttr.get(
            ir.FunctionType.get(list(inputs), list(results), context=self.context), context=self.context
        )

    def declare(
        self,
        name: str,
        inputs: Sequence[ir.Type],
        results: Sequence[ir.Type],
        attributes: Mapping[str, ir.Attribute],
        location: ir.Location,
    ) -> str:
        """A private declaration, renamed where ``name`` is taken; returns its name."""
        unique = self.unique(name)
        op = self.declarations[unique] = self.function(unique, location)
        op.attributes["function_type"] = self.function_type(inputs, results)
        for key, attribute in attributes.items():
            op.attributes[key] = attribute
        return unique

    def nest(self, name: str, module: ir.Module) -> str:
        """Puts a copy of ``module`` into this one, renamed where ``name`` is taken; returns its name."""
        unique = self.unique(name)
        module.operation.clone(self._body).attributes["sym_name"] = self.string(unique)
        return unique

    # Ops of @main.
    def op(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute],
        location: ir.Location,
    ) -> ir.Operation:
        """Appends an op to ``@main``."""
        return ir.Operation.create(
            name, results=results, operands=operands, attributes=attributes, loc=location, ip=self.main_point
        )

    def call(
        self, callee: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], location: ir.Location
    ) -> list[ir.Value]:
        """``func.call @callee``."""
        symbol = ir.FlatSymbolRefAttr.get(callee, context=self.context)
        return list(self.op("func.call", results, operands, {"callee": symbol}, location).results)

    def empty(self, spec: TensorSpec, location: ir.Location) -> ir.Value:
        """``fuse.empty``: storage with the layout ``spec``."""
        names = spec.symbols
        return self.op(
            "fuse.empty",
            [self.tensor_type(spec)],
            self.values(names),
            {"syms": self.strings(names)},
            location,
        ).result

    def view(
        self, source: ir.Value, spec: TensorSpec, coordinates: Sequence[Expr], location: ir.Location
    ) -> ir.Value:
        """``fuse.view``: ``coordinates`` has one expression per source dim over ``v0``.. and symbols."""
        names: Sequence[str] = ()
        if self.symbol_values:
            used = set(spec.symbols).union(*(c.symbols() for c in coordinates))
            names = sorted(used & self.symbol_values.keys())
        attributes = {"map": self.coordinates(coordinates), "syms": self.strings(names)}
        return self.op(
            "fuse.view", [self.tensor_type(spec)], [source, *self.values(names)], attributes, location
        ).result

    def size(self, source: ir.Value, dim: int, symbol: str, location: ir.Location) -> None:
        """``fuse.size``: defines ``symbol`` as the extent of a dim."""
        attributes = {"dim": self.int64(dim), "symbol": self.string(symbol)}
        self.define(symbol, self.op("fuse.size", [self.index_type], [source], attributes, location).result)

    def symbol(
        self, symbol: str, expression: Expr, location: ir.Location, bounds: Mapping[str, ir.Attribute]
    ) -> None:
        """``fuse.sym``: defines ``symbol`` as an expression over defined symbols.  ``bounds``: as of
        ``define``.
        """
        names = sorted(expression.symbols())
        attributes = {
            "symbol": self.string(symbol),
            "expr": self.string(str(expression)),
            "syms": self.strings(names),
            **bounds,
        }
        made = self.op("fuse.sym", [self.index_type], self.values(names), attributes, location)
        self.define(symbol, made.result, bounds)

    def define(self, symbol: str, value: ir.Value, bounds: Mapping[str, ir.Attribute] | None = None) -> None:
        """Makes ``value`` the SSA value of ``symbol``.  ``bounds``: ``fuse.min``, ``fuse.max``."""
        assert symbol not in self.symbol_values, f"the size {symbol} is defined twice"
        self.symbol_values[symbol] = value
        self.symbol_attributes[symbol] = dict(bounds or {})

    def values(self, names: Sequence[str]) -> list[ir.Value]:
        """The index values of symbols.  Raises UnboundSymbol."""
        for name in names:
            if name not in self.symbol_values:
                raise UnboundSymbol(symbol=name, name="the graph")
        return [self.symbol_values[n] for n in names]
