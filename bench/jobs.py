"""One run as several processes: each takes every N-th task, all compile together, each times alone."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def run_shards(given: Sequence[str], count: int, say: Callable[[str], None]) -> dict[str, Any]:
    """The results, by key, and the skipped keys of `count` processes that share the tasks of a command line.

    given: the command line without `--jobs` and `--out`.  A process that dies costs its unfinished tasks:
    what it had written is kept, and its exit status is said.
    """
    with tempfile.TemporaryDirectory(prefix="fuse-bench-") as folder:
        shards = [_Shard(given, number, count, Path(folder), say) for number in range(1, count + 1)]
        for shard in shards:
            shard.wait()
        found = [shard.result() for shard in shards]
    return {
        "results": {record["key"]: record for run in found for record in run["results"]},
        "skipped": [key for run in found for key in run["skipped"]],
    }


class _Shard:
    """One of the processes, whose lines are said as they come."""

    def __init__(
        self, given: Sequence[str], number: int, count: int, folder: Path, say: Callable[[str], None]
    ) -> None:
        self._number, self._say = number, say
        self._out = folder / f"{number}.json"
        shared = ["--shard", f"{number}/{count}", "--turns", str(folder), "--out", str(self._out), "--quiet"]
        command = [sys.executable, "-m", f"{__package__}.run", *given, *shared]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._say(line.rstrip("\n"))

    def wait(self) -> None:
        status = self._process.wait()
        self._reader.join()
        if status not in (0, 1):
            self._say(f"job {self._number} ended with status {status}")

    def result(self) -> dict[str, Any]:
        if not self._out.exists():
            return {"results": [], "skipped": []}
        found: dict[str, Any] = json.loads(self._out.read_text())
        return found
