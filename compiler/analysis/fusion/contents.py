"""What a group of kernels makes, reads and computes.  Merging two groups merges this, without a look at the
members.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

#: Values with the nodes that use each, -1 among them where the storage must be written.
Users = Mapping[int, frozenset[int]]


class Contents(NamedTuple):
    """Values are numbers of ``Dependences``.

    made, read: values that members make, and those that they read.
    used:       values that members take, whatever for.
    loads:      value and coordinates of each different load of what the group does not make; each load at
                loaded indices, which no coordinate tells, counts for itself.
    kept:       values that others use too, or whose storage must be written.
    devices:    where the members run, "" for the module's device.
    ops:        scalar operations at one point.
    """

    made: frozenset[int]
    read: frozenset[int]
    used: frozenset[int]
    loads: frozenset[tuple[int, Hashable]]
    kept: Users
    devices: frozenset[str]
    ops: int

    @staticmethod
    def of(parts: Sequence["Contents"], group_of: Sequence[int], group: int) -> "Contents":
        """Of several that make up one group."""
        made = frozenset().union(*[part.made for part in parts])
        loads = frozenset().union(*[part.loads for part in parts])
        used = frozenset().union(*[part.used for part in parts])
        kept = {value: users for part in parts for value, users in part.kept.items()}
        for value in [v for v in kept if v in used and all_in(kept[v], group_of, group, group)]:
            del kept[value]
        return Contents(
            made,
            frozenset().union(*[part.read for part in parts]),
            used,
            loads.difference([each for each in loads if each[0] in made]),
            kept,
            frozenset().union(*[part.devices for part in parts]),
            sum([part.ops for part in parts]),
        )

    def meets(self, other: "Contents") -> bool:
        """Whether one takes a value that the other takes or makes: else nothing is saved by merging both."""
        used = self.used
        return not (
            used.isdisjoint(other.used) and used.isdisjoint(other.made) and self.made.isdisjoint(other.used)
        )


def all_in(nodes: frozenset[int], group_of: Sequence[int], a: int, b: int) -> bool:
    """Whether all nodes belong to one of two groups; -1 belongs to none."""
    return -1 not in nodes and {group_of[node] for node in nodes} <= {a, b}
