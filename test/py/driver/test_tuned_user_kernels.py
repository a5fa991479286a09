"""Users' kernels with several configurations: what enters the module, what is measured, what runs."""

import re
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from compiling import Compiled
from interpreted_gpu import interpreted_gpu
from made_up_gpu import made_up_gpu
from user_kernels import restored_kernel, shift_kernel, tl, triton, triton_without_a_gpu

from fuse_mlir.compiler.base.errors import UserKernelTuned
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.gpu import load, tuned_launch
from fuse_mlir.compiler.runtime.gpu.launcher import LaunchError
from fuse_mlir.compiler.runtime.gpu.tuned_launch import FormTimer, TunedKernel

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def configs(*blocks, **options):
    return [triton.Config({"block": block}, **options) for block in blocks]


@triton.autotune(configs(32, 64, 128), key=["n"])
@triton.jit
def scaled_kernel(x, out, n, block: tl.constexpr):
    """Says which configuration ran: the block is added."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) * 2 + block, i < n)


@triton.autotune(configs(64, 32, 64, 128, num_warps=2), key=["n"])
@triton.jit
def small_kernel(x, n, block: tl.constexpr):
    """In place; blocks below 64 are excluded, and 64 is named twice."""
    tl.static_assert(block > 32)
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


@triton.autotune(configs(16, 32), key=[])
@triton.jit
def excluded_kernel(x, n, block: tl.constexpr):
    tl.static_assert(block > 32)
    i = tl.arange(0, block)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


@triton.autotune(configs(32, 64), key=["n"])
@triton.heuristics({"twice": lambda args: args["n"] % 2 == 0 and args["block"] == 64})
@triton.jit
def heuristic_kernel(x, out, n, twice: tl.constexpr, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + i, i < n)
    tl.store(out + i, v * 2 if twice else v * 3, i < n)


def grid_of(x):
    return lambda meta: (triton.cdiv(x.numel(), meta["block"]),)


def scaled(x):
    out = torch.empty_like(x)
    scaled_kernel[grid_of(x)](x, out, x.numel())
    return out + 1


def doubled(x):
    y = x + 1
    small_kernel[grid_of(y)](y, y.numel())
    return y


def heuristic(x):
    out = torch.empty_like(x)
    heuristic_kernel[grid_of(x)](x, out, x.numel())
    return out


@pytest.fixture(autouse=True)
def captured():
    with triton_without_a_gpu(), torch.no_grad():
        yield


@pytest.mark.parametrize("form", range(3))
@pytest.mark.parametrize("dynamic", [False, True])
def test_each_configuration(form, dynamic):
    """The fastest runs, after what the others wrote is taken back."""
    x = torch.randn(200)
    with interpreted_gpu(fastest=form) as plans:
        compiled = Compiled(scaled, dynamic=dynamic)
        torch.testing.assert_close(compiled(x), x * 2 + (32, 64, 128)[form] + 1)
    assert not plans[0].externs and [len(s.launches) for s in plans[0].steps() if s.word == "tune"] == [3]


def around(x):
    y, out = x * x, torch.empty_like(x)
    scaled_kernel[grid_of(x)](y, out, x.numel())
    return out.cos()


@pytest.mark.parametrize("form", range(3))
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_around_fuses_with_each_configuration(form, dynamic):
    x = torch.randn(200)
    with interpreted_gpu(fastest=form) as plans:
        compiled = Compiled(around, {"verify": "on"}, dynamic=dynamic)
        torch.testing.assert_close(compiled(x), (x * x * 2 + (32, 64, 128)[form]).cos())
    (step,) = (s for s in plans[0].steps() if s.word == "tune")
    assert len(step.launches) == 3 and len(plans[0].kernels) == 3, "nothing else is launched"
    remarks = compiled.graphs[0].remarks.render("text")
    assert "passed: fuse-user-epilogues" in remarks and "passed: fuse-user-prologues" in remarks


@triton.autotune([triton.Config({"block": 64, "swapped": s}) for s in (False, True)], key=[])
@triton.jit
def uneven_kernel(x, out, n, block: tl.constexpr, swapped: tl.constexpr):
    """One configuration writes by atomics, which nothing is fused with."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + i, i < n) * 2
    if swapped:
        tl.atomic_xchg(out + i, v, i < n)
    else:
        tl.store(out + i, v, i < n)


