"""The reads of what a kernel of a group makes: at which of its points each reads, and which read at the same.

A guard may say that two points are one: where ``d0 mod 2`` is 0, ``(d0 floordiv 2)*2`` is ``d0``.  So what
updates every second row of a tensor reads the row that it updates, and the tensor's maker is computed once.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...index import Expr, Facts, Solution
from ...index.facts import is_indirect
from ..kernel.accesses import Summary, Write
from .plan import items, placed, within
from .space import solved

_Items = tuple[tuple[str, Expr], ...]  #: a dictionary as a hashable key


class ReadPoint(NamedTuple):
    """Where a read is: its coordinates over a cluster, whether loaded indices occur in them, and the point of
    the member that stores there; None if that is not known.
    """

    coords: tuple[Expr, ...]
    looks_up: bool
    solution: Solution | None

    @property
    def mapping(self) -> _Items:
        """The dims of the member; none if they are not known."""
        return () if self.solution is None else items(self.solution.mapping)


class Reader(NamedTuple):
    """A read of a member's result: which instance reads it, and of what store.  ``at``: where it reads.
    ``zeros``: expressions over the cluster that are 0 wherever the value is needed.
    """

    instance: int
    position: int
    write: Write
    guarded: bool
    at: ReadPoint
    zeros: tuple[Expr, ...]


@lru_cache(maxsize=1 << 14)
def point_read(
    coords: tuple[Expr, ...], dims: _Items, stored: tuple[Summary, int], extents: _Items, facts: Facts
) -> ReadPoint:
    """The point that a kernel with these ``dims`` reads at ``coords``.  stored: which kernel stores there, as
    which of its results.
    """
    summary, result = stored
    [write] = [w for w in summary.writes if w.result == result]
    at = placed(coords, dims, within(facts, extents))
    looks_up = any(is_indirect(s) for c in at for s in c.symbols())
    return ReadPoint(at, looks_up, solved(write.coords, at, summary.extents, extents, facts))


def meeting(readers: Sequence[Reader], summary: Summary, extents: _Items, facts: Facts) -> Sequence[Reader]:
    """The readers of a member.  Those that read at one point all move to another where their guards say that
    it is the same, if others read there, too.

    So no read moves alone: a point less is read.  Where another reader of the point does not move, it is
    computed anyway.
    """
    if not any(reader.zeros for reader in readers):
        return readers
    moved = [_moved(reader, summary, extents, facts) for reader in readers]
    goals: dict[_Items, set[_Items]] = {}
    for reader, point in zip(readers, moved, strict=True):
        goals.setdefault(reader.at.mapping, set()).add(point.mapping if point else ())
    goal = {here: there for here, [there, *others] in goals.items() if there and not others}
    times = Counter(goal.values())
    meet = {here for here, there in goal.items() if there in goals.keys() - goal.keys() or times[there] > 1}
    return [
        reader._replace(at=point) if point and reader.at.mapping in meet else reader
        for reader, point in zip(readers, moved, strict=True)
    ]


def _moved(reader: Reader, summary: Summary, extents: _Items, facts: Facts) -> ReadPoint | None:
    """The point of a read, written with what is 0 there; None unless it is one of the member's everywhere, so
    that no guard has to say where.
    """
    if not reader.zeros or reader.at.looks_up:
        return None
    coords = placed(reader.at.coords, (), within(facts, extents).where(reader.zeros))
    point = point_read(coords, (), (summary, reader.write.result), extents, facts)
    return point if point.solution is not None and point.solution.inside else None
