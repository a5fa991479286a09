"""Sub-graphs, branches and loops of a launch plan as torch's higher-order ops, whose graphs the module holds.

    a call of a sub-graph    higher_order.invoke_subgraph
    Branch                   higher_order.cond
    While                    higher_order.while_loop
    For                      higher_order.scan

A graph takes what it uses from around it as operands; numbers that are known are part of it.
"""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx import Node

from ...base.launch import line_text
from ..errors import RunError
from ..plans import steps
from ..plans.plan import PlanFunction
from ..plans.steps import Operand, StepBlock, Value, defined, used
from .extern_nodes import predicate
from .graph_maker import GraphMaker, Region, value_of

higher_order = torch.ops.higher_order


def call_region(
    maker: GraphMaker, function: PlanFunction, operands: Sequence[Any], step: steps.CallFunction
) -> list[Any]:
    """Calls a sub-graph, whose module is made at the first call; its results."""
    known = maker.known
    name = _name(function.name)
    if function.name not in known.regions:
        inner = GraphMaker(known)
        inner.origin = maker.origin
        given = tuple(map(value_of, operands))
        parameters = [inner.placeholder(p.name, v) for p, v in zip(function.parameters, given, strict=True)]
        results = inner.function(function, parameters)
        known.regions[function.name] = _region(inner, results, given)
    region = known.regions[function.name]
    held = maker.attribute(name, region.module)
    given = tuple(map(value_of, operands))
    if [*map(str, given)] == [*map(str, region.given)]:
        values = region.results
    else:
        values = tuple(maker.new_value(v.type, v.name) for v in step.results)
    node = maker.call(higher_order.invoke_subgraph, (held, name, *operands), value=values)
    return _items(maker, node, values, region.owned)


def branch(maker: GraphMaker, step: steps.Branch) -> None:
    """``torch.cond``: both graphs take all that either needs."""
    blocks = step.then, step.otherwise or StepBlock((), ())
    names = _free(blocks)
    regions = [_block(maker, block, [], names) for block in blocks]
    condition, operands = maker.operand(step.condition), _operands(maker, names)
    held = [
        maker.attribute(_graph_name(block, other), region.module)
        for block, other, region in zip(blocks, ("true_graph", "false_graph"), regions, strict=True)
    ]
    values = regions[0].results
    same = [*map(str, map(_layout, values))] == [*map(str, map(_layout, regions[1].results))]
    owned = [all(both) and same for both in zip(*(r.owned for r in regions), strict=True)]
    node = maker.call(higher_order.cond, (predicate(condition), *held, operands), value=values)
    _drop(maker, condition)
    for variable, item in zip(step.results, _items(maker, node, values, owned), strict=True):
        maker.define(variable, item)


def while_loop(maker: GraphMaker, step: steps.While) -> None:
    """``while_loop``: what it carries is what the condition looks at."""
    carried = [v.name for v in step.carried]
    tested = {v.name for inner in step.before.steps for v in defined(inner)}
    if list(step.before.values[1:]) != carried or tested & set(_free([step.after], carried)):
        raise _refused(maker, "a loop that hands on what its condition computes")
    names = _free((step.before, step.after), carried)
    goes_on = StepBlock(step.before.steps, step.before.values[:1])
    test = _block(maker, goes_on, step.carried, names, single=True)
    body = _block(maker, step.after, step.carried, names)
    held = [
        maker.attribute(_graph_name(block, other), region.module)
        for block, other, region in ((goes_on, "cond_graph", test), (step.after, "body_graph", body))
    ]
    initial = tuple(maker.operand(v) for v in step.initial)
    node = maker.call(higher_order.while_loop, (*held, initial, _operands(maker, names)), value=body.results)
    for variable, item in zip(step.results, _items(maker, node, body.results, body.owned), strict=True):
        maker.define(variable, item)


