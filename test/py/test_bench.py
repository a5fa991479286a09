"""The benchmark on the CPU: what it counts, checks, records and prints, and that each of those can fail."""

import json
import time
from collections import Counter
from importlib import metadata
from types import SimpleNamespace

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch.autograd import DeviceType

from fuse_mlir.bench import accuracy, library_ops, report, run, timing
from fuse_mlir.bench.backends import BACKENDS, CompileReport, Spec
from fuse_mlir.bench.cases import GRAPHS
from fuse_mlir.bench.cases_further import FURTHER
from fuse_mlir.bench.clocks import parse_clocks
from fuse_mlir.bench.graph import Graph, graph_table
from fuse_mlir.bench.graph_check import GraphChecker, check_dropout
from fuse_mlir.bench.kernel_profile import count_aten_calls, summarise
from fuse_mlir.bench.models import named_tensors
from fuse_mlir.bench.session import Session, Task, error_text, run_tasks, strict_json
from fuse_mlir.bench.suites.kernels import baselines
from fuse_mlir.bench.tables import failure_lines, geometric_mean, kernel_table, verdict
from fuse_mlir.bench.timing import Timing, compare_timings, measure, percentile

CPU = torch.device("cpu")
ALL = {**GRAPHS, **FURTHER}
DROPOUT = [name for name, graph in GRAPHS.items() if graph.dropout is not None]


def small(name, dtype=torch.float32):
    graph = ALL[name]
    return graph, graph.new(dtype, CPU, small=True)


def timed(p10, p50, p90, **fields):
    return Timing(p10, p50, p90, 10, 1.0, 1.0, 1.0, **fields)


def spoiled_backend(graph, example_inputs):
    """Runs the graph eagerly and scales its first floating output."""

    def run_graph(*args):
        outputs = list(graph(*args))
        return [out * 1.01 if out is not None and out.is_floating_point() else out for out in outputs]

    return run_graph


def raising_backend(graph, example_inputs):
    raise RuntimeError("no such op")


def reporting_backend(graph, example_inputs, *, options):
    """Reports every graph it gets, as the fuse backend does."""

    def compiler(graph, example_inputs):
        stages = {"import": 0.5}
        compiled = SimpleNamespace(launches_after=3, externs=2, fallbacks=["aten.x"], seconds=stages)
        options["on_compiled"](compiled)
        return graph

    return aot_autograd(fw_compiler=compiler, bw_compiler=compiler)(graph, example_inputs)


@pytest.fixture
def extra_backends(monkeypatch):
    for spec in (
        Spec("spoiled", lambda: spoiled_backend),
        Spec("raising", lambda: raising_backend),
        Spec("reporting", lambda: reporting_backend, reports=True),
    ):
        monkeypatch.setitem(BACKENDS, spec.name, spec)


def bench(tmp_path, *arguments):
    """(exit status, what was written) of one run on the CPU."""
    out = tmp_path / "out.json"
    status = run.main(["--device", "cpu", "--small", "--samples", "3", "--out", str(out), *arguments])
    return status, json.loads(out.read_text())


# The graphs


def test_graph_names_are_unique():
    with pytest.raises(AssertionError, match="two graphs are named 'a'"):
        graph_table([Graph("a", None, (), ()), Graph("a", None, (), ())])


def unneeded_bytes(name, args, outputs):
    """Bytes of arguments that the graph need not read, or reads more often than it must, counted apart."""
    if name.startswith("embedding"):
        return (args[1].shape[0] - args[0].unique().numel()) * args[1][0].nbytes
    if name.startswith("concat"):
        return args[0].nbytes  # of two operands, one's worth survives the slice
    if name.startswith("layer_norm_backward"):
        return args[5].nbytes  # the bias itself is in no gradient
    if name.startswith("top1_gather"):
        return args[1].nbytes - outputs.nbytes  # one value of each row
    return 0


