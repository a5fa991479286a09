"""Sizes that the index algebra cannot say (minima, roundings of quotients) become extern calls that the host
computes.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal

from ...base.errors import UnsupportedSize
from ...index import Expr
from ...ir.dialects import fuse
from ...mlir import ir
from .defined_symbols import DefinedSymbols, HostValue

#: sympy's and torch's functions of integers and floats by the name of their class -> (Python function, what
#: it gives; "common" is a float where an argument is one).
_FUNCTIONS: dict[str, tuple[str, Literal["size", "float", "bool", "common"]]] = {
    "Max": ("torch.sym_max", "common"),
    "Min": ("torch.sym_min", "common"),
    "Abs": ("operator.abs", "common"),
    "Pow": ("operator.pow", "common"),
    "CeilToInt": ("math.ceil", "size"),
    "FloorToInt": ("math.floor", "size"),
    "TruncToInt": ("math.trunc", "size"),
    "RoundToInt": ("builtins.round", "size"),
    "PowByNatural": ("operator.pow", "size"),
    "LShift": ("operator.lshift", "size"),
    "RShift": ("operator.rshift", "size"),
    "BitwiseFn_bitwise_and": ("operator.and_", "size"),
    "BitwiseFn_bitwise_or": ("operator.or_", "size"),
    "BitwiseFn_bitwise_xor": ("operator.xor", "size"),
    "IntTrueDiv": ("operator.truediv", "float"),
    "FloatTrueDiv": ("operator.truediv", "float"),
    "FloatPow": ("operator.pow", "float"),
    "RoundDecimal": ("builtins.round", "float"),
    "TruncToFloat": ("math.trunc", "float"),
    "ToFloat": ("torch.sym_float", "float"),
    "Equality": ("operator.eq", "bool"),
    "Unequality": ("operator.ne", "bool"),
    "StrictLessThan": ("operator.lt", "bool"),
    "LessThan": ("operator.le", "bool"),
    "StrictGreaterThan": ("operator.gt", "bool"),
    "GreaterThan": ("operator.ge", "bool"),
    "And": ("operator.and_", "bool"),
    "Or": ("operator.or_", "bool"),
    "Not": ("torch.sym_not", "bool"),
}

#: Functions of one float, which torch's class is named after: ``OpaqueUnaryFn_cos`` is ``math.cos``.
_OPAQUE = "OpaqueUnaryFn_"

#: Divisions that the index algebra has where the divisor is not negative.
_DIVISIONS = {
    "FloorDiv": "operator.floordiv",
    "CleanDiv": "operator.floordiv",
    "Mod": "operator.mod",
    "PythonMod": "operator.mod",
}

#: Functions of any number of arguments, two at a time.
_FOLDED = frozenset(("Max", "Min", "And", "Or"))

#: What a sum or a product with a float in it is.
_FOLDS = {"Add": "operator.add", "Mul": "operator.mul"}


def host_size(symbols: DefinedSymbols, expression: Any, user: str) -> Expr:
    """The expression of a sympy integer whose difficult parts are results of extern calls, emitted here.

    Raises UnsupportedSize for a function that is not in the table.
    """
    value = _convert(symbols, expression, user)
    if not isinstance(value, Expr):
        raise UnsupportedSize(expression=expression)
    return value


def call_host(
    symbols: DefinedSymbols,
    function: str,
    arguments: Sequence[HostValue | int],
    location: ir.Location,
    bounds: Mapping[str, ir.Attribute] | None = None,
    type_: str = "f64",
) -> Expr | ir.Value:
    """Calls a Python function of sizes, floats, bools and tensors; its result as a new symbol with ``bounds``
    (``fuse.min``, ``fuse.max``), or without them as a number of ``type_``.
    """
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
        result_attributes = {} if bounds is None else {"fuse.sym": builder.string(name), **bounds}
        attributes = {
            "fuse.extern": builder.string(function),
            "fuse.args": ir.ArrayAttr.get(args),
            "fuse.kwargs": ir.DictAttr.get({}),
            "res_attrs": ir.ArrayAttr.get([ir.DictAttr.get(result_attributes)]),
        }
    result_type = builder.element_type(type_) if bounds is None else builder.index_type
    label = function.split(".")[1].strip("_")
    callee = builder.declare(label, [v.type for v in operands], [result_type], attributes, location)
    (result,) = builder.call(callee, operands, [result_type], location)
    if bounds is None:
        return result
    builder.define(name, result, bounds)
    return symbols.named(name)


def _convert(symbols: DefinedSymbols, e: Any, user: str) -> HostValue:
    """The value of a sympy expression: each part is computed once."""
    if e.is_Float or (e.is_Rational and not e.is_Integer):
        return float(e)
    known = symbols.known.get(e)
    if known is None:
        known = symbols.known[e] = _converted(symbols, e, user)
    return known


def _converted(symbols: DefinedSymbols, e: Any, user: str) -> HostValue:
    if e.is_Symbol and e.name in symbols.floats:
        return symbols.floats[e.name]
    plain = symbols.plain(e)
    if plain is not None:
        return symbols.require(plain, user)
    kind = type(e).__name__
    if not e.args:
        raise UnsupportedSize(expression=e)
    if kind == "Piecewise":
        return _chosen(symbols, e, user)
    args = [_convert(symbols, a, user) for a in e.args]
    if kind == "Identity":
        return args[0]
    function, gives = _FUNCTIONS.get(kind, ("", ""))
    if kind.startswith(_OPAQUE):
        function, gives = f"math.{kind.removeprefix(_OPAQUE)}", "float"
    sizes = all(isinstance(a, Expr) for a in args)
    if kind in _DIVISIONS and sizes and not symbols.is_divisor(e.args[1]):
        function, gives = _DIVISIONS[kind], "size"
    elif sizes and (said := _algebra(kind, args)) is not None:  # type: ignore[arg-type]
        return symbols.require(said, user)
    elif kind in _FOLDS:
        function, gives = _FOLDS[kind], "float"
    elif not function:
        raise UnsupportedSize(expression=e)
    if gives == "common":
        gives = "size" if sizes else "float"
    if kind not in _FOLDED and kind not in _FOLDS:
        return _called(symbols, e, function, args, gives)
    total = args[0]
    for arg in args[1:]:
        total = _called(symbols, e if arg is args[-1] else None, function, [total, arg], gives)
    return total


def _chosen(symbols: DefinedSymbols, e: Any, user: str) -> HostValue:
    """A choice between values; the condition of the last is true."""
    values = [_convert(symbols, pair.args[0], user) for pair in e.args]
    sizes = all(isinstance(v, Expr) for v in values)
    if not sizes:  # torch chooses between values of one type
        values = [_called(symbols, None, "torch.sym_float", [v], "float") for v in values]
    chosen = values[-1]
    for pair, value in reversed(list(zip(e.args[:-1], values[:-1], strict=True))):
        condition = _convert(symbols, pair.args[1], user)
        whole = e if pair is e.args[0] else None
        gives = "size" if sizes else "float"
        chosen = _called(symbols, whole, "torch.sym_ite", [condition, value, chosen], gives)
    return chosen


def _called(
    symbols: DefinedSymbols, e: Any, function: str, args: Sequence[HostValue], gives: str
) -> Expr | ir.Value:
    """A call whose result is ``e``, or, where that is None, what the rest of ``e`` is computed from."""
    location = symbols.builder.unknown
    if gives == "size":
        return call_host(symbols, function, args, location, symbols.bounds(e))
    return call_host(symbols, function, args, location, type_="f64" if gives == "float" else "i1")


def _algebra(kind: str, args: Sequence[Expr]) -> Expr | None:
    """A sum, a product, a quotient or a remainder in the index algebra; None for anything else."""
    if kind == "Add":
        return sum(args[1:], args[0])
    if kind == "Mul":
        return prod(args[1:], start=args[0])
    if kind not in _DIVISIONS:
        return None
    return args[0].mod(args[1]) if "Mod" in kind else args[0].floordiv(args[1])
