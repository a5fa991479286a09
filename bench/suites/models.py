"""The published-size models: the device and wall time of a step, once the answer of the last backend, the one
that is judged, has been compared with float64.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import nn

from ..accuracy import compare
from ..backends import BACKENDS, CompileReport, compile_function, compile_options, fresh_compilation
from ..clocks import read_clocks
from ..kernel_profile import profile_kernels
from ..models import CASES, ModelCase
from ..models.case import Inputs
from ..peaks import peak_beyond
from ..session import Task, attempt
from ..tables import model_line, model_table
from ..timing import Stopwatch, measure, stopwatch
from .settings import Settings, short_dtype

line, table = model_line, model_table


@dataclass(frozen=True)
class Precision:
    """name: as keys and tables have it. weights: dtype of parameters and inputs. autocast: what the forward
    pass computes products in; None for the dtype of the weights.
    """

    name: str
    weights: torch.dtype
    autocast: torch.dtype | None = None

    def around(self, call: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
        """`call` in this precision."""
        if self.autocast is None:
            return call

        def under_autocast(*args: Any, **kwargs: Any) -> Any:
            with torch.autocast(device.type, self.autocast):
                return call(*args, **kwargs)

        return under_autocast


#: float32 weights under autocast, as most models are trained.
AMP = Precision("amp", torch.float32, torch.bfloat16)
OWN_DTYPES = (torch.bfloat16,)
CHECKED_BATCH = 2
SECONDS = 20.0
#: Kernels of a step that the record lists, by their time.
LONGEST = 40


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each model of the size, mode and precision: inference first, autocast last."""
    watch = cache(partial(stopwatch, settings.device))  # made by the first task: it holds the flush buffer
    size = "tiny" if settings.small else "base"
    for mode in ("inference", "training"):
        for case in CASES.values():
            if case.size != size or mode not in case.modes:
                continue
            for dtype in settings.dtypes or OWN_DTYPES:
                precision = Precision(short_dtype(dtype), dtype)
                yield _task(case, mode, precision, settings, watch)
    if settings.dtypes is None:
        for case in CASES.values():
            if case.size == size and "training" in case.modes:
                yield _task(case, "training", AMP, settings, watch)


def _task(
    case: ModelCase, mode: str, precision: Precision, settings: Settings, watch: Callable[[], Stopwatch]
) -> Task:
    key = f"{case.name}/{mode}/{precision.name}"
    return Task(key, partial(run, case, mode == "training", precision, settings, watch))


def run(
    case: ModelCase,
    training: bool,
    precision: Precision,
    settings: Settings,
    watch: Callable[[], Stopwatch],
    stage: Callable[[str], None],
) -> dict[str, Any]:
    """Check the last compiler on one model, then time those that ran in turns."""
    reason = case.unavailable()
    if reason:
        return {"unavailable": reason}
    failures: list[str] = []
    backends: dict[str, dict[str, Any]] = {}
    checked = settings.check and not (case.random and training)
    for name in settings.backends:
        backends[name] = {}
        if checked and name == settings.backends[-1] and BACKENDS[name].load is not None:
            stage(f"{name}: comparison with float64")
            found = attempt(
                failures, f"{name}: comparison", partial(_check, name, case, training, precision, settings)
            )
            backends[name] = found or {"error": failures[-1]}
            if found and not found["passed"]:
                failures.append(f"{name}: wrong: {found['note']}")
    torch._dynamo.reset()
    torch.cuda.empty_cache()  # of the float64 reference: other processes need the memory
    stage("build")
    module = case.new_module(settings.device, precision.weights).train(training)
    inputs = case.inputs(settings.batch, settings.device, precision.weights)
    calls: dict[str, Callable[[], Any]] = {}
    for name in settings.backends:
        if "error" in backends[name]:
            continue
        stage(f"{name}: first call")
        report = CompileReport()
        with BACKENDS[name].searches(settings.turns):
            first = partial(_first_step, name, case, module, inputs, training, precision, settings, report)
            step = attempt(failures, name, first)
        backends[name]["compiled"] = asdict(report)
        if step is None:
            backends[name]["error"] = failures[-1]
        else:
            calls[name] = step
    for name, call in calls.items():
        stage(f"{name}: peak memory")
        backends[name]["peak"] = peak_beyond(call, settings.device)
    stage(f"timing {', '.join(calls)}")
    with settings.turns.alone():
        timings = measure(calls, watch(), samples=settings.samples, seconds=SECONDS)
        clocks = read_clocks(settings.device)
        profiles = {name: profile_kernels(call, watch().synchronize) for name, call in calls.items()}
    for name, timing in timings.items():
        profile = profiles[name]
        backends[name].update(timing=timing.to_json(), kernels=profile.longest(LONGEST) if profile else [])
    return {
        "case": case.name,
        "mode": "training" if training else "inference",
        "dtype": precision.name,
        "batch": settings.batch,
        "backends": backends,
        "clocks": [asdict(clocks)] if clocks else [],
        "throttled": list(clocks.throttled) if clocks else [],
        "failures": failures,
    }


def _check(
    name: str, case: ModelCase, training: bool, precision: Precision, settings: Settings
) -> dict[str, Any]:
    spec = BACKENDS[name]
    assert spec.load is not None
    report = compare(
        case,
        spec.load(),
        precision.weights,
        settings.device,
        training,
        autocast=precision.autocast,
        batches=(CHECKED_BATCH,),
        mode=spec.mode,
        options=compile_options(spec, CompileReport()),
    )
    return {"passed": report.passed, "note": report.explain()[:2000]}


def _first_step(
    name: str,
    case: ModelCase,
    module: nn.Module,
    inputs: Inputs,
    training: bool,
    precision: Precision,
    settings: Settings,
    report: CompileReport,
) -> Callable[[], Any]:
    """One step of the model as a function, compiled by being called twice."""
    spec = BACKENDS[name]
    call = precision.around(compile_function(spec, module, report, dynamic=False), settings.device)
    step = partial(case.step, call, module, inputs, training)
    with fresh_compilation(spec, report):
        started = time.perf_counter()
        step()
        report.seconds["first call"] = time.perf_counter() - started
        step()
    return step
