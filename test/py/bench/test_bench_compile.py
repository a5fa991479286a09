"""The suite `compile`: what counts is the time above the baseline; each job has a process of its own."""

import json
import os
from typing import Any

import pytest

from fuse_mlir.bench.compile_table import above, compile_rows, compile_summary, compile_table, share
from fuse_mlir.bench.run import main
from fuse_mlir.bench.suites.compile import Worker

BACKENDS = ("aot_eager", "inductor", "fuse")


def record(key: str, base: list[float], peer: list[float], ours: list[float]) -> dict[str, Any]:
    times = {"aot_eager": base, "inductor": peer, "fuse": ours}
    backends: dict[str, Any] = {n: {"cold": t, "warm": [x / 2 for x in t]} for n, t in times.items()}
    backends["fuse"]["cold_graphs"] = [
        {
            "name": "forward",
            "cached": False,
            "seconds": 1.0,
            "passes": {"seconds": 0.5, "fold": {"seconds": 0.2}},
        }
    ]
    return {"key": key, "cores": 2, "backends": backends, "failures": []}


def test_a_share_is_of_the_time_above_the_baseline() -> None:
    one = record("a", [1, 2, 9], [10, 12, 11], [4, 5, 3])
    assert above(one, "fuse", "cold") == 2 and above(one, "inductor", "cold") == 9
    assert share(one) == pytest.approx(2 / 9) and share(one, "warm") == pytest.approx(2 / 9)
    two = record("b", [2], [10], [6])
    assert list(compile_summary([one, two])) == [
        "time above aot_eager, cold: 0.33 of Inductor's in the geometric mean of 2, 0.50 at most"
    ]
    assert compile_rows([two], BACKENDS)[1] == [
        "b", "2", "2.00 / 1.00", "10.00 / 5.00", "6.00 / 3.00", "8.00", "4.00", "4.00", "2.00", "0.50",
    ]  # fmt: skip
    assert "0.500  passes" in compile_table([one], BACKENDS)


def test_faster_than_the_baseline_is_no_time_above_it() -> None:
    assert share(record("a", [3], [10], [2])) == 0
    assert share(record("a", [3], [2], [4])) is None


def test_a_failure_is_told() -> None:
    failed = {"key": "a", "failures": ["fuse, cold: RuntimeError"]}
    assert "RuntimeError" in compile_table([failed], BACKENDS)


@pytest.mark.slow
def test_the_suite_runs_small(tmp_path: Any) -> None:
    out = tmp_path / "compile.json"
    arguments = ["--suite", "compile", "--small", "--device", "cpu", "--samples", "1", "--only", "adam"]
    assert main([*arguments, "--backends", "aot_eager,fuse", "--batch", "2", "--out", str(out)]) == 0
    [found] = json.loads(out.read_text())["results"]
    assert found["cores"] == len(os.sched_getaffinity(0))
    assert all(len(found["backends"][n][s]) == 1 for n in ("aot_eager", "fuse") for s in ("cold", "warm"))
    assert found["backends"]["fuse"]["cold_graphs"][0]["passes"]["seconds"] > 0


def test_a_job_that_fails_says_why_and_leaves_the_worker_alive() -> None:
    worker = Worker()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no_such_model"):
            worker.answer({"case": "no_such_model", "training": False, "folder": "", "device": "cpu",
                           "dtype": "float32"})  # fmt: skip
    process = worker._process
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 0