def uneven(x):
    out = torch.empty_like(x)
    uneven_kernel[grid_of(x)](x, out, x.numel())
    return out.cos()


@pytest.mark.parametrize("form", range(2))
def test_configurations_that_would_not_fuse_alike(form):
    x = torch.randn(200)
    with interpreted_gpu(fastest=form) as plans:
        compiled = Compiled(uneven)
        torch.testing.assert_close(compiled(x), (x * 2).cos())
    assert len(plans[0].kernels) == 3
    remarks = compiled.graphs[0].remarks.render("text")
    assert "missed: fuse-user-epilogues: configurations" in remarks and "uneven_kernel differ" in remarks


@pytest.mark.parametrize("level", ["graph", "planned"])
def test_the_interpreter_runs_the_first(level):
    x = torch.randn(200)
    compiled = Compiled(scaled, {"interpret_level": level})
    torch.testing.assert_close(compiled(x), x * 2 + 33)
    assert compiled.graphs[0].externs == 0


def test_a_graph_for_torch_runs_the_first():
    x = torch.randn(200)
    torch.testing.assert_close(Compiled(scaled, {"output": "fx"})(x), x * 2 + 33)


@pytest.mark.parametrize("form", range(2))
def test_what_a_kernel_reads_and_writes_is_restored(form):
    """In place: measuring runs it many times, and the result is that of one run.  A configuration that the
    kernel excludes, and one that is there twice, are left out.
    """
    x = torch.randn(200)
    with interpreted_gpu(fastest=form) as plans:
        torch.testing.assert_close(Compiled(doubled)(x), (x + 1) * 2)
    (step,) = (s for s in plans[0].steps() if s.word == "tune")
    assert [str(launch.grid[0]) for launch in step.launches] == ["4", "2"]


def test_all_configurations_are_excluded():
    def refused(x):
        excluded_kernel[(1,)](x, x.numel())
        return x

    with pytest.raises(
        Exception, match=r"Triton refuses the kernel 'excluded_kernel' at .*tuned_user_kernels"
    ):
        Compiled(refused)(torch.randn(64))


def test_a_configuration_that_triton_refuses():
    """An error, as at Triton's own launch, though another one is fine."""
    wrong = triton.autotune(configs(64, 48), key=["n"])(scaled_kernel.fn)

    def refused(x):
        out = torch.empty_like(x)
        wrong[grid_of(x)](x, out, x.numel())
        return out

    with pytest.raises(Exception, match=r"Triton refuses the kernel 'scaled_kernel'.*power of 2"):
        Compiled(refused)(torch.randn(64))


def test_a_key_that_only_data_decides():
    by_factor = triton.autotune(configs(64, 128), key=["by"])(shift_kernel)

    def shifted(x):
        out = torch.empty_like(x)
        by_factor[grid_of(x)](x, out, x.max().item(), x.numel())
        return out

    with mock.patch.object(torch._dynamo.config, "capture_scalar_outputs", True):
        compiled = Compiled(shifted)
        with pytest.raises(AttributeError, match="_Driver"):  # torch launches it
            compiled(torch.randn(200))
    assert "its autotuner chooses by 'by'" in compiled.graphs[0].remarks.render("text")


@pytest.mark.parametrize("form", range(2))
def test_heuristics_are_evaluated_for_each_configuration(form):
    x = torch.randn(200)
    with interpreted_gpu(fastest=form):
        torch.testing.assert_close(Compiled(heuristic)(x), x * (3, 2)[form])


