"""Sums, maxima, scans and what follows them."""

import torch

from .graph import bools, floats, graph, integers

half, brain, double = torch.float16, torch.bfloat16, torch.float64


@graph(floats(6, 10))
@graph(floats(6, 10, layout="transposed"))
@graph(floats(6, 0))
@graph(floats(0, 4))
@graph(floats(6, 10, dtype=brain))
@graph(floats(6, 10), dynamic=True)
@graph(floats(6, 10), gradient=True)
def rows_columns_all(x):
    return x.sum(1), x.sum(0), x.sum()


@graph(floats(5, 12))
@graph(floats(5, 12, dtype=half), gradient=True)
@graph(floats(5, 12), dynamic=True)
@graph(floats(2, 3000))
def softmax(x):
    return x.softmax(-1)


@graph(floats(5, 12))
@graph(floats(5, 12), gradient=True)
def log_softmax_both(x):
    return x.log_softmax(0), x.log_softmax(1)


@graph(floats(4, 9))
@graph(floats(4, 9, dtype=double))
@graph(floats(4, 9), gradient=True)
def variance(x):
    mean = x.mean(1, keepdim=True)
    return x.var(1), torch.var_mean(x, 0, correction=0), (x - mean).square().mean(1)


@graph(floats(4, 9))
@graph(floats(9, 4, layout="transposed"))
@graph(integers(4, 9))
def extrema(x):
    return x.amax(1), x.amin(0), x.argmax(1), x.max(1).indices, x.min(0).values, x.argmin()


@graph(floats(4, 9), gradient=True)
def extrema_with_gradient(x):
    return x.amax(1), x.max(0).values


@graph(bools(5, 7))
@graph(floats(5, 7))
def any_all(x):
    return x.any(1), x.all(0), (x != 0).sum(), x.any()


@graph(floats(3, 20))
@graph(floats(3, 20, dtype=double), gradient=True)
def scans(x):
    return x.cumsum(1), (x * 0.1 + 1).cumprod(1), x.cumsum(0)


@graph(integers(4, 6))
@graph(integers(4, 6, dtype=torch.int8))
@graph(bools(4, 6))
def integer_sums(x):
    return x.sum(1), x.sum(), x.sum(0, dtype=torch.int32), x.to(torch.int64).prod(1)


@graph(floats(2, 3, 4, 5))
@graph(floats(2, 3, 4, 5, layout="channels_last"), gradient=True)
def over_several(x):
    return x.sum((0, 2)), x.mean((1, 3), keepdim=True), x.amax((2, 3))


@graph(floats(4, 70000))
def a_long_row(x):
    return x.sum(1), x.amax(1)


@graph(floats(3000, 5))
def a_long_column(x):
    return x.sum(0), x.square().mean(0)


@graph(floats(6, 8), floats(6, 8, seed=1))
def of_products(x, y):
    return (x * y).sum(1), (x - y).abs().amax(1), torch.linalg.vector_norm(x + y, dim=1)


@graph(floats(6, 8))
def chained(x):
    centred = x - x.mean(1, keepdim=True)
    scaled = centred / (centred.square().mean(1, keepdim=True) + 1).sqrt()
    return scaled.sum(0), scaled.amax()


@graph(floats(5))
@graph(floats())
def to_nothing(x):
    return x.sum(), x.mean(), x.square().sum().sqrt()


@graph(floats(4, 3))
@graph(floats(4, 2), dynamic=True)
def of_few(x):
    return x.sum(1) + x.prod(1), x.mean(1)
