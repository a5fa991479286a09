"""An order of ``@main`` in which less time passes waiting for collectives, by the model of their time in
``streams.py``.

The order is found by list scheduling (``overlap_walk.py``), within a limit on memory above the program's own
peaks.  It depends on static sizes and on the model alone, so all processes that run a program find the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ...base.dataclass import dataclass
from ...cost.clock import seconds
from ...cost.hardware import Hardware
from ...mlir import ir
from ..cost.estimate import estimates
from .collective_order import Flights
from .dependences import Dependences
from .overlap_walk import OverlapWalk
from .peak_order import PeakOrder, Peaks, StorageUses
from .streams import Clock, Span, Timeline

#: Shares of the memory above the peaks with which an order is tried.
_ROOM = (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Overlap:
    """An order of nodes, its time by the model, and its peaks of memory."""

    order: list[int]
    timeline: Timeline
    peaks: Peaks


class OverlapOrder:
    """Orders of nodes around collectives.  ``seconds``: of each node that takes time."""

    def __init__(self, uses: StorageUses, flights: Flights, seconds: Mapping[int, float]) -> None:
        self.flights, self.seconds = flights, seconds
        self.memory = PeakOrder(uses)

    @cached_property
    def given(self) -> Overlap:
        """The program's own order."""
        return self._judged(self.memory.program)

    def limits(self, percent: int) -> Peaks:
        """Peaks that are so many percent above the program's."""
        return Peaks(*(peak + peak * percent // 100 for peak in self.given.peaks))

    def best(self, limits: Peaks) -> Overlap:
        """The fastest order whose peaks are within limits; the program's own where none is faster."""
        best = self.given
        for looks_ahead in (False, True):
            for share in _ROOM:
                room = Peaks(
                    *(
                        peak + int(max(0, limit - peak) * share)
                        for peak, limit in zip(self.given.peaks, limits, strict=True)
                    )
                )
                walk = OverlapWalk(self.memory, self.flights, self.seconds, room, looks_ahead)
                found = self._judged(walk.order())
                if all(peak <= limit for peak, limit in zip(found.peaks, limits, strict=True)):
                    if found.timeline.seconds < best.timeline.seconds:
                        best = found
                    break
        return best

    def _judged(self, order: list[int]) -> Overlap:
        return Overlap(order, Clock(self.flights, self.seconds).timeline(order), self.memory.peaks(order))

    def spans(self, order: Sequence[int], names: Mapping[int, str]) -> list[Span]:
        """What runs when in an order, by the model."""
        return Clock(self.flights, self.seconds).spans(order, names)


def seconds_of(module: ir.Module, deps: Dependences, hardware: Hardware) -> dict[int, float]:
    """The time of each node of a module whose sizes are static: on the link of a collective, none of a wait.
    What launches, costs the launch besides its work.
    """
    counted = estimates(module)
    times: dict[int, float] = {}
    for node in deps.nodes:
        estimate = counted.get(node.op)
        if estimate is not None and not node.waits:
            work = replace(estimate, launches=0 if node.starts else 1)
            times[node.index] = seconds(work, hardware, hardware.rates.streaming.peak)
    return times


def overlap_order(module: ir.Module, deps: Dependences, hardware: Hardware) -> OverlapOrder:
    """The orders of a module whose sizes are static, in which collectives start in the program's order."""
    uses = StorageUses.of(deps, {}, without="wait")
    return OverlapOrder(uses, Flights.of(deps), seconds_of(module, deps, hardware))


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