@pytest.mark.parametrize("name", ALL)
def test_bytes_are_those_of_needed_arguments_and_outputs(name):
    for dtype in ALL[name].dtypes:
        graph, built = small(name, dtype)
        tensors = named_tensors(built.args)
        read = sum(tensor.nbytes for tensor in tensors.values())
        with torch.no_grad():
            outputs = built.fn(*built.args)
        written = sum(tensor.nbytes for tensor in named_tensors(outputs).values())
        if graph.mutates:  # all arguments but the gradients
            written += sum(tensor.nbytes for key, tensor in tensors.items() if not key.startswith("1."))
        assert built.bytes == read + written - unneeded_bytes(name, built.args, outputs)


# Counting the distinct tokens of an embedding needs their values.
@pytest.mark.parametrize("name", [name for name in GRAPHS if not name.startswith("embedding")])
def test_benchmark_sizes_build_and_exceed_an_l2_cache(name):
    """On the meta device, in the graph's smallest dtype."""
    graph = GRAPHS[name]

    class Meta:
        device, dtype, size = torch.device("meta"), graph.dtypes[-1], graph.dtypes[-1].itemsize

        def normal(self, *shape, dtype=None):
            return torch.empty(shape, dtype=dtype or self.dtype, device="meta")

        def uniform(self, low, high, *shape):
            return self.normal(*shape)

        def integers(self, high, *shape):
            return torch.empty(shape, dtype=torch.int64, device="meta")

    assert graph.build(Meta(), *graph.sizes).bytes > 100e6


@pytest.mark.parametrize("name", ALL)
def test_eager_passes_its_own_check(name):
    for dtype in ALL[name].dtypes:
        graph, built = small(name, dtype)
        found = GraphChecker(graph, built).check(built.fn)
        assert found.passed and found.repeatable, found.note


@pytest.mark.parametrize("name", [name for name in ALL if name not in DROPOUT])
def test_a_scaled_answer_fails(name):
    graph, built = small(name)

    def scaled(*args):
        outputs = built.fn(*args)
        target = args[0][0] if graph.mutates else outputs[0] if isinstance(outputs, tuple) else outputs
        target.mul_(1.01) if target.is_floating_point() else target.add_(1)
        return outputs

    assert not GraphChecker(graph, built).check(scaled).passed


def test_a_missing_mutation_fails():
    graph, built = small("adam_64x1024x1024")
    found = GraphChecker(graph, built).check(lambda *args: None)
    assert not found.passed and found.note.startswith("input:")


def test_a_bit_that_varies_is_reported_and_nan_fails():
    graph, built = small("scale_add_8192x4096")
    calls = []

    def varying(x, y):
        calls.append(1)
        return torch.nextafter(built.fn(x, y), x + len(calls))

    checker = GraphChecker(graph, built)
    found = checker.check(varying)
    assert found.passed and not found.repeatable
    wrong = checker.check(lambda x, y: x * float("nan"))
    assert not wrong.passed and "NaN" in wrong.note


def test_the_tolerance_follows_the_result_and_slack_is_small():
    """A float32 mean of bfloat16 numbers is held to float32."""
    graph, built = small("mean_square_2p27", torch.bfloat16)
    checker = GraphChecker(graph, built)
    assert checker.check(lambda x: built.fn(x) * (1 + 2**-22)).passed
    assert not checker.check(lambda x: built.fn(x) * (1 + 1e-5)).passed


def constant_mask(x, residual):
    mask = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) > 0.1
    return x * mask / 0.9 + residual


def unseeded():
    """Dropout from a generator of its own, which no seed resets."""
    generator = torch.Generator().manual_seed(1)

    def call(x, residual):
        return x * (torch.rand(x.shape, generator=generator) > 0.1) / 0.9 + residual

    return call


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (constant_mask, "another seed"),
        (lambda x, r: torch.dropout(x, 0.3, True) + r, "independent draws"),
        (lambda x, r: torch.dropout(x, 0.1, True) + r * 1.001, "residual"),
        (lambda x, r: torch.dropout(x + r, 0.1, True), "residual"),
        (lambda x, r: x * torch.dropout(torch.ones(x.shape[0], 1), 0.1, True) + r, "independent draws"),
        (unseeded(), "same seed"),
    ],
    ids=["constant", "probability", "residual", "order", "row-mask", "unseeded"],
)
def test_dropout_check_rejects(wrong, reason):
    _, built = small(DROPOUT[0])
    found = check_dropout(wrong, *built.args, p=0.1)
    assert not found.passed and reason in found.note


