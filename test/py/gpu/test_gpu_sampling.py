"""Pooling, ``grid_sample`` and antialiased interpolation on a GPU, compared with eager there."""

import math

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F

pytestmark = pytest.mark.gpu

MODES = [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")]


def normal(*sizes, dtype=torch.float32):
    return torch.randn(sizes, dtype=dtype, device="cuda")


def trained(function, *inputs):
    """Results and gradients of eager, and of the compiled function, which runs nothing in torch."""
    compiled, found = Compiled(function), []
    for run in (compiled, function):
        leaves = [x.detach().clone(memory_format=torch.preserve_format).requires_grad_() for x in inputs]
        results = run(*leaves)
        loss = sum((r.float() ** 2).sum() for r in results)
        found.append((*results, *torch.autograd.grad(loss, leaves)))
    assert not any(g.fallbacks for g in compiled.graphs)
    return found


@pytest.mark.parametrize("rank, mode", MODES)
def test_grid_sample(rank, mode):
    """The corners are aligned too, for which torch may take cuDNN."""

    def function(x, grid):
        paddings = ("zeros", "border", "reflection")
        return tuple(F.grid_sample(x, grid, mode, p, a) for p in paddings for a in (False, True))

    torch.manual_seed(0)
    x, grid = normal(2, 8, *(6, 15, 17)[-rank:]), normal(2, *(5, 12, 13)[-rank:], rank)
    for got, want in zip(*trained(function, x, grid), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rank, mode", MODES)
def test_points_that_are_no_numbers(rank, mode):
    def function(x, grid):
        given = [(p, a) for p in ("zeros", "border", "reflection") for a in (False, True)]
        return tuple(F.grid_sample(x, grid, mode, p, a) for p, a in given if (p, a) != ("zeros", True))

    torch.manual_seed(0)
    x, grid = normal(2, 3, *(3, 4, 5)[-rank:]), normal(2, *(2, 3, 4)[-rank:], rank)
    # finite numbers that stay exact in pixels: eager's contraction multiplies what is lost by itself
    odd = torch.tensor([math.nan, math.inf, -math.inf, 2.0**33, -(2.0**70)], device="cuda")
    grid[1].view(-1, rank)[:5, 0] = odd
    grid[1].view(-1, rank)[4:9, -1] = odd
    for got, want in zip(Compiled(function)(x, grid), function(x, grid), strict=True):
        torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_pools(dtype):
    def function(x):
        return (
            F.adaptive_max_pool2d(x, (5, 7)),
            F.adaptive_avg_pool2d(x, (5, 7)),
            F.max_pool2d(x, 9, 2, 4),
            F.max_pool2d(x, 3, 2, 1, 2),
            F.max_pool3d(x.contiguous(), 3, 2, 1),
            F.avg_pool2d(x, 7, 1),
        )

    torch.manual_seed(0)
    x = normal(4, 8, 31, 45, dtype=dtype).contiguous(memory_format=torch.channels_last)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 4e-2, "atol": 4e-1}
    for got, want in zip(*trained(function, x), strict=True):
        torch.testing.assert_close(got, want, **tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_antialiased(dtype):
    def function(x):
        both = [(m, a) for m in ("bilinear", "bicubic") for a in (False, True)]
        small = [F.interpolate(x, (17, 40), mode=m, align_corners=a, antialias=True) for m, a in both]
        return *small, F.interpolate(x, scale_factor=(1.7, 0.4), mode="bilinear", antialias=True)

    torch.manual_seed(0)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 3e-2, "atol": 6e-2}
    for got, want in zip(*trained(function, normal(2, 3, 61, 33, dtype=dtype)), strict=True):
        torch.testing.assert_close(got, want, **tolerance)
