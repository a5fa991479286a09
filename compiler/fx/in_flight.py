"""Collectives in flight: which nodes of an FX graph wait for which collective, and what it reads until then.

One walk over a graph follows the result of each collective from its start to its waits: through views, ops
with several results, ops that write in place, and ordered groups (``control_deps``).  An ordered group may
hold the start, the wait, or an op between them; it is then named instead of the node inside it, so that all
named nodes are nodes of the graph itself.  Sub-graphs of other higher-order ops are not looked into.
"""

import operator
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any, TypeAlias

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ..base.dataclass import dataclass
from .ordered_groups import is_ordered, ordered_graph

_NAMESPACE = "_c10d_functional"
_WAIT = "wait_tensor"
_WAITS = "wait_tensors"


def is_wait(node: fx.Node) -> bool:
    """Whether a node waits for a collective."""
    return _name(node) == _WAIT


def waits_for_several(node: fx.Node) -> bool:
    """Whether a node waits for a list of tensors; the rewrite ``separate-waits`` leaves none."""
    return _name(node) == _WAITS


def is_collective(node: fx.Node) -> bool:
    """Whether a node starts a collective."""
    return _name(node) not in (None, _WAIT, _WAITS)


def received(node: fx.Node) -> dict[int, fx.Node]:
    """The tensors into which a node receives from another process, by the number of the result that each one
    becomes.  Their schemas say neither that these are written nor that they are returned.
    """
    name = _name(node)
    if name == "irecv":
        given = {0: _given(node, 0, "tensor")}
    elif name == "batch_p2p_ops":
        kinds, tensors = _given(node, 0, "op_list"), _given(node, 3, "tensors")
        given = {n: tensors[n] for n, kind in enumerate(kinds) if kind == "irecv"}
    else:
        return {}
    return {number: tensor for number, tensor in given.items() if isinstance(tensor, fx.Node)}


def _given(node: fx.Node, position: int, name: str) -> Any:
    return node.args[position] if position < len(node.args) else node.kwargs.get(name)


@dataclass(eq=False)
class Flight:
    """One collective: the node that starts it, the tensors that it reads until a wait, and the nodes that
    wait for it.
    """

    start: fx.Node
    reads: list[fx.Node]
    waits: list[fx.Node] = field(default_factory=list)


#: Whose storage a value may lie in: that of a collective's result, or that of a placeholder.
Source: TypeAlias = Flight | fx.Node


