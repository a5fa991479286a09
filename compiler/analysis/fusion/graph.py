"""Groups of kernel calls under construction: which group must run before which, what merging two would save.

A group is a set of nodes of ``Dependences``, named by its first node.  A node that is not a kernel is a group
of its own, which never grows.
"""

from collections.abc import Hashable, Mapping
from dataclasses import field
from functools import cached_property

from ...base.dataclass import dataclass
from ...cost.slots import LOAD
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import program_facts
from ...ir.sizes import hints_of
from ...mlir import ir
from ..kernel.accesses import Summary, points
from ..kernel.info import KernelInfo
from ..program.dependences import Dependences
from .contents import Contents, all_in
from .form import FusionForm, Sizes, ValueType, Verdict
from .group_order import GroupOrder
from .plan import Member


@dataclass
class GroupGraph:
    """The partition of the nodes into groups.

    ``group_of[node]`` is the group of a node; ``members[group]`` its nodes in ascending order.
    """

    deps: Dependences
    sizes: Sizes
    summaries: dict[int, Summary] = field(default_factory=dict)  #: of the nodes that are scalar kernels
    group_of: list[int] = field(default_factory=list)
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)
    following: list[list[int]] = field(default_factory=list)
    partners: dict[int, set[int]] = field(
        default_factory=dict
    )  #: groups that read what a group made, both ways
    ordered: dict[int, set[int]] = field(
        default_factory=dict
    )  #: the nodes that an order edge puts behind one
    _calls: dict[int, Member] = field(default_factory=dict)
    verdicts: dict[FusionForm, Verdict] = field(default_factory=dict)
    _readers: dict[int, list[int]] = field(default_factory=dict)
    _contents: dict[int, Contents] = field(default_factory=dict)  #: by group
    _types: dict[tuple[ir.Type, int | None], ValueType] = field(default_factory=dict)  #: see ``types``

    @staticmethod
    def of(module: ir.Module, grouped_only: bool = False, before: "GroupGraph | None" = None) -> "GroupGraph":
        """Reads ``@main``; calls with the same ``fuse.group`` start together.  Raises ValueError without a
        ``@main``.

        ``grouped_only`` summarises only the kernels of calls that have a group.  ``before`` is the graph of
        the module before calls of it changed, and no kernel: what it knows of kernels, types and forms holds.
        """
        deps = Dependences.of(module)
        graph = GroupGraph(deps, Sizes(program_facts(deps.main), hints_of(deps.main)))
        by_name = graph._learn(before) if before is not None else {}
        for node in deps.nodes:
            if node.kind != "kernel" or node.callee is None:
                continue
            if "fuse.group" in node.op.attributes or not grouped_only:
                if node.name not in by_name:
                    by_name[node.name] = KernelInfo.of(node.callee).summary
                summary = by_name[node.name]
                if summary is not None:
                    graph.summaries[node.index] = summary
                    if not summary.asserts:
                        deps.silent.add(node.name)
        count = len(deps.nodes)
        graph.group_of = list(range(count))
        graph.members = {i: (i,) for i in range(count)}
        graph.following = deps.successors()
        for edge in deps.edges:
            if edge.strength == "order":
                graph.ordered.setdefault(edge.before, set()).add(edge.after)
            if edge.strength == "exact" and edge.before in graph.summaries and edge.after in graph.summaries:
                graph.partners.setdefault(edge.before, set()).add(edge.after)
                graph.partners.setdefault(edge.after, set()).add(edge.before)
        given: dict[int, int] = {}
        for i in graph.summaries:
            attributes = deps.nodes[i].op.attributes
            if "fuse.group" in attributes:
                number = ir.IntegerAttr(attributes["fuse.group"]).value
                if number in given:
                    graph._join(graph.group_of[given[number]], graph.group_of[i])
                given.setdefault(number, i)
        return graph

    def _learn(self, before: "GroupGraph") -> dict[str, Summary | None]:
        """Takes over what an earlier graph knows; the summaries of its kernels, by their names."""
        one, other = self.sizes, before.sizes
        if one.facts == other.facts and one.hints == other.hints:  # forms name the sizes they were judged by
            self.sizes, self.verdicts, self._types = other, before.verdicts, before._types
        return {before.deps.nodes[node].name: summary for node, summary in before.summaries.items()}

    @cached_property
    def order(self) -> GroupOrder:
        """Which group must run before which.  ``materialize-fusion`` does not need it."""
        return GroupOrder(self.following, self.deps.predecessors(), self.group_of, self.members)

    def member(self, node: int) -> Member:
        """A call as planning takes it."""
        known = self._calls.get(node)
        if known is None:
            n = self.deps.nodes[node]
            roots = tuple([self.deps.roots[v] for v in n.operands])
            known = Member(node, n.name, self.summaries[node], n.operands, n.results, roots)
            self._calls[node] = known
        return known

    def merge(self, a: int, b: int) -> int:
        """Merges two groups; returns the name of the merged one, its first node."""
        keep, gone = min(a, b), max(a, b)
        self.order.merge(a, b)
        self._join(keep, gone)
        return keep

    def _join(self, a: int, b: int) -> None:
        keep, gone = min(a, b), max(a, b)
        if keep == gone:
            return
        for node in self.members[gone]:
            self.group_of[node] = keep
        self.members[keep] = tuple(sorted(self.members[keep] + self.members.pop(gone)))
        partners = self.partners.pop(gone, set())
        for partner in partners:
            self.partners[partner].discard(gone)
            self.partners[partner].add(keep)
        self.partners.setdefault(keep, set()).update(partners)
        self.partners[keep].discard(keep)
        mine, theirs = self._contents.pop(keep, None), self._contents.pop(gone, None)
        if mine is not None and theirs is not None:
            self._contents[keep] = Contents.of((mine, theirs), self.group_of, keep)

    def between(self, a: int, b: int) -> int | None:
        """A node outside both groups that must run after one and before the other, or None."""
        group = self.order.between(a, b)
        return None if group is None else self.members[group][0]

    def must_precede(self, a: int, b: int) -> bool:
        """Whether some node of ``a`` must run before some node of ``b``."""
        return self.order.reaches(a, b)

    def only_ordered(self, a: int, b: int) -> bool:
        """Whether only an order edge joins two groups: neither reads what the other makes."""
        pairs = ((self.members[a], self.members[b]), (self.members[b], self.members[a]))
        linked = any(not self.ordered.get(n, _NONE).isdisjoint(last) for first, last in pairs for n in first)
        return linked and not self.shared(a, b)

    def contents(self, group: int) -> Contents:
        """What a group makes, reads and computes."""
        known = self._contents.get(group)
        if known is None:
            parts = [self._contents_of(node) for node in self.members[group]]
            known = self._contents[group] = Contents.of(parts, self.group_of, group)
        return known

    def _contents_of(self, node: int) -> Contents:
        made, nodes, summary = self.deps.nodes[node], self.deps.nodes, self.summaries.get(node)
        kept, loads = {}, list(enumerate(summary.reads)) if summary else []
        for result, destination in zip(made.results, made.destinations, strict=False):
            users = {u for u in self.deps.users[result] if nodes[u].kind != "fuse.after"}
            if not self.is_fresh(destination):
                users.add(-1)
            if users:
                kept[result] = frozenset(users)
        return Contents(
            frozenset(made.results),
            frozenset(made.reads),
            frozenset(made.operands),
            frozenset([(made.operands[r.argument], (node, n) if r.indirect else r.coords) for n, r in loads]),
            kept,
            frozenset([self.device(node)] if made.destinations else ()),
            summary.ops if summary else 0,
        )

    def escaping(self, a: int, b: int) -> frozenset[int]:
        """Values made by the two groups (or one) that other nodes use, or whose storage is not a fresh
        ``fuse.empty``.
        """
        if a == b:
            return frozenset(self.contents(a).kept)
        one, other = self.contents(a), self.contents(b)
        kept = {*one.kept, *other.kept}
        kept.difference_update(self.passed_on(one, one.made & other.used, a, b))
        kept.difference_update(self.passed_on(other, other.made & one.used, a, b))
        return frozenset(kept)

    def passed_on(self, maker: Contents, values: frozenset[int], a: int, b: int) -> list[int]:
        """Those of ``values``, made by one of two groups, that nothing but the other group uses."""
        kept, group_of = maker.kept, self.group_of
        return [v for v in values if v in kept and all_in(kept[v], group_of, a, b)]

    def is_fresh(self, value: int) -> bool:
        """Whether a destination is the result of a ``fuse.empty``."""
        return defining_op(self.deps.values[value], fuse.Empty) is not None

    def shared(self, a: int, b: int) -> frozenset[int]:
        """Values made by one of the groups and read by the other."""
        one, other = self.contents(a), self.contents(b)
        return (one.made & other.read) | (other.made & one.read)

    def touched_bytes(self, group: int) -> int:
        """Bytes of all tensors that a group makes or reads."""
        contents = self.contents(group)
        return sum(map(self.bytes_of, contents.made | contents.read))

    def readers(self, value: int) -> list[int]:
        """The scalar kernels that use a value, in program order."""
        known = self._readers.get(value)
        if known is None:
            known = self._readers[value] = [u for u in self.deps.users[value] if u in self.summaries]
        return known

    def bytes_of(self, value: int) -> int:
        """Bytes of a tensor, with every size at its hint."""
        return self.types[value].bytes

    @cached_property
    def types(self) -> list[ValueType]:
        """The type of each value.  Equal types are one object, where as many bytes are loaded for them."""
        known, made = self._types, self._made_of_one()
        found: list[ValueType] = []
        for number, value in enumerate(self.deps.values):
            type_ = value.type
            entry = known.get((type_, None))
            if entry is None:
                entry = known[type_, None] = ValueType(type_, self.sizes)
            loaded = found[made[number]].loaded if number in made else None
            if loaded is not None and loaded < entry.loaded:
                entry = known.setdefault((type_, loaded), ValueType(type_, self.sizes, loaded))
            found.append(entry)
        return found

    def _made_of_one(self) -> dict[int, int]:
        """The results of pointwise kernels that read one tensor, and that tensor."""
        found = {}
        for node, summary in self.summaries.items():
            if len(summary.reads) == len(summary.writes) == 1 and not summary.crossings:
                made = self.deps.nodes[node]
                found[made.results[0]] = made.operands[summary.reads[0].argument]
        return found

    def saved_bytes(self, a: int, b: int) -> int:
        """Bytes that merging two groups saves: reads of what the other one made or reads too, and writes of
        values that nothing else uses.
        """
        known = self._contents
        one, other = known.get(a) or self.contents(a), known.get(b) or self.contents(b)
        saved = [*one.read & other.read]
        for maker, user in ((one, other), (other, one)):
            if not maker.made.isdisjoint(user.used):
                passed = maker.made & user.used
                saved += [*passed & user.read, *self.passed_on(maker, passed, a, b)]
        return sum(map(self.bytes_of, saved))

    def moved_bytes(self, a: int, b: int) -> int:
        """Bytes that two groups would read and write as one kernel; of ``a`` alone where ``b`` is ``a``."""
        one, other = self.contents(a), self.contents(b)
        values = [*((one.read | other.read) - one.made - other.made), *self.escaping(a, b)]
        return sum(map(self.bytes_of, values))

    def work(self, group: int) -> int:
        """Issue slots of the kernels of a group, loads included, where each point is computed once."""
        made, loads, total = self.contents(group).made, dict[tuple[int, Hashable], int](), 0
        for node in self.members[group]:
            member, summary = self.member(node), self.summaries[node]
            total += self.sizes.estimate(summary.points) * summary.work
            for number, read in enumerate(summary.reads):
                value = member.operands[read.argument]
                if value not in made:
                    at = (node, number) if read.indirect else read.coords
                    loads[value, at] = self.sizes.estimate(points(summary.dims, read.dims))
        return total + LOAD * sum(loads.values())

    def device(self, node: int) -> str:
        """The device of a kernel: that of its first destination, "" for the module's."""
        return self.types[self.deps.nodes[node].destinations[0]].device

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

    def state(self) -> Mapping[str, object]:
        """The state that a pass keeps up to date if it preserves the graph: see
        ``passes/analysis_manager.py``.
        """
        nodes = [(node.op, node.callee, node.name) for node in self.deps.nodes]
        return {
            "operations": nodes,
            "values": self.deps.values,
            "kernels": self.summaries,
            "groups": self.members,
            "partners": {group: others for group, others in self.partners.items() if others},
        }


_NONE: frozenset[int] = frozenset()
