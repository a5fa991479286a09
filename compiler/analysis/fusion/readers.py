"""The reads of what a kernel of a group makes: at which of its points each reads, and which read at the same.

A guard may say that two points are one: where ``d0 mod 2`` is 0, ``(d0 floordiv 2)*2`` is ``d0``.  So what
updates every second row of a tensor reads the row that it updates, and the tensor's maker is computed once.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...index import Expr, Facts, Solution, const, sym
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


def visited(summary: Summary, extents: Mapping[str, Expr], mappings: Collection[tuple], facts: Facts) -> bool:
    """Whether reads visit every point at which a member asserts something else: one of them, or several that
    read every second, third, .. point each.

    ``mappings``: the member's point that each reads, as items over a cluster of ``extents``, and the guard of
    the read.  Where a piece of a concatenation is read, each dim along which the member asserts is another
    dim of the cluster, less where the piece begins.  Elsewhere in the cluster the guard of the read is false,
    and nothing is asserted.
    """
    sizes = {d: e for d, e in summary.dims.items() if e.constant != 1 and d in summary.asserted}
    places = [dict(pairs) for pairs, _ in mappings]
    if any(_covers(place, sizes, extents, facts) for place in places):
        return True
    return all(guard is None for _, guard in mappings) and _covers_in_turn(places, sizes, extents, facts)


def _covers(
    mapping: Mapping[str, Expr], sizes: Mapping[str, Expr], extents: Mapping[str, Expr], facts: Facts
) -> bool:
    """Whether one read visits all points of dims of these ``sizes``."""
    named = (mapping[d].symbols() & extents.keys() for d in sizes if d in mapping)
    names = [next(iter(found)) for found in named if found]
    if len(set(names)) < len(sizes) or not _has_points(extents, names, facts):
        return False
    starts = [sym(n) - mapping[d] for d, n in zip(sizes, names, strict=True)]
    return all(
        not start.symbols() & extents.keys()
        and facts.nonnegative(start)
        and facts.nonnegative(extents[n] - size - start)
        for n, size, start in zip(names, sizes.values(), starts, strict=True)
    )


def _covers_in_turn(
    places: Sequence[Mapping[str, Expr]], sizes: Mapping[str, Expr], extents: Mapping[str, Expr], facts: Facts
) -> bool:
    """Whether each of k reads visits every k-th point of a dim, from the first, the second, .. on, and all of
    the other dims of these ``sizes``: ``n*2`` and ``n*2 + 1``, or ``n, 0`` and ``n, 1``, of the rows of each
    token that a sum of two joins.
    """
    step, first = const(len(places)), places[0]
    if any(d not in place for place in places for d in sizes):
        return False
    for dim, size in sizes.items():
        others = {d: e for d, e in sizes.items() if d != dim}
        taken = {n for d in others for n in first[d].symbols()}
        names = {n for place in places for n in place[dim].symbols() & extents.keys()}
        if len(names) > 1 or names & taken or any(p[d] != first[d] for p in places for d in others):
            continue
        base, blocks = next(((sym(n), extents[n]) for n in names), (const(0), const(1)))
        starts = {(place[dim] - base * step).constant for place in places}
        if starts == {*range(len(places))} and (blocks * step - size).constant == 0:
            left = {n: e for n, e in extents.items() if n not in names}
            return _covers(first, others, left, facts)
    return False


def _has_points(extents: Mapping[str, Expr], names: Collection[str], facts: Facts) -> bool:
    """Whether the dims of a cluster without these have at least a point."""
    return all(facts.nonnegative(extents[n] - const(1)) for n in extents if n not in names)
