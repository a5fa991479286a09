"""What a group of kernels writes, reads and computes.  The contents of two merged groups follow from those of
the groups; their members need not be read again.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

#: For each value the nodes that use it.  -1 is among them where the storage must be written in any case.
Users = Mapping[int, frozenset[int]]


class Contents(NamedTuple):
    """Of one group.  Values are numbers of ``Dependences``.

    made, read: values that members compute, and values that they load from.
    used:       all operands of members, also those that are not loaded from.
    loads:      (value, coordinates) of each different load of a value that the group does not make.  Loads at
                loaded indices all count, as their coordinates do not tell whether they are the same.
    kept:       values that nodes outside the group use, or whose storage must be written.
    devices:    where the members run, "" for the module's device.
    ops:        scalar operations for one point.
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
        """The contents of ``group``, which is made up of several parts."""
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
        """Whether one group uses a value that the other uses or makes.  If not, merging them saves
        nothing.
        """
        used = self.used
        return not (
            used.isdisjoint(other.used) and used.isdisjoint(other.made) and self.made.isdisjoint(other.used)
        )


def all_in(nodes: frozenset[int], group_of: Sequence[int], a: int, b: int) -> bool:
    """Whether all nodes belong to group ``a`` or ``b``; node -1 belongs to no group."""
    return -1 not in nodes and {group_of[node] for node in nodes} <= {a, b}
