"""A module of some calls of another one: a part of a graph that is compiled and measured alone."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from ...analysis.fusion.graph import GroupGraph
from ...analysis.fusion.measured import escaping_values
from ...analysis.program.dependences import symbol
from ...base.dataclass import dataclass
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import INSTEAD, argument_attributes
from ...ir.storage import device_of, functions_of
from ...mlir import ir

#: Groups of nodes, by their names in the part.
Groups = Mapping[str, Sequence[int]]


class NoPart(Exception):
    """Why calls cannot be compiled alone: one sentence."""


def part_of(
    module: ir.Module, graph: GroupGraph, kernels: Groups, together: bool = False, library: bool = False
) -> ir.Module:
    """The calls of ``kernels`` in a ``@main`` of their own, in program order.  ``graph`` is of ``module``.

    Each group is to become one kernel (``fuse.group``); all of them, where ``together``.  The functions that
    a group calls are named after it: ``first_0``, ``first_1``, .. of the group "first".  What the calls read
    of others, and sizes, become arguments; what others use of them becomes results.  A call that could run
    between two of them is left out: what it gives is an argument, so that the part computes something else
    than the graph where there is one, in as many steps.  ``library``: kernels of products still know the
    library's op that they are instead of (``fuse.instead``).

    Raises NoPart where an argument would be neither a tensor of the module's device nor a size.
    """
    new = ir.Module.create()
    new.operation.attributes["fuse.device"] = ir.StringAttr.get(device_of(module))
    part = _Part(graph, module, new, library)
    group_of = {node: name for name, nodes in kernels.items() for node in nodes}
    numbers = {name: 0 if together else n for n, name in enumerate(kernels)}
    single = sum(map(len, kernels.values())) == 1
    for node in sorted(group_of):
        name = group_of[node]
        grouped = not single and (together or len(kernels[name]) > 1)
        part.call(node, name, numbers[name] if grouped else None)
    part.finish(escaping_values(graph, frozenset(group_of)))
    return new


@dataclass
class _Part:
    """The part under construction: operations of ``@main`` in order, values of the old module that are
    arguments.
    """

    graph: GroupGraph
    old: ir.Module
    module: ir.Module
    library: bool
    calls: list[tuple[int, str, int | None]] = field(default_factory=list)
    arguments: dict[ir.Value, dict[str, ir.Attribute]] = field(default_factory=dict)
    made: set[ir.Value] = field(default_factory=set)
    before: list[ir.Operation] = field(default_factory=list)  #: views and empty tensors that calls take
    names: dict[tuple[str, str], str] = field(default_factory=dict)  #: by group and old name

    def call(self, node: int, group: str, number: int | None) -> None:
        """Adds a call."""
        call = self.graph.deps.nodes[node]
        assert call.callee is not None, "groups are of kernels"
        for value, attributes in zip(call.op.operands, argument_attributes(call.callee), strict=True):
            self._take(value, attributes)
        self.made.update(call.op.results)
        same = sum(known == group for known, _ in self.names)
        self.names.setdefault((group, call.name), f"{group}_{same}")
        self.calls.append((node, self.names[group, call.name], number))

    def _take(self, value: ir.Value, attributes: Mapping[str, ir.Attribute]) -> None:
        """Makes a value available: by a copy of what makes it, or as an argument."""
        if value in self.made or value in self.arguments:
            return
        op = defining_op(value, fuse.Empty, fuse.View)
        if op is not None:
            for operand in op.operands:
                self._take(operand, self._symbol(operand))
            self.before.append(op)
            self.made.add(value)
            return
        if isinstance(value.type, ir.IndexType):
            if "fuse.sym" not in attributes:
                raise NoPart("it takes an index without a name")
            hint = self.graph.sizes.hints.get(ir.StringAttr(attributes["fuse.sym"]).value)
            hinted = {} if hint is None else {"fuse.hint": ir.IntegerAttr.get(_i64(), hint)}
            self.arguments[value] = {**attributes, **hinted}
        elif isinstance(value.type, ir.RankedTensorType):
            if self.graph.types[self.graph.deps.numbers[value]].device:
                raise NoPart("it takes a tensor of another device")
            self.arguments[value] = {}
        else:
            raise NoPart(f"it takes a {value.type}")

    def _symbol(self, value: ir.Value) -> dict[str, ir.Attribute]:
        """What is said of a size where it is defined."""
        if isinstance(value.owner, ir.Block):
            return dict(argument_attributes(self.graph.deps.main)[ir.BlockArgument(value).arg_number])
        attributes = value.owner.operation.attributes
        found = {"fuse.sym": attributes["symbol"]} if "symbol" in attributes else {}
        return found | ({"fuse.min": attributes["fuse.min"]} if "fuse.min" in attributes else {})

    def finish(self, results: Sequence[int]) -> None:
        """Writes the functions and ``@main``, which returns the values of these numbers."""
        values, nodes = self.graph.deps.values, self.graph.deps.nodes
        kept = [values[number] for number in results]
        order = sorted(self.arguments, key=lambda v: isinstance(v.type, ir.IndexType))
        types = [v.type for v in order], [v.type for v in kept]
        place = ir.InsertionPoint(self.module.body)
        main = ir.Operation.create(
            "func.func", [], [],
            {
                "sym_name": ir.StringAttr.get("main"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(*types)),
                "arg_attrs": ir.ArrayAttr.get([ir.DictAttr.get(self.arguments[v]) for v in order]),
            },
            regions=1, ip=place,
        )  # fmt: skip
        block = main.regions[0].blocks.append(*types[0], arg_locs=[ir.Location.unknown()] * len(order))
        found: dict[ir.Value, ir.Value] = dict(zip(order, block.arguments, strict=True))
        end = ir.InsertionPoint(block)
        waiting = [*self.before]
        for node, name, number in self.calls:
            old = nodes[node].op
            while waiting and all(v in found for v in waiting[0].operands):
                _copy(waiting.pop(0), found, end)
            copy = _copy(old, found, end)
            copy.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
            if number is not None:
                copy.attributes["fuse.group"] = ir.IntegerAttr.get(_i64(), number)
            elif "fuse.group" in copy.attributes:
                del copy.attributes["fuse.group"]
        ir.Operation.create("func.return", [], [found[v] for v in kept], ip=end)
        kernels = {node.name: node.callee for node in nodes if node.callee is not None}
        functions = functions_of(self.old)
        for (_, old_name), name in self.names.items():
            kernel = kernels[old_name].clone(place)
            kernel.attributes["sym_name"] = ir.StringAttr.get(name)
            if INSTEAD in kernel.attributes and self.library:
                declaration = functions[symbol(kernel.attributes[INSTEAD])].clone(place)
                declaration.attributes["sym_name"] = ir.StringAttr.get(f"{name}_instead")
                kernel.attributes[INSTEAD] = ir.FlatSymbolRefAttr.get(f"{name}_instead")
            elif INSTEAD in kernel.attributes:
                del kernel.attributes[INSTEAD]


def _copy(op: ir.Operation, found: dict[ir.Value, ir.Value], end: ir.InsertionPoint) -> ir.Operation:
    attributes = {op.attributes[i].name: op.attributes[i].attr for i in range(len(op.attributes))}
    copy = ir.Operation.create(
        op.name, [r.type for r in op.results], [found[v] for v in op.operands], attributes,
        loc=op.location, ip=end,
    )  # fmt: skip
    found.update(zip(op.results, copy.results, strict=True))
    return copy


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
