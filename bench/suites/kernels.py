"""Memory-bound graphs, unless told those of `cases.py`: checked, then timed beside a copy of equal bytes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from typing import Any

import torch

from ..backends import BACKENDS, CompileReport, compile_function, fresh_compilation
from ..cases import GRAPHS
from ..clocks import read_clocks
from ..graph import Built, Graph
from ..graph_check import GraphChecker
from ..peaks import peak_beyond
from ..session import Task, attempt
from ..tables import kernel_line, kernel_table
from ..timing import Stopwatch, measure, stopwatch
from .settings import Settings, short_dtype

line, table = kernel_line, kernel_table


def tasks(settings: Settings, graphs: Mapping[str, Graph] = GRAPHS) -> Iterator[Task]:
    """One task for each graph and dtype."""
    watch = cache(partial(stopwatch, settings.device))  # made by the first task: it holds the flush buffer
    for graph in graphs.values():
        for dtype in settings.dtypes_or(graph.dtypes):
            yield Task(f"{graph.name}/{short_dtype(dtype)}", partial(run, graph, dtype, settings, watch))


def run(
    graph: Graph,
    dtype: torch.dtype,
    settings: Settings,
    watch: Callable[[], Stopwatch],
    stage: Callable[[str], None],
) -> dict[str, Any]:
    """Check every backend on one graph, then time those that ran, a copy and a read in turns."""
    failures: list[str] = []
    stage("build and reference")
    built = graph.new(dtype, settings.device, small=settings.small, seed=settings.seed)
    torch._dynamo.reset()
    checker = GraphChecker(graph, built)
    calls: dict[str, Callable[[], Any]] = {}
    backends: dict[str, dict[str, Any]] = {}
    for name in settings.backends:
        stage(f"{name}: first call")
        report = CompileReport()
        with BACKENDS[name].searches(settings.turns):
            call = attempt(failures, name, partial(_compiled, name, graph, built, report, checker, backends))
        if call is None:
            backends.setdefault(name, {"error": failures[-1]})
            continue
        if not backends[name]["passed"]:
            failures.append(f"{name}: wrong answer: {backends[name]['note']}")
        calls[name] = call
    del checker
    torch.cuda.empty_cache()  # of the float64 reference: other processes need the memory
    for name, call in calls.items():
        stage(f"{name}: peak memory")
        backends[name]["peak"] = peak_beyond(call, settings.device)
    calls.update(baselines(built.bytes, settings.device, reads=graph.reduces))
    stage(f"timing {', '.join(calls)}")
    with settings.turns.alone():
        before = read_clocks(settings.device)
        timings = measure(calls, watch(), samples=settings.samples)
        after = read_clocks(settings.device)
    for name, timing in timings.items():
        backends.setdefault(name, {})["timing"] = timing.to_json()
    clocks = [asdict(reading) for reading in (before, after) if reading is not None]
    throttled = sorted({reason for reading in clocks for reason in reading["throttled"]})
    return {
        "case": graph.name,
        "dtype": short_dtype(dtype),
        "bytes": built.bytes,
        "reduces": graph.reduces,
        "summed": graph.summed,
        "backends": backends,
        "clocks": clocks,
        "throttled": throttled,
        "failures": failures,
    }


def _compiled(
    name: str,
    graph: Graph,
    built: Built,
    report: CompileReport,
    checker: GraphChecker,
    backends: dict[str, dict[str, Any]],
) -> Callable[[], Any]:
    """The graph under one backend, checked; its verdict and compile report go to `backends`."""
    spec = BACKENDS[name]
    function = graph.step(compile_function(spec, built.fn, report, dynamic=False, fullgraph=True))
    with fresh_compilation(spec, report):
        verdict = checker.check(function)
    backends[name] = {**asdict(verdict), "compiled": asdict(report)}

    def call() -> Any:
        with torch.no_grad():
            return function(*built.args)

    return call


def baselines(moved: int, device: torch.device, *, reads: bool) -> dict[str, Callable[[], Any]]:
    """A copy that moves `moved` bytes (half of them read, half written); with `reads`, a sum over as many."""
    half = max(moved // 2, 4) // 4
    source = torch.ones(half, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    calls: dict[str, Callable[[], Any]] = {"copy": lambda: target.copy_(source)}
    if reads:
        whole = torch.ones(max(moved // 4, 1), dtype=torch.float32, device=device)
        sink = torch.empty((), dtype=torch.float32, device=device)
        calls["read"] = lambda: torch.sum(whole, 0, out=sink)
    return calls
