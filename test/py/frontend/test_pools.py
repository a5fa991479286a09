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

#: Windows of which the places are saved, and not a byte for each result.
FURTHER = {
    "dilated": {"kernel_size": (3, 2), "stride": (1, 2), "padding": 1, "dilation": (2, 3)},
    "large": {"kernel_size": 6, "stride": (1, 2), "padding": 3, "ceil_mode": True},
    "large and dilated": {"kernel_size": (2, 13), "stride": 1, "padding": (1, 6), "dilation": (3, 1)},
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


def unusual(*sizes):
    """Values of which some are equal, some NaN, and most of one plane -inf."""
    torch.manual_seed(0)
    x = torch.randn(sizes).round()
    x[0, 0].view(-1)[3::11] = math.nan
    x[-1, -1] = -math.inf
    x[-1, -1].view(-1)[7] = -2.0
    return x


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FURTHER)
def test_dilated_and_large_windows(name, dynamic):
    for x in (unusual(2, 3, 7, 9), unusual(2, 3, 7, 9).to(memory_format=torch.channels_last).half()):
        check(lambda x: F.max_pool2d(x, return_indices=True, **FURTHER[name]), x, dynamic=dynamic)
    if not dynamic:
        check_training(lambda x: F.max_pool2d(x, **FURTHER[name]), image(), table=decomposition_table())


@pytest.mark.parametrize("options", [{"kernel_size": 2}, {"kernel_size": (2, 3, 5), "padding": (1, 0, 2)}])
@pytest.mark.parametrize("dilation", [1, (2, 1, 1)])
def test_other_ranks(options, dilation):
    options = {**options, "stride": (2, 1, 2), "dilation": dilation, "ceil_mode": True}
    check(lambda x: F.max_pool3d(x, return_indices=True, **options), unusual(2, 2, 5, 4, 6))
    check_training(lambda x: F.max_pool3d(x, **options), image()[None], table=decomposition_table())
    check_training(lambda x: F.max_pool1d(x, 3, 2, 1, 2), image()[0, 0], table=decomposition_table())


@pytest.mark.parametrize("sizes", [(1, 1), (7, 3), (3, 2), (9, 14)])
def test_adaptive(sizes):
    """Windows that share places, that are equal, and more of them than places."""
    check(lambda x: F.adaptive_max_pool2d(x, sizes, True), unusual(2, 3, 7, 9))
    check(lambda x: F.adaptive_max_pool3d(x, (2, *sizes), True), unusual(2, 2, 3, 7, 9))
    table = decomposition_table()
    check_training(lambda x: F.adaptive_max_pool2d(x, sizes), image(channels_last=True), table=table)
    check_training(lambda x: F.adaptive_max_pool3d(x, (2, *sizes)), image(), table=table)
    check_training(lambda x: F.adaptive_max_pool1d(x, sizes[0]), image()[0, 0], table=table)


def test_adaptive_of_sizes_of_the_run():
    """How many places a window has is known only then."""

    def pool(x):
        return F.adaptive_max_pool2d(x, (3, 5), return_indices=True)

    compiled = Compiled(pool, dynamic=True)
    for height, width in ((7, 9), (2, 4)):
        x = unusual(2, 3, height, width)
        for got, want in zip(compiled(x), pool(x), strict=True):
            torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    assert [(g.externs, g.fallbacks) for g in compiled.graphs] == [(0, [])]


def test_no_image_and_windows_of_padding():
    """A dilated window can lie beside the image; its place is then behind the image, as in eager."""
    check(lambda x: F.max_pool2d(x, 2, return_indices=True), torch.empty(0, 3, 4, 4))
    check(lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True), torch.empty(0, 3, 4, 4))
    check(lambda x: F.max_pool2d(x, 2, 1, 1, 3, return_indices=True), torch.ones(1, 2, 2))


def test_integers_are_torchs():
    gm = trace(lambda x: F.max_pool2d(x, 2), [torch.ones(1, 2, 4, 4, dtype=torch.int64)])
    assert [f.target for f in lower(gm, strict=False).fallbacks] == ["aten.max_pool2d_with_indices.default"]


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
def test_dilated_and_large_windows_save_places(options):
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
