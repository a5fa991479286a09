"""What must run before what in ``@main``: a graph over its operations, in program order.  Changes no IR.

Graph values are immutable, storage is not: a kernel overwrites the storage of the argument that its result is
tied to, and an extern op that of ``fuse.mutated`` operands.  Several values may share one storage (views,
ties, aliases); the first of them is its *root*.  From roots follow the dependences that SSA does not show.

======  ==========================================================================================  ========
reason  the later operation                                                                         strength
======  ==========================================================================================  ========
data    uses a result of the earlier one as a kernel argument that is not a destination             exact
data    uses a result in any other way (extern operand, view, destination, return)                  whole
size    uses a size or another number of the host that the earlier one finds                        whole
war     overwrites a storage that the earlier one reads                                             order
waw     overwrites a storage that the earlier one overwrites                                        order
raw     reads a storage that the earlier one mutates without making a new value of it               order
token   takes the time at which a result of the earlier one is complete (keeps nothing alive)       order
effect  draws random numbers, asserts or has ``fuse.effect``, as the earlier one does               order
wait    runs beside the collective that the earlier one starts                                      order
wait    waits for the collective beside which the earlier one runs                                  order
======  ==========================================================================================  ========
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal, NamedTuple

from ...base.dataclass import dataclass
from ...ir.dialects import fuse
from ...ir.kernel import ASSERTS, is_kernel, is_tiled, kernel_ties, string
from ...ir.storage import aliased_operands, functions_of
from ...mlir import ir
from ..cost.collectives import WAIT, is_start

Strength = Literal["exact", "whole", "order"]
Reason = Literal["data", "size", "war", "waw", "raw", "token", "effect", "wait"]


class Edge(NamedTuple):
    """Node ``before`` runs before node ``after``.

    ``storage`` is the root that a storage dependence is about, else -1.
    """

    before: int
    after: int
    strength: Strength
    reason: Reason
    storage: int = -1


@dataclass
class Node:
    """One operation of ``@main``.  Values are numbered: ``Dependences.values[n]``."""

    index: int
    op: ir.Operation
    kind: str  #: what ``callee_kind`` says of the callee, or the operation's name
    callee: ir.Operation | None
    operands: tuple[int, ...]
    results: tuple[int, ...]
    reads: tuple[int, ...]  #: operands whose contents it reads, destinations left out
    ties: tuple[int, ...]  #: positions of the destinations among the operands
    destinations: tuple[int, ...]  #: per tied result, the operand whose storage it takes over
    mutated: tuple[int, ...]  #: operands that an extern op writes in place
    name: str  #: the callee's symbol name, or the operation's name

    @cached_property
    def effect(self) -> bool:
        """Whether it is ordered against others of its kind, see ``has_effect``."""
        return has_effect(self.op, self.callee)

    @property
    def waits(self) -> bool:
        """Whether it waits for a collective, whose result it gives back."""
        return bool(self.mutated) and self.callee is not None and extern_name(self.callee) == WAIT

    @property
    def starts(self) -> bool:
        """Whether it starts a collective."""
        return self.callee is not None and is_start(extern_name(self.callee))

    @cached_property
    def location(self) -> str:
        """As MLIR prints it; remarks ask for it often."""
        return str(self.op.location)


@dataclass
class Dependences:
    """The graph.

    ``values`` in order of definition; ``roots[v]`` is the value whose storage value ``v`` lives in;
    ``users[v]`` are node indices.
    """

    main: ir.Operation
    nodes: list[Node] = field(default_factory=list)
    values: list[ir.Value] = field(default_factory=list)
    numbers: dict[ir.Value, int] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    users: list[list[int]] = field(default_factory=list)
    arguments: int = 0  #: values below this number are arguments of ``@main``
    silent: set[str] = field(default_factory=set)  #: names of nodes known to have no effect
    _is_tensor: list[bool] = field(default_factory=list)  #: of the values
    _sharing: dict[str, "_Sharing"] = field(default_factory=dict)  #: of the functions that are called

    @staticmethod
    def of(module: ir.Module) -> "Dependences":
        """Reads ``@main`` of ``module``.  Raises ValueError when there is none."""
        functions = functions_of(module)
        if "main" not in functions:
            raise ValueError("the module has no function @main")
        graph = Dependences(functions["main"])
        block = graph.main.regions[0].blocks[0]
        for argument in block.arguments:
            graph._define(argument, len(graph.values), False)
        graph.arguments = len(graph.values)
        for op in block.operations:
            graph._read(op.operation, functions)
        return graph

    @cached_property
    def edges(self) -> list[Edge]:
        """The dependences, by the later node and then by the earlier one."""
        return self._connect()

    def successors(self) -> list[list[int]]:
        """For each node, the nodes that must follow it, ascending and without repeats."""
        following: list[list[int]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found = following[edge.before]
            if not found or found[-1] != edge.after:  # edges are sorted by it
                found.append(edge.after)
        return following

    def predecessors(self) -> list[list[int]]:
        """For each node, the nodes that must precede it, ascending and without repeats."""
        preceding: list[list[int]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found = preceding[edge.after]
            if not found or found[-1] != edge.before:
                found.append(edge.before)
        return preceding

    def is_tensor(self, value: int) -> bool:
        """Whether a value is a tensor."""
        return self._is_tensor[value]

    def is_argument(self, value: int) -> bool:
        """Whether the storage of ``value`` is that of an argument of ``@main``."""
        return self.roots[value] < self.arguments

    def _define(self, value: ir.Value, root: int, tensor: bool) -> int:
        """Numbers a value, which lives in the storage of value ``root``, its own number if in none;
        ``tensor`` says that it is known to be one.
        """
        number = self.numbers[value] = len(self.values)
        self.values.append(value)
        self.roots.append(root)
        self.users.append([])
        self._is_tensor.append(tensor or isinstance(value.type, ir.RankedTensorType))
        return number

    def _read(self, op: ir.Operation, functions: dict[str, ir.Operation]) -> None:
        index, name = len(self.nodes), op.name
        numbers, roots = self.numbers, self.roots
        values = op.operands if name in WITHOUT_REGIONS else _operands(op)
        operands = tuple([numbers[v] for v in values])
        for operand in operands:
            users = self.users[operand]
            if not users or users[-1] != index:
                users.append(index)
        callee, sharing = None, _OTHER.get(name)
        if name == "func.call":
            called = symbol(op.attributes["callee"])
            if called in functions:
                name, callee = called, functions[called]
                sharing = self._sharing.get(called)
                if sharing is None:
                    sharing = self._sharing[called] = _Sharing.of(callee)
        if sharing is None:
            sharing = _Sharing(name)
        shared, ties, tensor = sharing.shared, sharing.ties, sharing.kind in ONLY_TENSORS
        results = []
        for i, result in enumerate(op.results):
            root = roots[operands[shared[i]]] if i in shared else len(roots)
            results.append(self._define(result, root, tensor))
        reads: tuple[int, ...] = ()
        if sharing.kind not in NO_READS:
            reads = tuple([v for i, v in enumerate(operands) if self._is_tensor[v] and i not in ties])
        destinations = tuple([operands[t] for t in ties]) if ties else ()
        mutated = tuple([operands[i] for i in sharing.mutated]) if sharing.mutated else ()
        made = tuple(results)
        self.nodes.append(
            Node(index, op, sharing.kind, callee, operands, made, reads, ties, destinations, mutated, name)
        )

    def _connect(self) -> list[Edge]:
        made: dict[int, int] = {r: node.index for node in self.nodes for r in node.results}
        readers: dict[int, list[int]] = {}
        writer: dict[int, int] = {}
        mutator: dict[int, int] = {}
        last_effect: int | None = None
        # (after, before, reason, strength, storage): the order of edges
        found: set[tuple[int, int, Reason, Strength, int]] = set()

        def add(before: int, after: int, strength: Strength, reason: Reason, storage: int = -1) -> None:
            if before != after:
                found.add((after, before, reason, strength, storage))

        for node in self.nodes:
            for position, operand in enumerate(node.operands):
                if operand not in made:
                    continue
                if node.kind == "fuse.after" or (
                    not self._is_tensor[operand] and isinstance(self.values[operand].type, fuse.Token)
                ):
                    add(made[operand], node.index, "order", "token")
                elif not self._is_tensor[operand]:
                    add(made[operand], node.index, "whole", "size")
                else:
                    is_load = node.kind == "kernel" and position not in node.ties
                    exact = is_load and self.nodes[made[operand]].kind == "kernel"
                    add(made[operand], node.index, "exact" if exact else "whole", "data")
            for read in node.reads:
                root = self.roots[read]
                if root in mutator:
                    add(mutator[root], node.index, "order", "raw", root)
                if root in readers:
                    readers[root].append(node.index)
                else:
                    readers[root] = [node.index]
            for written in (*node.destinations, *node.mutated):
                root = self.roots[written]
                for reader in readers.pop(root, ()):
                    add(reader, node.index, "order", "war", root)
                if root in writer:
                    add(writer[root], node.index, "order", "waw", root)
                writer[root] = node.index
            if node.mutated and node.waits:
                root = self.roots[node.mutated[0]]
                start = mutator.get(root, made.get(root, node.index))  # which may write into what is there
                for beside in self.nodes[start + 1 : node.index]:
                    if beside.callee is not None:
                        add(start, beside.index, "order", "wait")
                        add(beside.index, node.index, "order", "wait")
            for written in node.mutated:
                mutator[self.roots[written]] = node.index
            if node.name in self.silent:
                continue
            if not node.effect:
                self.silent.add(node.name)
                continue
            if last_effect is not None:
                add(last_effect, node.index, "order", "effect")
            last_effect = node.index
        return [
            Edge(before, after, strength, reason, root)
            for after, before, reason, strength, root in sorted(found)
        ]


@dataclass(frozen=True)
class _Sharing:
    """Which storage the calls of a function, or operations of one name, read and write: see ``Node``."""

    kind: str
    ties: tuple[int, ...] = ()
    mutated: tuple[int, ...] = ()
    shared: Mapping[int, int] = field(default_factory=dict)  #: by result, the operand whose storage it shares

    @staticmethod
    def of(callee: ir.Operation) -> "_Sharing":
        kind = callee_kind(callee)
        ties = kernel_ties(callee) if "fuse.ties" in callee.attributes else ()
        if kind != "extern":
            return _Sharing(kind, ties, shared=dict(enumerate(ties)))
        return _Sharing(kind, ties, extern_mutated(callee), aliased_operands(callee))


_OTHER = {name: _Sharing(name) for name in ("func.return", "fuse.empty")} | {
    "fuse.view": _Sharing("fuse.view", shared={0: 0})
}

#: Operations of graphs that are known to capture nothing.
WITHOUT_REGIONS = frozenset({"func.call", "func.return", "fuse.view", "fuse.empty"})

#: Kinds of nodes whose results are all tensors.
ONLY_TENSORS = frozenset({"kernel", "launch", "fuse.view", "fuse.empty", "fuse.alloc", "fuse.reuse"})

#: Operations that look at a tensor's type or time, not at its contents.
NO_READS = frozenset({"fuse.view", "fuse.size", "fuse.after", "fuse.free", "fuse.reuse"})


def symbol(attribute: ir.Attribute) -> str:
    """The name in a symbol reference."""
    return ir.FlatSymbolRefAttr(attribute).value


def callee_kind(callee: ir.Operation) -> str:
    """What a call of this function is: kernel, extern, launch, ordered, graph, control_flow, or
    ``func.call``.
    """
    for attribute, kind in (
        ("fuse.kernel", "kernel"),
        ("fuse.extern", "extern"),
        ("fuse.launch", "launch"),
        ("fuse.control_deps", "ordered"),
        ("fuse.graph", "graph"),
        ("fuse.control_flow", "control_flow"),
    ):
        if attribute in callee.attributes:
            return kind
    return "func.call"


def extern_name(callee: ir.Operation) -> str:
    """The op that an extern declaration stands for; "" for any other function."""
    return string(callee.attributes["fuse.extern"]) if "fuse.extern" in callee.attributes else ""


def extern_mutated(callee: ir.Operation) -> tuple[int, ...]:
    """Operand positions that an extern op writes in place."""
    return (
        tuple(ir.DenseI64ArrayAttr(callee.attributes["fuse.mutated"]))
        if "fuse.mutated" in callee.attributes
        else ()
    )


def returned_operands(call: ir.Operation, callee: ir.Operation) -> set[ir.Value]:
    """The results of a call of an extern op that are an operand which the op has written in place."""
    written = extern_mutated(callee)
    return {
        call.results[result]
        for result, operand in aliased_operands(callee).items()
        if operand in written and call.results[result].type == call.operands[operand].type
    }


def has_effect(op: ir.Operation, callee: ir.Operation | None) -> bool:
    """Whether the operation keeps its order among others with effects, and is never dead."""
    if op.name in ("fuse.rng", "scf.while", "scf.for", "scf.if"):
        return True
    if callee is None:
        return op.name in ASSERTS or op.name == "func.call"
    if is_kernel(callee) and not is_tiled(callee):
        return any(inner.operation.name in ASSERTS for inner in callee.regions[0].blocks[0].operations)
    return "fuse.effect" in callee.attributes or "fuse.control_deps" in callee.attributes


def _operands(op: ir.Operation) -> Iterator[ir.Value]:
    """The operands of ``op`` and the values that its regions capture."""
    yield from op.operands
    for region in op.regions:
        inside: set[ir.Value] = set()
        captured: list[ir.Value] = []
        _walk(region, inside, captured)
        yield from captured


def _walk(region: ir.Region, inside: set[ir.Value], captured: list[ir.Value]) -> None:
    for block in region.blocks:
        inside.update(block.arguments)
        for op in block.operations:
            captured.extend(v for v in op.operation.operands if v not in inside)
            for nested in op.operation.regions:
                _walk(nested, inside, captured)
            inside.update(op.operation.results)


@dataclass(frozen=True)
class Violation:
    """``reader`` uses the contents of a value after ``writer`` overwrote its storage."""

    message: str
    reader: ir.Operation
    writer: ir.Operation


def check_order(module: ir.Module) -> Violation | None:
    """The first operation in program order that uses contents which an earlier operation has overwritten;
    None when there is none.

    Every write makes a new version of a storage, and a value stands for the version that made it.  An extern
    op that mutates an operand without returning a value for it changes the contents of every value of that
    storage, so it makes no version.
    """
    graph = Dependences.of(module)
    current: dict[int, int] = {}  # root -> the node that wrote last
    version: dict[int, int] = {}  # value -> the node whose write it stands for
    for node in graph.nodes:
        uses = (*node.reads, *node.destinations)
        if node.kind == "func.return":
            uses += node.operands
        for use in uses:
            root = graph.roots[use]
            if version.get(use, -1) != current.get(root, -1):
                writer = graph.nodes[current[root]]
                by = f"{writer.name} at {writer.location}"
                message = f"{node.name} uses a value whose storage {by} has overwritten"
                return Violation(message, node.op, writer.op)
        tied = dict(zip(node.results, node.destinations, strict=False))
        for result in node.results:
            if result in tied:
                current[graph.roots[result]] = version[result] = node.index
            elif graph.roots[result] != result:
                source = next(v for v in node.operands if graph.roots[v] == graph.roots[result])
                version[result] = version.get(source, -1)
    return None
