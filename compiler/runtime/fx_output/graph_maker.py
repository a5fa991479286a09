"""One FX graph while it is made: its nodes, the variables of the plan that they stand for, and what the
module around it holds.

A function that is called inside the graph, control flow for instance, has a scope of its own.
"""

import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ...base.dataclass import dataclass
from ...index import Expr, const
from ..plans.plan import Plan, PlanFunction
from ..plans.promised import Promised
from ..plans.steps import NOWHERE, Operand, Origin, Return, Step, TensorType, Type, Value
from ..torch_types import TORCH_DTYPES
from .fake_values import FakeValues
from .kernels import FxKernel
from .sizes import SizeNode

aten = torch.ops.aten


@dataclass(frozen=True)
class Region:
    """The module of a sub-graph that is called.  owned: which of its results have storage of their own."""

    module: GraphModule
    given: tuple[Any, ...]
    results: tuple[Any, ...]
    owned: tuple[bool, ...]


@dataclass
class Known:
    """What the graphs of one program are made from.

    kernels: by the plan's names.  objects: what only this process has, by the plan's names.  step_nodes: what
    makes the nodes of a step, by its class.  regions: of the functions that are called so far.
    """

    plan: Plan
    kernels: Mapping[str, FxKernel]
    objects: Mapping[str, Any]
    step_nodes: Mapping[type, Callable[["GraphMaker", Any], None]]
    values: FakeValues = field(default_factory=FakeValues)
    regions: dict[str, Region] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = {function.name: function for function in self.plan.functions}
        self.externs = {extern.name: extern for extern in self.plan.externs}


@dataclass
class _Scope:
    """The variables of a function.

    nodes: or numbers that are known.  sizes: ``meta["val"]`` of sizes, by symbol.  computed: nodes of size
    expressions.
    """

    nodes: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    computed: dict[Expr, Any] = field(default_factory=dict)


def value_of(argument: Any) -> Any:
    """``meta["val"]`` of a node; a number is itself."""
    return argument.meta["val"] if isinstance(argument, Node) else argument


