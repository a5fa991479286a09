"""One run as several processes: each takes every N-th task, all compile together, each times alone."""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: Seconds between two looks at what the processes have written.
LOOK = 1.0
#: Processes in which Inductor compiles candidates, of all jobs together, for each core: of the jobs that
#: prepare together, some have many candidates and others none.  Inductor's own number for each job is that of
#: the cores.
COMPILING = 4

Found = dict[str, Any]


def run_shards(
    given: Sequence[str],
    count: int,
    say: Callable[[str], None],
    keep: Callable[[Found], None],
    give_up: float | None = None,
) -> None:
    """Shares the tasks of a command line among `count` processes.

    keep: called with what there is whenever there is more: "results" by key, and the "skipped" keys.
    given: the command line without `--jobs`, `--give-up` and `--out`.  A process that dies costs its
    unfinished tasks: what it had written is kept, and its exit status is said.
    give_up: seconds after which a process that still prepares is ended; the others time what they have.
    SIGTERM ends all of them at once, and what they had written is kept.
    """
    with tempfile.TemporaryDirectory(prefix="fuse-bench-") as folder:
        shards = [_Shard(given, number, count, Path(folder), say) for number in range(1, count + 1)]
        known: Found = {}
        running, due = True, math.inf if give_up is None else time.monotonic() + give_up
        with _told_to_stop() as told:
            while running and not told:
                running = any([shard.runs() for shard in shards])
                if running:
                    time.sleep(LOOK)
                if time.monotonic() >= due:
                    due = math.inf
                    for shard in shards:
                        shard.tell(signal.SIGTERM)
                found = _gathered(shards)
                if found != known:
                    keep(found)
                    known = found
            for shard in shards:
                if told:
                    shard.tell(signal.SIGKILL)
                shard.end()
        if told:
            say("stopped")
            keep(_gathered(shards))


@contextlib.contextmanager
def _told_to_stop() -> Iterator[list[int]]:
    """A list that holds something once this process got SIGTERM."""
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    try:
        yield told
    finally:
        signal.signal(signal.SIGTERM, before)


def _gathered(shards: Sequence["_Shard"]) -> Found:
    written = [shard.written() for shard in shards]
    return {
        "results": {record["key"]: record for run in written for record in run["results"]},
        "skipped": [key for run in written for key in run["skipped"]],
    }


def _environment(count: int) -> dict[str, str]:
    """Of one of so many jobs.  What the environment says already of Inductor's threads holds."""
    cores = len(os.sched_getaffinity(0))
    share = min(cores, max(1, COMPILING * cores // count))
    return {"TORCHINDUCTOR_COMPILE_THREADS": str(share), **os.environ}


class _Shard:
    """One of the processes, whose lines are said as they come."""

    def __init__(
        self, given: Sequence[str], number: int, count: int, folder: Path, say: Callable[[str], None]
    ) -> None:
        self._number, self._say = number, say
        self._told = False
        self._out = folder / f"{number}.json"
        shared = ["--shard", f"{number}/{count}", "--turns", str(folder), "--out", str(self._out), "--quiet"]
        command = [sys.executable, "-m", f"{__package__}.run", *given, *shared]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=_environment(count),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._say(line.rstrip("\n"))

    def runs(self) -> bool:
        return self._process.poll() is None

    def tell(self, number: signal.Signals) -> None:
        """Sends a signal, unless the process has ended."""
        if self.runs():
            self._told = True
            self._process.send_signal(number)

    def end(self) -> None:
        status = self._process.wait()
        self._reader.join()
        if status not in (0, 1) and not self._told:
            self._say(f"job {self._number} ended with status {status}")

    def written(self) -> Found:
        if not self._out.exists():
            return {"results": [], "skipped": []}
        found: Found = json.loads(self._out.read_text())
        return found
