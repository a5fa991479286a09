"""Records as tables, and what of them is published."""

import json

import pytest
from bench_runs import bench, timed

from fuse_mlir.bench import report
from fuse_mlir.bench.tables import failure_lines, geometric_mean, kernel_table, verdict


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


def test_generated_products_are_held_against_the_librarys_whichever_backend_is_judged():
    timed = {"fuse-library": entry(20.0), "fuse-generated": entry(10.0), "fuse": entry(10.0)}
    text = kernel_table([kernel_record(**timed)], tuple(timed))
    assert (
        "fuse-generated against fuse-library: 2.000 times as fast (geometric mean of 1 of 1): 1 faster"
        in text
    )
    assert text.count("fuse-generated against fuse-library") == 1
    without = kernel_table([kernel_record(**timed)], ("fuse-library", "fuse"))
    assert "fuse-generated" not in without.splitlines()[-1]


def test_products_with_short_sums_are_compared_by_themselves_too():
    pairs = (("short", 1024, 5.0), ("long", 1025, 10.0), ("without products", 0, 20.0))
    records = [
        {**kernel_record(eager=entry(20.0), fuse=entry(time)), "key": key, "summed": summed}
        for key, summed, time in pairs
    ]
    said = (
        "with sums of at most 1024 elements, fuse against eager: 4.000 times as fast (geometric mean of 1 of"
    )
    assert said in kernel_table(records, ("eager", "fuse"))
    assert "with sums" not in kernel_table(records[:1], ("eager", "fuse"))
    assert "with sums" not in kernel_table(records[1:], ("eager", "fuse"))


def test_errors_are_told_by_dtype():
    """Geometric means over the cases that all backends answered, and not exactly."""
    records = [
        kernel_record(eager=entry(9.0, norm_error=a), fuse=entry(5.0, norm_error=b))
        for a, b in ((4e-3, 1e-3), (1e-3, 4e-3), (0.0, 1e-3), (None, None))
    ]
    text = kernel_table(records, ("eager", "fuse"))
    line = "error against float64 in float32 (geometric mean of 2): eager 2.00e-03, fuse 2.00e-03"
    assert text.splitlines()[-1] == line
    assert "error" not in kernel_table([kernel_record(eager=entry(9.0), fuse=entry(5.0))], ("eager", "fuse"))


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
