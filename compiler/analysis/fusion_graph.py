"""Groups of kernel calls under construction: who must run before whom, what would be saved by merging two.

A group is a set of nodes of ``Dependences``, named by its first node.  Nodes that are not kernels are groups
of one that never grow.
"""

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..mlir import ir
from .accesses import Summary
from .dependences import Dependences
from .fusion_plan import Member
from .group_order import GroupOrder
from .index import Facts
from .kernel import is_tiled, kernel_facts
from .layout import TensorSpec
from .sizes import estimate, hints_of


@dataclass
class GroupGraph:
    """The partition.

    ``group_of[node]``; ``members[group]`` ascending.
    """

    deps: Dependences
    facts: Facts
    hints: Mapping[str, int]
    summaries: dict[int, Summary] = field(default_factory=dict)  #: of the nodes that are scalar kernels
    group_of: list[int] = field(default_factory=list)
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)
    following: list[list[int]] = field(default_factory=list)
    partners: dict[int, list[int]] = field(
        default_factory=dict
    )  #: kernels that read what a kernel made, both ways
    ordered: dict[int, set[int]] = field(
        default_factory=dict
    )  #: the nodes that an order edge puts behind one
    _calls: dict[int, Member] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)
    _readers: dict[int, list[int]] = field(default_factory=dict)
    _devices: dict[int, str] = field(default_factory=dict)
    _escaping: dict[tuple[int, ...], frozenset[int]] = field(default_factory=dict)
    #: By group, the values that it makes for others in fresh storage, with the nodes that use each.
    _leaving: dict[tuple[int, ...], list[tuple[int, frozenset[int]]]] = field(default_factory=dict)
    _values: dict[tuple[int, ...], tuple[frozenset[int], frozenset[int]]] = field(default_factory=dict)
    _made: dict[int, tuple[tuple[int, frozenset[int]], ...]] = field(default_factory=dict)

    @staticmethod
    def of(module: ir.Module, grouped_only: bool = False) -> "GroupGraph":
        """Reads ``@main``; calls with the same ``fuse.group`` start together.  Raises ValueError without a
        ``@main``.

        ``grouped_only`` summarises only the kernels of calls that have a group.
        """
        deps = Dependences.of(module)
        graph = GroupGraph(deps, kernel_facts(deps.main), hints_of(deps.main))
        by_name: dict[str, Summary | None] = {}
        for node in deps.nodes:
            if node.kind != "kernel" or node.callee is None:
                continue
            if "fuse.group" in node.op.attributes or not grouped_only:
                if node.name not in by_name:
                    by_name[node.name] = summarise(node.callee)
                summary = by_name[node.name]
                if summary is not None:
                    graph.summaries[node.index] = summary
        count = len(deps.nodes)
        graph.group_of = list(range(count))
        graph.members = {i: (i,) for i in range(count)}
        graph.following = deps.successors()
        for edge in deps.edges:
            if edge.strength == "order":
                graph.ordered.setdefault(edge.before, set()).add(edge.after)
            if edge.strength == "exact" and edge.before in graph.summaries and edge.after in graph.summaries:
                graph.partners.setdefault(edge.before, []).append(edge.after)
                graph.partners.setdefault(edge.after, []).append(edge.before)
        given: dict[int, int] = {}
        for i in graph.summaries:
            attributes = deps.nodes[i].op.attributes
            if "fuse.group" in attributes:
                number = ir.IntegerAttr(attributes["fuse.group"]).value
                if number in given:
                    graph._join(graph.group_of[given[number]], graph.group_of[i])
                given.setdefault(number, i)
        return graph

    @cached_property
    def order(self) -> GroupOrder:
        """Who must run before whom.  ``materialize-fusion`` does not need it."""
        return GroupOrder(self.following, self.deps.predecessors(), self.group_of, self.members)

    def member(self, node: int) -> Member:
        """A call for planning."""
        known = self._calls.get(node)
        if known is None:
            n = self.deps.nodes[node]
            roots = tuple([self.deps.roots[v] for v in n.operands])
            known = Member(node, n.name, self.summaries[node], n.operands, n.results, roots)
            self._calls[node] = known
        return known

    def merge(self, a: int, b: int) -> int:
        """Makes two groups one, named by its first node; returns that name."""
        keep, gone = min(a, b), max(a, b)
        self.order.merge(a, b)
        self._join(keep, gone)
        return keep

    def _join(self, a: int, b: int) -> None:
        keep, gone = min(a, b), max(a, b)
        for node in self.members[gone]:
            self.group_of[node] = keep
        self.members[keep] = tuple(sorted(self.members[keep] + self.members.pop(gone)))

    def between(self, a: int, b: int) -> int | None:
        """A node outside both groups that must run after one and before the other, or None."""
        group = self.order.between(a, b)
        return None if group is None else self.members[group][0]

    def must_precede(self, a: int, b: int) -> bool:
        """Whether some node of ``a`` must run before some node of ``b``."""
        return self.order.reaches(a, b)

    def only_ordered(self, a: int, b: int) -> bool:
        """Whether an order edge leads from one group to the other, and neither reads what the other makes."""
        pairs = ((self.members[a], self.members[b]), (self.members[b], self.members[a]))
        linked = any(not self.ordered.get(n, _NONE).isdisjoint(last) for first, last in pairs for n in first)
        return linked and not self.shared(a, b)

    def escaping(self, nodes: Iterable[int]) -> frozenset[int]:
        """Values made by ``nodes`` that others use, or whose storage is not a fresh ``fuse.empty``."""
        key = tuple(sorted(set(nodes)))
        known = self._escaping.get(key)
        if known is None:
            inside = frozenset(key)
            known = self._escaping[key] = frozenset(
                result for n in key for result, users in self._results(n) if not users <= inside
            )
        return known

    def _results(self, node: int) -> tuple[tuple[int, frozenset[int]], ...]:
        """The results of a node with the nodes that use each, -1 among them where the storage must be
        written.
        """
        known = self._made.get(node)
        if known is None:
            made, nodes = self.deps.nodes[node], self.deps.nodes
            found = []
            for result, destination in zip(made.results, made.destinations, strict=True):
                users = {u for u in self.deps.users[result] if nodes[u].kind != "fuse.after"}
                if not self.is_fresh(destination):
                    users.add(-1)
                found.append((result, frozenset(users)))
            known = self._made[node] = tuple(found)
        return known

    def is_fresh(self, value: int) -> bool:
        """Whether a destination is a ``fuse.empty`` itself."""
        owner = self.deps.values[value].owner
        return isinstance(owner, (ir.Operation, ir.OpView)) and owner.operation.name == "fuse.empty"

    def shared(self, a: int, b: int) -> list[int]:
        """Values made by one of the groups and read by the other, in order."""
        (made, read), (other_made, other_read) = self._touched(a), self._touched(b)
        return sorted((made & other_read) | (other_made & read))

    def common_inputs(self, a: int, b: int) -> list[int]:
        """Values that both groups read and neither makes, in order."""
        return sorted(self._touched(a)[1] & self._touched(b)[1])

    def _touched(self, group: int) -> tuple[frozenset[int], frozenset[int]]:
        """The values that a group makes, and those that it reads."""
        members = self.members[group]
        known = self._values.get(members)
        if known is None:
            nodes = [self.deps.nodes[n] for n in members]
            made = frozenset(v for n in nodes for v in n.results)
            known = self._values[members] = made, frozenset(v for n in nodes for v in n.reads)
        return known

    def touched_bytes(self, group: int) -> int:
        """Bytes of all that a group makes or reads."""
        made, read = self._touched(group)
        return sum(map(self.bytes_of, sorted(made | read)))

    def readers(self, value: int) -> list[int]:
        """The scalar kernels that use a value, in program order."""
        known = self._readers.get(value)
        if known is None:
            known = self._readers[value] = [u for u in self.deps.users[value] if u in self.summaries]
        return known

    def bytes_of(self, value: int) -> int:
        """Bytes of a tensor under the hints."""
        if value not in self._sizes:
            spec = TensorSpec.of(self.deps.values[value].type)
            self._sizes[value] = estimate(spec.numel, self.hints) * spec.element_bytes
        return self._sizes[value]

    def saved_bytes(self, a: int, b: int) -> int:
        """Bytes that merging saves: reads of what the other made or also reads, and writes of what then
        nobody else needs.
        """
        reads = self.shared(a, b) + self.common_inputs(a, b)
        return sum(map(self.bytes_of, reads)) + self._kept_bytes(a, b) + self._kept_bytes(b, a)

    def _kept_bytes(self, group: int, other: int) -> int:
        """Bytes that ``group`` makes for ``other`` alone."""
        nodes = self.members[group]
        if nodes not in self._leaving:
            kept = self.escaping(nodes)
            found = [(v, users) for n in nodes for v, users in self._results(n) if v in kept]
            self._leaving[nodes] = [(v, users) for v, users in found if -1 not in users]
        return sum(
            self.bytes_of(value)
            for value, users in self._leaving[nodes]
            if all(self.group_of[user] in (group, other) for user in users)
        )

    def device(self, node: int) -> str:
        """Where a kernel runs: the device of its first destination, "" for the module's."""
        known = self._devices.get(node)
        if known is None:
            destinations = self.deps.nodes[node].destinations
            spec = TensorSpec.of(self.deps.values[destinations[0]].type) if destinations else None
            known = self._devices[node] = (spec.device or "") if spec is not None else ""
        return known

    def assign(self) -> None:
        """Writes ``fuse.group`` onto the calls: groups of two or more, numbered in program order."""
        number = 0
        for group in sorted(self.members):
            nodes = self.members[group]
            for node in nodes:
                attributes = self.deps.nodes[node].op.attributes
                if len(nodes) > 1:
                    attributes["fuse.group"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
                elif "fuse.group" in attributes:
                    del attributes["fuse.group"]
            number += len(nodes) > 1


_NONE: frozenset[int] = frozenset()


def summarise(kernel: ir.Operation) -> Summary | None:
    """The summary of a scalar kernel; None for tile code and for kernels that store a tensor in several
    steps, which never fuse.

    Several passes ask about kernels that none of them changes: a kernel is known by its bytecode.
    """
    if is_tiled(kernel):
        return None
    stream = io.BytesIO()
    kernel.write_bytecode(stream)
    code = hashlib.blake2b(stream.getbuffer(), digest_size=16).digest()
    if code not in _summaries:
        if len(_summaries) >= MAX_SUMMARIES:
            _summaries.clear()
        try:
            _summaries[code] = Summary.of(kernel)
        except ValueError:
            _summaries[code] = None
    return _summaries[code]


#: Kernels whose summaries are kept.
MAX_SUMMARIES = 1 << 15
_summaries: dict[bytes, Summary | None] = {}