# Timing


class FakeWatch:
    """Notes the order of samples; every call costs what it returns."""

    def __init__(self, hidden=True):
        self.order, self.hidden = [], hidden

    def synchronize(self):
        pass

    def sample(self, call, host):
        name, cost = call()
        self.order.append(name)
        return cost, self.hidden


def test_samples_alternate_and_the_first_rounds_are_thrown_away():
    watch = FakeWatch()
    found = measure({"a": lambda: ("a", 1.0), "b": lambda: ("b", 2.0)}, watch, samples=4)
    assert "".join(watch.order) == "abba" * 3
    assert (found["a"].samples, found["a"].p50, found["b"].p90) == (4, 1.0, 2.0)
    assert found["a"].device == 1.0 and found["a"].kernels is None


def test_a_time_budget_ends_sampling_but_not_before_enough_rounds():
    found = measure({"a": lambda: ("a", time.sleep(0.002) or 1.0)}, FakeWatch(), samples=1000, seconds=0.0)
    assert found["a"].samples == timing.FEWEST_ROUNDS


def test_a_sample_that_was_not_hidden_makes_the_next_sleep_longer():
    class Sleeper(FakeWatch):
        def sample(self, call, host):
            self.order.append(host)
            return 1.0, host > 3 * self.order[0]

    watch = Sleeper()
    found = measure({"a": lambda: None}, watch, samples=10)
    assert watch.order == sorted(watch.order) and watch.order[-1] > 3 * watch.order[0]
    assert 0.7 < found["a"].hidden < 1.0 and found["a"].host == watch.order[0]


@pytest.mark.gpu
def test_device_time_leaves_out_the_host_and_finds_the_copy_rate():
    device = torch.device("cuda")
    x = torch.ones(2**26, device=device)
    y = torch.empty_like(x)
    calls = {"quick": lambda: y.copy_(x), "idle": lambda: (time.sleep(2e-3), y.copy_(x))}
    found = measure(calls, timing.stopwatch(device), samples=20)
    assert found["quick"].hidden == found["idle"].hidden == 1.0
    assert found["idle"].p50 == pytest.approx(found["quick"].p50, rel=0.1)
    assert found["idle"].host > 2000 > found["quick"].p50
    assert timing.profile_kernels(calls["quick"], torch.cuda.synchronize).microseconds == pytest.approx(
        found["quick"].p50, rel=0.15
    )


def test_exposed_host_time_asks_the_profiler(monkeypatch):
    monkeypatch.setattr(timing, "profile_kernels", lambda call, sync: SimpleNamespace(microseconds=7.0))
    exposed = measure({"a": lambda: ("a", 100.0)}, FakeWatch(hidden=False), samples=3)["a"]
    assert (exposed.hidden, exposed.p50, exposed.device) == (0.0, 100.0, 7.0)
    assert measure({"a": lambda: ("a", 100.0)}, FakeWatch(), samples=3)["a"].device == 100.0


def test_percentiles_interpolate():
    values = [30.0, 10.0, 20.0]
    assert [percentile(values, q) for q in (0.0, 0.25, 0.5, 1.0)] == [10.0, 15.0, 20.0, 30.0]
    with pytest.raises(ValueError, match="at least one value"):
        percentile([], 0.5)


def test_intervals_decide():
    assert compare_timings(timed(9, 10, 11), timed(12, 13, 14)) == "faster"
    assert compare_timings(timed(12, 13, 14), timed(9, 10, 11)) == "slower"
    assert compare_timings(timed(9, 10, 12.5), timed(12, 13, 14)) == "same"
    assert compare_timings(timed(9, 10, 11.8), timed(12, 13, 14)) == "same"  # events resolve 0.5 us
    assert compare_timings(timed(9, 50, 99, kernels=10.0), timed(12, 13, 14)) == "faster"


def test_baselines_move_the_bytes():
    calls = baselines(4096, CPU, reads=True)
    assert calls["copy"]().nbytes == 2048
    assert calls["read"]().item() == 1024.0
    assert "read" not in baselines(4096, CPU, reads=False)


