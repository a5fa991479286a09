"""Calls of torch ops in FX graphs: the op itself, its arguments rebuilt, and its results picked."""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node
from torch.overrides import handle_torch_function, has_torch_function

from ..plans.externs import Arg, Argument, Dict, Extern, List, Named, Tuple
from ..plans.promised import promised
from ..plans.steps import CallExtern
from ..torch_names import flatten, lists, resolve, torch_object
from .graph_maker import GraphMaker, value_of


def leaves(result: Any) -> list[Any]:
    """What an op returns, in order, lists, tuples and dicts opened.  A tracer sees one call."""
    if has_torch_function((result,)):
        found: list[Any] = handle_torch_function(leaves, (result,), result)
        return found
    return flatten(result)


def extern_nodes(maker: GraphMaker, step: CallExtern) -> None:
    """The nodes of a call; its variables are defined then."""
    extern = maker.known.externs[step.extern]
    maker.promised |= promised(step, extern)
    operands = [maker.operand(a) for a in step.arguments]
    target = resolve(extern.op)
    args = tuple(argument(maker, a, operands) for a in extern.arguments)
    kwargs = {name: argument(maker, a, operands) for name, a in extern.keywords}
    values = [maker.new_value(v.type, v.name) for v in step.results]
    if _gives_itself(extern, target):
        (variable,), (value,) = step.results, values
        maker.define(variable, maker.call(target, args, kwargs, value))
        return
    places = _places(extern)
    given = None if not values else _listed(places, values)
    node = maker.call(target, args, kwargs, given)
    returned = lists(target)
    if values and (not returned or (len(returned) > 1 and any(returned))):  # leaves are not just its items
        node = maker.call(leaves, (node,), value=given)
    for place, variable, value in zip(places, step.results, values, strict=True):
        maker.define(variable, maker.call(operator.getitem, (node, place), value=value))


def argument(maker: GraphMaker, given: Argument, operands: Sequence[Any]) -> Any:
    """An argument of the call as an argument of a node."""
    match given:
        case Arg(number):
            return operands[number]
        case Named(text):
            found = torch_object(text, maker.known.objects, None)
            kind, _, name = text.partition(":")
            return maker.attribute(name, found) if kind == "object" else found
        case List(items):
            return [argument(maker, a, operands) for a in items]
        case Tuple(items):
            return tuple(argument(maker, a, operands) for a in items)
        case Dict(named):
            return {name: argument(maker, a, operands) for name, a in named}
        case _:
            return given


def _gives_itself(extern: Extern, target: Any) -> bool:
    """Whether what the op returns is the one result."""
    if extern.results != 1:
        return False
    if isinstance(target, torch._ops.OpOverload):
        return lists(target) == (False,)
    return not isinstance(target, torch._ops.HigherOrderOperator) and extern.leaves is None


def _places(extern: Extern) -> Sequence[int]:
    """Which leaves of what the op returns are its results."""
    return range(extern.results) if extern.leaves is None else extern.leaves


def _listed(places: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
    """What the op returns, as far as it is known: its results in their places."""
    found: list[Any] = [None] * (max(places) + 1)
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)


def predicate(node: Any) -> Any:
    """The tensor of one bool that a number was read from; the number where there is none."""
    if isinstance(node, Node) and node.target is torch.ops.aten._local_scalar_dense.default:
        tensor = node.args[0]
        if isinstance(tensor, Node) and value_of(tensor).dtype == torch.bool:
            return tensor
    return node
