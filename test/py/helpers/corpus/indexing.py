"""Gathers, scatters, embeddings."""

import torch
from torch.nn import functional as F

from .graph import Indices, bools, floats, graph


@graph(Indices((4, 5), 11), floats(11, 6))
@graph(Indices((4, 5), 11), floats(11, 6), gradient=True)
@graph(Indices((3, 5), 11), floats(11, 6), dynamic=True)
def embedding(i, table):
    return F.embedding(i, table) * 2


@graph(floats(7, 4), Indices((5,), 7))
@graph(floats(7, 4), Indices((2, 3), 7), gradient=True)
def rows(x, i):
    return x[i], x.index_select(0, i.reshape(-1)) + 1


@graph(floats(5, 6), Indices((5, 3), 6))
@graph(floats(5, 6), Indices((5, 3), 6), gradient=True)
def gathered(x, i):
    return x.gather(1, i), torch.take_along_dim(x.sin(), i, 1)


@graph(floats(6, 4), Indices((3,), 6, True), floats(3, 4, seed=1))
def put(x, i, y):
    return x.index_copy(0, i, y), x.index_put((i,), y), x.index_add(0, i, y, alpha=2)


@graph(floats(5, 6), Indices((5, 6), 5), floats(5, 6, seed=1))
@graph(floats(5, 6), Indices((5, 6), 5), floats(5, 6, seed=1), gradient=True)
def scattered(x, i, y):
    return x.scatter_add(0, i, y)


@graph(floats(5, 6), Indices((5, 6), 5), floats(5, 6, seed=1))
def scatter_reduced(x, i, y):
    return x.scatter_reduce(0, i, y, "amax"), x.index_put((i[:, 0],), y, accumulate=True)


@graph(floats(5, 6), bools(5, 6))
@graph(floats(5, 6), bools(5, 6), gradient=True)
def masked(x, mask):
    return x.masked_fill(mask, -1.0), torch.where(mask, x, 0.0).sum(1)


@graph(Indices((6,), 5))
def one_hot(i):
    return F.one_hot(i, 5), (i[:, None] == torch.arange(5)).float()


@graph(floats(8, 5), Indices((4,), 8), floats(5))
def embedding_then_norm(x, i, w):
    return F.layer_norm(x[i], (5,), w)


@graph(floats(6, 9))
def top(x):
    values, indices = x.topk(2, 1)
    return values * 2, indices, x.sort(dim=1, stable=True).values


@graph(floats(10), Indices((4,), 10))
def negative_indices(x, i):
    return x[i - 10], x[-1], x[[0, 3, 2]]


@graph(Indices((4, 7), 13), floats(13, 5), floats(7, 5, seed=1))
def tokens_and_positions(i, words, positions):
    return F.embedding(i, words) + positions, (i != 0).sum(1)


@graph(floats(6, 6), Indices((6,), 6), Indices((6,), 6, seed=1))
def two_indices(x, i, j):
    return x[i, j] * 2, x[i][:, j]
