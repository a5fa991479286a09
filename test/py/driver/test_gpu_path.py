"""What lies between dynamo and the driver on a GPU, with interpreted kernels: lists and arguments handed on,
buffers taken and given back, layouts, threads.
"""

import copy
import threading

import pytest
import torch
from compiling import Compiled, check, cloned
from interpreted_gpu import interpreted_gpu
from made_up_gpu import made_up_gpu
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from fuse_mlir.compiler import backend
from fuse_mlir.compiler.driver.request import graph_device
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.pipeline_text import pipeline_text

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Block(nn.Module):
    """Products, attention, a convolution with batch norm (whose buffers are written), views returned."""

    def __init__(self) -> None:
        super().__init__()
        self.images, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.queries, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.norm(self.images(x)).relu().flatten(2).transpose(1, 2)
        q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in self.queries(y).chunk(3, -1))
        z = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return y + nn.functional.gelu(self.out(z)), z


def close(found: Tensor, expected: Tensor, exact: Tensor) -> None:
    scale = exact.abs().max().item() + 1e-12
    error, eager = ((t.double() - exact).abs().max().item() / scale for t in (found, expected))
    assert error <= 4 * eager + 1e-6, (error, eager)


def test_the_device_of_a_graph_is_that_of_its_first_tensor_on_a_gpu() -> None:
    """Whether Dynamo says what a node gives, or AOTAutograd, one tensor or several."""
    graph = torch.fx.Graph()
    nodes = [graph.placeholder(name) for name in "xyz"]
    graph.output(nodes)
    gm = torch.fx.GraphModule(nn.Module(), graph)
    for key in ("val", "example_value"):
        nodes[0].meta, nodes[2].meta = {key: torch.empty(2)}, {key: 3}
        nodes[1].meta = {key: [torch.empty(2), torch.empty(2)]}
        assert graph_device(gm) == "cpu"
        with FakeTensorMode(allow_non_fake_inputs=True):
            nodes[1].meta[key][1] = torch.empty(2, device="cuda:1")
        assert graph_device(gm) == "cuda:1"


@pytest.mark.parametrize("training", [False, True])
def test_a_module(training: bool) -> None:
    module = Block().train(training)
    eager, exact = copy.deepcopy(module), copy.deepcopy(module).double()
    results = []
    with interpreted_gpu() as plans:
        call = torch.compile(module, backend=backend.fuse, dynamic=False)
        for run, net, dtype in (
            (call, module, torch.float32),
            (eager, eager, torch.float32),
            (exact, exact, torch.float64),
        ):
            for seed in range(2):
                x = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(seed)).to(dtype)
                with torch.set_grad_enabled(training):
                    out = run(x)
                if training:
                    sum(o.square().sum() for o in out).backward()
            values = [*(p.grad for p in net.parameters() if training), *net.buffers()]
            results.append([*(o.detach() for o in out), *values])
    assert len(plans) == (2 if training else 1)
    for found, expected, reference in zip(*results, strict=True):
        assert found.stride() == expected.stride()
        close(found, expected, reference)


def test_results_are_tensors_of_their_own() -> None:
    with interpreted_gpu(), torch.no_grad():
        call = torch.compile(lambda x: (x.exp(), (x * 2).flatten()), backend=backend.fuse, dynamic=False)
        x = torch.randn(4, 4)
        first = call(x)
        kept = cloned(list(first))
        second = call(-x)
    assert all(torch.equal(a, b) for a, b in zip(first, kept, strict=True)), "a later call left them alone"
    storages = {t.untyped_storage().data_ptr() for t in (*first, *second)}
    assert len(storages) == 4 and all(t.untyped_storage().nbytes() == 64 for t in (*first, *second))


def test_strides_alignment_and_threads() -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        return ((x @ w).relu() @ w.t()).softmax(-1)

    w = torch.randn(8, 8)
    inputs = [torch.randn(8, 8), torch.randn(8, 8).t(), torch.randn(65)[1:].view(8, 8)]
    with interpreted_gpu(), torch.no_grad():
        call = torch.compile(function, backend=backend.fuse, dynamic=False)
        for x in inputs:
            torch.testing.assert_close(call(x, w), function(x, w), rtol=1e-5, atol=1e-6)
        found: dict[int, list[Tensor]] = {}

        def work(number: int) -> None:
            with torch.no_grad():
                found[number] = [call(inputs[0] + number, w) for _ in range(3)]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(4):
        for result in found[number]:
            torch.testing.assert_close(result, function(inputs[0] + number, w), rtol=1e-5, atol=1e-6)


