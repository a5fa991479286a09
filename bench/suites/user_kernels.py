"""Models that launch Triton kernels of their own: each beside Inductor and beside the kernel fused by hand.

What is compared: Inductor, this compiler without and with fusion into users' kernels, and ``by-hand``, the
kernel with the ops of the model written into it, launched by Triton.  On the CPU there is no Inductor, as it
cannot launch Triton kernels there, and ``by-hand`` is run by this compiler's interpreter.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache, partial
from typing import Any

import torch

from ..backends import BACKENDS, CompileReport, Spec, compile_function, fresh_compilation
from ..clocks import read_clocks
from ..graph_check import GraphChecker
from ..kernel_profile import profile_kernels
from ..session import Task, attempt
from ..tables import kernel_line, user_kernel_table
from ..timing import Stopwatch, measure, stopwatch
from ..user_kernels.without_gpu import triton_without_a_gpu
from .kernels import baselines
from .settings import Settings, short_dtype

line, table = kernel_line, user_kernel_table

BY_HAND = "by-hand"
COMPARED = {"cuda": ("inductor", "fuse-apart", BY_HAND, "fuse"), "cpu": ("fuse-apart", BY_HAND, "fuse")}


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each workload."""
    from ..user_kernels import WORKLOADS  # imports Triton, which no other suite needs

    watch = cache(partial(stopwatch, settings.device))  # made by the first task: it holds the flush buffer
    for workload in WORKLOADS.values():
        for dtype in settings.dtypes_or((workload.dtype,)):
            yield Task(f"{workload.name}/{short_dtype(dtype)}", partial(run, workload, settings, watch))


def run(
    workload: Any, settings: Settings, watch: Callable[[], Stopwatch], stage: Callable[[str], None]
) -> dict[str, Any]:
    """Check all that is compared on one workload, then time what ran, and a copy, in turns."""
    failures: list[str] = []
    device = settings.device
    stage("build and reference")
    built = workload.new(device, small=settings.small, seed=settings.seed)
    torch._dynamo.reset()
    checker = GraphChecker(workload.graph(), built.judged())
    calls: dict[str, Callable[[], Any]] = {}
    backends: dict[str, dict[str, Any]] = {}
    on_cpu = triton_without_a_gpu() if device.type == "cpu" else contextlib.nullcontext()
    with on_cpu:
        for name in COMPARED[device.type]:
            stage(f"{name}: first call")
            call = attempt(failures, name, partial(_checked, name, built, checker, backends, device))
            if call is None:
                backends.setdefault(name, {"error": failures[-1]})
                continue
            if not backends[name]["passed"]:
                failures.append(f"{name}: wrong answer: {backends[name]['note']}")
            calls[name] = call
    del checker
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
    name: str, built: Any, checker: GraphChecker, backends: dict[str, dict[str, Any]], device: torch.device
) -> Callable[[], Any]:
    """A call of the workload under one name; its verdict and its launches go to ``backends``."""
    by_hand = name == BY_HAND
    spec = (
        Spec(name, None) if by_hand and device.type == "cuda" else BACKENDS["fuse-apart" if by_hand else name]
    )
    report = CompileReport()
    function = compile_function(
        spec, built.by_hand if by_hand else built.model, report, dynamic=False, fullgraph=True
    )
    with fresh_compilation(spec, report):
        verdict = checker.check(function)

    def call() -> Any:
        with torch.no_grad():
            return function(*built.args)

    profile = profile_kernels(call, torch.cuda.synchronize)
    launches = (report.generated or 0) + (report.externs or 0) if profile is None else profile.kernels
    copies = 0 if profile is None else profile.copies
    backends[name] = {**asdict(verdict), "launches": launches, "copies": copies}
    return call
