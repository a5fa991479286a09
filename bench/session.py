"""Runs tasks one by one so that none can end the run: exceptions, dead GPU contexts, hung kernels, time
limits.

The record is written after every task. A task that hangs, or that leaves the GPU's context unusable, is
recorded as failed and the process replaces itself by a fresh one that resumes after it.
"""

import contextlib
import json
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

SCHEMA = 1
TRACEBACK_LINES = 6


@dataclass(frozen=True)
class Task:
    """key: unique in its suite.   run: (stage) -> record for JSON; `stage(text)` says what it is doing."""

    key: str
    run: Callable[[Callable[[str], None]], dict[str, Any]]


@dataclass
class Session:
    """The state of one run, as `to_json` writes it.

    header: what was run, where and when.   results: one record per finished task, each with "key".
    skipped: keys of the tasks that there was no time for.   deadline: on `time.monotonic`, or None.
    """

    header: dict[str, Any]
    out: Path | None = None
    deadline: float | None = None
    results: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def expired(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def to_json(self) -> dict[str, Any]:
        fields = {"results": self.results, "skipped": self.skipped, "failed": self.failed}
        return {"schema": SCHEMA, **self.header, **fields}

    @property
    def failed(self) -> list[str]:
        """Keys of the results with an error or a wrong answer in them."""
        return [record["key"] for record in self.results if record.get("failures")]

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record and write everything."""
        self.results.append(strict_json(record))
        self.write()

    def write(self) -> None:
        """Write the file in one step, so that a killed run leaves the last whole one."""
        if self.out is None:
            return
        self.out.parent.mkdir(parents=True, exist_ok=True)
        partial = self.out.with_name(self.out.name + ".partial")
        partial.write_text(json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n")
        partial.replace(self.out)


def run_tasks(
    session: Session,
    tasks: Iterable[Task],
    *,
    say: Callable[[str], None],
    summarise: Callable[[dict[str, Any]], str],
    task_limit: float | None = None,
    restart: Callable[[], None] | None = None,
    healthy: Callable[[], bool] = lambda: True,
    together: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> None:
    """Run every task that the session has no result of.

    say: prints a line. summarise: record -> line. task_limit: seconds until a task counts as hung. restart:
    replaces the process after a task that hung or left the device unhealthy; with None a hung task is waited
    for, and the run ends with a device that is unusable. together: what a task runs inside.
    """
    done = {record["key"] for record in session.results}
    remaining = iter(tasks)
    for task in remaining:
        if task.key in done:
            continue
        if session.expired():
            session.skipped.append(task.key)
            continue
        with together():
            session.add(_run_one(session, task, task_limit, restart))
        say(summarise(session.results[-1]))
        if not healthy():
            say(f"the device is unusable after {task.key}")
            if restart is None:
                session.skipped += [other.key for other in remaining if other.key not in done]
                break
            restart()
    session.write()


def _run_one(
    session: Session, task: Task, limit: float | None, restart: Callable[[], None] | None
) -> dict[str, Any]:
    progress = [""]
    started = time.monotonic()

    def stage(text: str) -> None:
        progress[0] = text

    def hung() -> None:
        failure = f"hung for {limit:.0f} s in: {progress[0]}"
        session.add({"key": task.key, "failures": [failure], "seconds": time.monotonic() - started})
        assert restart is not None
        restart()

    watched = _alarm(limit, hung) if limit and restart is not None else contextlib.nullcontext()
    with watched:
        try:
            record = {"key": task.key, "failures": [], **task.run(stage)}
        except Exception as error:
            record = {"key": task.key, "failures": [f"{progress[0]}: {error_text(error)}"]}
    return {**record, "seconds": time.monotonic() - started}


@contextlib.contextmanager
def _alarm(seconds: float, ring: Callable[[], None]) -> Iterator[None]:
    """Calls `ring` on another thread unless the body ends in time; a wait for a GPU lets that thread run."""
    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def attempt(failures: list[str], label: str, body: Callable[[], Any]) -> Any:
    """The value of `body()`; None after an exception, whose last lines go to `failures`."""
    try:
        return body()
    except Exception as error:
        failures.append(f"{label}: {error_text(error)}")
        return None


def error_text(error: BaseException) -> str:
    """Type and message, and the innermost frames: what one needs to find the place."""
    text = str(error).strip()
    message = text if len(text) <= 600 else f"{text[:350]} ... {text[-200:]}"
    frames = traceback.extract_tb(error.__traceback__)[-TRACEBACK_LINES:]
    places = " < ".join(
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )
    return f"{type(error).__name__}: {message} [{places}]"


def strict_json(value: Any) -> Any:
    """The same tree with non-finite numbers as strings, tuples as lists and float dicts kept."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict_json(item) for item in value]
    return value


def load_results(path: Path, suite: str) -> list[dict[str, Any]]:
    """The results of an earlier run of the same suite, to resume it; none if there is no file.

    Raises ValueError for a file of another suite.
    """
    if not path.exists():
        return []
    found = json.loads(path.read_text())
    if found.get("suite") != suite:
        raise ValueError(f"{path} holds the suite {found.get('suite')!r}, not {suite!r}: give another --out")
    return found["results"]


def device_is_healthy() -> bool:
    """False once a kernel has broken this process's CUDA context: every later call would fail."""
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
    except Exception:
        return False
    return True


def replace_process(arguments: list[str]) -> None:
    """Start the benchmark anew in this process's place."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", f"{__package__}.run", *arguments])
