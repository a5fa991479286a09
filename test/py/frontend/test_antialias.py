"""Interpolation with ``antialias=True``: values and gradients, smaller and larger, as eager and float64."""

import math

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

#: Of images of 7 x 9.
SIZES = {
    "smaller": {"size": (3, 4)},
    "larger": {"size": (11, 20)},
    "one row": {"size": (1, 5)},
    "as many rows": {"size": (7, 2)},
    "by a factor": {"scale_factor": (0.45, 1.7)},
}


def resized(mode, align_corners=False, **sizes):
    return lambda x: F.interpolate(x, mode=mode, align_corners=align_corners, antialias=True, **sizes)


def image(dtype=torch.float32, channels_last=False):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, 9, dtype=dtype)
    return x.contiguous(memory_format=torch.channels_last) if channels_last else x


@pytest.mark.parametrize("name", SIZES)
def test_values(name):
    """Both filters and both kinds of corners in one graph."""
    functions = [resized(mode, a, **SIZES[name]) for mode in ("bilinear", "bicubic") for a in (False, True)]
    compiled = check(lambda x: tuple(f(x) for f in functions), image())
    assert not compiled.graphs[0].fallbacks


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradients(mode):
    function = lambda x: tuple(resized(mode, **s)(x) for s in SIZES.values())  # noqa: E731
    found, compiled = [], Compiled(function)
    for run in (compiled, function):
        x = image(torch.float64, channels_last=True).requires_grad_()
        (gradient,) = torch.autograd.grad(sum((r * r).sum() for r in run(x)), x)
        found.append(gradient)
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-10)
    assert found[0].stride() == found[1].stride()
    assert [g.fallbacks for g in compiled.graphs] == [[], []]


def test_nan_and_infinity_spread_as_far():
    """Also to results that weigh them by 0; but not along an axis that is copied."""
    x = image()
    x[0, 0, 3, 4], x[1, 1, 2] = math.nan, math.inf
    function = lambda x: tuple(resized("bilinear", **s)(x) for s in SIZES.values())  # noqa: E731
    for got, want in zip(Compiled(function)(x), function(x), strict=True):
        torch.testing.assert_close(got, want, equal_nan=True)


def test_sizes_of_the_run():
    """Smaller, larger and the same; the gradient is a sum over as many results as are needed.  (Torch cannot
    trace the gradient of the other filter.)
    """

    def function(x):
        return resized("bilinear", size=(5, 6))(x), resized("bicubic", size=(5, 6))(x.detach())

    compiled = Compiled(function, dynamic=True)
    for height, width in ((7, 4), (3, 13), (5, 6)):
        x = torch.randn(2, 3, height, width).requires_grad_()
        results = [f(x) for f in (compiled, function)]
        for got, want in zip(*results, strict=True):
            torch.testing.assert_close(got, want)
        torch.testing.assert_close(*(torch.autograd.grad((r * r).sum(), x)[0] for r, _ in results))
    assert not any(g.fallbacks for g in compiled.graphs)


def test_lanczos():
    if not hasattr(torch.ops.aten, "_upsample_lanczos2d_aa"):
        pytest.skip("this torch has no such filter")
    function = lambda x: F.interpolate(x, mode="lanczos", antialias=True, size=(4, 12))  # noqa: E731
    assert not check(function, image()).graphs[0].fallbacks


def test_what_stays_torchs():
    """Bytes are weighed by integers.  One column of several rows: eager on a CPU reads one row for all."""
    whole = torch.randint(0, 255, (1, 3, 7, 9), dtype=torch.uint8)
    for x, function in (
        (whole, resized("bilinear", size=(3, 4))),
        (image(), resized("bilinear", size=(3, 1))),
    ):
        compiled = Compiled(function)
        assert torch.equal(compiled(x), function(x))
        assert [f.target for f in compiled.graphs[0].fallbacks] == ["aten._upsample_bilinear2d_aa.default"]
