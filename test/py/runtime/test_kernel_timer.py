"""The timer of kernels, with a device that is played: which form wins, which results it takes for equal, and
what it fills its memory with.
"""

import contextlib
import ctypes
import random
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from default_tiles import at_tiles

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.driver.searches.tiling_search import _trial, _tunable
from fuse_mlir.compiler.ir.tile import Tile
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.gpu import kernel_timer, samples
from fuse_mlir.compiler.runtime.gpu.kernel_timer import KernelTimer, _close
from fuse_mlir.compiler.runtime.gpu.samples import ColdSamples, fastest
from fuse_mlir.compiler.runtime.gpu.trial import Argument
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin, Target


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_results_of_eight_bits_may_round_the_other_way(dtype):
    made = torch.linspace(-3.0, 3.0, 4096).to(dtype)
    bits = made.view(torch.uint8).clone()
    bits[::512] += 1
    assert _close(bits.view(dtype), made)
    assert not _close((2.0 * made.float()).to(dtype), made)


def test_integers_are_equal_or_wrong():
    made = torch.arange(4096, dtype=torch.int32)
    other = made.clone()
    other[17] += 1
    assert _close(made.clone(), made)
    assert not _close(other, made)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "bf16", "f64"])
def test_floats_of_every_width_are_drawn(element, monkeypatch):
    monkeypatch.setattr(KernelTimer, "place", torch.device("cpu"))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 40, 1 << 40))
    [drawn] = KernelTimer(0, Options())._memory([Argument(element, 256)])
    assert drawn.double().std() > 0.5


def judged(medians, spread=0.5, seed=0, seconds=1e9):
    """What wins among launches of these medians (microseconds)."""
    generator = random.Random(seed)
    launches = [lambda i=i: i for i in range(len(medians))]
    return fastest(
        launches, lambda launch: generator.gauss(medians[launch()], spread), time.monotonic() + seconds
    )


def test_the_fastest_wins():
    assert judged([100.0, 90.0, 80.0, 110.0]) == 2
    assert judged([100.0, 110.0, 120.0]) == 0


@pytest.mark.parametrize("seed", range(20))
def test_noise_never_wins(seed):
    assert judged([100.0] * 24, spread=5.0, seed=seed) == 0
    assert judged([4.0] * 24, spread=0.4, seed=seed) == 0


def test_a_gain_within_the_margin_is_no_gain():
    assert judged([100.0, 98.5], spread=0.01) == 0
    assert judged([5.0, 4.6], spread=0.01) == 0, "two events resolve half a microsecond"


def test_time_runs_out():
    assert judged([100.0, 50.0], seconds=-1.0) is None


class PlayedDevice:
    """Stands for CUDA: launches are copies made by the host, times come from the number of warps."""

    def __init__(self, monkeypatch, *, wrong=(), refused=(), free=1 << 40):
        self.wrong, self.refused, self.clock, self.launches = wrong, refused, 0.0, 0
        played = self

        class Launcher:
            def __init__(self, cubin, signature):
                assert len(signature) == len(cubin.params) - 2
                self.warps = cubin.num_warps

            def on(self, device):
                if self.warps in played.refused:
                    raise RuntimeError("too much shared memory")
                return lambda *args: played.launch(self.warps, *args)

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = played.clock

            def synchronize(self): ...

            def elapsed_time(self, end):
                return (end.at - self.at) / 1e3

        monkeypatch.setattr(kernel_timer, "Launcher", Launcher)
        monkeypatch.setattr(kernel_timer, "target_of", lambda device: Target(90))
        monkeypatch.setattr(kernel_timer, "FLUSH_BYTES", 64)
        monkeypatch.setattr(samples, "FLUSH_BYTES", 64)
        monkeypatch.setattr(ColdSamples, "place", torch.device("cpu"))
        monkeypatch.setattr(KernelTimer, "place", torch.device("cpu"))
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, free))
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))

    def launch(self, warps, stream, gx, gy, gz, source, weight, target):
        """``target = source`` on the first four floats, or something else where it is to be wrong."""
        array = ctypes.c_float * 4
        factor = 3 if warps in self.wrong else 1
        array.from_address(target)[:] = [factor * v for v in array.from_address(source)]
        self.clock += 100.0 / warps
        self.launches += 1


def timed(tmp_path, name="pointwise", **options) -> int | None:
    module = at_tiles(name)
    with module.context, ir.Location.unknown():
        [(func, hints)] = _tunable(module)
        default = Tile.of(func.attributes["fuse.tile"])
        tiles = [replace(default, num_warps=warps) for warps in (4, 1, 2, 8)]
        trials = [_trial(func, tile, hints, '"cpu"', "generic") for tile in tiles]
    timer = KernelTimer(0, Options(cache_dir=tmp_path, threads=2))
    return timer.fastest(trials, time.monotonic() + 60.0)


def test_the_timer_finds_the_fastest_form(tmp_path, monkeypatch):
    device = PlayedDevice(monkeypatch)
    assert timed(tmp_path) == 3
    assert device.launches > 60


def test_the_timer_drops_forms_that_are_wrong_or_refused(tmp_path, monkeypatch):
    PlayedDevice(monkeypatch, wrong=(8,))
    assert timed(tmp_path) == 0
    PlayedDevice(monkeypatch, refused=(8,))
    assert timed(tmp_path) == 0
    PlayedDevice(monkeypatch, refused=(4,))
    assert timed(tmp_path) is None, "without the default there is nothing to compare with"


def test_the_timer_drops_forms_that_spill_more_than_the_default(tmp_path, monkeypatch):
    PlayedDevice(monkeypatch)
    spilled = {8: 64}
    monkeypatch.setattr(CompiledCubin, "stack", property(lambda cubin: spilled.get(cubin.num_warps, 0)))
    assert timed(tmp_path) == 0
    spilled[4] = 64
    assert timed(tmp_path) == 3, "the default spills as much"
    spilled.update({4: 0, 8: 40})
    assert timed(tmp_path) == 3, "the array of a function"


def test_the_timer_needs_memory(tmp_path, monkeypatch):
    PlayedDevice(monkeypatch, free=1000)
    assert timed(tmp_path) is None


def test_the_users_random_numbers_stay(tmp_path, monkeypatch):
    PlayedDevice(monkeypatch)
    state = torch.get_rng_state()
    trials_before = torch.rand(3)
    torch.set_rng_state(state)
    PlayedDevice(monkeypatch)
    module = at_tiles("pointwise")
    torch.set_rng_state(state)
    with module.context, ir.Location.unknown():
        [(func, hints)] = _tunable(module)
        trial = _trial(func, Tile.of(func.attributes["fuse.tile"]), hints, '"cpu"', "generic")
    KernelTimer(0, Options(cache_dir=tmp_path)).fastest([trial, trial], time.monotonic() + 60.0)
    assert torch.equal(torch.rand(3), trials_before)
