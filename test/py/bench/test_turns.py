"""Benchmark processes that take turns: who times is alone, and a run of several processes loses no task."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fuse_mlir.bench import jobs
from fuse_mlir.bench.run import main
from fuse_mlir.bench.search_turns import inductor_searches_in_turns
from fuse_mlir.bench.turns import Turns

WORKERS = 5


def test_who_times_is_alone_and_all_prepare_together(tmp_path: Path) -> None:
    inside: dict[str, int] = {"preparing": 0, "timing": 0}
    most = {"preparing": 0}
    wrong: list[str] = []
    count = threading.Lock()

    def change(state: str, by: int) -> None:
        with count:
            inside[state] += by
            most["preparing"] = max(most["preparing"], inside["preparing"])
            if inside["timing"] > 1 or (inside["timing"] and inside["preparing"]):
                wrong.append(str(inside))

    def work() -> None:
        turns = Turns(tmp_path)  # its own open files: as another process would have
        for _ in range(4):
            with turns.together():
                change("preparing", 1)
                time.sleep(0.01)
                change("preparing", -1)
                with turns.alone():
                    change("timing", 1)
                    time.sleep(0.002)
                    change("timing", -1)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)
    assert not wrong
    assert most["preparing"] > 1


def test_who_has_timed_goes_on_while_others_time(tmp_path: Path) -> None:
    order: list[str] = []
    both = threading.Barrier(2)

    def work(turns: Turns) -> None:
        with turns.together():
            both.wait(20)
            with turns.alone():
                time.sleep(0.5)
                order.append("timed")
            order.append("wrote")
            assert not turns.preparing

    workers = [threading.Thread(target=work, args=[Turns(tmp_path)], daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert order == ["timed", "wrote"] * 2


def test_one_searches_at_a_time_and_a_search_may_hold_another(tmp_path: Path) -> None:
    first, second = Turns(tmp_path), Turns(tmp_path)
    order: list[str] = []

    def other() -> None:
        with second.searching():
            order.append("second")

    with first.searching(), first.searching():
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_inductors_benchmarker_waits_for_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.runtime import benchmarking

    states: list[bool] = []
    turns = Turns(tmp_path)
    monkeypatch.setattr(
        benchmarking.TritonBenchmarker, "benchmark_gpu", lambda *_: states.append(turns._searching)
    )
    with inductor_searches_in_turns(turns):
        benchmarking.TritonBenchmarker().benchmark_gpu(lambda: None)
    benchmarking.TritonBenchmarker().benchmark_gpu(lambda: None)
    assert states == [True, False]


def test_a_run_of_several_processes_has_every_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found.json"
    arguments = "--suite kernels --small --device cpu --backends eager,aot_eager --samples 2"
    only = ["--only", "softmax_8192x4096,scale_add"]
    assert main([*arguments.split(), *only, "--jobs", "2", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    keys = [record["key"] for record in found["results"]]
    assert keys == [f"{n}_8192x4096/{d}" for n in ("scale_add", "softmax") for d in ("float32", "bfloat16")]
    assert "aot_eager against eager" in capsys.readouterr().out


def test_what_is_there_is_kept_before_all_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LOOK", 0.002)  # a small task takes tens of milliseconds
    counts: list[int] = []
    command = "--suite kernels --small --device cpu --backends eager --samples 50 --only scale_add"
    jobs.run_shards(command.split(), 1, lambda line: None, lambda found: counts.append(len(found["results"])))
    assert counts[-1] == 2 and sorted(counts) == counts and 1 in counts


SLOW = """
import sys, time
from pathlib import Path
from fuse_mlir.bench import run
from fuse_mlir.bench.session import Task
from fuse_mlir.bench.suites import SUITES, Suite

def tasks(settings):
    def quick(stage):
        Path(sys.argv[0]).with_name("quick").touch()
        with settings.turns.alone():
            return {}
    def slow(stage):
        Path(sys.argv[0]).with_name("slow").touch()
        time.sleep(60)
        return {}
    return [Task("quick", quick), Task("slow", slow)]

SUITES["kernels"] = Suite(tasks, lambda record: record["key"], lambda results, backends: "")
if __name__ == "__main__":
    sys.exit(run.main())
"""


def test_what_still_prepares_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards(monkeypatch, tmp_path)
    monkeypatch.setattr(jobs, "LOOK", 0.1)
    begun = [tmp_path / name for name in ("quick", "slow")]

    def clock() -> float:
        """A minute, once both tasks have begun for a second."""
        old = all(path.exists() and time.time() - path.stat().st_mtime > 1 for path in begun)
        return 60.0 if old else 0.0

    monkeypatch.setattr(jobs, "time", SimpleNamespace(sleep=time.sleep, monotonic=clock))
    kept, said = [], []
    jobs.run_shards(["--suite", "kernels", "--device", "cpu"], 2, said.append, kept.append, give_up=15.0)
    assert kept and list(kept[-1]["results"]) == ["quick"]
    assert said == ["quick"]


def test_a_stopped_run_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards(monkeypatch, tmp_path)
    monkeypatch.setattr(jobs, "LOOK", 0.1)
    kept, said = [], []
    threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGTERM)).start()
    jobs.run_shards(["--suite", "kernels", "--device", "cpu"], 2, said.append, kept.append)
    assert said[-1] == "stopped" and kept


def test_only_processes_of_jobs_are_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--suite", "kernels", "--small", "--device", "cpu", "--give-up", "5"])
    assert "--give-up ends processes of --jobs" in capsys.readouterr().err


def shards(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the processes run a suite of two tasks, one of which prepares for a minute."""
    script = folder / "slow.py"
    script.write_text(SLOW)
    real = subprocess.Popen

    def popen(command: list[str], **more: object) -> subprocess.Popen[str]:
        return real([command[0], str(script), *command[3:]], **more)  # in place of -m MODULE

    monkeypatch.setattr(jobs.subprocess, "Popen", popen)


def test_jobs_share_the_cores_in_which_inductor_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "TORCHINDUCTOR_COMPILE_THREADS"
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jobs.os, "sched_getaffinity", lambda process: set(range(16)))
    assert [jobs._environment(count)[name] for count in (1, 14, 100)] == ["16", "4", "1"]
    monkeypatch.setenv(name, "3")
    assert jobs._environment(14)[name] == "3"


@pytest.mark.parametrize("more", [["--resume"], ["--shard", "1/2"]])
def test_jobs_divide_the_tasks_themselves(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--suite", "kernels", "--small", "--device", "cpu", "--jobs", "2", *more])
    assert "--jobs divides the tasks by itself" in capsys.readouterr().err
