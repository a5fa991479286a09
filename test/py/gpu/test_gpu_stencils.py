"""Stencils on a CUDA device: strips of rows, padding, and channels that share nothing, against float64; and
convolutions of few channels as products.
"""

from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

from fuse_mlir.bench.cases_structured import STRUCTURED
from fuse_mlir.bench.graph_check import GraphChecker
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


def drawn(*shape, dtype=torch.float32):
    return torch.randn(shape, device="cuda").to(dtype)


def judged(function: Callable[..., Tensor], args: list[Tensor]) -> Compiled:
    """The function compiled, whose result is as near to float64 as eager's, and lies as it does."""
    compiled = Compiled(function)
    with torch.no_grad():
        found, eager = compiled(*args), function(*args)
        with float64_reference():
            reference = function(*(a.double() for a in args))
    rows = judge_all(*({"result": r} for r in (reference, eager, found)), torch.finfo(args[0].dtype).eps)
    assert all(row.passed for row in rows), rows
    assert found.stride() == eager.stride()
    return compiled


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("image", "weight", "options"),
    [
        ((8, 96, 56, 56), (96, 1, 7, 7), {"padding": 3, "groups": 96}),
        ((8, 96, 55, 53), (96, 1, 5, 5), {"padding": 2, "groups": 96}),
        ((4, 64, 112, 112), (64, 1, 3, 3), {"padding": 1, "stride": 2, "groups": 64}),
        ((4, 64, 64, 64), (128, 1, 3, 3), {"padding": 2, "dilation": 2, "groups": 64}),
        ((4, 1, 512, 512), (4, 1, 3, 3), {"padding": 1}),
        ((4, 3, 300, 517), (2, 3, 3, 3), {"padding": (0, 1)}),
        ((2, 768, 1023), (768, 1, 4), {"padding": 3, "groups": 768}),
    ],
)
def test_answers(image, weight, options, dtype):
    convolve = {3: F.conv1d, 4: F.conv2d}[len(image)]

    def function(x, w, b):
        return F.silu(convolve(x, w, b, **options))

    args = [drawn(*image, dtype=dtype), drawn(*weight, dtype=dtype), drawn(weight[0], dtype=dtype)]
    compiled = judged(function, args)
    assert [graph.externs for graph in compiled.graphs] == [0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("image", "weight", "options"),
    [
        ((32, 3, 224, 224), (32, 3, 3, 3), {"padding": 1, "stride": 2}),
        ((32, 3, 224, 224), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
        ((32, 3, 127, 130), (96, 3, 3, 3), {"padding": (0, 2), "dilation": 2}),
        ((64, 1, 64, 64), (16, 1, 5, 5), {"padding": 2}),
        ((16, 4, 192, 192), (128, 4, 8, 8), {"stride": 4}),
    ],
)
def test_stems(image, weight, options, last, dtype):
    def function(x, w, b):
        return F.silu(F.conv2d(x, w, b, **options))

    args = [drawn(*image, dtype=dtype), drawn(*weight, dtype=dtype), drawn(weight[0], dtype=dtype)]
    if last:
        args[:2] = [a.contiguous(memory_format=torch.channels_last) for a in args[:2]]
    compiled = judged(function, args)
    assert [(graph.externs, len(graph.launches)) for graph in compiled.graphs] == [(0, 1)]


@pytest.mark.parametrize(
    "name",
    [n for n in STRUCTURED if n.startswith(("chunked", "sobel", "stem", "gated_linear", "wkv", "selective"))],
)
def test_cases_of_the_suite(name):
    graph = STRUCTURED[name]
    built = graph.new(graph.dtypes[0], torch.device("cuda"))
    verdict = GraphChecker(graph, built).check(graph.step(Compiled(built.fn)))
    assert verdict.passed, verdict.note
