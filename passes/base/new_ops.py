"""Ops that passes make at the current insertion point and location, beside those of MLIR, which its bindings
make (``arith.mulf(a, b)``).
"""

from collections.abc import Iterable, Sequence

from ...compiler.index import Expr
from ...compiler.mlir import arith, ir
from .kernels import text_list

_I1, _I64 = 1, 64


def number(type_: ir.Type, value: float) -> ir.Value:
    """A constant of a float or an integer type; 1 of ``i1`` is true."""
    return arith.constant(type_, int(value) if isinstance(type_, ir.IntegerType) else float(value))


def true() -> ir.Value:
    """The guard that always holds."""
    return number(ir.IntegerType.get_signless(_I1), 1)


def made(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """The result of an op of two operands, of their type, whose name a table gives."""
    return ir.Operation.create(name, [left.type], [left, right]).results[0]


def negated(condition: ir.Value) -> ir.Value:
    """Where a condition does not hold."""
    return arith.xori(condition, number(condition.type, 1))


def index(expression: object) -> ir.Value:
    """An index expression as a number of i64."""
    types, attributes = [ir.IntegerType.get_signless(_I64)], {"expr": ir.StringAttr.get(str(expression))}
    return ir.Operation.create("fuse.index", types, [], attributes).results[0]


def load(
    tensor: ir.Value,
    type_: ir.Type,
    at: Iterable[object],
    guard: ir.Value | None = None,
    indices: Sequence[ir.Value] = (),
) -> ir.Value:
    """An element of ``type_`` of a kernel's argument; 0 where ``guard`` does not hold."""
    operands = [tensor, true() if guard is None else guard, number(type_, 0), *indices]
    return ir.Operation.create("fuse.load", [type_], operands, {"at": text_list(at)}).results[0]


def store(tensor: ir.Value, value: ir.Value, at: Iterable[object], guard: ir.Value | None = None) -> ir.Value:
    """Stores a value in a kernel's argument where ``guard`` holds."""
    operands = [tensor, value, true() if guard is None else guard]
    attributes = {"at": text_list(at), "mode": ir.StringAttr.get("set")}
    return ir.Operation.create("fuse.store", [tensor.type], operands, attributes).results[0]


def fold(kind: str, value: ir.Value, over: Iterable[str]) -> ir.Value:
    """A reduction of a value over dims."""
    attributes = {"kind": ir.StringAttr.get(kind), "over": text_list(over)}
    return ir.Operation.create("fuse.reduce", [value.type], [value], attributes).results[0]


def static_empty(type_: ir.Type) -> ir.Value:
    """A fresh tensor of a type without symbols."""
    return ir.Operation.create("fuse.empty", [type_], [], {"syms": text_list(())}).results[0]


def static_view(value: ir.Value, type_: ir.Type, map_: Iterable[Expr]) -> ir.Value:
    """A view of ``value``.  ``map_``: the coordinates in ``value`` of the element at ``v0, v1, ..`` of the
    view, without symbols, as ``type_`` is."""
    attributes = {"map": text_list(map_), "syms": text_list(())}
    return ir.Operation.create("fuse.view", [type_], [value], attributes).results[0]
