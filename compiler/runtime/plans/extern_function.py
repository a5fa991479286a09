"""Extern ops of a launch plan as Python functions, with nothing to look up while they run.

An op whose arguments are just the operands in order is called as it is; any other gets a one-line function
that spells its constants.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..torch_names import fastest, flatten, lists, resolve, torch_object
from .externs import Arg, Argument, Dict, Extern, List, Named, Tuple
from .plan import Plan


def bind_externs(
    plan: Plan, objects: Mapping[str, Any], device: str | None = None
) -> dict[str, Callable[..., Any]]:
    """The functions that a plan calls, by name; see ``bind_extern``."""
    return {extern.name: bind_extern(extern, objects, device) for extern in plan.externs}


def bind_extern(extern: Extern, objects: Mapping[str, Any], device: str | None = None) -> Callable[..., Any]:
    """A function of the operands: gives the result where there is one, else the tuple of the results.

    ``objects``: the host objects that the module names.  ``device``, if given, replaces every device.  Raises
    RunError on an operator or an object that does not exist.
    """
    schema = resolve(extern.op)
    function = fastest(extern.op)
    if extern.is_plain and extern.results == 1 and _gives_one_tensor(schema):
        return function
    printer = _Printer(isinstance(schema, torch._ops.OpOverload))
    given = [printer.text(a) for a in extern.arguments]
    given += [f"{name}={printer.text(a)}" for name, a in extern.keywords]
    operands = ", ".join(f"o{i}" for i in range(extern.operands))
    invoked = f"op({', '.join(given)})"
    source = f"lambda {operands}: {_picked(invoked, extern, schema)}"
    scope: dict[str, Any] = {"op": function, "flatten": flatten}
    scope.update({name: torch_object(text, objects, device) for name, text in printer.constants.items()})
    bound: Callable[..., Any] = eval(compile(source, f"<{extern.op}>", "eval"), scope)
    return bound


class _Printer:
    """Arguments as Python text.  ``boxed``: C++ reads them, which takes any sequence for a list."""

    def __init__(self, boxed: bool) -> None:
        self.boxed = boxed
        self.constants: dict[str, str] = {}  #: names in the text and what they are, as ``Named`` says it

    def text(self, argument: Argument) -> str:
        if isinstance(argument, Arg):
            return f"o{argument.number}"
        if isinstance(argument, Named):
            name = f"c{len(self.constants)}"
            self.constants[name] = argument.text
            return name
        if isinstance(argument, List):
            parts = list(map(self.text, argument.items))
            if parts and self.boxed and all(isinstance(a, int | float) for a in argument.items):
                return f"({', '.join(parts)},)"  # a constant of the code; a list is made at every call
            return f"[{', '.join(parts)}]"
        if isinstance(argument, Tuple):
            return f"tuple([{', '.join(map(self.text, argument.items))}])"
        if isinstance(argument, Dict):
            return "{" + ", ".join(f"{name!r}: {self.text(a)}" for name, a in argument.items) + "}"
        if isinstance(argument, float) and not math.isfinite(argument):
            return f'float("{argument}")'
        return repr(argument)


def _picked(invoked: str, extern: Extern, function: Any) -> str:
    """The expression of the results: by position in a flat tuple of tensors, else from the leaves."""
    if extern.results == 1 and _gives_one_tensor(function):
        return invoked
    if extern.leaves is None:
        leaves = f"tuple(r for r in flatten({invoked}) if r is not None)"
        return f"{leaves}[0]" if extern.results == 1 else leaves
    picked = ", ".join(f"r[{i}]" for i in extern.leaves)
    body = picked if extern.results == 1 else f"({picked}{',' if len(extern.leaves) == 1 else ''})"
    leaves = invoked if _gives_flat_tuple(function) else f"flatten({invoked})"
    return f"(lambda r: {body})({leaves})"


def _gives_one_tensor(function: Any) -> bool:
    returns = function._schema.returns if isinstance(function, torch._ops.OpOverload) else ()
    return [str(r.type) for r in returns] == ["Tensor"]


def _gives_flat_tuple(function: Any) -> bool:
    found = lists(function)
    return len(found) > 1 and not any(found)
