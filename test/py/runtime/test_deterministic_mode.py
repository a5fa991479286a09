"""``options={"deterministic": True}``: no atomics, no measurement decides, torch's flag is honoured."""

import random
import time
from pathlib import Path

import pytest
import torch
from compiling import Compiled, check
from made_up_gpu import made_up_gpu
from new_process import python
from stored_programs import keys

import fuse_mlir
from fuse_mlir.compiler.base.errors import MeasurementRefused
from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.runtime.deterministic import deterministic_algorithms, deterministic_extern
from fuse_mlir.compiler.runtime.gpu.samples import fastest

PLANNED = {"interpret_level": "planned"}


def added(x, index, source):
    return (x * 2).index_add(0, index, source * 3)


def arguments():
    return torch.randn(7, 5), torch.tensor([1, 1, 6, 1]), torch.randn(4, 5)


def atomics(run: Compiled) -> int:
    return sum(str(graph.module).count("tt.atomic_rmw") for graph in run.graphs)


def test_float_atomics_become_torch_ops():
    assert atomics(check(added, *arguments(), **PLANNED)) == 1
    run = check(added, *arguments(), deterministic=True, **PLANNED)
    assert atomics(run) == 0
    assert [fallback.target for fallback in run.graphs[0].fallbacks] == ["aten.index_add.default"]


def test_torch_flag_alone_is_honoured():
    with deterministic_algorithms():
        run = check(added, *arguments(), **PLANNED)
    assert atomics(run) == 0


def test_backward_graph_has_no_atomics_either():
    def loss(table, index):
        return torch.nn.functional.embedding(index, table).square().sum()

    table, index = torch.randn(9, 4, requires_grad=True), torch.tensor([1, 8, 1])
    counts = {}
    for deterministic in (False, True):
        run = Compiled(loss, {"deterministic": deterministic, **PLANNED})
        run(table, index).backward()
        assert [graph.name for graph in run.graphs] == ["forward", "backward"]
        counts[deterministic] = atomics(run)
    assert counts == {False: 1, True: 0}


def test_flag_is_restored_after_compiling_and_after_an_error():
    assert not torch.are_deterministic_algorithms_enabled()
    check(added, *arguments(), deterministic=True, **PLANNED)
    with pytest.raises(ZeroDivisionError), deterministic_algorithms():
        assert torch.are_deterministic_algorithms_enabled() and not torch.backends.cudnn.benchmark
        raise ZeroDivisionError
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory


def test_extern_ops_run_under_the_flag_and_matrix_products_do_not():
    def state(x):
        return torch.are_deterministic_algorithms_enabled()

    assert deterministic_extern("aten.index_add.default", state)(0) is True
    assert deterministic_extern("aten.convolution.default", state)(0) is True
    products = ("mm.default", "mm.dtype", "addmm_.default", "_addmm_activation.default", "addbmm.default")
    for name in products:
        assert deterministic_extern(f"aten.{name}", state)(0) is False, name


def test_nothing_is_measured_under_the_flag():
    with deterministic_algorithms(), pytest.raises(MeasurementRefused, match="2 forms of a kernel would be"):
        fastest([lambda: None] * 2, lambda launch: 1.0, time.monotonic() + 1)
    with pytest.raises(OptionError, match="Inductor may measure"):
        Options.of({"deterministic": True, "flex_attention": "inductor"})


def test_the_flag_excludes_measured_tiles():
    compiled = torch.compile(lambda x: x + 1, backend=fuse_mlir.backend, mode="max-autotune-no-cudagraphs")
    with made_up_gpu(), deterministic_algorithms(), pytest.raises(Exception, match="excludes autotune"):
        compiled(torch.randn(8))


def work(x, w, index):
    y = torch.nn.functional.layer_norm(x, (48,), w)
    return torch.softmax(y, -1), y.sum(0), x.index_add(0, index, y[:3])


def compiled_keys() -> list[str]:
    torch.manual_seed(0)
    run = Compiled(work, {"deterministic": True, **PLANNED})
    results = run(torch.randn(6, 48), torch.randn(48), torch.tensor([0, 0, 5]))
    bits = [str(r.view(torch.int32).flatten().tolist()) for r in results]
    return [line for graph in run.graphs for line in keys(graph)] + bits


def test_distorted_clocks_change_nothing(monkeypatch):
    expected = compiled_keys()
    for name in ("perf_counter", "monotonic", "time"):
        real = getattr(time, name)
        monkeypatch.setattr(time, name, lambda real=real: real() + random.uniform(0, 1e6))
    monkeypatch.setattr(torch.cuda.Event, "elapsed_time", lambda *_: random.uniform(0, 1e6))
    assert compiled_keys() == expected


def test_two_processes_give_the_same_kernels_and_bits(one_thread):
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    code = f"{here}\nfrom test_deterministic_mode import compiled_keys\nprint(*compiled_keys(), sep='\\n')"
    other = python(code, PYTHONHASHSEED="1", OMP_NUM_THREADS="1").splitlines()
    assert other == compiled_keys() and len(other) > 4


GPU_BITS = """
import sys, random, time, hashlib
import torch
import fuse_mlir
from torch.nn import functional as F
if sys.argv[1] == "distorted":
    real = time.perf_counter
    time.perf_counter = lambda: real() + random.uniform(0, 1e6)
    torch.cuda.Event.elapsed_time = lambda *_: random.uniform(0, 1e6)

def step(table, index, x, w):
    y = F.layer_norm(F.embedding(index, table) @ w + x, (512,))
    return F.cross_entropy(y, index % 512) + y.sum(0).square().mean()

torch.manual_seed(0)
table = torch.randn(1000, 512, device="cuda", requires_grad=True)
w = torch.randn(512, 512, device="cuda", requires_grad=True)
x = torch.randn(4096, 512, device="cuda", requires_grad=True)
index = torch.randint(0, 1000, (4096,), device="cuda")
call = torch.compile(step, backend=fuse_mlir.backend, fullgraph=True, options={"deterministic": True})
for _ in range(2):
    for t in (table, w, x):
        t.grad = None
    loss = call(table, index, x, w)
    loss.backward()
    for t in (loss.detach(), table.grad, w.grad, x.grad):
        print(hashlib.sha256(t.cpu().numpy().tobytes()).hexdigest())
"""


@pytest.mark.gpu
def test_bits_on_a_gpu_are_equal_between_runs_and_processes():
    first, second = (python(f"import sys; sys.argv[1:] = [{how!r}]\n{GPU_BITS}") for how in ("", "distorted"))
    lines = first.splitlines()
    assert first == second and lines[:4] == lines[4:] and len(set(lines)) == 4


@pytest.mark.gpu
def test_an_op_without_a_deterministic_algorithm_raises_as_in_torch():
    x = torch.randn(1, 1, 4, 4, device="cuda", requires_grad=True)
    grid = torch.rand(1, 3, 3, 2, device="cuda")

    def sampled(x):
        return torch.nn.functional.grid_sample(x, grid, align_corners=False)

    loss = Compiled(sampled, {"deterministic": True})(x).sum()
    with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
        loss.backward()
