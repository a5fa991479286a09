"""When calls and collectives run, by a model of two streams.

Calls run one after the other.  A collective runs beside them, once all that was launched before it is done
and the collectives before it are.  A wait takes until its collective is done; that time is *exposed*.  The
host is taken to be ahead of both streams.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

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
    """The time of both streams, as nodes run.  ``seconds``: of each node that takes time."""

    def __init__(self, flights: Flights, seconds: Mapping[int, float]) -> None:
        self.starts, self.start_of, self.seconds = frozenset(flights.starts), flights.start_of, seconds
        self.now = self.link = self.exposed = 0.0
        self.done: dict[int, float] = {}  #: when each collective is done, by its start

    def ready(self, wait: int) -> float:
        """When a wait is over."""
        start = self.start_of[wait]
        return self.done.get(start, 0.0) if start is not None else 0.0

    def run(self, n: int) -> None:
        """Runs a node."""
        if n in self.starts:
            self.link = self.done[n] = max(self.now, self.link) + self.seconds.get(n, 0.0)
        elif n in self.start_of:
            held_up = max(0.0, self.ready(n) - self.now)
            self.exposed += held_up
            self.now += held_up
        else:
            self.now += self.seconds.get(n, 0.0)

    def timeline(self, order: Iterable[int]) -> Timeline:
        """Runs all nodes of an order."""
        for n in order:
            self.run(n)
        return Timeline(self.now, self.exposed)

    def spans(self, order: Iterable[int], names: Mapping[int, str]) -> list[Span]:
        """Runs all nodes of an order: what runs when, and the waits that hold the calls up."""
        found: list[Span] = []
        for n in order:
            began = self.now
            self.run(n)
            if n in self.starts:
                begin = self.done[n] - self.seconds.get(n, 0.0)
                found.append(Span("collectives", names[n], begin, self.done[n]))
            elif self.now > began:
                stream: Literal["wait", "calls"] = "wait" if n in self.start_of else "calls"
                found.append(Span(stream, names[n], began, self.now))
        return found
