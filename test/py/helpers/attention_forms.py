"""Attention spelled out under a mask of each kind: shared by tests, no test itself."""

import math

import torch
from torch import Tensor


def operands(*batch: int, t: int = 5, s: int = 7, d: int = 8, dtype=torch.float32) -> list[Tensor]:
    return [torch.randn(*batch, n, d, dtype=dtype) for n in (t, s, s)]


def scores(q, k):
    return q @ k.mT * q.shape[-1] ** -0.5


def decayed(c, b, decay, x):
    return ((c @ b.mT) * decay) @ x


def no_mask(q, k, v, mask):
    return scores(q, k).softmax(-1) @ v


def added(q, k, v, mask):
    return (scores(q, k) + mask).softmax(-1) @ v


def filled(q, k, v, mask):
    return scores(q, k).masked_fill(mask < 0, -math.inf).softmax(-1) @ v


def filled_with_least(q, k, v, mask):
    return scores(q, k).masked_fill(mask < 0, torch.finfo(q.dtype).min).softmax(-1) @ v
