"""Max pooling: values, places and gradients, compared with eager; NaN and windows of -inf too."""

import math

import pytest
import torch
from lowering import check, check_training, lower, trace
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.decompositions import decomposition_table

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
