"""What a call costs the host: graphs so small that the device is never waited for, beside the driver's own
launch.

A sample is the time that a burst of calls takes to be issued; the device is synchronised between bursts,
outside the clock, and a burst launches less than the launch queue holds.  The backends take turns, forth and
back.  A call is what `torch.compile(function, backend=..)` gives, without further arguments, inside one
`torch.no_grad`: `dynamic=False` alone, which patches dynamo's configuration in every call, and a `no_grad`
around each call cost 4 and 2 us for any backend.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...compiler.driver.hooks_guard import leave_out_hooks_guard
from ...compiler.driver.profiler_range import leave_out_range
from ..backends import BACKENDS, CompileReport, compile_function
from ..driver_launch import driver_launch
from ..session import Task, attempt
from ..tables import host_line, host_table
from .settings import Settings

line, table = host_line, host_table

#: Launches that a burst may issue: below the 1024 of the launch queue.
QUEUE = 600
BURSTS = 30
#: What is timed beside the backends: one launch of the driver, and a call whose graph does nothing.
WITHOUT_KERNELS = ("driver", "dynamo")


@dataclass(frozen=True)
class Case:
    """``build(device)``: the function and its arguments.  launches: how many kernels a call runs at most."""

    name: str
    build: Callable[[torch.device], tuple[Callable[..., Any], tuple[Tensor, ...]]]
    launches: int


def _small(device: torch.device, count: int, *sizes: int) -> tuple[Tensor, ...]:
    generator = torch.Generator(device).manual_seed(0)
    return tuple(torch.randn(sizes, device=device, generator=generator) for _ in range(count))


def _one(device: torch.device) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    return lambda a, b, c, d: a * b + c * d, _small(device, 4, 64, 64)


def _chains(device: torch.device) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    return lambda *xs: [torch.relu(x * 2 + 1) for x in xs], _small(device, 32, 64, 64)


def _hundred(device: torch.device) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    def chain(x: Tensor) -> Tensor:
        for _ in range(50):  # sums along rows and columns in turns: no kernel can hold both
            x = (x.softmax(0) * 3).softmax(1)
        return x

    return chain, _small(device, 1, 256, 256)


CASES = (Case("one_kernel", _one, 4), Case("32_chains", _chains, 64), Case("100_launches", _hundred, 150))


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each case."""
    for case in CASES:
        yield Task(case.name, partial(run, case, settings))


def run(case: Case, settings: Settings, stage: Callable[[str], None]) -> dict[str, Any]:
    """Issue time of a call for every backend, in microseconds, and of one bare launch where there is a
    GPU."""
    failures: list[str] = []
    function, args = case.build(settings.device)
    expected = function(*args)
    calls: dict[str, Callable[[], Any]] = {}
    backends: dict[str, dict[str, Any]] = {}
    for name in settings.backends:
        stage(f"{name}: first call")
        report = CompileReport()
        call = attempt(failures, name, partial(_compiled, name, function, args, expected, report))
        if call is None:
            backends[name] = {"error": failures[-1]}
            continue
        calls[name], backends[name] = call, {"generated": report.generated}
    calls["dynamo"], backends["dynamo"] = _dynamo_alone(function, args, expected), {"generated": None}
    launch = driver_launch(settings.device)
    if launch is not None:
        calls["driver"], backends["driver"] = launch, {"generated": None}
    stage("timing")
    bursts = {name: max(1, QUEUE // (1 if name in WITHOUT_KERNELS else case.launches)) for name in calls}
    with settings.turns.alone():
        timings = measure(calls, bursts, settings)
    for name, times in timings.items():
        backends[name]["microseconds"] = times
    return {"backends": backends, "failures": failures}


def _compiled(
    name: str, function: Callable[..., Any], args: tuple[Tensor, ...], expected: Any, report: CompileReport
) -> Callable[[], Any]:
    torch._dynamo.reset()
    call = partial(compile_function(BACKENDS[name], function, report), *args)
    with torch.no_grad():
        for _ in range(3):  # a CUDA graph is recorded in the second call
            torch.testing.assert_close(call(), expected, rtol=1e-4, atol=1e-5)
    return call


def _dynamo_alone(function: Callable[..., Any], args: tuple[Tensor, ...], expected: Any) -> Callable[[], Any]:
    """A call whose graph is a Python function that gives a finished result: what Dynamo's wrappers and guards
    take of a call under ``fuse``, which leaves out the same guard and the same range.
    """
    results = [expected] if isinstance(expected, Tensor) else list(expected)

    def nothing(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        leave_out_range()
        leave_out_hooks_guard()
        return lambda *args: results

    torch._dynamo.reset()
    call = partial(torch.compile(function, backend=nothing), *args)
    with torch.no_grad():
        call()
    return call


def measure(
    calls: dict[str, Callable[[], Any]], bursts: dict[str, int], settings: Settings
) -> dict[str, dict[str, float]]:
    """p10 and p50 of the time of one call."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    rounds = 3 if settings.small else BURSTS
    for turn in range(-2, rounds):
        for name in list(calls) if turn % 2 == 0 else reversed(list(calls)):
            call, count = calls[name], bursts[name]
            _synchronize(settings.device)
            with torch.no_grad():
                start = time.perf_counter()
                for _ in range(count):
                    call()
                taken = (time.perf_counter() - start) / count * 1e6
            if turn >= 0:
                found[name].append(taken)
    _synchronize(settings.device)
    return {
        name: {"p10": sorted(times)[len(times) // 10], "p50": statistics.median(times)}
        for name, times in found.items()
    }


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
