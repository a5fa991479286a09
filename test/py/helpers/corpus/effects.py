"""Assertions and random numbers: what must stay though nobody reads it."""

import torch
from torch.nn import functional as F

from .graph import floats, graph


@graph(floats(4, 5), asserts=True)
@graph(floats(4, 5), dynamic=True, asserts=True)
def asserted(x):
    torch._assert_async((x < 100).all(), "x is small")
    return x * 2


@graph(floats(4, 5), asserts=True)
def asserted_and_unused(x):
    y = x.abs()
    torch._assert_async((y >= 0).all())
    return x + 1


@graph(floats(6, 8), random=True)
@graph(floats(6, 8), random=True, gradient=True)
def dropout(x):
    return F.dropout(x.sin(), 0.3) + x


@graph(floats(6, 8), random=True)
def noise(x):
    return x + torch.rand_like(x), torch.randn(3, 4) * 2, torch.rand(5).sum()


@graph(floats(6, 8), floats(6, 8, seed=1), floats(8), random=True, gradient=True)
def dropout_residual_norm(x, residual, w):
    return F.layer_norm(F.dropout(x, 0.1) + residual, (8,), w)


@graph(floats(4, 6), random=True)
def two_dropouts(x):
    return F.dropout(F.dropout(x, 0.5) + 1, 0.25)
