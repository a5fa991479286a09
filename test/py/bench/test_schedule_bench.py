"""The suite `schedule`: one rule counts every compiler's launches and bytes."""

from types import SimpleNamespace

import torch
from compiling import Compiled

from fuse_mlir.bench.report import ROWS, TITLES
from fuse_mlir.bench.run import main
from fuse_mlir.bench.schedule_tables import schedule_rows, schedule_summary
from fuse_mlir.bench.schedules import Schedule, scheduled_by_inductor
from fuse_mlir.compiler.cost.work import Work


def inductor_schedule(function, *args) -> Schedule:
    """What Inductor schedules; its code need not compile here."""
    torch._dynamo.reset()

    class Enough(Exception):
        pass

    def stop(self):
        raise Enough

    from torch._inductor.scheduler import Scheduler

    generate, Scheduler.codegen = Scheduler.codegen, stop
    try:
        with scheduled_by_inductor() as schedule:
            torch.compile(function, backend="inductor", dynamic=False)(*args)
    except Exception as error:
        assert "Enough" in str(error)
    finally:
        Scheduler.codegen = generate
        torch._dynamo.reset()
    return schedule


def own_schedule(function, *args) -> Schedule:
    compiled, schedule = Compiled(function, {"hardware": "h200"}), Schedule()
    compiled(*args)
    for graph in compiled.graphs:
        schedule.add_compiled(graph)
    return schedule


def test_both_compilers_are_counted_alike():
    """64 of 1000 rows are read."""

    def function(i, table, x):
        return (table[i] + x).relu().sum(1)

    args = torch.randint(1000, (64,)), torch.randn(1000, 32), torch.randn(64, 32)
    theirs, ours = inductor_schedule(function, *args), own_schedule(function, *args)
    moved = 64 * 8 + 2 * 64 * 32 * 4 + 64 * 4
    assert (theirs.kernels, theirs.externs, theirs.bytes) == (1, 0, moved)
    assert (ours.kernels, ours.externs, ours.bytes) == (1, 0, moved)
    assert theirs.own_bytes >= moved


def test_library_ops_and_intermediates_count():
    args = torch.randn(16, 32), torch.randn(32, 8)

    def function(x, w):
        return ((x * 2) @ w).softmax(0)

    theirs, ours = inductor_schedule(function, *args), own_schedule(function, *args)
    moved = 2 * 2048 + (2048 + 1024 + 512)
    assert theirs.bytes >= moved + 1024 and theirs.externs == 1
    assert (ours.kernels, ours.externs, ours.bytes) == (2, 1, moved + 1024)


def test_host_calls_are_no_launches():
    schedule = Schedule()
    calls = (("k", "kernel", Work(8, 8)), ("aten.mm", "torch", Work(4, 0)))
    host = (("torch.sym_max", "torch", Work(0, 0)), ("torch.topk", "torch", None))
    launches = [SimpleNamespace(name=n, kind=k, estimate=e) for n, k, e in (*calls, *host)]
    schedule.add_compiled(SimpleNamespace(launches=launches))
    assert (schedule.kernels, schedule.externs, schedule.bytes) == (1, 1, 20)


def test_the_table_and_its_summary():
    def entry(launches, moved, peak):
        return {"kernels": launches, "externs": 1, "bytes": moved, "own_bytes": moved, "peak": peak}

    eager = {"peak": 4}
    training = {"a": eager, "b": entry(3, 10, 4), "c": entry(2, 5, 6)}
    graph = {"a": eager, "b": {"error": "x"}, "c": entry(2, 5, 2)}
    records = [
        {"key": "m/training/bfloat16", "backends": training},
        {"key": "graphs/g/bfloat16", "backends": graph},
    ]
    rows = schedule_rows(records, ("a", "b", "c"))
    assert rows[1][2:] == ["-/3+1/2+1", "-/0.0/0.0", "-/0.0/0.0", "-/0.500", "0.0/0.0/0.0", "1.500/1.500"]
    assert rows[2][2] == "-/error/2+1"
    assert list(schedule_summary(records, ("b", "c"))) == [
        "launches of c over b: 0.750 (geometric mean of 1 models); higher: none",
        "bytes of c over b: 0.500 (geometric mean of 1 models); higher: none",
        "peak of c over b: 1.500 (geometric mean of 1 models); higher: m/training/bfloat16 1.500",
    ]
    assert "schedule" in ROWS and "schedule" in TITLES


def test_the_suite_runs_small(capsys):
    arguments = ["--suite", "schedule", "--small", "--backends", "eager,fuse", "--device", "cpu"]
    assert main([*arguments, "--only", "rms_norm,masked"]) == 0
    printed = capsys.readouterr().out
    assert "graphs/rms_norm_residual/bfloat16: eager - - MB, fuse 1+0" in printed
