"""Sizes that the index algebra cannot say (minima, roundings of quotients) become extern calls that the host
computes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..analysis.index import Expr, from_sympy
from ..dialects import fuse
from ..errors import UnsupportedSize
from ..mlir import ir

if TYPE_CHECKING:
    from .symbols import SymbolTable

#: A size, or a host float: known now, or an ``f64`` of ``@main``.
HostValue: TypeAlias = Expr | float | ir.Value

#: sympy's and torch's functions by the name of their class -> (Python function, whether it gives a float).
_FUNCTIONS: dict[str, tuple[str, bool]] = {
    "Max": ("torch.sym_max", False),
    "Min": ("torch.sym_min", False),
    "CeilToInt": ("math.ceil", False),
    "FloorToInt": ("math.floor", False),
    "TruncToInt": ("math.trunc", False),
    "PowByNatural": ("operator.pow", False),
    "LShift": ("operator.lshift", False),
    "RShift": ("operator.rshift", False),
    "BitwiseFn_bitwise_and": ("operator.and_", False),
    "BitwiseFn_bitwise_or": ("operator.or_", False),
    "IntTrueDiv": ("operator.truediv", True),
    "FloatTrueDiv": ("operator.truediv", True),
    "FloatPow": ("operator.pow", True),
    "ToFloat": ("torch.sym_float", True),
    "OpaqueUnaryFn_sqrt": ("math.sqrt", True),
    "OpaqueUnaryFn_log2": ("math.log2", True),
    "OpaqueUnaryFn_exp": ("math.exp", True),
}

#: What a sum or a product with a float in it is.
_FOLDS = {"Add": "operator.add", "Mul": "operator.mul"}


def host_size(symbols: "SymbolTable", expression: Any, user: str) -> Expr:
    """The expression of a sympy integer whose difficult parts are results of extern calls, emitted here.

    Raises UnsupportedSize for a function that is not in the table.
    """
    value = _convert(symbols, expression, user)
    if not isinstance(value, Expr):
        raise UnsupportedSize(expression=expression)
    return value


def call_host(
    symbols: "SymbolTable",
    function: str,
    arguments: Sequence[HostValue | int],
    location: ir.Location,
    gives_float: bool = False,
) -> Expr | ir.Value:
    """Calls a Python function of sizes, floats and tensors; its result as a new symbol, or as an ``f64``."""
    builder = symbols.builder
    args: list[ir.Attribute] = []
    operands: list[ir.Value] = []
    with builder.context:
        for argument in arguments:
            if isinstance(argument, Expr):
                argument = argument.constant if argument.is_constant else symbols.value(argument, location)
            if isinstance(argument, (int, float)):
                args.append(
                    builder.float64(argument) if isinstance(argument, float) else builder.int64(argument)
                )
                continue
            args.append(fuse.Arg.get(builder.int64(len(operands))))
            operands.append(argument)
        name = symbols.fresh()
        result_attributes = {} if gives_float else {"fuse.sym": builder.string(name)}
        attributes = {
            "fuse.extern": builder.string(function),
            "fuse.args": ir.ArrayAttr.get(args),
            "fuse.kwargs": ir.DictAttr.get({}),
            "res_attrs": ir.ArrayAttr.get([ir.DictAttr.get(result_attributes)]),
        }
    type_ = builder.element_type("f64") if gives_float else builder.index_type
    label = function.split(".")[1].strip("_")
    callee = builder.declare(label, [v.type for v in operands], [type_], attributes, location)
    (result,) = builder.call(callee, operands, [type_], location)
    if gives_float:
        return result
    builder.define(name, result)
    return symbols.named(name)


def _convert(symbols: "SymbolTable", e: Any, user: str) -> HostValue:
    if e.is_Float:
        return float(e)
    plain = from_sympy(e)
    if plain is not None:
        return symbols.require(plain, user)
    kind = type(e).__name__
    if not e.args:
        raise UnsupportedSize(expression=e)
    args = [_convert(symbols, a, user) for a in e.args]
    location = symbols.builder.unknown
    if kind in _FUNCTIONS:
        function, gives_float = _FUNCTIONS[kind]
        if kind not in ("Max", "Min"):
            return call_host(symbols, function, args, location, gives_float)
        gives_float = not all(isinstance(a, Expr) for a in args)
        return _fold(symbols, function, args, location, gives_float)
    if all(isinstance(a, Expr) for a in args):
        return _rebuilt(symbols, e, args, user)  # type: ignore[arg-type]
    if kind in _FOLDS:
        return _fold(symbols, _FOLDS[kind], args, location, True)
    raise UnsupportedSize(expression=e)


def _fold(
    symbols: "SymbolTable", function: str, args: Sequence[HostValue], location: ir.Location, gives_float: bool
) -> HostValue:
    total = args[0]
    for arg in args[1:]:
        total = call_host(symbols, function, [total, arg], location, gives_float)
    return total


def _rebuilt(symbols: "SymbolTable", e: Any, args: Sequence[Expr], user: str) -> Expr:
    """``e`` of the arguments' expressions: each is named, so that sympy may build it again."""
    import sympy

    def symbol(arg: Expr) -> Any:
        if arg.is_constant:
            return sympy.Integer(arg.constant)
        return sympy.Symbol(symbols.name(arg, symbols.builder.unknown), integer=True)

    result = from_sympy(e.func(*(symbol(a) for a in args)))
    if result is None:
        raise UnsupportedSize(expression=e)
    return symbols.require(result, user)
