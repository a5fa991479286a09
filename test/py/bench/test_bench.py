"""The benchmark's command on the CPU: suites, shards, command lines; that a wrong answer fails the run."""

import json
import time
from collections import Counter
from importlib import metadata
from types import SimpleNamespace

import pytest
import torch
from bench_runs import bench
from torch._dynamo.backends.common import aot_autograd

from fuse_mlir.bench import accuracy, library_ops, run, walks
from fuse_mlir.bench.backends import BACKENDS, Spec


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


def test_what_library_ops_take_over_is_timed(capsys):
    assert library_ops.main(["--small", "--samples", "1", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [*library_ops.PRODUCTS, "attention"]
    forms = library_ops.product_calls(16, 8, 24, torch.device("cpu"))
    torch.testing.assert_close(forms["with relu"](), forms["addmm"]().relu())
    forms = library_ops.attention_calls(2, 3, 16, 8, torch.device("cpu"))
    torch.testing.assert_close(forms["strided mask"](), forms["contiguous mask"]())


def test_walks_are_timed_beside_two_kernels(capsys):
    assert walks.main(["--small", "--only", "sums", "--samples", "1", "--device", "cpu"]) == 0
    [record] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert record["launches"]["apart"] == 2 and record["launches"]["walk"] == 1
    assert {"apart", "walk"} <= record["us"].keys() and len(record["estimates"][0]) == 2
