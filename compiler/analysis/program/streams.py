"""When calls and collectives run, by a model of two streams.

Calls run one after the other.  A collective runs beside them, once all that was launched before it is done
and the collectives before it are.  It takes ``BESIDE`` times as long while calls run.  A wait takes until its
collective is done; that time is *exposed*.  The host is taken to be ahead of both streams.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from ...base.dataclass import dataclass
from ...cost.transfers import BESIDE
from .collective_order import Flights


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


class Clock:
    """The time of both streams, as nodes run.  ``seconds``: of each node that takes time, of a collective
    those with nothing beside it.
    """

    def __init__(self, flights: Flights, seconds: Mapping[int, float]) -> None:
        self.starts, self.start_of, self.seconds = frozenset(flights.starts), flights.start_of, seconds
        self.now = self.exposed = 0.0
        self._done: dict[int, float] = {}  # when each collective would be done, by its start, without waiting
        self._last = 0.0  # of these times the last
        self._sooner = 0.0  # how much sooner collectives are done, as nothing ran beside them

    def done(self, start: int) -> float:
        """The second at which a collective that has started is done, if calls run until then."""
        return self._done[start] - self._sooner

    def ready(self, wait: int) -> float:
        """The second at which a wait is over, if calls run until then."""
        start = self.start_of[wait]
        return self.done(start) if start in self._done else 0.0

    def run(self, n: int) -> None:
        """Runs a node."""
        seconds = self.seconds.get(n, 0.0)
        if n in self.starts:
            self._last = self._done[n] = max(self.now + self._sooner, self._last) + BESIDE * seconds
        elif n in self.start_of:
            left = max(0.0, self.ready(n) - self.now)
            held_up = left / BESIDE
            self._sooner += left - held_up
            self.exposed += held_up
            self.now += held_up
        else:
            self.now += seconds

    def timeline(self, order: Iterable[int]) -> Timeline:
        """Runs all nodes of an order."""
        for n in order:
            self.run(n)
        return Timeline(self.now, self.exposed)

    def spans(self, order: Iterable[int], names: Mapping[int, str]) -> list[Span]:
        """Runs all nodes of an order: what runs when, and the waits that hold the calls up."""
        found: list[Span] = []
        flying: dict[int, float] = {}  # when each collective started
        free = 0.0  # when the collective before is done
        for n in order:
            began, would = self.now, {start: self.done(start) for start in flying}
            self.run(n)
            if n in self.starts:
                flying[n] = began
            elif self.now > began:
                stream: Literal["wait", "calls"] = "wait" if n in self.start_of else "calls"
                found.append(Span(stream, names[n], began, self.now))
            for start in [s for s in flying if self.done(s) <= self.now and s in would]:
                left = would[start] - began
                end = began + (left / BESIDE if n in self.start_of else left)
                found.append(Span("collectives", names[start], max(flying.pop(start), free), end))
                free = end
        for start, begin in flying.items():
            found.append(Span("collectives", names[start], max(begin, free), self.done(start)))
            free = self.done(start)
        return found
