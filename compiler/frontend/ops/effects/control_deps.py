"""``control_deps((a, b), subgraph, *args)``: the sub-graph runs after ``a`` and ``b`` are complete, without
reading them.

It becomes a private function with ``fuse.control_deps``, whose body is the imported sub-graph.  The call
takes the ``fuse.after`` tokens of the dependences.  Some sub-graphs cannot become such a function: those with
random draws or writes to arguments, and those that wait for an op without a value.  They stay an extern call
of the whole op, which comes after the dependences because these are its operands.  A group may wait for a
collective that another node started; it then also takes the operands of that collective, which keeps them
alive until the wait.
"""

from dataclasses import field
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ....base.dataclass import dataclass
from ....fx.collectives import reads_until
from ....fx.graph_text import held
from ....fx.in_flight import InFlight, written_operands
from ....fx.table import lowers
from ....fx.views import storage_root
from ....index import Expr
from ....ir.dialects.fuse import Token
from ....ir.layout import TensorSpec
from ....mlir import ir
from ...importer.call import Call
from ...importer.values import HostObject, Number, Tensor
from ...importer.walk import import_node


@lowers("higher_order.control_deps", view=True)
def control_deps(call: Call) -> Any:
    """The sub-graph's value; ``view``, because it runs although its value may have no elements."""
    dependences, subgraph, *arguments = call.node.args
    graph = call.resolve(subgraph)
    if not isinstance(graph, HostObject) or not isinstance(graph.object, fx.GraphModule):
        call.refuse("what it runs is no graph")
    taken = sum(n.op == "placeholder" for n in graph.object.graph.nodes)
    if taken != len(arguments):
        call.refuse(f"its sub-graph takes {taken} arguments and gets {len(arguments)} in order")
    _refuse_unordered(call, graph.object.graph)
    _refuse_untimed(call, dependences)
    given = [call.resolve(a) for a in arguments]
    group = _Group(call, graph.object, given)
    results = group.build()
    tokens = _tokens(call, dependences)
    return group.call(results, tokens)


def _refuse_unordered(call: Call, graph: fx.Graph) -> None:
    """Refuses nodes that an ordered group cannot hold."""
    if InFlight.of(graph).hides_operand():
        call.refuse("its sub-graph starts a collective that reads a tensor made in the sub-graph")
    for node in graph.nodes:
        if node.op == "get_attr" and not any(
            u.op == "call_function" and u.target is call.node.target for u in node.users
        ):
            call.refuse(f"its sub-graph reads the attribute {node.target}")
        if node.op != "call_function":
            continue
        silent = isinstance(node.target, torch._ops.OpOverload) and not node.target._schema.returns
        if "val" not in node.meta and not silent:
            call.refuse(f"{node.name} of its sub-graph has no value")
        if isinstance(node.target, torch._ops.OpOverload):
            if any(storage_root(n).op != "call_function" for n in written_operands(node)):
                call.refuse(f"its sub-graph writes: {node.target}")
            if torch.Tag.nondeterministic_seeded in node.target.tags:
                call.refuse(f"its sub-graph draws random numbers: {node.target}")
        if node.meta.get("unbacked_bindings"):
            call.refuse(f"the size of {node.name} of its sub-graph depends on the data")


def _refuse_untimed(call: Call, dependences: Any) -> None:
    """Refuses to wait for an op without a value, for which there is no token.  The whole op then becomes an
    extern call with an effect, which keeps its order among effects.
    """
    for leaf in pytree.tree_leaves(dependences):
        if isinstance(leaf, fx.Node) and call.state.values[leaf] is None:
            call.refuse(f"it waits for {leaf.name}, which gives no tensor")


def _tokens(call: Call, dependences: Any) -> list[ir.Value]:
    """A token for every tensor among the dependences, each once."""
    values: dict[ir.Value, None] = {}
    for leaf in pytree.tree_leaves(dependences):
        for value in pytree.tree_leaves(call.state.values[leaf]) if isinstance(leaf, fx.Node) else ():
            if isinstance(value, Tensor):
                values[value.value] = None
    with call.builder.context:
        return [call.builder.op("fuse.after", [Token.get()], [v], {}, call.location).result for v in values]


