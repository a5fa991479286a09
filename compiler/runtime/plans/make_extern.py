"""Extern declarations as plain data (``externs.py``)."""

import math
from typing import Any

from ...analysis.program.dependences import extern_mutated
from ...ir.dialects import fuse
from ...ir.kernel import attribute_items, extern_arguments, string
from ...ir.storage import aliased_operands, operand_number
from ...mlir import ir
from ..extern_calls import literal, torch_name
from .externs import Arg, Argument, Dict, Extern, List, Named, Tuple


def extern_of(name: str, declaration: ir.Operation) -> Extern:
    """What a plan calls for an extern declaration, under the name ``name``.

    Raises RunError on an argument that cannot be rebuilt.  Whoever runs the plan needs the operator; a plan
    that is only printed may call one that is registered elsewhere.
    """
    attributes = declaration.attributes
    op = string(attributes["fuse.extern"])
    type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    operands = [i for i, t in enumerate(type_.inputs) if str(t) != "!fuse.token"]
    places = {operand: position for position, operand in enumerate(operands)}

    def argument(attribute: ir.Attribute) -> Argument:
        if isinstance(attribute, fuse.Arg):
            return Arg(places[operand_number(attribute)])
        if isinstance(attribute, ir.ArrayAttr):
            return List(tuple(map(argument, attribute)))
        if isinstance(attribute, fuse.Tuple):
            return Tuple(tuple(map(argument, ir.ArrayAttr(attribute.params[0]))))
        if isinstance(attribute, ir.DictAttr):
            return Dict(tuple((n, argument(a)) for n, a in attribute_items(attribute)))
        named = torch_name(attribute)
        return _plain(literal(attribute, op, declaration.location)) if named is None else Named(named)

    arguments, keywords = extern_arguments(attributes)
    leaves = tuple(ir.DenseI64ArrayAttr(attributes["fuse.returns"])) if "fuse.returns" in attributes else None
    return Extern(
        name,
        op,
        len(operands),
        tuple(map(argument, arguments)),
        tuple((key, argument(a)) for key, a in keywords.items()),
        len(type_.results),
        leaves,
        tuple(sorted(places[n] for n in extern_mutated(declaration))),
        tuple(sorted((result, places[n]) for result, n in aliased_operands(declaration).items())),
        "fuse.effect" in attributes,
    )


def _plain(value: Any) -> Argument:
    """A number, a string, None or a list of them."""
    if isinstance(value, list):
        return List(tuple(map(_plain, value)))
    return (
        math.nan if isinstance(value, float) and math.isnan(value) else value
    )  # one object: it equals itself
