"""How many bytes are alive while each group of ``@main`` runs, and by how much a merge would raise the peak.

A group runs at the place of its first node.  Storage is alive from the first group that writes it to the last
one that uses it.  Arguments of ``@main`` are always alive and do not count.  A merge moves the later group up
to the earlier one: its results are alive longer, and the storage that it uses last is freed sooner.  If the
later group has to wait for a third one, both meet behind that: the earlier group moves down to it, which
keeps its operands alive longer.
"""

from collections.abc import Iterator
from itertools import accumulate

from .graph import GroupGraph


class GroupLiveBytes:
    """``at[node]``: bytes alive while a node runs.  ``peak``: the largest of them."""

    def __init__(self, graph: GroupGraph) -> None:
        self.graph = graph
        self.place = {group: nodes[0] for group, nodes in graph.members.items()}
        #: By node, the storage roots that it uses first, and those that it uses last.
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
            ):  # a token keeps no storage alive, and an empty tensor is not written yet
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
        """Updates the bytes for a merge, before it is made."""
        changes, place = self._changes(a, b), self._meeting(a, b)
        for low, high, extra in changes:
            self.at[low:high] = [bytes_ + extra for bytes_ in self.at[low:high]]
            self.peak = max(self.peak, max(self.at[low:high], default=0))
        self.place[min(a, b)] = place

    def distance(self, a: int, b: int) -> int:
        """The number of nodes between the places of two groups."""
        return abs(self.place[a] - self.place[b])

    def _place_of(self, node: int) -> int:
        return self.place[self.graph.group_of[node]]

    def _meeting(self, a: int, b: int) -> int:
        """The place where the merged group runs: that of the earlier group, or of the last group that the
        later one waits for.
        """
        early, late = sorted((a, b), key=self.place.__getitem__)
        return min(max([self.place[early], *self._waits(late, early)]), self.place[late])

    def _waits(self, group: int, other: int) -> Iterator[int]:
        """The places of the groups that a group waits for, except ``other``.  A view stands for the group
        that makes its source; a ``fuse.empty`` takes no time.
        """
        for before in self.graph.order.before(group):
            kind = self.graph.deps.nodes[before].kind
            if kind == "fuse.view":
                yield from self._waits(before, other)
            elif kind != "fuse.empty" and before != other:
                yield self.place[before]

    def _changes(self, a: int, b: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """What a merge adds to ``at``: (from, to, bytes) for the nodes before and behind the meeting
        place.
        """
        early, late = sorted((a, b), key=self.place.__getitem__)
        start, stop, meeting = self.place[early], self.place[late], self._meeting(a, b)
        held = self._sum(self.ends, early) - self._sum(self.begins, early)
        sooner = self._sum(self.begins, late) - self._sum(self.ends, late)
        return (start, meeting, held), (meeting, stop, sooner)

    def _sum(self, roots: dict[int, list[int]], group: int) -> int:
        nodes = self.graph.members[group]
        return sum(self.graph.bytes_of(root) for node in nodes for root in roots.get(node, ()))
