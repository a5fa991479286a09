"""Reads at ``i // n`` that become views: which do, and that the numbers are those of eager PyTorch."""

import pytest
import torch
from compiling import check, with_exact_gradients
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.rewrites.graph.repeats import repeat_elements

_aten = torch.ops.aten


def repeated(function, *args) -> int:
    """How many reads and sums are rewritten; the graph must compute the same after it, in the same layout."""
    gm = make_fx(function, decomposition_table=decomposition_table(), tracing_mode="fake")(*args)
    count = repeat_elements(gm)
    found, want = gm(*args), function(*args)
    assert found.stride() == want.stride()
    torch.testing.assert_close(found, want, rtol=0, atol=0)
    if count:
        assert not gm.graph.find_nodes(op="call_function", target=_aten.arange.default)
    return count


def nearest(x: torch.Tensor, **how) -> torch.Tensor:
    with torch._dispatch.python.enable_python_dispatcher():
        return F.interpolate(x, **how)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("factor", [1.0, 2.0, 3.0, 7.0])
def test_upsampling_by_a_whole_number_is_a_view(mode, factor):
    x = torch.randn(2, 5, 6, 7)
    assert repeated(lambda x: nearest(x, scale_factor=factor, mode=mode), x) == 1


@pytest.mark.parametrize("shape", [(2, 3, 10), (2, 5, 4, 6), (2, 3, 4, 2, 5)])
def test_one_two_and_three_dims(shape):
    assert repeated(lambda x: nearest(x, scale_factor=2.0), torch.randn(shape)) == 1


def test_each_dim_has_its_own_number():
    assert repeated(lambda x: nearest(x, size=(8, 18)), torch.randn(2, 5, 4, 6)) == 1


def test_channels_last_stays_so():
    x = torch.randn(2, 8, 4, 6).to(memory_format=torch.channels_last)
    assert repeated(lambda x: nearest(x, scale_factor=2.0), x) == 1


@pytest.mark.parametrize("size", [(6, 12), (8, 9), (2, 3)])
def test_other_sizes_are_read_at_indices(size):
    assert repeated(lambda x: nearest(x, size=size), torch.randn(2, 5, 4, 6)) == 0


def test_other_indices():
    x, i = torch.randn(3, 4), torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    assert repeated(lambda x, i: x[:, i], x, i) == 0  # known to the caller only
    assert repeated(lambda x: x[:, torch.arange(8) // 2 * 0], x) == 0
    assert repeated(lambda x: x[torch.arange(3), torch.arange(3)], x) == 0  # a diagonal


def test_the_gradient_is_a_sum_over_what_was_read():
    def sums(values: torch.Tensor) -> torch.Tensor:
        i, j = torch.arange(6), torch.arange(8)
        at = [None, (i * 0.5).to(torch.int64).unsqueeze(-1), (j * 0.25).to(torch.int64)]
        return torch.ops.aten.index_put(torch.zeros(2, 3, 2), at, values, True)

    def more(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros(6, 8).index_put((torch.arange(6),), values[0])  # not added

    values = torch.randint(-8, 8, (2, 6, 8)).float()
    assert repeated(sums, values) == 1
    assert repeated(more, values) == 0


def test_upsampling_is_one_kernel_without_indices():
    compiled = check(lambda x: F.interpolate(x, scale_factor=2.0), torch.randn(2, 4, 5, 6).bfloat16())
    assert [len(graph.launches) for graph in compiled.graphs] == [1]


def test_gradients_of_upsampling():
    def block(x: torch.Tensor) -> torch.Tensor:
        return F.silu(F.interpolate(F.silu(x), scale_factor=2.0)).square()

    compiled = with_exact_gradients(block, [torch.randn(2, 4, 5, 6).bfloat16().requires_grad_()], {})
    nodes = [node for graph in compiled.graphs for launch in graph.launches for node in launch.nodes]
    assert nodes and not [node for node in nodes if node.startswith(("index", "_unsafe_index"))]