@dataclass
class InFlight:
    """What one graph starts and waits for.

    waiting: the nodes that wait, ordered groups that hold one among them.  waited, written: the placeholders
    for which it waits, and those that it writes, with waits among them.
    """

    flights: list[Flight] = field(default_factory=list)
    waiting: list[fx.Node] = field(default_factory=list)
    waited: set[fx.Node] = field(default_factory=set)
    written: set[fx.Node] = field(default_factory=set)
    _sources: dict[fx.Node, dict[int | None, set[Source]]] = field(default_factory=dict)
    _output: Any = None

    @staticmethod
    def of_all(graph: fx.Graph) -> "InFlight":
        """Of a whole graph, over which it walks only where there is something to find."""
        found = any(is_ordered(n) or _name(n) is not None for n in graph.nodes)
        return InFlight.of(graph) if found else InFlight()

    @staticmethod
    def of(graph: fx.Graph) -> "InFlight":
        """Walks over a graph."""
        found = InFlight()
        for node in graph.nodes:
            if node.op == "placeholder":
                found._sources[node] = {None: {node}}
            elif node.op == "output":
                found._output = node.args[0]
            elif node.op == "call_function":
                found._call(node)
        return found

    def behind(self, node: Any, number: int | None = None) -> set[Source]:
        """What the storage of a value may be, of result ``number`` where it has several."""
        known = self._sources.get(node, {}) if isinstance(node, fx.Node) else {}
        return known.get(number, known.get(None, set()))

    def hides_operand(self) -> bool:
        """Whether a collective for which the graph does not wait reads what the graph was not given."""
        reads = [n for flight in self.flights if not flight.waits for n in flight.reads]
        return not all(any(isinstance(s, fx.Node) for s in self.behind(n)) for n in reads)

    def results(self) -> Iterator[tuple[int | None, set[Source]]]:
        """What the storage of each result of the graph may be, by number; None for a single one."""
        if isinstance(self._output, (tuple, list)):
            for number, leaf in enumerate(self._output):
                yield number, self._behind_all(pytree.tree_leaves(leaf))
        elif isinstance(self._output, fx.Node):
            for place in self._sources.get(self._output, {}):
                yield place, self.behind(self._output, place)

    def _behind_all(self, nodes: Iterable[Any]) -> set[Source]:
        return {s for n in nodes for s in self.behind(n)}

    def _call(self, node: fx.Node) -> None:
        inner = ordered_graph(node)
        if inner is not None:
            self._group(node, inner)
        elif node.target is operator.getitem:
            self._sources[node] = {None: self.behind(*node.args)}
        elif isinstance(node.target, torch._ops.OpOverload):
            self._op(node)

    def _op(self, node: fx.Node) -> None:
        written, shared = _arguments(node)
        written += received(node).values()
        sources = self._behind_all(shared)
        if is_wait(node):
            sources = self.behind(node.args[0])
            self._wait(node, sources)
        self._write(self._behind_all(written))
        if is_collective(node):
            tensors = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
            flight = Flight(node, [n for n in tensors if n not in written])
            self.flights.append(flight)
            sources = sources | {flight}
            for n in written:
                self._sources[n] = {None: self.behind(n) | {flight}}
        if sources:
            self._sources[node] = {None: sources}

    def _group(self, node: fx.Node, graph: fx.Graph) -> None:
        inside = InFlight.of(graph)
        placeholders = (n for n in graph.nodes if n.op == "placeholder")
        given: dict[Source, Any] = dict(zip(placeholders, node.args[2:], strict=False))
        outside: dict[Source, set[Source]] = {p: self.behind(n) for p, n in given.items()}
        for flight in inside.flights:
            if flight.waits:
                continue  # the group knows all of it
            behind = [given.get(s) for read in flight.reads for s in inside.behind(read)]
            made = Flight(node, list(dict.fromkeys(n for n in behind if isinstance(n, fx.Node))))
            self.flights.append(made)
            outside[flight] = {made}

        def seen(sources: set[Source]) -> set[Source]:
            return {o for s in sources for o in outside.get(s, ())}

        if inside.waiting:
            self._wait(node, seen(set(inside.waited)))
        self._write(seen(set(inside.written)))
        self._sources[node] = {number: seen(sources) for number, sources in inside.results()}

    def _wait(self, node: fx.Node, sources: set[Source]) -> None:
        self.waiting.append(node)
        for source in sources:
            if isinstance(source, Flight):
                source.waits.append(node)
            else:
                self.waited.add(source)
        self._write(sources)

    def _write(self, sources: set[Source]) -> None:
        self.written |= {s for s in sources if isinstance(s, fx.Node)}


def written_operands(node: fx.Node) -> list[fx.Node]:
    """The nodes that the schema of an ``OpOverload`` says that it writes to."""
    return _arguments(node)[0]


def _arguments(node: fx.Node) -> tuple[list[fx.Node], list[fx.Node]]:
    """The nodes that an op writes, and those whose storage its results share."""
    schema = node.target._schema  # type: ignore[union-attr]
    returned = {name for r in schema.returns if r.alias_info for name in r.alias_info.before_set}
    written, shared = [], []
    for position, argument in enumerate(schema.arguments):
        given = _given(node, position, argument.name)
        nodes = [n for n in pytree.tree_leaves(given) if isinstance(n, fx.Node)]
        if argument.alias_info is not None:
            written += nodes if argument.alias_info.is_write else []
            shared += nodes if argument.alias_info.before_set & returned else []
    return written, shared


def _name(node: fx.Node) -> str | None:
    """The op of a node, without its namespace; None outside of ``_c10d_functional``."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != _NAMESPACE:
        return None
    return target._opname


__all__ = [
    "Flight",
    "InFlight",
    "is_collective",
    "is_wait",
    "received",
    "waits_for_several",
    "written_operands",
]