def test_deterministic_algorithms_refuse_to_measure():
    with pytest.raises(Exception, match="scaled_kernel") as raised:
        Compiled(scaled, {"deterministic": True, "verify": "levels"})(torch.randn(200))
    assert UserKernelTuned.__name__ in str(raised.value) + type(raised.value.__cause__).__name__
    assert re.search(r"tuned_user_kernels.py:\d+ is tuned over 3 configurations", str(raised.value))


def test_deterministic_algorithms_refuse_what_torch_would_measure():
    """A kernel whose autotuner resets what it writes is launched by torch."""
    reset = triton.autotune(configs(64, 128), key=["n"], restore_value=["out"])(scaled_kernel.fn)

    def launched(x):
        out = torch.empty_like(x)
        reset[grid_of(x)](x, out, x.numel())
        return out

    with pytest.raises(Exception, match=r"scaled_kernel.* is tuned over 2 configurations"):
        Compiled(launched, {"deterministic": True})(torch.randn(200))


def test_equal_launches_share_kernels():
    compiled = Compiled(lambda x: scaled(scaled(x)), {"interpret_level": "planned"})
    x = torch.randn(200)
    torch.testing.assert_close(compiled(x), (x * 2 + 33) * 2 + 33)
    assert str(compiled.graphs[0].module).count('sym_name = "scaled_kernel') == 3


def test_a_stored_program_tunes(tmp_path):
    """Its forms are launched as those of the program that was stored; another configuration, another key."""
    x = torch.randn(200)

    def graph():
        torch._dynamo.reset()
        graphs = []
        given = {"cache_dir": str(tmp_path), "hardware": "h200"}
        with made_up_gpu() as launched, mock.patch.object(load, "FormTimer", lambda *_: lambda runs, _: 1):
            compiled = Compiled(doubled, given)
            compiled(x)
            graphs = compiled.graphs
        return graphs[0].cached, launched

    assert graph() == (False, ["add", "small_kernel_1"])
    assert graph() == (True, ["add", "small_kernel_1"])
    assert len(list(tmp_path.rglob("*.tile"))) == 1
    with mock.patch.object(small_kernel, "configs", configs(64, 128, num_warps=8)):
        assert not graph()[0]


class Launches:
    """Three forms, of which the last adds its number and none is told to be loaded twice."""

    def __init__(self, folder=None, refused=(), missing=()):
        self.ran, self.measured = [], []
        launchers = [None if n in missing else self.launch(n, n in refused) for n in range(3)]
        self.kernel = TunedKernel(
            "k", launchers, "device k0 k1 k2", CacheFolder(folder, ".tile"), self.choose
        )

    def launch(self, number, refused):
        def launch(stream, *arguments):
            if refused:
                raise LaunchError("too many registers")
            self.ran.append((number, arguments))

        return launch

    def choose(self, runs, written):
        self.measured.append(len(runs))
        return len(runs) - 1

    def __call__(self, *key):
        self.ran.clear()
        self.kernel(0, key, (), *[(1, 1, 1, n) for n in range(3)])
        return self.ran[-1]


def test_a_key_is_measured_once(tmp_path):
    launches = Launches(tmp_path)
    assert [launches(n)[0] for n in (8, 8, 9)] == [2, 2, 2] and launches.measured == [3, 3]
    again = Launches(tmp_path)
    assert again(8) == (2, (1, 1, 1, 2)) and again.measured == []
    assert again(7)[0] == 2 and again.measured == [3]


def test_a_form_that_cannot_be_loaded(tmp_path):
    launches = Launches(tmp_path, missing=(2,))
    assert launches(8)[0] == 1 and launches.measured == [2]
    assert Launches(tmp_path, missing=(0, 1))(8)[0] == 2, "the only one is not measured"
    other = Launches(tmp_path, missing=(1,))
    assert other(8)[0] == 2 and other.measured == [2], "the stored one is not there"


