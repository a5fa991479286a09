"""Convolutions of few products become kernels: which do, and their answers against float64."""

import pytest
import torch
from compiling import Compiled
from interpreted_gpu import interpreted_gpu
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer import importer  # noqa: F401  (enters the lowerings)
from fuse_mlir.compiler.rewrites.layouts.choose import choose_layouts

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

BF16 = torch.bfloat16


def drawn(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def stencils(function, *args) -> int:
    """How many convolutions of a function become kernels."""
    gm = make_fx(
        lambda *args: (function(*args),), decomposition_table=decomposition_table(), tracing_mode="fake"
    )(*args)
    choose_layouts(gm)
    return sum(n.target is torch.ops.fuse_mlir.stencil.default for n in gm.graph.nodes)


def check(function, *args, calls=0):
    """The answer of the way of a GPU, judged against float64, and strides as eager's; the graph, with so many
    calls of a library.
    """
    compiled = Compiled(function)
    with interpreted_gpu(), torch.no_grad():
        found = compiled(*args)
        eager = function(*args)
        with float64_reference():
            reference = function(*(a.double() if isinstance(a, torch.Tensor) else a for a in args))
    rows = judge_all(*({"result": r} for r in (reference, eager, found)), torch.finfo(eager.dtype).eps)
    assert all(row.passed for row in rows), rows
    assert found.stride() == eager.stride()
    [graph] = compiled.graphs
    assert graph.externs == calls and not graph.fallbacks
    return graph


def depthwise(x, w, b):
    return F.gelu(F.conv2d(x, w, b, padding=w.shape[-1] // 2, groups=x.shape[1]))


@pytest.mark.parametrize("dtype", [torch.float32, BF16, torch.float16])
def test_each_channel_has_a_stencil(dtype):
    graph = check(depthwise, *(drawn(*s, dtype=dtype) for s in ((2, 3, 9, 16), (3, 1, 7, 7), (3,))))
    assert len(graph.launches) == 1  # with its bias and what reads it


def test_two_stencils_of_one_image():
    def sobel(x, w):
        return F.conv2d(x, w, padding=1).square().sum(1, keepdim=True).sqrt()

    graph = check(sobel, drawn(2, 1, 11, 17), drawn(2, 1, 3, 3))
    assert len(graph.launches) == 1


@pytest.mark.parametrize(
    ("image", "weight", "options"),
    [
        ((2, 6, 40), (6, 1, 4), {"padding": 3, "groups": 6}),
        ((1, 2, 19, 33), (3, 2, 3, 3), {"stride": 2, "padding": 1, "dilation": 2}),
        ((1, 2, 5, 6, 7), (4, 2, 2, 2, 2), {"padding": 1}),
        ((2, 4, 8, 9), (8, 1, 3, 1), {"stride": (2, 1), "padding": (1, 0), "groups": 4}),
        ((2, 3, 5, 5), (3, 1, 5, 5), {"padding": 5, "groups": 3}),  # most places see padding alone
    ],
)
def test_strides_padding_dilation_and_groups(image, weight, options):
    convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(image)]
    check(lambda x, w: convolve(x, w, **options).relu(), drawn(*image), drawn(*weight))


def test_channels_last_images_are_the_librarys():
    """Also where the image is channels-last only once layouts are chosen: behind another convolution."""

    def function(x, w, b):
        return F.conv2d(x.to(memory_format=torch.channels_last), w, b, padding=1, groups=8) + 1

    def behind(x, v, w, b):
        return F.conv2d(F.relu(F.conv2d(x, v)), w, b, padding=1, groups=16).relu()

    def few(x, v, w):
        return F.conv2d(F.conv2d(x, v).relu(), w, padding=1)

    for form, calls, args in (
        (function, 1, (drawn(2, 8, 6, 7, dtype=BF16), drawn(8, 1, 3, 3, dtype=BF16), drawn(8, dtype=BF16))),
        (behind, 2, [drawn(*s, dtype=BF16) for s in ((2, 8, 6, 7), (16, 8, 1, 1), (16, 1, 3, 3), (16,))]),
        (few, 2, [drawn(*s, dtype=BF16) for s in ((2, 8, 6, 7), (3, 8, 1, 1), (2, 3, 3, 3))]),
    ):
        assert not stencils(form, *args)
        check(form, *args, calls=calls)


def test_what_is_reduced_behind_many_products_is_the_librarys():
    def normed(x, w):
        y = F.conv2d(x, w, padding=w.shape[-1] // 2, groups=x.shape[1])
        return F.layer_norm(y.permute(0, 2, 3, 1), (x.shape[1],))

    assert not stencils(normed, drawn(1, 4, 8, 8), drawn(4, 1, 7, 7))
    assert stencils(normed, drawn(1, 4, 8, 8), drawn(4, 1, 5, 5)) == 1  # 25 are as in a window of pooling
    assert not stencils(
        lambda x, w: F.conv2d(x, w, groups=4).relu().sum(1), drawn(1, 4, 8, 8), drawn(4, 1, 7, 7)
    )


def test_padding_is_zero_and_numbers_that_are_none_stay_where_they_are():
    x = drawn(1, 1, 6, 8)
    x[0, 0, 2, 3], x[0, 0, 5, 7] = torch.nan, torch.inf
    graph = Compiled(lambda x, w: F.conv2d(x, w, padding=1))
    with interpreted_gpu(), torch.no_grad():
        found = graph(x, drawn(1, 1, 3, 3))
        torch.testing.assert_close(found, F.conv2d(x, drawn(1, 1, 3, 3), padding=1), equal_nan=True)


def test_rows_of_a_strip_are_computed_together():
    """Of an image that is large enough to fill a GPU; along rows that a strip divides.  Where vectors divide
    the columns, a thread computes one in each row.
    """
    for rows, columns, padding, strips in ((512, 512, 1, 2), (510, 513, (1, 0), 1)):
        graph = check(
            lambda x, w: F.conv2d(x, w, padding=padding).abs(),  # noqa: B023
            drawn(2, 1, rows, columns), drawn(1, 1, 3, 3),
        )  # fmt: skip
        assert [r.rule for r in graph.remarks.items if r.pass_name == "unroll-and-jam"] == [
            "jammed",
            "folded",
        ] * strips
    graph = check(depthwise, *(drawn(*s, dtype=BF16) for s in ((8, 12, 56, 56), (12, 1, 5, 5), (12,))))
    rules = [r.rule for r in graph.remarks.items]
    assert "jammed" in rules and "planes-share-weights" in rules


def causal(x, w, b):
    length = x.shape[-1]
    return F.silu(F.conv1d(x, w, b, padding=w.shape[-1] - 1, groups=w.shape[0])[..., :length])


@pytest.mark.parametrize(("length", "vectors"), [(1024, True), (1028, True), (1023, False)])
def test_taps_along_memory_are_read_as_vectors(length, vectors):
    """Eight points of bfloat16 of a thread, or four; one by one where vectors would be cut."""
    graph = check(causal, *(drawn(*s, dtype=BF16) for s in ((8, 96, length), (96, 1, 4), (96,))))
    assert ("jammed" in [r.rule for r in graph.remarks.items]) == vectors
    assert ("tt.split" in str(graph.module)) == vectors
    assert "planes-share-weights" in [r.rule for r in graph.remarks.items]


def test_convolutions_that_stay():
    convolved = lambda **options: lambda x, w: F.conv2d(x, w, **options)  # noqa: E731
    assert stencils(convolved(groups=4), drawn(1, 4, 8, 8), drawn(4, 1, 7, 7)) == 1
    assert not stencils(convolved(groups=4), drawn(1, 4, 16, 16), drawn(4, 1, 8, 8))  # 64 products
    assert not stencils(convolved(), drawn(1, 3, 8, 8), drawn(5, 3, 3, 3))  # five read each channel
    assert not stencils(convolved(groups=2), drawn(1, 8, 8, 8), drawn(8, 4, 3, 3))  # groups of four
    assert not stencils(convolved(), drawn(1, 4, 8, 8), drawn(2, 4, 1, 1))  # one place
    assert not stencils(lambda x, w: F.conv_transpose2d(x, w, groups=4), drawn(1, 4, 8, 8), drawn(4, 1, 3, 3))
    double = drawn(1, 4, 8, 8).double(), drawn(4, 1, 3, 3).double()
    assert not stencils(convolved(groups=4), *double)


def test_gradients_are_the_librarys():
    x, w, b = (
        drawn(2, 3, 8, 8).requires_grad_(),
        drawn(3, 1, 3, 3).requires_grad_(),
        drawn(3).requires_grad_(),
    )
    compiled = Compiled(lambda *args: depthwise(*args).square().sum(), {"layouts": "free"})
    found = torch.autograd.grad(compiled(x, w, b), (x, w, b))
    doubles = [a.detach().double().requires_grad_() for a in (x, w, b)]
    exact = torch.autograd.grad(depthwise(*doubles).square().sum(), doubles)
    for got, wanted in zip(found, exact, strict=True):
        torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-4)
    forward, backward = compiled.graphs
    assert (forward.externs, backward.externs) == (0, 1)
