"""Peak memory in the benchmark: its ratio, its limit, and the exit status that `--check-peaks` asks for."""

import pytest
import torch
from bench_runs import CPU, bench, timed

from fuse_mlir.bench.peaks import SEGMENT, peak_beyond, peak_ratio, peaks_above
from fuse_mlir.bench.suites import kernels
from fuse_mlir.bench.tables import loser_lines, summary, wild_rows

MB = 2**20
BACKENDS = ("eager", "inductor", "fuse")


def record(key, *peaks, times=(2.0, 2.0, 2.0)):
    entries = {
        name: {"peak": peak, "passed": True, "timing": timed(time, time, time).to_json()}
        for name, peak, time in zip(BACKENDS, peaks, times, strict=True)
    }
    return {"key": key, "case": key, "dtype": "float32", "backends": entries}


def test_a_ratio_needs_both_and_more_than_a_segment():
    assert peak_ratio({"peak": 30 * MB}, {"peak": 20 * MB}) == 1.5
    assert peak_ratio({"peak": 10 * MB}, {"peak": 20 * MB}) == 0.5
    assert peak_ratio({"peak": SEGMENT - 1}, {"peak": 0}) == 1.0
    assert peak_ratio({"peak": 3 * SEGMENT}, {"peak": 0}) == 3.0
    assert peak_ratio({"peak": 0}, {"peak": 4 * SEGMENT}) == 0.25
    assert peak_ratio({"peak": None}, {"peak": 20 * MB}) is None
    assert peak_ratio({}, None) is None


def test_what_is_above_the_limit_is_named():
    records = [
        record("a", 100 * MB, 50 * MB, 103 * MB),
        record("b", 400 * MB, 400 * MB, 404 * MB),
        {"key": "c"},
    ]
    assert list(peaks_above(records, BACKENDS)) == [("a", "eager", 1.03), ("a", "inductor", 2.06)]
    lines = [line for line in summary(records, BACKENDS) if line.startswith("peak")]
    assert lines == [
        "peak of fuse over eager: 1.020 (geometric mean of 2 of 3); above 1.02: a 1.03",
        "peak of fuse over inductor: 1.442 (geometric mean of 2 of 3); above 1.02: a 2.06",
    ]


def test_the_table_has_peaks_where_they_are_known():
    header, row, failed = wild_rows([record("a", 4 * MB, 8 * MB, 12 * MB), {"key": "b"}], BACKENDS)
    assert header[8:10] == ["peak vs eager", "peak vs inductor"] and row[8:10] == ["3.00", "1.50"]
    assert len(failed) == len(header)
    assert "peak vs eager" not in wild_rows([record("a", None, None, None)], BACKENDS)[0]


def test_losers_are_listed_worst_first_and_no_winner_counts_above_four():
    times = {"slow": (9.0, 3.0, 4.0), "slowest": (9.0, 2.0, 8.0), "won": (9.0, 64.0, 4.0)}
    records = [record(key, 0, 0, 0, times=each) for key, each in times.items()]
    lines = list(loser_lines(records, BACKENDS))
    assert lines == [
        "fuse against eager, none counted above 4: 1.786 times as fast",
        "fuse against inductor, none counted above 4: 0.909 times as fast",
        "slower than inductor: slowest 0.25",
        "slower than inductor: slow 0.75",
    ]


@pytest.mark.parametrize(("mine", "status"), [(40 * MB, 0), (50 * MB, 1)])
def test_the_exit_status_tells(tmp_path, monkeypatch, mine, status):
    peaks = iter((40 * MB, mine))
    monkeypatch.setattr(kernels, "peak_beyond", lambda call, device: next(peaks))
    chosen = ("--suite", "wild2", "--only", "clipped_curvature", "--backends", "eager,aot_eager")
    found, written = bench(tmp_path, *chosen, "--check-peaks")
    assert found == status
    assert written["results"][0]["backends"]["aot_eager"]["peak"] == mine


def test_a_peak_alone_changes_no_status(tmp_path, monkeypatch):
    peaks = iter((40 * MB, 50 * MB))
    monkeypatch.setattr(kernels, "peak_beyond", lambda call, device: next(peaks))
    status, _ = bench(
        tmp_path, "--suite", "wild2", "--only", "clipped_curvature", "--backends", "eager,aot_eager"
    )
    assert status == 0


def test_a_cpu_knows_no_peak():
    assert peak_beyond(lambda: torch.ones(4), CPU) is None


@pytest.mark.gpu
def test_a_peak_counts_what_dies_within_the_call():
    device = torch.device("cuda")
    x = torch.ones(MB, device=device)
    block = 512  # of the allocator: the sum, and what its kernel keeps beside it
    assert 4 * MB < peak_beyond(lambda: (x + 1).sum(), device) <= 4 * MB + 4 * block
    assert peak_beyond(lambda: (x + 1) * (x + 2), device) == 12 * MB