def test_clock_readings():
    found = parse_clocks("1980, 1980, 3201, 41, 612.50, 0x0000000000000024\n")
    assert (found.sm, found.memory, found.power) == (1980.0, 3201.0, 612.5)
    assert found.throttled == ("power cap", "software thermal slowdown")
    idle = parse_clocks("345, 1980, 3201, 30, [N/A], 0x0000000000000001")
    assert idle.throttled == () and idle.power is None
    assert parse_clocks("nothing") is None


def test_profiles_count_kernels_and_leave_out_what_is_none():
    def event(name, us, device=DeviceType.CUDA, annotation=False):
        span = SimpleNamespace(elapsed_us=lambda: us)
        return SimpleNamespace(name=name, device_type=device, is_user_annotation=annotation, time_range=span)

    found = summarise(
        [
            event("softmax", 5.0),
            event("softmax", 6.0),
            event("Memset (Device)", 1.0),
            event("Activity Buffer Request", 100.0),
            event("region", 50.0, annotation=True),
            event("aten::add", 9.0, device=DeviceType.CPU),
        ]
    )
    assert (found.kernels, found.copies, found.microseconds, found.names) == (2, 1, 12.0, {"softmax": 2})
    x = torch.ones(4)
    assert count_aten_calls(lambda: (x + 1).sum()) == 2


def test_compile_reports_add_up():
    found = CompileReport()
    stages = {"import": 0.5}
    for _ in range(2):
        found.add(SimpleNamespace(launches_after=3, externs=1, fallbacks=["x"], seconds=stages))
    assert (found.graphs, found.generated, found.externs, found.fallbacks) == (2, 6, 2, 2)
    assert found.seconds == {"import": 1.0}


# Sessions


def play(tasks, tmp_path, **settings):
    session = Session({"suite": "x"}, tmp_path / "s.json", **settings.pop("session", {}))
    said = []
    run_tasks(session, tasks, say=said.append, summarise=lambda record: record["key"], **settings)
    return session, said


def failing(stage):
    stage("lowering")
    raise ValueError("a bad thing")


def test_one_failure_does_not_end_the_run(tmp_path):
    session, said = play(
        [Task("bad", failing), Task("good", lambda stage: {"value": float("inf")})], tmp_path
    )
    assert said == ["bad", "good"] and session.failed == ["bad"]
    written = json.loads((tmp_path / "s.json").read_text())
    assert written["results"][1]["value"] == "inf"
    failure = written["results"][0]["failures"][0]
    assert failure.startswith("lowering: ValueError: a bad thing [test_bench.py:") and "failing" in failure


def test_no_task_starts_after_the_deadline(tmp_path):
    session, _ = play([Task("late", failing)], tmp_path, session={"deadline": time.monotonic() - 1})
    assert session.skipped == ["late"] and not session.results and not session.failed


def test_resuming_keeps_results(tmp_path):
    kept = [{"key": "bad", "failures": []}]
    session, said = play(
        [Task("bad", failing), Task("new", lambda stage: {})], tmp_path, session={"results": kept}
    )
    assert said == ["new"] and not session.failed


def test_a_hung_task_is_recorded_before_the_restart(tmp_path):
    restarts = []

    def hang(stage):
        stage("fuse: first call")
        while not restarts:
            time.sleep(0.01)
        return {}

    def restart():
        written = json.loads((tmp_path / "s.json").read_text())
        restarts.append(written["results"][0]["failures"])

    play([Task("hang", hang)], tmp_path, task_limit=0.05, restart=restart)
    assert restarts == [["hung for 0 s in: fuse: first call"]]


def test_an_unusable_device_restarts_or_ends_the_run(tmp_path):
    tasks = [Task("breaks", failing), Task("next", lambda stage: {})]
    session, said = play(tasks, tmp_path, healthy=lambda: False)
    assert session.skipped == ["next"] and "unusable after breaks" in said[-1]
    restarts = []
    play(tasks, tmp_path, healthy=lambda: False, restart=lambda: restarts.append(1))
    assert len(restarts) == 2


def test_error_text_is_cut_and_json_strict():
    try:
        raise RuntimeError("x" * 5000)
    except RuntimeError as error:
        assert len(error_text(error)) < 1200
    assert strict_json({1: (float("nan"), 2.0)}) == {"1": ["nan", 2.0]}


