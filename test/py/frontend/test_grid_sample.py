"""``grid_sample`` and its gradients: every mode and padding, points outside, NaN and infinities, as eager."""

import math

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

PADDINGS = ("zeros", "border", "reflection")
MODES = [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")]


def sampled(mode, *paddings):
    """Each padding, with corners aligned and not."""

    def function(x, grid):
        both = (False, True)
        return tuple(F.grid_sample(x, grid, mode, p, a) for p in paddings or PADDINGS for a in both)

    return function


def image(rank, dtype=torch.float32):
    torch.manual_seed(0)
    return torch.randn(2, 3, *(3, 4, 5)[-rank:], dtype=dtype)


def points(rank, dtype=torch.float32):
    """Half of them outside; some on the borders and halfway between two pixels."""
    torch.manual_seed(1)
    grid = torch.randn(2, *(2, 3, 4)[-rank:], rank, dtype=dtype) * 1.5
    grid[0, 0] = torch.linspace(-1, 1, grid[0, 0].numel(), dtype=dtype).round(decimals=1).view_as(grid[0, 0])
    return grid


@pytest.mark.parametrize("rank, mode", MODES)
def test_values(rank, mode):
    """Then those of NaN and infinities, of one coordinate or all, and of places beyond every integer."""
    x, grid, function = image(rank), points(rank), sampled(mode)
    compiled = check(function, x, grid)
    odd = torch.tensor([math.nan, math.inf, -math.inf, 3e9, -1e20])
    grid[1].view(-1, rank)[:5, 0] = odd
    grid[1].view(-1, rank)[4:9, -1] = odd
    grid[0].view(-1, rank)[-1] = math.nan
    for got, want in zip(compiled(x, grid), function(x, grid), strict=True):
        torch.testing.assert_close(got, want, equal_nan=True)
    assert len(compiled.graphs) == 1 and not compiled.graphs[0].fallbacks


@pytest.mark.parametrize("rank, mode", MODES)
def test_gradients(rank, mode):
    """Of the image and of the grid; the image lies with its channels last."""
    function, found = sampled(mode, *PADDINGS[: 1 if mode == "bicubic" else 3]), []
    compiled = Compiled(function)
    for run in (compiled, function):
        x, grid = image(rank, torch.float64), points(rank, torch.float64)
        x = x.movedim(1, -1).contiguous().movedim(-1, 1) if rank == 2 else x
        leaves = [x.requires_grad_(), grid.requires_grad_()]
        loss = sum((r * r * (i + 1)).sum() for i, r in enumerate(run(*leaves)))
        found.append(torch.autograd.grad(loss, leaves))
    for got, want in zip(*found, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
        assert got.stride() == want.stride()
    assert [g.fallbacks for g in compiled.graphs] == [[], []]


def test_gradients_of_points_that_are_no_numbers():
    """Where eager reads no memory that is not its own."""
    grid = points(2)
    grid[0, 0, 0, 0], grid[0, 1, 1], grid[1, 0, 0, 1] = math.nan, math.nan, math.inf
    for mode, padding in (("bilinear", "zeros"), ("bicubic", "border"), ("nearest", "reflection")):
        found = []
        for run in (Compiled(sampled(mode, padding)), sampled(mode, padding)):
            leaves = [image(2).requires_grad_(), grid.clone().requires_grad_()]
            found.append(torch.autograd.grad(sum(r.sum() for r in run(*leaves)), leaves))
        for got, want in zip(*found, strict=True):
            torch.testing.assert_close(got, want, equal_nan=True)


def test_sizes_of_the_run_and_16_bits():
    function = sampled("bilinear", "reflection")
    compiled = Compiled(function, dynamic=True)
    for n, c, h, w in ((4, 3, 5, 6), (3, 5, 7, 4)):
        x, grid = torch.randn(n, c, h, w), torch.randn(n, h + 3, w + 3, 2)
        for got, want in zip(compiled(x, grid), function(x, grid), strict=True):
            torch.testing.assert_close(got, want)
    assert len(compiled.graphs) == 1
    check(function, image(2, torch.bfloat16), points(2, torch.bfloat16))


def test_one_pixel_and_no_points():
    """Between the centers of one pixel there is nothing to reflect at."""
    check(sampled("bilinear"), torch.randn(1, 2, 1, 3), points(2)[:1])
    check(sampled("bilinear", "zeros"), image(2), points(2)[:, :0])
    leaves = [image(2).requires_grad_(), points(2)[:, :0].requires_grad_()]
    total = sum(r.sum() for r in Compiled(sampled("bilinear", "zeros"))(*leaves))
    assert [g.abs().sum().item() for g in torch.autograd.grad(total, leaves)] == [0, 0]


def test_fuses_with_its_neighbours():
    """The grid is computed where it is read, and the result is used there."""
    function = lambda x, grid: F.grid_sample(x, grid.tanh(), align_corners=False).relu()  # noqa: E731
    compiled = check(function, image(2), points(2))
    assert (compiled.graphs[0].launches_after, compiled.graphs[0].fallbacks) == (1, [])


def test_deterministic_gradients_are_torchs():
    """Atomics add in any order."""
    compiled = Compiled(sampled("bilinear", "zeros"), {"deterministic": True})
    x, grid = image(2).requires_grad_(), points(2)
    (got,) = torch.autograd.grad(sum(r.sum() for r in compiled(x, grid)), x)
    (want,) = torch.autograd.grad(sum(r.sum() for r in sampled("bilinear", "zeros")(x, grid)), x)
    torch.testing.assert_close(got, want)
    assert {f.target for f in compiled.graphs[-1].fallbacks} == {"aten.grid_sampler_2d_backward.default"}
