"""Time to compile and run a model for the first time, cold and from disk, each in a fresh process.

Cold: the caches are empty folders. Warm: the folders that the cold run left. What counts is the time above
that of `aot_eager`, which captures and differentiates the same model and generates nothing. The processes run
on the cores that this one may use: `taskset -c 0,1` gives the figures for two.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..compile_table import compile_line, compile_table
from ..session import Task
from .settings import Settings, short_dtype

line, table = compile_line, compile_table

#: Model -> whether it is trained.
BASE = (
    ("hf_gpt2", False),
    ("hf_gpt2", True),
    ("hf_bert_base", False),
    ("timm_resnet50", False),
    ("adam_64", False),
)
TINY = (("gpt2_tiny", True), ("adam_step", False))
MOST_ROUNDS = 5
DTYPE = "bfloat16"


class Worker:
    """The process that forks a fresh one for each job (`cold_start.py`); started with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        """What `compile_once` returns. Raises RuntimeError with what it raised."""
        if self._process is None:
            package = __package__.rpartition(".")[0]
            command = [sys.executable, "-m", f"{package}.cold_start", "transformers", "timm"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        pipes = self._process
        assert pipes.stdin is not None and pipes.stdout is not None
        pipes.stdin.write(json.dumps(job) + "\n")
        pipes.stdin.flush()
        found = json.loads(pipes.stdout.readline() or '{"error": "the worker died"}')
        if "error" in found:
            raise RuntimeError(found["error"])
        return found


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each model and mode."""
    worker = Worker()
    for name, training in TINY if settings.small else BASE:
        key = f"{name}/{'training' if training else 'inference'}"
        job = {"case": name, "training": training, "batch": settings.batch, "device": str(settings.device)}
        job["dtype"] = short_dtype(settings.dtypes[0]) if settings.dtypes else DTYPE
        yield Task(key, partial(run, job, settings, worker))


def run(
    job: dict[str, Any], settings: Settings, worker: Worker, stage: Callable[[str], None]
) -> dict[str, Any]:
    """Cold and warm seconds of every backend, in turns; the last cold run's tree of the time of fuse."""
    found: dict[str, dict[str, Any]] = {name: {"cold": [], "warm": []} for name in settings.backends}
    for _ in range(min(settings.samples, MOST_ROUNDS)):
        for name in settings.backends:
            with tempfile.TemporaryDirectory(prefix="fuse-cold-") as folder:
                for state in ("cold", "warm"):
                    stage(f"{name}, {state}")
                    answer = worker.answer({**job, "backend": name, "folder": folder})
                    found[name][state].append(answer["seconds"])
                    if answer["graphs"]:
                        found[name][f"{state}_graphs"] = answer["graphs"]
    return {"backends": found, "cores": len(os.sched_getaffinity(0))}
