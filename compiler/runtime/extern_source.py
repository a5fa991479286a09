"""Extern declarations as generated Python: what a launch plan calls, with nothing to look up while it runs.

An op whose arguments are just the operands in order is called as it is; any other gets a one-line function
that spells its constants.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..analysis.kernel import attribute_items
from ..dialects import fuse
from ..mlir import ir
from .extern_calls import ExternCall, flatten

#: Types whose ``repr`` is the Python text of the value.
_SPELT = (bool, int, str, type(None))


def compile_extern(declaration: ir.Operation, objects: Mapping[str, Any]) -> Callable[..., Any]:
    """A function of a call's operands: gives the result where there is one, else the tuple of the results.

    Raises RunError on an operator or an argument that cannot be rebuilt.
    """
    call = ExternCall(declaration, objects)
    types = ir.FunctionType(ir.TypeAttr(declaration.attributes["function_type"]).value)
    operands = [f"o{i}" for i, type_ in enumerate(types.inputs) if str(type_) != "!fuse.token"]
    scope: dict[str, Any] = {"op": call.function, "flatten": flatten}
    args = [_text(a, call, operands, scope) for a in ir.ArrayAttr(declaration.attributes["fuse.args"])]
    kwargs = _keywords(declaration, call, operands, scope)
    results = len(types.results)
    if args == operands and not kwargs and results == 1 and _gives_one_tensor(call.function):
        return call.function
    invoked = f"op({', '.join([*args, *kwargs])})"
    source = f"lambda {', '.join(operands)}: {_picked(invoked, declaration, call, results)}"
    return eval(compile(source, f"<{call.name}>", "eval"), scope)


def _keywords(
    declaration: ir.Operation, call: ExternCall, operands: Sequence[str], scope: dict[str, Any]
) -> list[str]:
    if "fuse.kwargs" not in declaration.attributes:
        return []
    named = attribute_items(declaration.attributes["fuse.kwargs"])
    return [f"{name}={_text(a, call, operands, scope)}" for name, a in named]


def _text(attribute: ir.Attribute, call: ExternCall, operands: Sequence[str], scope: dict[str, Any]) -> str:
    """The Python text of one argument; what has none becomes a name in ``scope``."""
    if isinstance(attribute, fuse.Arg):
        return operands[ir.IntegerAttr(attribute.params[0]).value]
    if isinstance(attribute, ir.ArrayAttr):
        return "[" + ", ".join(_text(a, call, operands, scope) for a in attribute) + "]"
    if isinstance(attribute, ir.DictAttr):
        items = attribute_items(attribute)
        return "{" + ", ".join(f"{n!r}: {_text(a, call, operands, scope)}" for n, a in items) + "}"
    value = call.constant(attribute)
    if type(value) in _SPELT:
        return repr(value)
    name = f"c{len(scope)}"
    scope[name] = value
    return name


def _picked(invoked: str, declaration: ir.Operation, call: ExternCall, results: int) -> str:
    """The expression of the results: by position in a flat tuple of tensors, else from the leaves."""
    if results == 1 and _gives_one_tensor(call.function):
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
    leaves = invoked if _gives_flat_tuple(call.function) else f"flatten({invoked})"
    return f"(lambda r: {body})({leaves})"


def _gives_one_tensor(function: Any) -> bool:
    returns = function._schema.returns if isinstance(function, torch._ops.OpOverload) else ()
    return [str(r.type) for r in returns] == ["Tensor"]


def _gives_flat_tuple(function: Any) -> bool:
    returns = function._schema.returns if isinstance(function, torch._ops.OpOverload) else ()
    return len(returns) > 1 and all("[]" not in str(r.type) for r in returns)
