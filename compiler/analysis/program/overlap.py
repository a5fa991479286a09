"""An order of ``@main`` in which less time passes waiting for collectives, by the model of their time.

*The model.*  Calls run one after the other.  A collective runs beside them, once all that was launched
before it is done and the collectives before it are.  A wait takes until its collective is done; that time
is *exposed*.

*The order* is found by list scheduling: a walk over the program that takes, at each step, the first of these
that there is:

1. the next collective;
2. what the next collective needs (only in the order that is made to look ahead);
3. the first call, in program order, that would not have to wait;
4. the first call that can run at all, after the waits that it needs.

A wait stands right before the first call that has to follow it.  Nothing runs that stands more than ``AHEAD``
nodes behind the first one left, and nothing that would make more bytes alive, at a node in between, than a
limit above the program's own peak allows.  Starts keep their order.

The order depends on static sizes and on the model alone, so all processes that run a program find the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Literal, NamedTuple

from ...base.hardware import Hardware
from ...mlir import ir
from ..cost.estimate import estimates
from .collective_order import Flights
from .dependences import Dependences
from .peak_order import PeakOrder, Peaks

#: How many nodes of the program an order may run before their turn: what a call has written should still be
#: in the cache when the next one reads it.
AHEAD = 256
#: Shares of the memory above the peak with which an order is tried.
_ROOM = (1.0, 0.5, 0.0)


class Span(NamedTuple):
    """A call that runs from ``begin`` to ``end``, in seconds.  A wait is one that holds the calls up."""

    stream: Literal["calls", "collectives", "wait"]
    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """seconds: of the whole.  exposed: seconds of them in which a wait held the other calls up."""

    seconds: float
    exposed: float


@dataclass(frozen=True)
class Overlap:
    """An order of nodes, its time by the model, and its peaks of memory."""

    order: list[int]
    timeline: Timeline
    peaks: Peaks


class OverlapOrder:
    """Orders of the nodes of ``@main`` around its collectives.  ``seconds``: of each node that takes time."""

    def __init__(self, deps: Dependences, hints: Mapping[str, int], seconds: Mapping[int, float]) -> None:
        self.deps, self.seconds = deps, seconds
        self.flights = Flights.of(deps)
        self.memory = PeakOrder(deps, hints, without="wait")
        self.program = self.memory.program

    @cached_property
    def given(self) -> Overlap:
        """The program's own order."""
        return self._judged(self.program)

    def best(self, percent: int) -> Overlap:
        """The fastest order whose peaks are at most so many percent above the program's; the program's own
        where none is faster.
        """
        best = self.given
        limits = [peak + peak * percent // 100 for peak in best.peaks]
        for looks_ahead in (False, True):
            for share in _ROOM:
                room = int((limits[0] - self.given.peaks.kept) * share)
                found = self._judged(_Walk(self, self.given.peaks.kept + room, looks_ahead).order())
                if all(peak <= limit for peak, limit in zip(found.peaks, limits, strict=True)):
                    if found.timeline.seconds < best.timeline.seconds:
                        best = found
                    break
        return best

    def _judged(self, order: list[int]) -> Overlap:
        return Overlap(order, self.timeline(order), self.memory.peaks(order))

    def spans(self, order: list[int]) -> list[Span]:
        """What runs when in an order, by the model: both streams, and the waits that hold the calls up."""
        clock = _Clock(self)
        found: list[Span] = []
        for n in order:
            began = clock.now
            clock.run(n)
            name = self.deps.nodes[n].name
            if n in clock.starts:
                found.append(
                    Span("collectives", name, clock.done[n] - self.seconds.get(n, 0.0), clock.done[n])
                )
            elif clock.now > began:
                found.append(Span("wait" if n in clock.start_of else "calls", name, began, clock.now))
        return found

    def timeline(self, order: list[int]) -> Timeline:
        """The time of an order, by the model."""
        clock = _Clock(self)
        for n in order:
            clock.run(n)
        return Timeline(clock.now, clock.exposed)


class _Clock:
    """The time of both streams, as nodes run."""

    def __init__(self, of: OverlapOrder) -> None:
        self.starts, self.start_of = frozenset(of.flights.starts), of.flights.start_of
        self.seconds = of.seconds
        self.now = self.link = self.exposed = 0.0
        self.done: dict[int, float] = {}  #: when each collective is done, by its start

    def ready(self, wait: int) -> float:
        """When a wait is over."""
        start = self.start_of[wait]
        return self.done.get(start, 0.0) if start is not None else 0.0

    def run(self, n: int) -> None:
        if n in self.starts:
            self.link = self.done[n] = max(self.now, self.link) + self.seconds.get(n, 0.0)
        elif n in self.start_of:
            held_up = max(0.0, self.ready(n) - self.now)
            self.exposed += held_up
            self.now += held_up
        else:
            self.now += self.seconds.get(n, 0.0)


class _Walk:
    """One order, found by list scheduling.  ``limit``: bytes that may be alive."""

    def __init__(self, of: OverlapOrder, limit: int, looks_ahead: bool) -> None:
        uses = of.memory.uses
        self.nodes, self.before, self.limit, self.looks_ahead = uses.nodes, uses.before, limit, looks_ahead
        self.clock = _Clock(of)
        self.rank = {n: i for i, n in enumerate(uses.nodes)}
        self.waits = frozenset(of.flights.start_of)
        self.starts = [n for n in of.flights.starts if n in self.rank]
        self.calls = [n for n in uses.nodes if n not in self.waits]
        self.place = {n: i for i, n in enumerate(self.calls)}
        self.first = 0  #: the first of ``calls`` that is left
        self.needed: tuple[int, list[int]] | None = None  #: a start, and what had to come before it
        self.done: set[int] = set()
        self.found: list[int] = []
        # memory: storage that the program takes itself
        self.bytes = {root: size for root, size in uses.bytes.items() if root not in uses.arguments}
        self.touched = {n: [r for r in uses.touched[n] if r in self.bytes] for n in uses.nodes}
        self.left = {root: len(uses.users[root]) for root in self.bytes}
        self.alive: set[int] = set()
        self.held = 0
        self.at = of.memory.live_bytes(of.program).at

    def order(self) -> list[int]:
        coming = iter(self.starts)
        start = next(coming, None)
        while self.first < len(self.calls):
            if start is not None and start in self.done:
                start = next(coming, None)
                continue
            n = self._next(start)
            for wait in self._waits_before(n) or []:
                self._run(wait)
            self._run(n)
        for n in self.nodes:
            if n not in self.done:
                self._run(n)
        return self.found

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
        return sorted(n for n in found if n not in self.waits)

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
        return sorted(found)

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
        above = max(0, self.held - (self.at[here - 1] if here else 0))
        new = sum(self.bytes[r] for r in self.touched[n] if r not in self.alive)
        return max(self.at[here:there]) + above + new <= self.limit

    def _run(self, n: int) -> None:
        self.found.append(n)
        self.done.add(n)
        self.clock.run(n)
        for root in self.touched[n]:
            if root not in self.alive:
                self.alive.add(root)
                self.held += self.bytes[root]
            self.left[root] -= 1
            if not self.left[root]:
                self.held -= self.bytes[root]
        while self.first < len(self.calls) and self.calls[self.first] in self.done:
            self.first += 1


def overlap_order(module: ir.Module, deps: Dependences, hardware: Hardware) -> OverlapOrder:
    """The orders of a module whose sizes are static.  What launches, costs the launch besides its work."""
    counted = estimates(module)
    seconds: dict[int, float] = {}
    for node in deps.nodes:
        estimate = counted.get(node.op)
        if estimate is not None and not node.waits:
            fixed = 0.0 if node.starts else hardware.launch * 1e-6
            seconds[node.index] = estimate.seconds(hardware) + fixed
    return OverlapOrder(deps, {}, seconds)


def overlap_text(module: ir.Module, hardware: Hardware) -> str:
    """A line that says how long ``@main`` takes with its collectives beside the other calls, and how much
    of it is waiting; nothing where it has none.
    """
    deps = Dependences.of(module)
    if not any(node.starts for node in deps.nodes):
        return ""
    given = overlap_order(module, deps, hardware).given.timeline
    return (
        f"with collectives beside the calls: {given.seconds * 1e6:.3f} us, of them "
        f"{given.exposed * 1e6:.3f} us exposed\n"
    )
