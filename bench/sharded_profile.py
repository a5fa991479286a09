"""What the profiler says of training steps over several processes.

Steps follow each other. A small kernel marks where each begins, and where its backward does. Of one step, in
milliseconds: `communication_ms` is the union of the times of NCCL's kernels, and `exposed_ms` what of it runs
while no other kernel does; `idle_ms`: no kernel runs at all. `backward_communication_ms` and
`backward_exposed_ms` are those of the backward alone. `collectives` counts NCCL's kernels. A kernel of NCCL
also waits for the other processes.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
import torch.distributed as dist

#: When something runs: (begin, end).
Span: TypeAlias = tuple[float, float]
#: Steps that are profiled, and those that only come before them.
STEPS, WARM = 4, 2
#: What the kernel that marks places is called, in part.
MARK = "spin_kernel"


def covered(spans: Sequence[Span]) -> list[Span]:
    """The union of spans of time, in order."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def length(spans: Sequence[Span]) -> float:
    """Of the union of spans."""
    return sum(end - start for start, end in covered(spans))


def exposed(communication: Sequence[Span], other: Sequence[Span]) -> tuple[float, float]:
    """The time of the first spans, and how much of it the second leave uncovered."""
    return length(communication), length([*communication, *other]) - length(other)


def within(spans: Sequence[Span], window: Span) -> list[Span]:
    """What of the spans lies in a window."""
    cut = ((max(start, window[0]), min(end, window[1])) for start, end in spans)
    return [(start, end) for start, end in cut if start < end]


def summary(kernels: Sequence[tuple[str, float, float]], marks: Sequence[float]) -> dict[str, float]:
    """Of one step, from the kernels of several, as (name, begin, end), in microseconds. `marks`: where each
    step begins, where its backward does, and where the last step ends.
    """
    communication = [(start, end) for name, start, end in kernels if "nccl" in name]
    other = [(start, end) for name, start, end in kernels if "nccl" not in name]
    steps = (len(marks) - 1) // 2
    whole = marks[0], marks[-1]
    total, left = exposed(within(communication, whole), within(other, whole))
    idle = whole[1] - whole[0] - length(within([*communication, *other], whole))
    backward = [
        exposed(within(communication, window), within(other, window))
        for window in zip(marks[1::2], marks[2::2], strict=True)
    ]
    times = {
        "communication_ms": total,
        "exposed_ms": left,
        "idle_ms": idle,
        "backward_communication_ms": sum(t for t, _ in backward),
        "backward_exposed_ms": sum(e for _, e in backward),
    }
    found = {name: us / 1e3 / steps for name, us in times.items()}
    return found | {"collectives": sum(whole[0] <= start < whole[1] for start, _ in communication) / steps}


def profiled(step: Callable[[Callable[[], None]], object]) -> dict[str, float]:
    """Runs steps on the GPU. A step calls what it is given between its forward and its backward."""

    def mark() -> None:
        torch.cuda._sleep(1)

    dist.barrier()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(WARM + STEPS):
            mark()
            step(mark)
        mark()
        torch.cuda.synchronize()
    kernels = [
        (event.name, event.time_range.start, event.time_range.end)
        for event in profile.events()
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith("Mem")
    ]
    marks = sorted(start for name, start, _ in kernels if MARK in name)
    if len(marks) != 2 * (WARM + STEPS) + 1:
        raise RuntimeError(f"{len(marks)} of the marks are among {len(kernels)} kernels")
    return summary([k for k in kernels if MARK not in k[0]], marks[2 * WARM :])