@dataclass
class _Group:
    """The function of one control_deps node while it is made."""

    call_: Call
    subgraph: fx.GraphModule
    given: list[Any]
    operands: list[ir.Value] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        builder = self.call_.builder
        self.name = builder.unique(f"{self.call_.node.name}_ordered")
        self.op = builder.function(self.name, self.call_.location)
        self.block = self.op.regions[0].blocks.append()

    def build(self) -> Any:
        """Imports the sub-graph into the function; returns the sub-graph's value as values of the
        function.
        """
        call, state, block = self.call_, self.call_.state, self.block
        placeholders = [n for n in self.subgraph.graph.nodes if n.op == "placeholder"]
        known: dict[ir.Value, Any] = {}
        inside = [pytree.tree_map(lambda x: self._argument(x, known), g) for g in self.given]
        reads = state.held.get(call.node, [])
        holds = {n: self._argument(state.resolve(n), known) for n in reads}
        own = reads_until(self.subgraph.graph)
        self.sizes = sorted(call.builder.symbol_values)
        sizes = {n: block.add_argument(call.builder.index_type, call.location) for n in self.sizes}
        with state.inside(block, sizes):
            state.values.update(holds)
            for node, value in zip(placeholders, inside, strict=True):
                state.values[node] = value
            for node in InFlight.of(self.subgraph.graph).waiting:
                state.held[node] = [*own.get(node, ()), *holds]
            result: Any = None
            for node in self.subgraph.graph.nodes:
                if node.op == "call_function":
                    state.values[node] = import_node(state, node)
                elif node.op == "get_attr":
                    path = str(node.target)
                    state.values[node] = state.host_object(path, held(self.subgraph, path))
                elif node.op == "output":
                    result = state.resolve(node.args[0])
            return result

    def call(self, result: Any, tokens: list[ir.Value]) -> Any:
        """Ends the function and calls it; returns the sub-graph's value as values of ``@main``."""
        builder, call = self.call_.builder, self.call_
        leaves, tree = pytree.tree_flatten(result, is_leaf=lambda x: x is None)
        returned: dict[ir.Value, int] = {}
        for leaf in leaves:
            if isinstance(leaf, (Tensor, Number)):
                returned.setdefault(leaf.value, len(returned))
        ir.Operation.create(
            "func.return", operands=list(returned), loc=call.location, ip=ir.InsertionPoint(self.block)
        )
        self._drop_unused_sizes(list(returned))
        for _ in tokens:
            self.block.add_argument(tokens[0].type, call.location)
        types = [v.type for v in returned]
        self.op.attributes["function_type"] = builder.function_type(
            [a.type for a in self.block.arguments], types
        )
        with builder.context:
            self.op.attributes["fuse.control_deps"] = builder.unit
            if self.sizes:
                plain, empty = [ir.DictAttr.get({})] * len(self.operands), [ir.DictAttr.get({})] * len(tokens)
                named = [
                    ir.DictAttr.get({"fuse.sym": builder.string(n), **builder.symbol_attributes[n]})
                    for n in self.sizes
                ]
                self.op.attributes["arg_attrs"] = ir.ArrayAttr.get([*plain, *named, *empty])
        values = builder.call(
            self.name, [*self.operands, *builder.values(self.sizes), *tokens], types, call.location
        )
        return pytree.tree_unflatten([_outside(leaf, returned, values) for leaf in leaves], tree)

    def _argument(self, value: Any, known: dict[ir.Value, Any]) -> Any:
        """The value of the function that stands for ``value``."""
        if not isinstance(value, (Tensor, Number)):
            return value
        if value.value not in known:
            self.operands.append(value.value)
            known[value.value] = self.block.add_argument(value.value.type, self.call_.location)
        inner = known[value.value]
        if isinstance(value, Number):
            return Number(inner, value.dtype)
        return Tensor(inner, value.spec, value.dtype, value.fake, value.origin, value.root)

    def _drop_unused_sizes(self, returned: list[ir.Value]) -> None:
        """Keeps the sizes that ops use and types name."""
        named: set[str] = set()
        typed = [*self.block.arguments, *returned, *(r for op in self.block.operations for r in op.results)]
        for value in typed:
            if isinstance(value.type, ir.RankedTensorType):
                named |= set(TensorSpec.of(value.type).symbols)
        first = len(self.operands)
        for number in reversed(range(len(self.sizes))):
            argument = self.block.arguments[first + number]
            if self.sizes[number] not in named and not list(argument.uses):
                self.block.erase_argument(first + number)
                del self.sizes[number]


def _outside(leaf: Any, returned: dict[ir.Value, int], values: list[ir.Value]) -> Any:
    """A leaf of the sub-graph's value as a value of ``@main``."""
    if isinstance(leaf, Number):
        return Number(values[returned[leaf.value]], leaf.dtype)
    if isinstance(leaf, Tensor):
        return Tensor(values[returned[leaf.value]], leaf.spec, leaf.dtype, leaf.fake, leaf.origin, leaf.root)
    assert leaf is None or isinstance(leaf, (int, float, bool, Expr, HostObject)), (
        f"a sub-graph returns {leaf}"
    )
    return leaf
