"""Average pooling: values and gradients, compared with float64."""

import pytest
import torch
from compiling import Compiled
from compiling import check as check_compiled
from lowering import check, check_training, kernels, lower, trace
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table

WINDOWS = {
    "halved": {"kernel_size": 2},
    "overlapping": {"kernel_size": 3, "stride": 2, "padding": 1},
    "own count": {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    "wide": {"kernel_size": (1, 3), "stride": (2, 1), "padding": (0, 1)},
    "apart": {"kernel_size": 2, "stride": 3},
    "ceiling": {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    "ceiling, own count": {"kernel_size": 2, "stride": 2, "ceil_mode": True, "count_include_pad": False},
    "divided": {"kernel_size": 2, "divisor_override": 3},
    "many": {"kernel_size": (6, 5), "stride": 1},
}


def image(*sizes, dtype=torch.float32, channels_last=False):
    torch.manual_seed(0)
    x = torch.randn(*(sizes or (2, 3, 7, 9))).to(dtype)
    return x.contiguous(memory_format=torch.channels_last) if channels_last else x


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_values(name, dynamic):
    for x in (image(), image(dtype=torch.bfloat16, channels_last=True)):
        check(lambda x: F.avg_pool2d(x, **WINDOWS[name]), x, dynamic=dynamic)


@pytest.mark.parametrize("name", WINDOWS)
def test_gradients(name):
    for x in (image(), image(dtype=torch.float64, channels_last=True)):
        check_training(lambda x: F.avg_pool2d(x, **WINDOWS[name]), x, table=decomposition_table())


@pytest.mark.parametrize("options", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}])
def test_other_ranks(options):
    check_training(lambda x: F.avg_pool1d(x, **options), image(2, 3, 9), table=decomposition_table())
    check_training(lambda x: F.avg_pool3d(x, **options), image(2, 3, 4, 5, 6), table=decomposition_table())


@pytest.mark.parametrize("sizes", [(1, 1), (7, 3), (3, 2), (5, 9), (9, 14), (1, 4)])
def test_adaptive(sizes):
    """Windows that share places, that are equal, and more of them than places."""
    for x in (image(), image(channels_last=True)):
        check_training(lambda x: F.adaptive_avg_pool2d(x, sizes), x, table=decomposition_table())
    volume = image(1, 2, 3, 7, 9)
    check_training(lambda x: F.adaptive_avg_pool3d(x, (2, *sizes)), volume, table=decomposition_table())


def test_sizes_of_the_run():
    """How many places a window has, and how many windows a place, is known only then."""

    def pool(x):
        return F.adaptive_avg_pool2d(x, (3, 5))

    compiled = Compiled(pool, dynamic=True)
    for sizes in ((2, 3, 7, 9), (2, 3, 2, 4)):
        leaves = [image(*sizes).requires_grad_() for _ in range(2)]
        results = [f(x) for f, x in zip((compiled, pool), leaves, strict=True)]
        torch.testing.assert_close(*results)
        for result in results:
            (result * result).sum().backward()
        torch.testing.assert_close(*(x.grad for x in leaves))
    assert [(g.externs, g.fallbacks) for g in compiled.graphs] == [(0, [])] * 2


def test_fuses_with_its_neighbours():
    """A generated pooling is one kernel with the activation in front."""
    compiled = check_compiled(lambda x: F.avg_pool2d(torch.relu(x), 2) + 1, image())
    assert compiled.graphs[0].launches_after == 1 and not compiled.graphs[0].fallbacks


def test_empty_and_unbatched():
    check(lambda x: F.avg_pool2d(x, 2), image(0, 3, 4, 4))
    check(lambda x: F.avg_pool2d(x, 2), image(3, 4, 4))
    check(lambda x: F.adaptive_avg_pool2d(x, 3), image(3, 4, 4))


def test_refused():
    gm = trace(lambda x: F.avg_pool2d(x, 2), [torch.ones(1, 2, 4, 4, dtype=torch.int64)])
    assert not kernels(lower(gm, strict=False))
