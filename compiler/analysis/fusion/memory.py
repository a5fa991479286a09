"""How many bytes live while each group of ``@main`` runs, and what merging two does to the most of them.

A group runs where its first node stands.  Storage lives from the group that writes it first to the one that
uses it last; arguments of ``@main`` live always and do not count.  Merging moves the later group up to the
earlier one: its results live longer, the storage that dies with it dies sooner.  Where the later one has to
wait for a third, the earlier one moves down to that place, and it is the other way round for it.
"""

from collections.abc import Iterator
from itertools import accumulate

from .graph import GroupGraph


class GroupLiveBytes:
    """``at[node]``: bytes alive while a node runs.  ``peak``: the most of them."""

    def __init__(self, graph: GroupGraph) -> None:
        self.graph = graph
        self.place = {group: nodes[0] for group, nodes in graph.members.items()}
        #: By node, the roots whose first and last user it is.
        self.begins: dict[int, list[int]] = {}
        self.ends: dict[int, list[int]] = {}
        self._find_lifetimes()
        change = [0] * (len(graph.deps.nodes) + 1)
        for node, roots in self.begins.items():
            change[self._place_of(node)] += sum(map(graph.bytes_of, roots))
        for node, roots in self.ends.items():
            change[self._place_of(node) + 1] -= sum(map(graph.bytes_of, roots))
        self.at = list(accumulate(change[:-1]))
        self.peak = max(self.at, default=0)

    def _find_lifetimes(self) -> None:
        deps = self.graph.deps
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for node in deps.nodes:
            if node.kind in (
                "fuse.after",
                "fuse.empty",
            ):  # a time keeps nothing alive; nothing is written yet
                continue
            for value in (*node.operands, *node.results):
                if deps.is_tensor(value) and not deps.is_argument(value):
                    first.setdefault(deps.roots[value], node.index)
                    last[deps.roots[value]] = node.index
        for root, node_index in first.items():
            if self.graph.group_of[node_index] != self.graph.group_of[last[root]]:
                self.begins.setdefault(node_index, []).append(root)
                self.ends.setdefault(last[root], []).append(root)

    def rise(self, a: int, b: int) -> int:
        """Bytes by which a merge would raise the peak."""
        most = [max(self.at[low:high]) + extra for low, high, extra in self._changes(a, b) if low < high]
        return max(0, max(most, default=0) - self.peak)

    def merge(self, a: int, b: int) -> None:
        """Takes note of a merge that is about to be made."""
        changes, place = self._changes(a, b), self._meeting(a, b)
        for low, high, extra in changes:
            self.at[low:high] = [bytes_ + extra for bytes_ in self.at[low:high]]
            self.peak = max(self.peak, max(self.at[low:high], default=0))
        self.place[min(a, b)] = place

    def distance(self, a: int, b: int) -> int:
        """Nodes from the place of one group to that of the other."""
        return abs(self.place[a] - self.place[b])

    def _place_of(self, node: int) -> int:
        return self.place[self.graph.group_of[node]]

    def _meeting(self, a: int, b: int) -> int:
        """Where two groups run together: at the earlier one, or at the last that the later one waits for."""
        early, late = sorted((a, b), key=self.place.__getitem__)
        return min(max([self.place[early], *self._waits(late, early)]), self.place[late])

    def _waits(self, group: int, other: int) -> Iterator[int]:
        """The places of what a group waits for, but for ``other``: a view waits for what it views, memory for
        nothing.
        """
        for before in self.graph.order.before(group):
            kind = self.graph.deps.nodes[before].kind
            if kind == "fuse.view":
                yield from self._waits(before, other)
            elif kind != "fuse.empty" and before != other:
                yield self.place[before]

    def _changes(self, a: int, b: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """(from, to, bytes) for the two parts of the way: what a merge adds to ``at``."""
        early, late = sorted((a, b), key=self.place.__getitem__)
        start, stop, meeting = self.place[early], self.place[late], self._meeting(a, b)
        held = self._sum(self.ends, early) - self._sum(self.begins, early)
        sooner = self._sum(self.begins, late) - self._sum(self.ends, late)
        return (start, meeting, held), (meeting, stop, sooner)

    def _sum(self, roots: dict[int, list[int]], group: int) -> int:
        nodes = self.graph.members[group]
        return sum(self.graph.bytes_of(root) for node in nodes for root in roots.get(node, ()))