# The command


def test_kernel_suite(tmp_path, capsys):
    status, found = bench(tmp_path, "--suite", "kernels", "--only", "softmax_8192x4096,mean_square,adam")
    assert status == 0, found["failed"]
    keys = [record["key"] for record in found["results"]]
    expected = [
        f"{name}/{dtype}"
        for name in ("softmax_8192x4096", "mean_square_2p27")
        for dtype in ("float32", "bfloat16")
    ]
    assert keys == [*expected, "adam_64x1024x1024/float32"]
    first = found["results"][0]
    assert first["bytes"] == 2 * 16 * 64 * 4
    assert (
        first["backends"]["aot_eager"]["passed"] and first["backends"]["aot_eager"]["timing"]["samples"] == 3
    )
    assert set(first["backends"]) == {"eager", "aot_eager", "copy"}
    assert "read" in found["results"][2]["backends"]
    assert found["versions"]["torch"] == metadata.version("torch") and found["device"]["type"] == "cpu"
    printed = capsys.readouterr().out
    assert "aot_eager against eager:" in printed and "geometric mean of 5 of 5" in printed


def test_wrong_and_raising_backends_fail_the_run_and_spare_the_others(tmp_path, extra_backends, capsys):
    backends = "eager,raising,spoiled,aot_eager"
    only = ("--only", "relu_add_8192x4096")
    arguments = ("--suite", "kernels", "--backends", backends, *only, "--dtype", "float32")
    status, found = bench(tmp_path, *arguments)
    assert status == 1 and found["failed"] == ["relu_add_8192x4096/float32"]
    (record,) = found["results"]
    assert "no such op" in record["backends"]["raising"]["error"]
    assert record["backends"]["spoiled"]["passed"] is False and "timing" in record["backends"]["spoiled"]
    assert record["backends"]["aot_eager"]["passed"]
    printed = capsys.readouterr().out
    assert "aot_eager against spoiled: nothing to compare" in printed
    assert printed.count("FAIL relu_add") == 2


def test_model_suite(tmp_path, extra_backends):
    arguments = ("--suite", "models", "--only", "mlp", "--batch", "3", "--dtype", "float32")
    status, found = bench(tmp_path, *arguments, "--backends", "eager,reporting,spoiled")
    assert status == 1  # the last is judged
    assert all(record["backends"]["spoiled"]["passed"] is False for record in found["results"])
    status, found = bench(tmp_path, *arguments, "--backends", "eager,spoiled,reporting")
    assert status == 0
    inference, training = found["results"]
    assert (inference["mode"], training["mode"], training["batch"]) == ("inference", "training", 3)
    for record in (inference, training):
        assert "passed" not in record["backends"]["spoiled"]
        assert record["backends"]["reporting"]["passed"] and record["backends"]["reporting"]["timing"]
    assert training["backends"]["reporting"]["compiled"]["graphs"] == 2
    assert run.main(["--device", "cpu", "--small", "--no-check", "--samples", "2", *arguments]) == 0


def test_accuracy_suite(tmp_path, extra_backends, capsys):
    arguments = ("--suite", "accuracy", "--only", "/mlp/")
    status, found = bench(tmp_path, *arguments, "--backends", "eager,aot_eager")
    kinds = Counter(record["key"].rsplit("/", 1)[1] for record in found["results"])
    assert status == 0 and len(kinds) == 8 and set(kinds.values()) == {1}
    assert {"inference-float32", "training-bfloat16-dynamic"} < kinds.keys()
    assert "accuracy of eager, aot_eager: 8 ok" in capsys.readouterr().out
    status, found = bench(tmp_path, *arguments, "--backends", "spoiled,raising", "--dtype", "float32")
    assert status == 1 and len(found["failed"]) == len(found["results"]) == 8
    assert "4 ERROR, 4 FAIL" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("strides", "padded"),
    [
        ((56, 8, 1), True),
        ((7 * 5, 5, 1), True),
        ((57, 8, 1), False),
        ((7, 14, 1), False),
        ((112, 16, 2), False),
        ((28, 4, 1), False),
    ],
)
def test_rows_may_be_further_apart_than_eagers(strides, padded):
    extents = (3, 7, 5)
    eager = tuple(zip(extents, (35, 5, 1), strict=True))
    assert accuracy._has_padded_rows(eager, tuple(zip(extents, strides, strict=True))) is padded