def test_where_nothing_can_be_measured(tmp_path):
    launches = Launches(tmp_path)
    launches.kernel.choose = lambda runs, written: None
    assert launches(8)[0] == 0 and not list(tmp_path.rglob("*.tile"))


def test_a_recording_measures_nothing():
    launches = Launches()
    with (
        mock.patch.object(torch.cuda, "is_available", lambda: True),
        mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: True),
    ):
        assert launches(8)[0] == 0 and launches.measured == []
    assert launches(8)[0] == 2 and launches.measured == [3]


def timed(*microseconds):
    """A timer for which run ``n`` takes so long, and the runs."""
    ran = []

    def run(number):
        def launch():
            if microseconds[number] is None:
                raise LaunchError("too many registers")
            ran.append(number)

        return launch

    def sample(launch):
        launch()
        return microseconds[ran[-1]] + len(ran) % 3 * 0.01

    return FormTimer(lambda: sample, 60.0), [run(n) for n in range(len(microseconds))]


@pytest.mark.parametrize(
    ("microseconds", "found"),
    [((9.0, 5.0, 7.0), 1), ((None, 9.0, 5.0), 2), ((5.0, None, 4.99), 0), ((None, None), None)],
)
def test_the_fastest_form(microseconds, found):
    timer, runs = timed(*microseconds)
    assert timer(runs, ()) == found


def test_measuring_takes_back_what_it_writes():
    """The whole storage: a kernel gets an address and may go beside the tensor."""
    storage = torch.arange(8.0)
    before = storage.clone()

    def run():
        assert torch.equal(storage, before)
        storage.mul_(3)

    def sample(launch):
        launch()
        return 1.0

    runs = [run]

    def fastest(runs, sample, deadline):
        assert [sample(run) for run in (*runs, *runs)] == [1.0, 1.0]
        return 0

    with mock.patch.object(tuned_launch, "fastest", fastest):
        storage.copy_(before)
        assert FormTimer(lambda: sample, 60.0)(runs, (storage[2:4], storage[4:])) == 0
    assert torch.equal(storage, before)


@contextmanager
def driver_that_refuses(*names):
    """Launchers of made-up kernels."""

    class Launcher:
        def __init__(self, cubin, signature):
            self.name = cubin.name

        def on(self, device):
            if self.name in names:
                raise load.CudaError(f"kernel '{self.name}' needs too much shared memory")
            return self.name

    with (
        mock.patch.object(load, "Launcher", Launcher),
        mock.patch.object(torch.cuda, "init"),
        mock.patch.object(torch.cuda, "mem_get_info"),
        mock.patch.object(torch.cuda, "device", mock.MagicMock()),
    ):
        yield


def test_forms_that_the_device_does_not_take():
    x = torch.randn(200)
    with interpreted_gpu() as plans:
        Compiled(lambda x: (scaled(x), x.cos()))(x)
    names = [kernel.name for kernel in plans[0].kernels]
    kernels = {n: load.PlanKernel(n, (), SimpleNamespace(name=n)) for n in names}
    first, *others = (name for name in names if "scaled" in name)
    (apart,) = (name for name in names if "scaled" not in name)
    with driver_that_refuses(*others):
        assert set(load.load_kernels(plans[0], kernels)) == set(names) - set(others)
    for refused in ((first, *others), (apart,)):
        with driver_that_refuses(*refused), pytest.raises(load.CudaError, match=refused[0]):
            load.load_kernels(plans[0], kernels)


def test_a_kernel_that_resets_memory_is_launched_by_torch():
    def reset(x):
        out = torch.empty_like(x)
        restored_kernel[(4,)](x, out, x.numel())
        return out

    with made_up_gpu():
        compiled = Compiled(reset)
        with pytest.raises(AttributeError, match="_Driver"):
            compiled(torch.randn(200))
    assert "its autotuner resets" in compiled.graphs[0].remarks.render("text")
