"""Every tiny model on the device: float32 and bfloat16, inference and training, static and dynamic shapes.

Breadth first: a run that is cut short has seen every model in float32 inference before any in bfloat16
training.
Dropout is checked by its properties (`randomness.check_random_case`), in float64 and static shapes only.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from ..accuracy import compare
from ..backends import BACKENDS, CompileReport, compile_options
from ..graph import BOTH_DTYPES
from ..models import CASES, ModelCase
from ..randomness import check_random_case
from ..session import Task
from ..tables import accuracy_line, accuracy_table
from .settings import Settings, short_dtype

line, table = accuracy_line, accuracy_table


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each dtype, mode, kind of shapes, tiny model and compiler (eager is the yardstick)."""
    backends = [name for name in settings.backends if BACKENDS[name].load is not None]
    tiny = [case for case in CASES.values() if case.size == "tiny"]
    for dtype in settings.dtypes_or(BOTH_DTYPES):
        for mode in ("inference", "training"):
            for dynamic in (False, True):
                for case in tiny:
                    random = case.random and mode == "training"
                    if mode not in case.modes or (random and (dynamic or dtype != torch.float32)):
                        continue
                    kind = f"{mode}-float64" if random else f"{mode}-{short_dtype(dtype)}"
                    for name in backends:
                        key = f"{name}/{case.name}/{kind}{'-dynamic' if dynamic else ''}"
                        yield Task(
                            key, partial(run, name, case, mode == "training", dtype, dynamic, settings)
                        )


def run(
    name: str,
    case: ModelCase,
    training: bool,
    dtype: torch.dtype,
    dynamic: bool,
    settings: Settings,
    stage: Callable[[str], None],
) -> dict[str, Any]:
    """One comparison; exceptions of the compiler are the session's to record."""
    reason = case.unavailable()
    if reason:
        return {"unavailable": reason}
    stage("comparison")
    spec = BACKENDS[name]
    assert spec.load is not None
    compiled = CompileReport()
    options = compile_options(spec, compiled)
    if case.random and training:
        report: Any = check_random_case(case, spec.load(), settings.device, options=options)
        detail = str(report)
    else:
        report = compare(
            case,
            spec.load(),
            dtype,
            settings.device,
            training,
            "marked" if dynamic else False,
            mode=spec.mode,
            options=options,
        )
        detail = report.explain()
    failures = [] if report.passed else [detail[:1500]]
    counts = {"generated": compiled.generated, "externs": compiled.externs, "fallbacks": compiled.fallbacks}
    return {"text": str(report), "report": report.to_json(), "compiled": counts, "failures": failures}