def bytes_of_a_product(x):
    return (x * 2).contiguous().view(torch.uint8)[:, ::3]


def kernel_on_a_part_of_a_storage(x):
    y = x.clone()
    y.as_strided((2, 2), (3, 1), 1).add_(5)
    return y


def conjugate_beside_its_operand(x):
    z = torch.complex(x, x * 2)
    return torch.view_as_real(z.conj().resolve_conj() + torch.view_as_complex(torch.view_as_real(z) * 3))


@pytest.mark.parametrize(
    "function", [bytes_of_a_product, kernel_on_a_part_of_a_storage, conjugate_beside_its_operand]
)
def test_what_an_extern_op_lays_into_a_storage(function):
    """Only torch knows where it begins: views of it and addresses of it are not the storage's."""
    x = torch.arange(1.0, 13.0).view(4, 3).t()
    with interpreted_gpu():
        found = Compiled(function)(x)
    assert found.dtype == function(x).dtype
    assert torch.equal(found, function(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_views_of_misaligned_arguments_are_returned(dynamic: bool) -> None:
    """Kernels read an aligned copy; the caller gets views of its own tensor.  AOTAutograd makes them again,
    with symbolic sizes by the offsets that they have.
    """

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        y[1:].mul_(2)
        return x.relu(), *x.chunk(2, 0), x.t(), x.view_as(x), y[1:, ::2], y.sum(0)

    given = [torch.randn(6, 9)[:, 3:], torch.randn(97)[1:].view(12, 8)]
    with interpreted_gpu():
        check(function, *given, dynamic=dynamic)


@torch.library.custom_op("fuse_tests::halve_in_place", mutates_args=("x",))
def halve_in_place(x: Tensor) -> None:
    x.mul_(0.5)


@pytest.mark.parametrize("reads_before", [False, True])
def test_what_torch_writes_into_a_misaligned_argument_reaches_the_caller(reads_before: bool) -> None:
    """An op of torch writes into the aligned copy, which kernels read."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        before = (x.exp(),) if reads_before else ()
        halve_in_place(x)
        return *before, x + 1

    with interpreted_gpu():
        check(function, torch.randn(33)[1:])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_torch_counts_from_where_the_storage_of_an_argument_begins(first: int, dynamic: bool) -> None:
    """An aligned copy that kernels read has a storage of its own."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        part = y[2:6].as_strided((4,), (1,), 3) * 2
        y.add_(1)
        moved = x.as_strided((4, 4), (4, 1), 2)
        return x.exp(), moved * 3, moved, part

    with interpreted_gpu():
        check(function, torch.randn(40)[first:][:20], torch.randn(40)[first:][:20], dynamic=dynamic)


@pytest.mark.parametrize("first", [0, 1])
def test_torch_counts_from_where_the_storage_of_what_it_has_written_begins(first: int) -> None:
    """No copy of such an argument is made, so kernels read it where it lies."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        halve_in_place(x)
        moved = x.as_strided((4, 4), (4, 1), 2)
        return x.exp(), moved * 3, torch.as_strided_scatter(x, moved[0] + 1, (4,), (1,), 3) * 2

    with interpreted_gpu():
        check(function, torch.randn(40)[first:][:20])


@torch.library.custom_op("fuse_tests::behind_another", mutates_args=())
def behind_another(x: Tensor) -> Tensor:
    return torch.cat([x[:1], x])[1:]


@behind_another.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def test_what_torch_gives_at_any_address_is_aligned() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = behind_another(x)
        return y.exp(), y, y[2:].view(3, 10)

    with interpreted_gpu():
        check(function, torch.randn(32))


def test_a_pipeline_that_ends_too_early_is_told() -> None:
    """A CPU runs any level, a GPU one alone."""
    text = pipeline_text(default_pipeline("scheduled"))
    compiled = Compiled(lambda x: x.softmax(-1) + 1, {"pipeline": text, "cache": False})
    with made_up_gpu(), pytest.raises(Exception, match="does not reach the level planned, which cpu runs: "):
        compiled(torch.randn(4, 8))
