"""Max pooling: values, places and gradients, compared with eager; NaN and windows of -inf too."""

import math

import pytest
import torch
from compiling import Compiled
from lowering import check, check_training, lower, trace
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table

WINDOWS = {
    "resnet": {"kernel_size": 3, "stride": 2, "padding": 1},
    "halved": {"kernel_size": 2},
    "wide": {"kernel_size": (1, 3), "stride": (2, 1), "padding": (0, 1)},
    "apart": {"kernel_size": 2, "stride": 3},
    "ceiling": {"kernel_size": 3, "stride": 2, "ceil_mode": True},
}


def image(dtype=torch.float32, channels_last=False):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, 9).round(decimals=1).to(dtype)  # some are equal
    return x.contiguous(memory_format=torch.channels_last) if channels_last else x


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_values_and_places(name, dynamic):
    for x in (image(), image(torch.bfloat16, channels_last=True)):
        check(lambda x: F.max_pool2d(x, return_indices=True, **WINDOWS[name]), x, dynamic=dynamic)


@pytest.mark.parametrize("name", WINDOWS)
def test_gradients(name):
    for x in (image(), image(torch.float64, channels_last=True)):
        check_training(lambda x: F.max_pool2d(x, **WINDOWS[name]), x, table=decomposition_table())


def test_nan_and_infinity():
    x = image()
    x[0, 0, 2, 3] = math.nan
    x[0, 0, 2, 4] = math.nan
    x[1, 1] = -math.inf
    check(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)


@pytest.mark.parametrize("options", [{"dilation": 2}, {"kernel_size": 6}])
def test_refused(options):
    gm = trace(lambda x: F.max_pool2d(x, **{"kernel_size": 3, **options}), [image()])
    imported = lower(gm, strict=False)
    assert [f.target for f in imported.fallbacks] == ["aten.max_pool2d_with_indices.default"]


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_a_byte_for_each_result_is_saved(name, channels_last):
    """Between the two passes; the gradients are those of eager, also of equal, NaN and infinite elements."""
    x = image(channels_last=channels_last)
    x[0, 0, 2, 3:5] = math.nan
    x[1, 1] = -math.inf
    graphs = [x.clone().requires_grad_() for _ in range(2)]
    saved = []
    for leaf, run in zip(graphs, (lambda f: f, Compiled), strict=True):
        call = run(lambda x: F.max_pool2d(x * 2, **WINDOWS[name]))
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            result = call(leaf)
        steps = torch.arange(result.numel()).reshape(result.shape) % 7 - 3.0
        result.backward(steps.contiguous(memory_format=torch.channels_last) if channels_last else steps)
    assert torch.equal(graphs[0].grad, graphs[1].grad)
    assert graphs[0].grad.stride() == graphs[1].grad.stride()
    assert [t.dtype for t in saved[-1:]] == [torch.int8] and saved[-1].shape == result.shape


@pytest.mark.parametrize("options", [{"dilation": 2}, {"kernel_size": 6}])
def test_windows_that_no_kernel_computes_save_places(options):
    leaves, saved = [image().requires_grad_() for _ in range(2)], []
    for leaf, run in zip(leaves, (lambda f: f, Compiled), strict=True):
        call = run(lambda x: F.max_pool2d(x * 2, **{"kernel_size": 3, **options}))
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            result = call(leaf)
        (result * torch.arange(result.numel()).reshape(result.shape)).sum().backward()
    assert torch.equal(leaves[0].grad, leaves[1].grad) and torch.int8 not in [t.dtype for t in saved]


def test_places_that_are_results_stay():
    """Somebody else reads them."""
    x = image().requires_grad_()
    values, places = Compiled(lambda x: F.max_pool2d(x * 2, 3, return_indices=True))(x)
    values.sum().backward()
    expected, same = F.max_pool2d(x * 2, 3, return_indices=True)
    assert torch.equal(places, same) and torch.equal(values, expected)


def test_offsets_on_their_own():
    """The op as torch runs it: what the generated kernels are compared with elsewhere."""
    x = image().requires_grad_()
    for window in ([3, 3], [2, 2], [1, 1]), ([2, 2], [], [0, 0]):
        values, offsets = torch.ops.fuse_mlir.max_pool2d_offsets(x.detach(), *window)
        expected = F.max_pool2d(x, window[0], window[1] or None, window[2])
        assert torch.equal(values, expected)
        (gradient,) = torch.autograd.grad(expected.sum(), x)
        ones = torch.ones_like(values)
        found = torch.ops.fuse_mlir.max_pool2d_offsets_backward(ones, offsets, *window, sizes=list(x.shape))
        assert torch.equal(found, gradient)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_in_tiles(channels_last, dtype):
    """A ReLU and its pool have eager's bits, NaN and windows of zeros too, whichever way the image lies."""
    x = torch.randn(2, 64, 13, 12).to(dtype)
    x[0, 0, 2, 3] = math.nan
    x[1, 1], x[1, 2] = -math.inf, -1.0
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x

    def pool(x):
        return F.max_pool2d(F.relu(x), 3, 2, 1), F.max_pool2d(x, 2, 3)

    compiled = Compiled(pool, {"interpret_level": "tiled"})
    for got, want in zip(compiled(x), pool(x), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
