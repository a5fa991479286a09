"""What a group of kernels makes, reads and computes.  Merging two groups merges this, without a look at the
members.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .index import Expr

#: Values with the nodes that use each, -1 among them where the storage must be written.
Users = Sequence[tuple[int, frozenset[int]]]


@dataclass(frozen=True)
class Contents:
    """Values are numbers of ``Dependences``.

    made, read: values that members make, and those that they read.
    loads:      value and coordinates of each different load.
    kept:       values that others use too, or whose storage must be written.
    devices:    where the members run, "" for the module's device.
    ops:        scalar operations at one point.
    """

    made: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()
    loads: frozenset[tuple[int, tuple[Expr, ...]]] = frozenset()
    kept: Users = ()
    devices: frozenset[str] = frozenset()
    ops: int = 0

    @staticmethod
    def of(parts: Sequence["Contents"], group_of: Sequence[int], groups: tuple[int, int]) -> "Contents":
        """Of several, all in the groups ``groups``."""
        return Contents(
            frozenset().union(*[part.made for part in parts]),
            frozenset().union(*[part.read for part in parts]),
            frozenset().union(*[part.loads for part in parts]),
            used_outside([each for part in parts for each in part.kept], group_of, groups),
            frozenset().union(*[part.devices for part in parts]),
            sum([part.ops for part in parts]),
        )


def used_outside(kept: Users, group_of: Sequence[int], groups: tuple[int, int]) -> Users:
    """Those of ``kept`` that other groups than two use, or whose storage must be written."""
    return [each for each in kept if not all_in(each[1], group_of, groups)]


def all_in(nodes: Iterable[int], group_of: Sequence[int], groups: tuple[int, int]) -> bool:
    """Whether all nodes belong to one of two groups; -1 belongs to none."""
    return all(node >= 0 and group_of[node] in groups for node in nodes)
