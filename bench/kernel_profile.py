"""What one call of a function launches on the GPU, from torch's profiler."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

_NOT_KERNELS = ("Memcpy", "Memset")
#: Entries of the device's timeline that are the profiler's or the driver's own.
_OVERHEAD = ("Activity Buffer Request", "Lazy Function Loading", "Instrumentation", "Context Sync")


@dataclass(frozen=True)
class KernelProfile:
    """kernels: launches that are kernels.   copies: memory copies and fills.

    microseconds: sum of the device times of both.   names: kernel name -> launches, most first.
    times: name -> sum of its device times in microseconds, of kernels and copies.
    """

    kernels: int
    copies: int
    microseconds: float
    names: dict[str, int]
    times: dict[str, float]

    def longest(self, most: int) -> list[tuple[str, int, float]]:
        """(name, launches, microseconds) of what takes longest, at most so many."""
        ordered = sorted(self.times.items(), key=lambda item: -item[1])[:most]
        return [(name, self.names.get(name, 0), round(time, 2)) for name, time in ordered]


def profile_kernels(call: Callable[[], Any], synchronize: Callable[[], None]) -> KernelProfile | None:
    """Profile one call, which must be warm; None where there is no GPU."""
    if not torch.cuda.is_available():
        return None
    synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as profiler:
        call()
        synchronize()
    return summarise(profiler.events())


def summarise(events: Any) -> KernelProfile:
    """Sums up profiler events of the device, without those that only annotate a range."""
    names: dict[str, int] = {}
    times: dict[str, float] = {}
    copies, microseconds = 0, 0.0
    for event in events:
        if event.device_type != DeviceType.CUDA or getattr(event, "is_user_annotation", False):
            continue
        if event.name.startswith(_OVERHEAD):
            continue
        microseconds += event.time_range.elapsed_us()
        times[event.name] = times.get(event.name, 0.0) + event.time_range.elapsed_us()
        if event.name.startswith(_NOT_KERNELS):
            copies += 1
        else:
            names[event.name] = names.get(event.name, 0) + 1
    ordered = dict(sorted(names.items(), key=lambda item: (-item[1], item[0])))
    return KernelProfile(sum(names.values()), copies, microseconds, ordered, times)


def count_aten_calls(call: Callable[[], Any]) -> int:
    """Outermost ATen calls of one call of a function: the CPU's stand-in for launches."""
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        call()
    return sum(
        event.name.startswith("aten::") and not _inside_aten(event.cpu_parent) for event in profiler.events()
    )


def _inside_aten(event: Any) -> bool:
    while event is not None:
        if event.name.startswith("aten::"):
            return True
        event = event.cpu_parent
    return False
