"""How the benchmark times: order of samples, what is hidden, percentiles, profiles."""

import time
from types import SimpleNamespace

import pytest
import torch
from bench_runs import CPU, timed
from torch.autograd import DeviceType

from fuse_mlir.bench import timing
from fuse_mlir.bench.backends import CompileReport
from fuse_mlir.bench.clocks import parse_clocks
from fuse_mlir.bench.kernel_profile import count_aten_calls, summarise
from fuse_mlir.bench.suites.kernels import baselines
from fuse_mlir.bench.timing import compare_timings, measure, percentile


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
    """On a busy host, too, where a call may take longer than the device sleeps."""
    device = torch.device("cuda")
    x = torch.ones(2**26, device=device)
    y = torch.empty_like(x)
    calls = {"quick": lambda: y.copy_(x), "idle": lambda: (time.sleep(2e-3), y.copy_(x))}
    watch = timing.stopwatch(device)
    found = measure(calls, watch, samples=20)
    copied = timing.profile_kernels(calls["quick"], torch.cuda.synchronize).microseconds
    assert found["idle"].host > 2000 > copied
    medians = {}
    for name, call in calls.items():
        assert found[name].device == pytest.approx(copied, rel=0.15)
        # By events alone, and with ten times the time that the host needs.
        sampled = [watch.sample(call, 20_000.0) for _ in range(10)]
        hidden = [value for value, was_hidden in sampled if was_hidden]
        assert len(hidden) >= 5
        medians[name] = percentile(hidden, 0.5)
    assert medians["quick"] == pytest.approx(copied, rel=0.15)
    assert medians["idle"] == pytest.approx(medians["quick"], rel=0.1)
    late, was_hidden = watch.sample(calls["idle"], 0.0)
    assert late > 1500 and not was_hidden, "the device waited for the host"


def test_samples_that_were_not_hidden_are_left_out_if_they_are_few():
    class Disturbed(FakeWatch):
        def sample(self, call, host):
            self.order.append(host)
            late = len(self.order) in (12, 22)
            return (100.0 if late else 1.0), not late

    found = measure({"a": lambda: None}, Disturbed(), samples=20)["a"]
    assert (found.p10, found.p50, found.p90) == (1.0, 1.0, 1.0)
    assert (found.samples, found.hidden, found.kernels) == (20, 0.9, None)


@pytest.mark.parametrize(("samples", "late", "by_profile"), [(8, 1, False), (8, 2, True), (4, 1, True)])
def test_one_late_sample_of_few_is_left_out(samples, late, by_profile, monkeypatch):
    """A call that takes long would be timed once by the profiler, behind others that warm the card."""

    class Disturbed(FakeWatch):
        def sample(self, call, host):
            self.order.append(host)
            was_late = 2 < len(self.order) <= 2 + late
            return (100.0 if was_late else 1.0), not was_late

    monkeypatch.setattr(timing, "profile_kernels", lambda call, sync: SimpleNamespace(microseconds=7.0))
    found = measure({"a": lambda: None}, Disturbed(), samples=samples)["a"]
    assert found.device == (7.0 if by_profile else 1.0)


def test_exposed_host_time_asks_the_profiler(monkeypatch):
    monkeypatch.setattr(timing, "profile_kernels", lambda call, sync: SimpleNamespace(microseconds=7.0))
    exposed = measure({"a": lambda: ("a", 100.0)}, FakeWatch(hidden=False), samples=3)["a"]
    assert (exposed.hidden, exposed.p50, exposed.device) == (0.0, 100.0, 7.0)
    assert measure({"a": lambda: ("a", 100.0)}, FakeWatch(), samples=3)["a"].device == 100.0


def test_what_is_compared_is_timed_alike(monkeypatch):
    """Events time the gaps between kernels, the profiler does not."""

    class HalfExposed(FakeWatch):
        def sample(self, call, host):
            return 100.0, call() == "fast"

    monkeypatch.setattr(timing, "profile_kernels", lambda call, sync: SimpleNamespace(microseconds=7.0))
    found = measure({"slow": lambda: "slow", "fast": lambda: "fast"}, HalfExposed(), samples=3)
    assert {name: (t.hidden, t.device) for name, t in found.items()} == {
        "slow": (0.0, 7.0),
        "fast": (1.0, 7.0),
    }


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
