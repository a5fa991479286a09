"""Convolutions of few channels become products with columns that a kernel gathers: which do, and their
answers against float64.
"""

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
from fuse_mlir.compiler.rewrites.stages import Switch

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

BF16 = torch.bfloat16
SWITCHES = (Switch.ALWAYS, Switch.LAYOUTS, Switch.STEMS)


def drawn(*shape, dtype=BF16, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def stems(function, *args, on=SWITCHES) -> int:
    """How many convolutions of a function become products."""
    gm = make_fx(
        lambda *args: (function(*args),), decomposition_table=decomposition_table(), tracing_mode="fake"
    )(*args)
    choose_layouts(gm, on=on)
    return sum(n.target is torch.ops.fuse_mlir.columns.default for n in gm.graph.nodes)


def check(function, *args, products="generated"):
    """The answer of the way of a GPU, judged against float64, and strides as eager's; the graph, which has
    one kernel and no call where ``products`` is "generated".
    """
    compiled = Compiled(function, {"products": products})
    with interpreted_gpu(), torch.no_grad():
        found = compiled(*args)
        eager = function(*args)
        with float64_reference():
            reference = function(*(a.double() for a in args))
    rows = judge_all(*({"result": r} for r in (reference, eager, found)), torch.finfo(eager.dtype).eps)
    assert all(row.passed for row in rows), rows
    assert found.stride() == eager.stride()
    [graph] = compiled.graphs
    assert not graph.fallbacks
    if products == "generated":
        assert graph.externs == 0 and len(graph.launches) == 1
    return graph


def convolved(**options):
    return lambda x, w: F.conv2d(x, w, **options)


def stem(x, w, scale, shift):
    y = F.conv2d(x, w, stride=2, padding=w.shape[-1] // 2)
    return F.silu(y * scale[:, None, None] + shift[:, None, None])


@pytest.mark.parametrize("dtype", [BF16, torch.float16])
@pytest.mark.parametrize("taps", [3, 7])
def test_a_stem_is_one_kernel(dtype, taps):
    """With the norm and the activation behind it; places come first in its tile, and steps are written
    out.
    """
    shapes = (2, 3, 32, 32), (32, 3, taps, taps), (32,), (32,)
    graph = check(stem, *(drawn(*s, dtype=dtype, seed=n) for n, s in enumerate(shapes)))
    [tile] = [line for line in str(graph.module).splitlines() if "fuse.tile" in line and "looped" in line]
    assert "written_out" in tile and "num_stages = 1" in tile
    assert tile.index('"d1"') > tile.index("block = 128")
    assert "scf.for" not in str(graph.module)


@pytest.mark.parametrize(
    ("image", "weight", "options"),
    [
        ((1, 3, 13, 17), (16, 3, 3, 3), {"padding": 1}),
        ((2, 3, 15, 9), (24, 3, 3, 5), {"stride": (2, 1), "padding": (0, 2)}),
        ((2, 3, 19, 21), (16, 3, 3, 3), {"stride": 2, "padding": 2, "dilation": 2}),
        ((3, 2, 11, 12), (17, 2, 3, 3), {"stride": 2}),  # fewer columns than a block, and no padding
        ((1, 4, 16, 16), (16, 4, 8, 8), {"stride": 4, "padding": "valid"}),
        ((2, 1, 12, 10), (16, 1, 5, 5), {"padding": "same"}),
        ((1, 3, 6, 40), (16, 3, 7, 7), {"stride": 16, "padding": 5}),  # windows beside each other stay
        ((1, 3, 3, 3), (16, 3, 3, 3), {"padding": 1, "dilation": 1}),
        ((1, 3, 2, 2), (16, 3, 7, 7), {"padding": 3}),  # most places see padding alone
    ],
)
def test_strides_padding_and_dilation(image, weight, options):
    fires = options.get("stride") != 16
    assert stems(convolved(**options), drawn(*image), drawn(*weight)) == fires
    if fires:
        check(convolved(**options), drawn(*image), drawn(*weight, seed=1))


def test_channels_last_and_bias():
    x = drawn(2, 3, 16, 12).contiguous(memory_format=torch.channels_last)
    w = drawn(16, 3, 3, 3, seed=1).contiguous(memory_format=torch.channels_last)

    def gelu(x, w, b):
        return F.gelu(F.conv2d(x, w, b, stride=2, padding=1))

    check(gelu, x, w, drawn(16, seed=2))


def test_padding_is_zero_and_numbers_that_are_none_stay_where_they_are():
    x = drawn(1, 3, 12, 12)
    x[0, 0, 2, 3], x[0, 2, 11, 11] = torch.nan, torch.inf
    compiled = Compiled(convolved(stride=2, padding=1), {"products": "generated"})
    with interpreted_gpu(), torch.no_grad():
        found, w = compiled(x, drawn(16, 3, 3, 3)), drawn(16, 3, 3, 3)
    wanted = F.conv2d(x.float(), w.float(), stride=2, padding=1)
    assert torch.equal(found.isfinite(), wanted.isfinite())


def test_where_the_product_is_a_call_columns_are_stored():
    graph = check(
        stem, drawn(1, 3, 16, 16), drawn(16, 3, 3, 3, seed=1), drawn(16), drawn(16), products="auto"
    )
    assert graph.externs == 1  # a module for a CPU


def test_convolutions_that_stay():
    image, weight = drawn(1, 3, 16, 16), drawn(16, 3, 3, 3)
    assert stems(convolved(), image, weight) == 1
    assert not stems(convolved(), image, weight, on=SWITCHES[:2])
    assert not stems(convolved(), drawn(0, 3, 16, 16), weight)  # no image
    assert not stems(convolved(), drawn(1, 8, 16, 16), drawn(16, 8, 3, 3))  # more channels
    assert not stems(convolved(), image, drawn(8, 3, 3, 3))  # few results
    assert not stems(convolved(), image, drawn(16, 3, 2, 2))  # a short sum
    assert not stems(convolved(), image, drawn(16, 3, 10, 10))  # a long one
    assert not stems(convolved(), image, drawn(16, 3, 1, 1))
    assert not stems(convolved(), image, drawn(16, 3, 1, 9))  # along memory alone
    assert not stems(convolved(groups=2), drawn(1, 4, 16, 16), drawn(16, 2, 3, 3))
    assert not stems(convolved(), image.float(), weight.float())
    assert not stems(convolved(), image.double(), weight.double())
    assert not stems(lambda x, w: F.conv_transpose2d(x, w), image, drawn(3, 16, 3, 3))
    assert not stems(lambda x, w: F.conv1d(x, w), drawn(1, 3, 64), drawn(16, 3, 9))


def test_gradients_are_the_librarys():
    x, w = drawn(2, 3, 8, 8).requires_grad_(), drawn(16, 3, 3, 3, seed=1).requires_grad_()
    options = {"layouts": "free", "products": "generated"}
    function = lambda x, w: F.conv2d(x, w, stride=2, padding=1).float().square().sum()  # noqa: E731
    compiled = Compiled(function, options)
    found = torch.autograd.grad(compiled(x, w), (x, w))
    doubles = [a.detach().double().requires_grad_() for a in (x, w)]
    exact = torch.autograd.grad(F.conv2d(doubles[0], doubles[1], stride=2, padding=1).square().sum(), doubles)
    for got, wanted in zip(found, exact, strict=True):
        torch.testing.assert_close(got.double(), wanted, rtol=3e-2, atol=3e-1)
    forward, backward = compiled.graphs
    assert (forward.externs, backward.externs) == (0, 1)
