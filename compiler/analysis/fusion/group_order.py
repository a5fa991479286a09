"""A topological order of groups of nodes, kept up to date while groups merge.

``position[group]`` is smaller than that of every group that must follow.  A path between two groups is
searched only among the groups that lie between them in the order, so a question about close groups is cheap
in a graph of any size.  A merge moves the groups between the two that depend on either.  This is Pearce and
Kelly's rule for a new edge ("A dynamic topological sort algorithm for directed acyclic graphs", 2006),
applied to two nodes that become one.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from ...base.dataclass import dataclass


@dataclass
class GroupOrder:
    """The order.  ``following`` and ``preceding`` are by node.  ``group_of`` and ``members`` belong to the
    caller, who updates them after each ``merge``.
    """

    following: Sequence[Sequence[int]]
    preceding: Sequence[Sequence[int]]
    group_of: Sequence[int]
    members: Mapping[int, tuple[int, ...]]
    position: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Orders the groups.  Of several that may come next, the one with the first node comes first."""
        waiting = {g: len(set(self.before(g))) for g in self.members}
        ready = [g for g, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        while ready:
            group = heapq.heappop(ready)
            self.position[group] = len(self.position)
            for follower in set(self.after(group)):
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    heapq.heappush(ready, follower)
        for group in sorted(self.members.keys() - self.position.keys()):  # groups on a cycle of dependences
            self.position[group] = len(self.position)

    def after(self, group: int) -> Iterator[int]:
        """The direct successors of a group, some several times."""
        for node in self.members[group]:
            for follower in self.following[node]:
                if self.group_of[follower] != group:
                    yield self.group_of[follower]

    def before(self, group: int) -> Iterator[int]:
        """The direct predecessors of a group, some several times."""
        for node in self.members[group]:
            for earlier in self.preceding[node]:
                if self.group_of[earlier] != group:
                    yield self.group_of[earlier]

    def reaches(self, a: int, b: int) -> bool:
        """Whether ``a`` must run before ``b``."""
        last = self.position[b]
        if self.position[a] >= last:
            return False
        seen, waiting = {a}, [a]
        while waiting:
            for group in self.after(waiting.pop()):
                if group == b:
                    return True
                if group not in seen and self.position[group] < last:
                    seen.add(group)
                    waiting.append(group)
        return False

    def between(self, a: int, b: int) -> int | None:
        """A third group that must run after one of the two and before the other, or None."""
        first, last = sorted((a, b), key=self.position.__getitem__)
        seen, waiting = {first}, [first]
        while waiting:
            passed = waiting.pop()
            for group in self.after(passed):
                if group == last:
                    if passed != first:
                        return passed
                elif group not in seen and self.position[group] < self.position[last]:
                    seen.add(group)
                    waiting.append(group)
        return None

    def merge(self, a: int, b: int) -> None:
        """Updates the order for a merge of two groups with none between them; ``min(a, b)`` names the
        result.
        """
        first, last = sorted((a, b), key=self.position.__getitem__)
        low, high = self.position[first], self.position[last]
        later = self._within(first, low, high, self.after) - {last}
        earlier = self._within(last, low, high, self.before) - {first}
        moved = [*sorted(earlier, key=self.position.__getitem__), min(a, b)]
        moved += sorted(later, key=self.position.__getitem__)
        places = sorted([low, high, *(self.position[g] for g in (*later, *earlier))])
        del self.position[max(a, b)]
        for group, place in zip(moved, places, strict=False):  # there is one place more than groups
            self.position[group] = place

    def _within(self, start: int, low: int, high: int, step: Callable[[int], Iterator[int]]) -> set[int]:
        """The groups that ``step`` reaches from ``start`` through groups with positions in between."""
        found: set[int] = set()
        waiting = [start]
        while waiting:
            for group in step(waiting.pop()):
                if group not in found and low < self.position[group] < high:
                    found.add(group)
                    waiting.append(group)
        return found
