"""One workload run in several ways: each is checked against float64, profiled, and timed in turns."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import torch

from ..backends import CompileReport, Spec, compile_function, fresh_compilation
from ..clocks import read_clocks
from ..graph_check import GraphChecker
from ..kernel_profile import profile_kernels
from ..peaks import peak_beyond
from ..session import Task, attempt
from ..timing import Stopwatch, measure, stopwatch
from ..user_kernels.without_gpu import triton_without_a_gpu
from .kernels import baselines
from .settings import Settings, short_dtype


@dataclass(frozen=True)
class Way:
    """spec: what compiles the function.  function: takes the arguments of the workload."""

    spec: Spec
    function: Callable[..., Any]


def tasks_of(
    workloads: Iterable[Any], run: Callable[..., dict[str, Any]], settings: Settings
) -> Iterator[Task]:
    """One task for each workload and dtype, which calls ``run(workload, settings, watch, stage)``."""
    watch = cache(partial(stopwatch, settings.device))  # made by the first task: it holds the flush buffer
    for workload in workloads:
        for dtype in settings.dtypes_or((workload.dtype,)):
            yield Task(f"{workload.name}/{short_dtype(dtype)}", partial(run, workload, settings, watch))


def compare(
    workload: Any,
    built: Any,
    ways: Mapping[str, Way],
    settings: Settings,
    watch: Callable[[], Stopwatch],
    stage: Callable[[str], None],
) -> dict[str, Any]:
    """Check all ways to run one workload, then time what ran, and a copy, in turns."""
    failures: list[str] = []
    device = settings.device
    stage("reference")
    torch._dynamo.reset()
    checker = GraphChecker(workload.graph(), built.judged())
    calls: dict[str, Callable[[], Any]] = {}
    backends: dict[str, dict[str, Any]] = {}
    on_cpu = triton_without_a_gpu() if device.type == "cpu" else contextlib.nullcontext()
    with on_cpu:
        for name, way in ways.items():
            stage(f"{name}: first call")
            call = attempt(failures, name, partial(_checked, name, way, built.args, checker, backends))
            if call is None:
                backends.setdefault(name, {"error": failures[-1]})
                continue
            if not backends[name]["passed"]:
                failures.append(f"{name}: wrong answer: {backends[name]['note']}")
            calls[name] = call
    del checker
    for name, call in calls.items():
        backends[name]["peak"] = peak_beyond(call, device)
    calls.update(baselines(built.bytes, device, reads=False))
    stage(f"timing {', '.join(calls)}")
    with settings.turns.alone():
        before = read_clocks(device)
        timings = measure(calls, watch(), samples=settings.samples)
        after = read_clocks(device)
    for name, timing in timings.items():
        backends.setdefault(name, {})["timing"] = timing.to_json()
    clocks = [asdict(reading) for reading in (before, after) if reading is not None]
    return {
        "case": workload.name,
        "dtype": short_dtype(workload.dtype),
        "bytes": built.bytes,
        "backends": backends,
        "clocks": clocks,
        "throttled": sorted({reason for reading in clocks for reason in reading["throttled"]}),
        "failures": failures,
    }


def _checked(
    name: str, way: Way, args: tuple[Any, ...], checker: GraphChecker, backends: dict[str, dict[str, Any]]
) -> Callable[[], Any]:
    """A call of the workload in one way; its verdict and its launches go to ``backends``."""
    report = CompileReport()
    function = compile_function(way.spec, way.function, report, dynamic=False, fullgraph=True)
    with fresh_compilation(way.spec, report):
        verdict = checker.check(function)

    def call() -> Any:
        with torch.no_grad():
            return function(*args)

    profile = profile_kernels(call, torch.cuda.synchronize)
    launches = (report.generated or 0) + (report.externs or 0) if profile is None else profile.kernels
    copies = 0 if profile is None else profile.copies
    backends[name] = {**asdict(verdict), "launches": launches, "copies": copies}
    return call