def test_accuracy_checks_dropout_by_its_properties(tmp_path):
    only = ("--only", "dropout/training")
    status, found = bench(tmp_path, "--suite", "accuracy", "--backends", "aot_eager", *only)
    assert status == 0
    (record,) = found["results"]
    assert record["key"] == "aot_eager/decoder_layer_dropout/training-float64"
    assert record["report"]["reproducible"] and record["report"]["varies"]


def test_launch_suite(tmp_path, extra_backends, capsys):
    arguments = ("--suite", "launches", "--only", "gpt2_block", "--backends", "eager,reporting")
    status, found = bench(tmp_path, *arguments)
    inference, training = (record["backends"] for record in found["results"])
    assert status == 0, found["failed"]
    assert inference["reporting"]["compiled"]["generated"] == 3
    assert training["reporting"]["compiled"]["generated"] == 6  # forward and backward
    assert training["eager"]["kernels"] > inference["eager"]["kernels"] > 5
    assert "3+2 -> " in capsys.readouterr().out


def test_shards_cover_everything_once(capsys):
    def listed(*arguments):
        assert run.main(["--suite", "accuracy", "--backends", "aot_eager", "--list", *arguments]) == 0
        return capsys.readouterr().out.split()

    parts = [listed("--shard", f"{n}/3") for n in (1, 2, 3)]
    assert sorted(key for part in parts for key in part) == sorted(listed())
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_restart_resumes_with_what_is_left_of_the_time(monkeypatch):
    started = []
    monkeypatch.setattr(run, "replace_process", started.append)
    given = ["--suite", "kernels", "--out", "x.json", "--time-limit", "600"]
    run._restart(given, time.monotonic() + 100)
    args = run._parser().parse_args(started[0])
    assert args.resume and 99 < args.time_limit <= 100
    run._restart(["--suite", "kernels", "--resume"], None)
    assert started[1].count("--resume") == 1 and run._parser().parse_args(started[1]).time_limit is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite", "kernels", "--backends", "xla"), "unknown backend 'xla'"),
        (("--suite", "kernels", "--dtype", "int4"), "unknown dtype 'int4'"),
        (("--suite", "kernels", "--only", "no_such_case"), "no task"),
        (("--suite", "kernels", "--shard", "4/3"), "1 <= I <= N"),
        (
            (
                "--suite",
                "poems",
            ),
            "invalid choice",
        ),
    ],
)
def test_wrong_command_lines_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        run.main(list(arguments))
    assert stopped.value.code == 2 and message in capsys.readouterr().err


def test_a_file_of_another_suite_is_not_resumed(tmp_path, capsys):
    (tmp_path / "out.json").write_text('{"suite": "models", "results": []}')
    with pytest.raises(SystemExit):
        bench(tmp_path, "--suite", "kernels", "--resume")
    assert "holds the suite 'models'" in capsys.readouterr().err


# Tables and the report


def entry(p50, **fields):
    return {"passed": True, "timing": timed(p50 - 1, p50, p50 + 1).to_json(), **fields}


def kernel_record(**backends):
    fixed = {"case": "softmax", "dtype": "float32", "bytes": 2_000_000, "failures": [], "throttled": []}
    return {"key": "softmax/float32", **fixed, "backends": {"copy": entry(5.0), **backends}}


def test_kernel_counts_name_the_compilers_that_tell():
    told = {
        "inductor": entry(20.0, compiled={"generated": 2}),
        "fuse": entry(10.0, compiled={"generated": 1}),
    }
    text = kernel_table([kernel_record(eager=entry(30.0), **told)], ("eager", "inductor", "fuse"))
    header, row = text.splitlines()[:2]
    assert "kernels inductor/fuse" in header and " 2/1" in row


def test_wrong_answers_take_no_part_in_ratios():
    right, wrong = entry(10.0), entry(5.0, passed=False)
    assert verdict(right, entry(20.0)) == (2.0, "faster")
    assert verdict(right, wrong) is None and verdict({"error": "x"}, right) is None
    text = kernel_table([kernel_record(eager=entry(20.0), fuse=wrong)], ("eager", "fuse"))
    assert "5.0 (1.00)!" in text and "fuse against eager: nothing to compare" in text
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0) and geometric_mean([]) is None


