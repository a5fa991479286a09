"""Losses, most of them with their gradients."""

import torch
from torch.nn import functional as F

from .graph import Indices, floats, graph


@graph(floats(6, 11), Indices((6,), 11))
@graph(floats(6, 11), Indices((6,), 11), gradient=True)
@graph(floats(6, 11, dtype=torch.bfloat16), Indices((6,), 11))
@graph(floats(7, 11), Indices((7,), 11), dynamic=True)
@graph(floats(3, 3000), Indices((3,), 3000))
def cross_entropy(logits, target):
    return F.cross_entropy(logits, target)


@graph(floats(6, 11), Indices((6,), 11))
@graph(floats(6, 11), Indices((6,), 11), gradient=True)
def cross_entropy_with_options(logits, target):
    target = torch.where(target == 3, -100, target)
    return F.cross_entropy(logits, target, label_smoothing=0.1), F.cross_entropy(
        logits, target, reduction="sum"
    )


@graph(floats(4, 5), floats(4, 5, seed=1), gradient=True)
def regression(x, y):
    return F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5)


@graph(floats(4, 5), floats(4, 5, seed=1), gradient=True)
def binary(x, y):
    return F.binary_cross_entropy_with_logits(x, y.sigmoid())


@graph(floats(4, 5), floats(4, 5, seed=1), gradient=True)
def divergence(x, y):
    return F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean")


@graph(floats(4, 6), floats(4, 6, seed=1), gradient=True)
def cosine(x, y):
    return F.cosine_similarity(x + 5, y + 5).mean()


@graph(floats(2, 5, 7), Indices((2, 5), 7), gradient=True)
def next_token(logits, tokens):
    return F.cross_entropy(logits[:, :-1].reshape(-1, 7), tokens[:, 1:].reshape(-1))


@graph(floats(6, 4), floats(6, 4, seed=1), floats(6, 4, seed=2), gradient=True)
def triplet(a, p, n):
    return F.triplet_margin_loss(a, p, n)


@graph(floats(8, 10), Indices((8,), 10))
def accuracy(logits, target):
    return (logits.argmax(1) == target).float().mean(), logits.softmax(1).amax(1)