class GraphMaker:
    """Makes one graph.  ``inlines``: a sub-graph that it calls is made part of it."""

    def __init__(self, known: Known, inlines: bool = False) -> None:
        self.known, self.inlines = known, inlines
        self.graph = Graph()
        self.attributes: dict[str, Any] = {}  #: what the module holds
        self.scope = _Scope()
        self.promised: dict[str, Promised] = {}  #: results of torch ops, by variable
        self.origin = NOWHERE
        self.anchor: Node | None = None  #: a tensor that the graph is given
        self.starts: dict[Node, Expr] = {}  #: at which element of its storage a tensor begins, where known
        self.owned: set[Node] = set()  #: tensors in storage that the graph made and nothing else shows

    # --- nodes

    def place(self, node: Node, value: Any) -> Node:
        """Says of a new node what it gives and what it comes from."""
        node.meta["val"] = value
        node.meta["fuse_origin"] = self.origin
        if self.origin.lines:
            node.meta["stack_trace"] = _stack_trace(self.origin)
        return node

    def call(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        value: Any = None,
    ) -> Node:
        return self.place(self.graph.call_function(target, args, kwargs), value)

    def arithmetic(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """A function of numbers; a number where all arguments are known."""
        value = function(*map(value_of, arguments))
        if not any(isinstance(a, Node) for a in arguments):
            return value
        return self.call(function, arguments, value=value)

    def placeholder(self, name: str, value: Any) -> Node:
        node = self.place(self.graph.placeholder(name), value)
        if self.anchor is None and isinstance(value, torch.Tensor):
            self.anchor = node
        return node

    def attribute(self, name: str, held: Any, value: Any = None) -> Node:
        """A node for an object that the module holds, one for each object."""
        for taken, other in self.attributes.items():
            if other is held:
                (node,) = self.graph.find_nodes(op="get_attr", target=taken)
                return node  # type: ignore[no-any-return]
        free, number = name.replace(".", "_"), 1
        while free in self.attributes:
            free, number = f"{name}_{number}", number + 1
        self.attributes[free] = held
        return self.place(self.graph.create_node("get_attr", free), value)

    def module(self, outputs: Any) -> GraphModule:
        """The module of the graph, which ends with ``outputs``.  What it holds comes first in the graph."""
        self.origin = NOWHERE
        values = tuple(map(value_of, outputs)) if isinstance(outputs, tuple) else value_of(outputs)
        last = self.place(self.graph.output(outputs), values)
        body = next((n for n in self.graph.nodes if n.op not in ("placeholder", "get_attr")), last)
        for held in self.graph.find_nodes(op="get_attr"):
            body.prepend(held)
        self.graph.lint()
        return GraphModule(self.attributes, self.graph)

    # --- variables

    def operand(self, operand: Operand) -> Any:
        """A variable, or a number that is known, as an argument of a node."""
        return self.scope.nodes[operand] if isinstance(operand, str) else operand

    def define(self, value: Value, node: Any) -> None:
        self.scope.nodes[value.name] = node
        if value.type == "index":
            self.scope.sizes[value.name] = value_of(node)

    def new_value(self, type_: Type, name: str = "") -> Any:
        """``meta["val"]`` of a new variable; a size that a type named before has that one's."""
        if isinstance(type_, TensorType):
            return self.known.values.tensor(type_, self.scope.sizes)
        if type_ == "index" and name in self.scope.sizes:
            return self.scope.sizes[name]
        return self.known.values.number(type_)

    def size(self, expression: Expr) -> Any:
        """An index expression as a node, or a number where it is one."""
        computed = self.scope.computed
        if expression not in computed:
            nodes = {name: self.scope.nodes[name] for name in expression.symbols()}
            sizes = {n: SizeNode(v, self.arithmetic) if isinstance(v, Node) else v for n, v in nodes.items()}
            found = expression.evaluate(sizes)
            computed[expression] = found.node if isinstance(found, SizeNode) else found
        return computed[expression]

    def layout(self, type_: TensorType) -> tuple[list[Any], list[Any]]:
        return [self.size(e) for e in type_.sizes], [self.size(e) for e in type_.strides]

    def empty(self, type_: TensorType) -> Node:
        """Memory of torch.  ``torch.fx.symbolic_trace`` calls an op that has no traced argument while it
        traces and keeps what it gave, so the op takes a tensor of the graph's, if there is one.
        """
        kwargs = {"dtype": TORCH_DTYPES[type_.element], "device": torch.device(type_.device)}
        value, layout = self.new_value(type_), self.layout(type_)
        if self.anchor is None:
            node = self.call(aten.empty_strided.default, layout, kwargs, value)
        else:
            node = self.call(aten.new_empty_strided.default, (self.anchor, *layout), kwargs, value)
        self.starts[node] = const(0)
        self.owned.add(node)
        return node

    # --- functions

    @contextmanager
    def inside(self, function: PlanFunction, operands: Sequence[Any]) -> Iterator[None]:
        """A scope in which the parameters stand for the operands.  Control flow names sizes as those around
        it do, a sub-graph has names of its own.
        """
        outer, self.scope = self.scope, _Scope()
        if function.kind == "control":
            self.scope.sizes.update(outer.sizes)
        for parameter, operand in zip(function.parameters, operands, strict=True):
            self.define(parameter, operand)
        try:
            yield
        finally:
            self.scope = outer

    def function(self, function: PlanFunction, operands: Sequence[Any]) -> list[Any]:
        """Makes the steps of a function part of this graph; its results."""
        with self.inside(function, operands):
            return self.run(function.steps)

    def run(self, steps: Sequence[Step]) -> list[Any]:
        """Makes the nodes of steps; what they return.  A step that says nothing of what it comes from is
        there for the next that does.
        """
        outer, after = self.origin, self.origin
        origins: list[Origin] = []
        for step in reversed(steps):
            after = _origin(step) or after
            origins.append(after)
        returned: list[Any] = []
        for step, origin in zip(steps, reversed(origins), strict=True):
            self.origin = origin
            if isinstance(step, Return):
                returned = [self.operand(v) for v in step.values]
            else:
                self.known.step_nodes[type(step)](self, step)
        self.origin = outer
        return returned


def _origin(step: Step) -> Origin | None:
    origin: Origin = getattr(step, "origin", NOWHERE)
    return None if origin == NOWHERE else origin


def _stack_trace(origin: Origin) -> str:
    """The lines of the user's program as torch shows them; in place of functions stand the FX nodes."""
    nodes = " + ".join(origin.nodes) or "forward"
    return "\n".join(
        f'  File "{file}", line {line}, in {nodes}\n    {linecache.getline(file, line).strip()}'
        for file, line in origin.lines
    )