def test_failure_lines_are_bounded():
    records = [{"key": str(n), "failures": ["x" * 1000]} for n in range(40)]
    lines = list(failure_lines(records))
    assert len(lines) == 26 and max(map(len, lines)) <= 230 and "15 more" in lines[-1]


def published(tmp_path, **changes):
    fields = {
        "schema": 1,
        "suite": "kernels",
        "backends": ["eager", "fuse"],
        "small": False,
        "command": ["python", "-m", "fuse_mlir.bench.run", "--suite", "kernels", "--out", "somewhere/k.json"],
        "device": {"type": "cuda", "name": "a GPU"},
        "versions": {"torch": "2.11"},
        "date": "2026-01-02T03:04:05+00:00",
        "commit": "0123456789abcdef",
        "modified": False,
        "results": [kernel_record(eager=entry(20.0), fuse=entry(10.0))],
        "skipped": [],
        "failed": [],
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**fields, **changes}))
    return path


def test_report_rewrites_its_section_and_nothing_else(tmp_path):
    document = tmp_path / "performance.md"
    document.write_text(
        "# Performance\n\nbefore\n\n<!-- bench:kernels -->\nstale\n<!-- /bench:kernels -->\n\nafter\n"
    )
    for _ in range(2):
        assert report.main(["--doc", str(document), str(published(tmp_path))]) == 0
    text = document.read_text()
    assert (
        "stale" not in text and text.startswith("# Performance\n\nbefore\n") and text.endswith("\n\nafter\n")
    )
    assert text.count("### Memory-bound graphs") == 1
    assert "| softmax | f32 | 2.0 | 5.0 | 20.0 (0.25) | 10.0 (0.50) | 2.00 | - |" in text
    assert "a GPU; torch 2.11; commit 0123456789ab; 2026-01-02" in text and "somewhere" not in text
    assert "fuse against eager: 2.000 times as fast" in text


def test_report_adds_a_missing_section(tmp_path):
    document = tmp_path / "performance.md"
    assert report.main(["--doc", str(document), str(published(tmp_path))]) == 0
    assert document.read_text().startswith("# Performance\n\n<!-- bench:kernels -->\n### Memory-bound graphs")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"small": True}, "dry run"),
        ({"device": {"type": "cpu", "name": "x"}}, "not of a GPU"),
        ({"schema": 99}, "no benchmark run of schema"),
    ],
)
def test_report_refuses_what_says_nothing(tmp_path, changes, message, capsys):
    with pytest.raises(SystemExit):
        report.main([str(published(tmp_path, **changes))])
    assert message in capsys.readouterr().err


def test_report_refuses_marks_that_do_not_pair():
    with pytest.raises(ValueError, match="once after it"):
        report.replace_section("<!-- /bench:kernels -->\n<!-- bench:kernels -->", "kernels", "text")
    with pytest.raises(ValueError, match="once after it"):
        report.replace_section("<!-- bench:kernels -->", "kernels", "text")


@pytest.mark.parametrize("suite", ["accuracy", "launches"])
def test_every_suite_can_be_reported(tmp_path, suite):
    status, found = bench(
        tmp_path, "--suite", suite, "--backends", "eager,aot_eager", "--only", "llama_block/inf"
    )
    assert status == 0
    (tmp_path / "out.json").write_text(json.dumps({**found, "small": False}))
    text = report.section(report.load_run(tmp_path / "out.json"))
    assert "llama_block" in text and report.TITLES[suite] in text


def test_what_library_ops_take_over_is_timed(capsys):
    assert library_ops.main(["--small", "--samples", "1", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [*library_ops.PRODUCTS, "attention"]
    forms = library_ops.product_calls(16, 8, 24, torch.device("cpu"))
    torch.testing.assert_close(forms["with relu"](), forms["addmm"]().relu())
    forms = library_ops.attention_calls(2, 3, 16, 8, torch.device("cpu"))
    torch.testing.assert_close(forms["strided mask"](), forms["contiguous mask"]())
