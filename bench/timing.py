"""Device time and wall time of several functions, measured in turns on one device.

One sample of device time, on a GPU: read a clean buffer larger than the L2 cache (so that no input is in it
and no dirty line is written back inside the window), start a sleep kernel that outlasts the host's work,
record an event, call, record an event. Samples of the functions alternate A B B A, so that drift hits all of
them alike. Whether the host was really done before the device woke up is checked on every sample
(`Timing.hidden`), and a sample in which it was late is left out. Where these are many for one of the
functions, as for one with more launches than the launch queue holds, all samples count, and the sum of the
kernels' times from the profiler stands for the device time of each function: events also time the gaps
between kernels.

On the CPU a sample is the wall time of one call: enough to test the logic, nothing to publish.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch

from .kernel_profile import profile_kernels

Call = Callable[[], Any]

FLUSH_BYTES = 256 * 2**20
#: Two CUDA events resolve no better than this, in microseconds.
RESOLUTION = 0.5
SLEEP_FACTOR = 1.5
#: How far the sleep may grow, in units of the first guess, while samples are not hidden.
LONGER = 5.0
LONGEST_SLEEP = 0.25e6
WAKE_SECONDS = 0.3
WARM_UP = 3
#: Rounds that are thrown away: the first ones still fault in what sampling itself needs.
DISCARDED = 2
#: Wall time is the median of so many bursts in turns: what disturbs one burst, or warms the card, hits few.
WALL_BURSTS = 5
WALL_CALLS = 8
WALL_SECONDS = 0.3
FEWEST_ROUNDS = 5
#: Below this fraction of hidden samples the events have measured the host, if more than one was not.
ENOUGH_HIDDEN = 0.9


@dataclass(frozen=True)
class Timing:
    """Times of one function, in microseconds.

    p10, p50, p90: of the device time of one call with a cold L2 cache; without the samples that were not
    hidden, unless these are too many.   samples: how many were taken.
    host: the host's time to issue one call.   wall: time of one call among calls back to back, warm cache.
    hidden: fraction of the samples whose host work ended before the device began.
    kernels: sum of kernel times from the profiler, measured only if too few samples of this function, or of
    one that it is compared with, were hidden.
    """

    p10: float
    p50: float
    p90: float
    samples: int
    host: float
    wall: float
    hidden: float
    kernels: float | None = None

    @property
    def device(self) -> float:
        """The device time to quote: the median, or the profiler's sum where the host could not be hidden."""
        return self.p50 if self.kernels is None else self.kernels

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "device": self.device}


def compare_timings(first: Timing, second: Timing) -> str:
    """'faster', 'slower' or 'same' of `first` against `second`.

    Judged by the intervals p10 to p90, widened by what events resolve: overlapping intervals are 'same'.
    """
    if first.kernels is not None or second.kernels is not None:  # no interval is known: 2 % is noise
        ratio = first.device / second.device
        return "faster" if ratio < 0.98 else "slower" if ratio > 1.02 else "same"
    if first.p90 + RESOLUTION < second.p10:
        return "faster"
    return "slower" if second.p90 + RESOLUTION < first.p10 else "same"


class Stopwatch(Protocol):
    """How a device is timed."""

    def synchronize(self) -> None: ...

    def sample(self, call: Call, host: float) -> tuple[float, bool]:
        """(device time of one call in microseconds, whether the host was hidden); `host` in microseconds."""
        ...


