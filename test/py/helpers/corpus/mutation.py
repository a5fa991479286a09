"""Writes in place: to arguments, through views, before and after reads."""

import torch

from .graph import Indices, bools, floats, graph


@graph(floats(4, 5))
@graph(floats(4, 5, layout="transposed"))
@graph(floats(4, 5), dynamic=True)
def updated(x):
    x.mul_(2).add_(1)
    return x.sum()


@graph(floats(4, 5), floats(4, 5, seed=1))
def read_then_written(x, y):
    before = x + y
    x.copy_(y * 2)
    return before, x + 1


@graph(floats(6, 5))
def shifted_onto_itself(x):
    x[1:] = x[:-1].clone() * 2
    return x * 1.5


@graph(floats(6, 6))
def transposed_onto_itself(x):
    x.copy_(x.t() + 1)


@graph(floats(6, 5))
def through_a_view(x):
    v = x[2:4]
    v.add_(10)
    x.view(-1)[0] = 7
    return v * 2, x.sum(0)


@graph(floats(8, 4))
def two_halves(x):
    a, b = x[:4], x[4:]
    a.add_(b)
    b.mul_(a)
    return a + b


@graph(floats(5), floats(5, seed=1), floats(5, seed=2))
def running_average(mean, x, y):
    mean.mul_(0.9).add_(x * 0.1)
    return mean * y


@graph(floats(4, 3, 5), floats(3), floats(3, seed=1))
def running_statistics(x, mean, var):
    y = torch.nn.functional.batch_norm(x, mean, var.abs_(), training=True, momentum=0.25)
    return y.relu()


@graph(floats(6, 4), Indices((3,), 6, True), floats(3, 4, seed=1))
def a_cache(cache, i, new):
    cache.index_copy_(0, i, new * 2)
    return cache.sum(1)


@graph(floats(6, 4), bools(6, 4))
def masked_in_place(x, m):
    x.masked_fill_(m, 0.0)
    return x.cumsum(0)


@graph(floats(3, 4), floats(3, 4, seed=1))
def swapped(x, y):
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


@graph(floats(4), floats(4, seed=1))
def returned_and_mutated(x, y):
    x.add_(y)
    return x, x + y, y


@graph(floats(2, 8, layout="strided"))
def strided_in_place(x):
    x.sub_(x.mean(1, keepdim=True))
    return x.abs().amax()
