"""Times of launches on the GPU, and which of several launches is the fastest.

Every sample reads a clean buffer larger than the L2 cache, then times one launch by events. The host has
issued both events and the launch long before the device gets there.  The launches take turns, forwards and
backwards, so that drift affects all alike. A launch other than the first wins only if it is faster beyond the
spread of both, in two measurements: among all, where choosing the best favours luck, and again against the
first alone.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import field

import torch

from ...base.dataclass import dataclass
from ...base.errors import MeasurementRefused

FLUSH_BYTES = 256 << 20
#: Number of rounds over all forms, over the best of them, and over the last two.
_FIRST, _SECOND, _DUEL = 5, 15, 30
_BEST = 4
#: A winner's median is faster by this fraction, and by this many microseconds, the resolution of two events.
MARGIN, RESOLUTION = 0.03, 0.5
#: Measures one launch, in microseconds.
Sample = Callable[[Callable[[], None]], float]


def fastest(launches: Sequence[Callable[[], None]], sample: Sample, deadline: float) -> int | None:
    """The number of the launch that wins by the rule above; None where ``deadline`` (``time.monotonic``)
    passes first.  Everything that is measured comes here.

    Raises MeasurementRefused where torch's flag asks for deterministic algorithms: times differ between runs.
    """
    if torch.are_deterministic_algorithms_enabled():
        what, remedy = f"{len(launches)} forms of a kernel", "leave one form, or turn autotune off"
        raise MeasurementRefused(what=what, remedy=remedy)
    times: list[list[float]] = [[] for _ in launches]

    def rounds(numbers: Sequence[int], count: int) -> bool:
        for turn in range(count):
            for number in numbers if turn % 2 == 0 else reversed(numbers):
                if time.monotonic() >= deadline:
                    return False
                times[number].append(sample(launches[number]))
        return True

    if not rounds(range(len(launches)), _FIRST):
        return None
    best = sorted(range(len(launches)), key=lambda n: statistics.median(times[n]))[:_BEST]
    if best[0] == 0 or not rounds(sorted({0, *best}), _SECOND):
        return 0 if best[0] == 0 else None
    winner = min(best, key=lambda n: statistics.median(times[n]))
    if winner == 0 or not _faster(times[winner], times[0]):
        return 0
    times[0], times[winner] = [], []
    if not rounds((0, winner), _DUEL):
        return None
    return winner if _faster(times[winner], times[0]) else 0


def _faster(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the medians differ by the margin and the interquartile ranges of the samples do not overlap."""
    gain = statistics.median(second) - statistics.median(first)
    apart = statistics.quantiles(first, n=4)[2] < statistics.quantiles(second, n=4)[0]
    return apart and gain > max(MARGIN * statistics.median(second), RESOLUTION)


@dataclass
class ColdSamples:
    """Times single launches on CUDA device number ``device``, in microseconds."""

    device: int
    _flush: list[torch.Tensor] = field(default_factory=list)

    @property
    def place(self) -> torch.device:
        """The device as torch names it."""
        return torch.device("cuda", self.device)

    def __call__(self, launch: Callable[[], None]) -> float:
        """The time of one launch after the L2 cache was flushed."""
        if not self._flush:
            place = self.place
            self._flush = [torch.ones(FLUSH_BYTES // 4, device=place), torch.empty((), device=place)]
        buffer, sink = self._flush
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.sum(buffer, 0, out=sink)
        start.record()
        launch()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e3