class CudaStopwatch:
    """Events behind a sleep kernel, after an L2 flush by reading. Allocates the flush buffer once."""

    def __init__(self, device: torch.device, flush_bytes: int = FLUSH_BYTES) -> None:
        self._device = device
        self._buffer = torch.ones(flush_bytes // 4, dtype=torch.float32, device=device)
        self._sink = torch.empty((), dtype=torch.float32, device=device)
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._cycles_per_us = self._calibrate()

    def synchronize(self) -> None:
        torch.cuda.synchronize(self._device)

    def sample(self, call: Call, host: float) -> tuple[float, bool]:
        start, end = self._events
        torch.sum(self._buffer, 0, out=self._sink)
        torch.cuda._sleep(int(min(SLEEP_FACTOR * host + 20.0, LONGEST_SLEEP) * self._cycles_per_us))
        start.record()
        kept = call()
        end.record()
        hidden = not start.query()
        end.synchronize()
        del kept  # freed only now: freeing is host time too
        return start.elapsed_time(end) * 1e3, hidden

    def _calibrate(self) -> float:
        """Cycles of the sleep kernel per microsecond."""
        start, end = self._events
        awake = time.perf_counter() + WAKE_SECONDS
        while time.perf_counter() < awake:  # an idle card runs at a fraction of its clock
            torch.sum(self._buffer, 0, out=self._sink)
            self.synchronize()
        cycles = 4_000_000
        rates = []
        for _ in range(4):
            start.record()
            torch.cuda._sleep(cycles)
            end.record()
            end.synchronize()
            rates.append(cycles / (start.elapsed_time(end) * 1e3))
        return statistics.median(rates[1:])


class HostStopwatch:
    """Wall time of synchronous calls."""

    def synchronize(self) -> None:
        pass

    def sample(self, call: Call, host: float) -> tuple[float, bool]:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e6, True


def stopwatch(device: torch.device) -> Stopwatch:
    """The way to time `device`."""
    return CudaStopwatch(device) if device.type == "cuda" else HostStopwatch()


def measure(
    calls: Mapping[str, Call], watch: Stopwatch, *, samples: int = 100, seconds: float | None = None
) -> dict[str, Timing]:
    """Time every function of `calls` in turns.

    samples: per function. seconds: stop sampling after this long (never before `FEWEST_ROUNDS` rounds).
    Raises what a call raises.
    """
    measured = {name: _host_time(call, watch) for name, call in calls.items()}
    hosts = dict(measured)
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in calls}
    order = list(calls)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        for turn in range(-DISCARDED, samples):
            if turn >= FEWEST_ROUNDS and seconds is not None and time.perf_counter() - started > seconds:
                break
            for name in order if turn % 2 == 0 else reversed(order):
                watch.synchronize()
                sample = watch.sample(calls[name], hosts[name])
                if not sample[1]:
                    hosts[name] = min(hosts[name] * SLEEP_FACTOR, measured[name] * LONGER)
                if turn >= 0:
                    found[name].append(sample)
        walls: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(WALL_BURSTS):
            for name in order if turn % 2 == 0 else reversed(order):
                walls[name].append(_wall_time(calls[name], watch))
    finally:
        if collecting:
            gc.enable()
    medians = {name: statistics.median(times) for name, times in walls.items()}
    hidden = {name: sum(was for _, was in samples) / len(samples) for name, samples in found.items()}
    by_profile = any(_exposed(samples) for samples in found.values())
    sums = {name: _kernel_sum(call, watch) if by_profile else None for name, call in calls.items()}
    return {
        name: _timing(found[name], hidden[name], measured[name], medians[name], sums[name]) for name in calls
    }


def percentile(values: Sequence[float], fraction: float) -> float:
    """The value at `fraction` (0 to 1) of the sorted values, interpolated. Raises ValueError on no values."""
    if not values:
        raise ValueError("percentile needs at least one value")
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _exposed(samples: Sequence[tuple[float, bool]]) -> bool:
    """Whether too many samples were not hidden: more than a tenth, and of `FEWEST_ROUNDS` or more, two."""
    late = sum(not was for _, was in samples)
    allowed = max((1.0 - ENOUGH_HIDDEN) * len(samples) + 1e-9, len(samples) >= FEWEST_ROUNDS)
    return late > allowed


def _kernel_sum(call: Call, watch: Stopwatch) -> float | None:
    profile = profile_kernels(call, watch.synchronize)
    return None if profile is None else profile.microseconds


def _timing(
    found: Sequence[tuple[float, bool]], hidden: float, host: float, wall: float, kernels: float | None
) -> Timing:
    exposed = _exposed(found)
    times = [value for value, was in found if was or exposed]
    p10, p50, p90 = (percentile(times, fraction) for fraction in (0.1, 0.5, 0.9))
    return Timing(p10, p50, p90, len(found), host, wall, hidden, kernels)


def _host_time(call: Call, watch: Stopwatch) -> float:
    """Median time to issue one call, microseconds, after warming up."""
    for _ in range(WARM_UP):
        call()
    times = []
    for _ in range(5):
        watch.synchronize()
        start = time.perf_counter()
        kept = call()
        times.append((time.perf_counter() - start) * 1e6)
        watch.synchronize()
        del kept
    return statistics.median(times)


def _wall_time(call: Call, watch: Stopwatch) -> float:
    """Mean time of one call among up to `WALL_CALLS` back to back, microseconds."""
    watch.synchronize()
    start = time.perf_counter()
    done = 0
    while done < WALL_CALLS and time.perf_counter() - start < WALL_SECONDS:
        call()
        done += 1
    watch.synchronize()
    return (time.perf_counter() - start) / done * 1e6
