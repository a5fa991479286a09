"""List scheduling of calls around collectives.

A walk over the program takes, at each step, the first of these that there is:

1. the next collective;
2. what the next collective needs (only in the order that is made to look ahead);
3. the first call, in program order, that would not have to wait;
4. the first call that can run at all, after the waits that it needs.

A wait stands right before the first call that has to follow it.  But where it gives memory back, as that for
a reduce-scatter does, it stands where its collective has been done for as long as it took, or where a call
needs the memory.  So the walk neither holds that memory to the end, nor waits where the model of time is
optimistic.

Nothing runs that stands more than ``AHEAD`` nodes behind the first one left, and nothing that would make more
bytes alive, at a node in between, than a limit.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile

from .collective_order import Flights
from .peak_order import PeakOrder, Peaks
from .streams import Clock

#: How many nodes of the program an order may run before their turn: what a call has written should still be
#: in the cache when the next one reads it.
AHEAD = 256


class _Held:
    """Bytes that are alive as nodes run; arguments count where ``arguments`` says so, until their last use.
    ``limit``: bytes that may be alive.
    """

    def __init__(self, memory: PeakOrder, limit: int, *, arguments: bool) -> None:
        uses = memory.uses
        counted = {root for root, users in uses.users.items() if users}
        given = counted & uses.arguments
        counted = counted if arguments else counted - given
        self.limit = limit
        self.bytes = {root: uses.bytes[root] for root in counted}
        self.touched = {n: [r for r in uses.touched[n] if r in counted] for n in uses.nodes}
        self.left = {root: len(uses.users[root]) for root in counted}
        self.alive = given if arguments else set[int]()
        self.held = sum(self.bytes[root] for root in self.alive)
        #: Bytes alive while each node of the program's own order runs.
        self.at = memory.alive[arguments]

    def fits(self, n: int, here: int, there: int) -> bool:
        """Whether a node may run now: its place is ``there``, that of the first one left is ``here``."""
        above = max(0, self.held - (self.at[here - 1] if here else 0))
        return max(self.at[here:there]) + above + self._new(n) <= self.limit

    def has_room(self, n: int) -> bool:
        """Whether no more bytes are alive while a node runs now than the limit."""
        return self.held + self._new(n) <= self.limit

    def _new(self, n: int) -> int:
        return sum(self.bytes[r] for r in self.touched[n] if r not in self.alive)

    def run(self, n: int) -> None:
        """Runs a node."""
        for root in self.touched[n]:
            if root not in self.alive:
                self.alive.add(root)
                self.held += self.bytes[root]
            self.left[root] -= 1
            if not self.left[root]:
                self.held -= self.bytes[root]

    def gives_back(self, nodes: list[int]) -> bool:
        """Whether nothing uses some storage any more once these nodes have run."""
        uses: dict[int, int] = {}
        for n in nodes:
            for root in self.touched[n]:
                uses[root] = uses.get(root, 0) + 1
        return any(self.left[root] == count for root, count in uses.items())


class OverlapWalk:
    """One order.  ``limits``: bytes that may be alive, in both accounts of ``Peaks``."""

    def __init__(
        self,
        memory: PeakOrder,
        flights: Flights,
        seconds: Mapping[int, float],
        limits: Peaks,
        looks_ahead: bool,
    ) -> None:
        uses = memory.uses
        self.nodes, self.before, self.looks_ahead = uses.nodes, uses.before, looks_ahead
        self.clock = Clock(flights, seconds)
        self.rank = {n: i for i, n in enumerate(uses.nodes)}
        self.waits = frozenset(flights.start_of)
        self.starts = [n for n in flights.starts if n in self.rank]
        self.calls = [n for n in uses.nodes if n not in self.waits]
        self.place = {n: i for i, n in enumerate(self.calls)}
        self.first = 0  #: the first of ``calls`` that is left
        self.needed: tuple[int, list[int]] | None = None  #: a start, and what had to come before it
        self.done: set[int] = set()
        self.found: list[int] = []
        self.kept = _Held(memory, limits.kept, arguments=False)
        self.given = _Held(memory, limits.given, arguments=True)
        #: The waits for each collective; those that are started and not waited for.
        self.waits_for: dict[int, list[int]] = {}
        for wait, start in flights.start_of.items():
            if start is not None:
                self.waits_for.setdefault(start, []).append(wait)
        self.flying: list[int] = []

    def order(self) -> list[int]:
        """All nodes, each once."""
        coming = iter(self.starts)
        start = next(coming, None)
        while self.first < len(self.calls):
            if start is not None and start in self.done:
                start = next(coming, None)
                continue
            self._land()
            n = self._next(start)
            for wait in self._waits_before(n) or []:
                self._run(wait)
            self._make_room(n)
            self._run(n)
        for n in self.nodes:
            if n not in self.done:
                self._run(n)
        return self.found

    def _land(self) -> None:
        """Runs the waits that give memory back and whose collectives have been done for long enough."""
        for start in list(self.flying):
            if self.clock.done(start) + self.clock.seconds.get(start, 0.0) > self.clock.now:
                break  # collectives are done in the order of their starts
            self._wait_for(start)

    def _make_room(self, n: int) -> None:
        """Runs waits that give memory back, while a node would make more bytes alive than the limits."""
        for start in list(self.flying):
            if self.kept.has_room(n) and self.given.has_room(n):
                break
            self._wait_for(start)

    def _wait_for(self, start: int) -> None:
        """Runs the waits for a collective, if that gives memory back."""
        waits = [w for w in self.waits_for.get(start, ()) if w not in self.done]
        if waits and all(self._waits_before(w) == [] for w in waits) and self.kept.gives_back(waits):
            for wait in waits:
                self._run(wait)
            waits = []
        if not waits:
            self.flying.remove(start)

    def _next(self, start: int | None) -> int:
        """The node that runs now."""
        for n in self._preferred(start):
            if self._runs_at_once(n):
                return n
        near = [n for n in self._near() if self._waits_before(n) is not None]
        return next((n for n in near if self._fits(n)), near[0])

    def _preferred(self, start: int | None) -> Iterator[int]:
        if start is not None:
            yield start
            if self.looks_ahead:
                yield from self._needed_first(start)
        yield from self._near()

    def _near(self) -> Iterator[int]:
        """The calls that are left, as far as the walk looks."""
        return (n for n in self.calls[self.first : self.first + AHEAD] if n not in self.done)

    def _needed_first(self, start: int) -> Iterator[int]:
        """What is left of the calls that have to come before a start, as far as the walk looks."""
        if self.needed is None or self.needed[0] != start:
            self.needed = start, self._needed_for(start)
        end = self.first + AHEAD
        return (n for n in takewhile(lambda n: self.place[n] < end, self.needed[1]) if n not in self.done)

    def _needed_for(self, start: int) -> list[int]:
        """What is left of the calls that have to come before a start, in program order."""
        found: set[int] = set()
        stack = [start]
        while stack:
            for n in self.before[stack.pop()]:
                if n not in self.done and n not in found:
                    found.add(n)
                    stack.append(n)
        return sorted((n for n in found if n not in self.waits), key=self.rank.__getitem__)

    def _waits_before(self, n: int) -> list[int] | None:
        """The waits that have to run right before a node, in order; None where something else has to run
        first.
        """
        found: set[int] = set()
        stack = [n]
        while stack:
            for b in self.before[stack.pop()]:
                if b in self.done or b in found:
                    continue
                if b not in self.waits:
                    return None
                found.add(b)
                stack.append(b)
        return sorted(found, key=self.rank.__getitem__)

    def _runs_at_once(self, n: int) -> bool:
        waits = self._waits_before(n)
        if waits is None or any(self.clock.ready(w) > self.clock.now for w in waits):
            return False
        return self._fits(n)

    def _fits(self, n: int) -> bool:
        """Whether a node may run now, before those that are left in front of it."""
        place = self.place[n]
        if place == self.first:
            return True
        if place - self.first >= AHEAD:
            return False
        here, there = self.rank[self.calls[self.first]], self.rank[n]
        return self.kept.fits(n, here, there) and self.given.fits(n, here, there)

    def _run(self, n: int) -> None:
        self.found.append(n)
        self.done.add(n)
        self.clock.run(n)
        self.kept.run(n)
        self.given.run(n)
        if n in self.clock.starts:
            self.flying.append(n)
        while self.first < len(self.calls) and self.calls[self.first] in self.done:
            self.first += 1
