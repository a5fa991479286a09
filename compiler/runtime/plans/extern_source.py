"""Extern declarations as generated Python: what a launch plan calls, with nothing to look up while it runs.

An op whose arguments are just the operands in order is called as it is; any other gets a one-line function
that spells its constants.
"""

import math
from typing import Any

import torch

from ...ir.dialects import fuse
from ...ir.kernel import attribute_items, string
from ...mlir import ir
from ..extern_calls import literal, torch_name
from ..torch_names import resolve
from .extern_function import ExternFunction

_NUMBERS = (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr)


def extern_function(declaration: ir.Operation) -> ExternFunction:
    """What a plan calls for an extern declaration.

    Raises RunError on an operator that does not exist and on an argument that cannot be rebuilt.
    """
    writer = _Writer(declaration)
    operands = writer.operands
    args = [writer.text(a) for a in ir.ArrayAttr(declaration.attributes["fuse.args"])]
    kwargs = writer.keywords()
    results = len(writer.type.results)
    if args == operands and not kwargs and results == 1 and _gives_one_tensor(writer.function):
        return ExternFunction(writer.op)
    invoked = f"op({', '.join([*args, *kwargs])})"
    source = f"lambda {', '.join(operands)}: {_picked(invoked, declaration, writer.function, results)}"
    return ExternFunction(writer.op, source, tuple(writer.constants.items()))


class _Writer:
    """The state of one printing."""

    def __init__(self, declaration: ir.Operation) -> None:
        self.declaration = declaration
        self.op = string(declaration.attributes["fuse.extern"])
        self.function = resolve(self.op, declaration.location)
        self.boxed = isinstance(self.function, torch._ops.OpOverload)  # C++ takes any sequence for a list
        self.type = ir.FunctionType(ir.TypeAttr(declaration.attributes["function_type"]).value)
        self.operands = [f"o{i}" for i, t in enumerate(self.type.inputs) if str(t) != "!fuse.token"]
        self.constants: dict[str, str] = {}

    def keywords(self) -> list[str]:
        if "fuse.kwargs" not in self.declaration.attributes:
            return []
        named = attribute_items(self.declaration.attributes["fuse.kwargs"])
        return [f"{name}={self.text(a)}" for name, a in named]

    def text(self, attribute: ir.Attribute) -> str:
        """The Python text of one argument; what has none becomes the name of a constant."""
        if isinstance(attribute, fuse.Arg):
            return self.operands[ir.IntegerAttr(attribute.params[0]).value]
        if isinstance(attribute, ir.ArrayAttr):
            parts = list(map(self.text, attribute))
            if parts and self.boxed and all(isinstance(a, _NUMBERS) for a in attribute):
                return f"({', '.join(parts)},)"  # a constant of the code; a list is made at every call
            return f"[{', '.join(parts)}]"
        if isinstance(attribute, fuse.Tuple):
            return f"tuple({self.text(ir.ArrayAttr(attribute.params[0]))})"
        if isinstance(attribute, ir.DictAttr):
            return "{" + ", ".join(f"{n!r}: {self.text(a)}" for n, a in attribute_items(attribute)) + "}"
        named = torch_name(attribute)
        if named is None:
            return _spelt(literal(attribute, self.op, self.declaration.location))
        name = f"c{len(self.constants)}"
        self.constants[name] = named
        return name


def _spelt(value: Any) -> str:
    """The Python text of a number, a string, None or a list of them."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, list):
        return "[" + ", ".join(map(_spelt, value)) + "]"
    return repr(value)


def _picked(invoked: str, declaration: ir.Operation, function: Any, results: int) -> str:
    """The expression of the results: by position in a flat tuple of tensors, else from the leaves."""
    if results == 1 and _gives_one_tensor(function):
        return invoked
    kept = (
        list(ir.DenseI64ArrayAttr(declaration.attributes["fuse.returns"]))
        if "fuse.returns" in declaration.attributes
        else None
    )
    if kept is None:
        leaves = f"tuple(r for r in flatten({invoked}) if r is not None)"
        return f"{leaves}[0]" if results == 1 else leaves
    picked = ", ".join(f"r[{i}]" for i in kept)
    body = picked if results == 1 else f"({picked}{',' if len(kept) == 1 else ''})"
    leaves = invoked if _gives_flat_tuple(function) else f"flatten({invoked})"
    return f"(lambda r: {body})({leaves})"


def _gives_one_tensor(function: Any) -> bool:
    returns = function._schema.returns if isinstance(function, torch._ops.OpOverload) else ()
    return [str(r.type) for r in returns] == ["Tensor"]


def _gives_flat_tuple(function: Any) -> bool:
    returns = function._schema.returns if isinstance(function, torch._ops.OpOverload) else ()
    return len(returns) > 1 and all("[]" not in str(r.type) for r in returns)