def scan(maker: GraphMaker, step: steps.For) -> None:
    """``scan``: rounds that read a row of some tensors and write a row of others."""
    number, carried = step.number.name, [v.name for v in step.carried]
    calls = [inner for inner in step.body.steps if isinstance(inner, steps.CallFunction)]
    rows: dict[str, tuple[str, Value]] = {}  # of which tensor a variable is the row that is read or written
    written: list[tuple[Operand, Operand]] = []
    for inner in step.body.steps:
        op = maker.known.externs[inner.extern].op if isinstance(inner, steps.CallExtern) else ""
        if isinstance(inner, steps.CallExtern) and op == "aten.select.int" and inner.arguments[1] == number:
            rows[inner.results[0].name] = str(inner.arguments[0]), inner.results[0]
        elif isinstance(inner, steps.CallExtern) and op == "aten.copy_.default":
            written.append((inner.arguments[0], inner.arguments[1]))
    made = [v.name for inner in calls for v in inner.results]
    plain = (
        len(calls) == 1
        and len(step.body.steps) == 1 + len(rows) + len(written)
        and [*step.body.values, *(source for _, source in written)] == made
        and all(target in rows for target, _ in written)
        and step.first in maker.scope.nodes
        and (maker.operand(step.first), maker.operand(step.step)) == (0, 1)
    )
    if not plain:
        raise _refused(maker, "a loop that is no scan over rows")
    stacked = [rows[str(target)][0] for target, _ in written]
    read = [rows[str(a)] for a in calls[0].arguments if a in rows]
    body = StepBlock((calls[0],), tuple(made))
    parameters = [*step.carried, *(row for _, row in read)]
    names = _free((body,), [v.name for v in parameters])
    region = _block(maker, body, parameters, names)
    initial, inputs = [maker.operand(v) for v in step.initial], [maker.operand(v) for v, _ in read]
    held = maker.attribute(_graph_name(body, "combine_graph"), region.module)
    count, values = len(carried), list(region.results)
    rounds = value_of(inputs[0]).shape[0]
    with maker.known.values.mode:
        for place, row in enumerate(values[count:], count):
            values[place] = torch.empty((rounds, *row.shape), dtype=row.dtype, device=row.device)
    node = maker.call(
        higher_order.scan, (held, initial, inputs, _operands(maker, names)), value=tuple(values)
    )
    owned = [*region.owned[:count], *[True] * len(stacked)]
    for name, item in zip((*carried, *stacked), _items(maker, node, values, owned), strict=True):
        unused = maker.scope.nodes.get(name)
        maker.scope.nodes[name] = item
        _drop(maker, unused)


# --- graphs


def _block(
    maker: GraphMaker,
    block: StepBlock,
    parameters: Sequence[Value],
    names: Sequence[str],
    single: bool = False,
) -> Region:
    """The graph of a block: takes its parameters, then what it uses from around it.  ``single``: gives one
    truth value.
    """
    inner = GraphMaker(maker.known, inlines=True)
    inner.origin = maker.origin
    inner.scope.sizes.update(maker.scope.sizes)
    inner.scope.nodes.update({name: v for name, v in maker.scope.nodes.items() if isinstance(v, int | float)})
    for parameter in parameters:
        inner.define(parameter, inner.placeholder(parameter.name, maker.new_value(parameter.type)))
    for name in names:
        value = value_of(maker.operand(name))
        inner.scope.nodes[name] = inner.placeholder(name, value)
    inner.run(block.steps)
    results = [inner.operand(v) for v in block.values]
    if single:
        truth = predicate(results[0])
        if truth is not results[0]:
            _drop(inner, results[0])
        return Region(inner.module(truth), (), (value_of(truth),), ())
    return _region(inner, results, ())


def _region(inner: GraphMaker, results: Sequence[Any], given: tuple[Any, ...]) -> Region:
    owned = tuple(r in inner.owned and results.count(r) == 1 for r in results)
    return Region(inner.module(tuple(results)), given, tuple(map(value_of, results)), owned)


def _free(blocks: Iterable[StepBlock], entered: Iterable[str] = ()) -> list[str]:
    """The variables that blocks use from around them, in order, each once."""
    found: dict[str, None] = {}
    inside = set(entered)
    for block in blocks:
        for step in block.steps:
            found.update(dict.fromkeys(name for name in used(step) if name not in inside))
            inside.update(v.name for v in defined(step))
        found.update(dict.fromkeys(v for v in block.values if isinstance(v, str) and v not in inside))
    return list(found)


def _operands(maker: GraphMaker, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(maker.operand(name) for name in names)


def _items(maker: GraphMaker, node: Node, values: Sequence[Any], owned: Sequence[bool]) -> list[Any]:
    """What a higher-order op gives, one by one."""
    items = []
    for place, (value, own) in enumerate(zip(values, owned, strict=True)):
        item = maker.call(operator.getitem, (node, place), value=value)
        if own:
            maker.owned.add(item)
        items.append(item)
    return items


def _refused(maker: GraphMaker, what: str) -> RunError:
    where = ", ".join(map(line_text, maker.origin.lines))
    return RunError(f"{what} cannot be given as FX" + (f" at {where}" if where else ""))


def _layout(value: Any) -> Any:
    return (value.dtype, *value.shape, *value.stride()) if isinstance(value, torch.Tensor) else value


def _drop(maker: GraphMaker, node: Any) -> None:
    """Takes out a node that nothing uses any more."""
    if isinstance(node, Node) and not node.users and node.op == "call_function":
        maker.graph.erase_node(node)


def _graph_name(block: StepBlock, otherwise: str) -> str:
    """The name of the sub-graph that a block calls, if that is all it does."""
    names = [step.function for step in block.steps if isinstance(step, steps.CallFunction)]
    return _name(names[0]) if len(names) == 1 else otherwise


def _name(function: str) -> str:
    return function.removeprefix("graph_")
