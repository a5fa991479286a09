"""Normalisations, forward and backward, and what surrounds them in models."""

import torch
from torch.nn import functional as F

from .graph import Indices, floats, graph

half, brain = torch.float16, torch.bfloat16


@graph(floats(5, 16), floats(16), floats(16, seed=1))
@graph(floats(5, 16, dtype=brain), floats(16, dtype=brain), floats(16, dtype=brain, seed=1))
@graph(floats(5, 16), floats(16), floats(16, seed=1), gradient=True)
@graph(floats(5, 16), floats(16), floats(16, seed=1), dynamic=True)
@graph(floats(3, 5, 7, layout="transposed"), floats(7), floats(7, seed=1))
def layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


@graph(floats(5, 16), floats(5, 16, seed=1), floats(16))
@graph(floats(5, 16, dtype=half), floats(5, 16, dtype=half, seed=1), floats(16, dtype=half), gradient=True)
@graph(floats(5, 16), floats(5, 16, seed=1), floats(16), gradient=True)
def rms_norm_residual(x, residual, w):
    y = x + residual
    wide = y.float()
    return (wide * (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()).to(y.dtype) * w, y


@graph(floats(2, 6, 4, 4), floats(6), floats(6, seed=1))
@graph(floats(2, 6, 4, 4), floats(6), floats(6, seed=1), gradient=True)
def group_norm_silu(x, w, b):
    return F.silu(F.group_norm(x, 3, w, b))


@graph(floats(4, 3, 5, 5), floats(3), floats(3, seed=1))
@graph(floats(4, 3, 5, 5), floats(3), floats(3, seed=1), gradient=True)
@graph(floats(4, 3, 5, 5, layout="channels_last"), floats(3), floats(3, seed=1), gradient=True)
def batch_norm(x, w, b):
    return F.relu(F.batch_norm(x, None, None, w, b, training=True))


@graph(floats(4, 3, 5, 5), floats(3), floats(3, seed=1))
def batch_norm_with_statistics(x, w, b):
    mean, var = torch.zeros(3), torch.ones(3)
    return F.batch_norm(x, mean, var, w, b, training=True), mean, var


@graph(floats(2, 3, 6, 6), floats(3))
def instance_norm(x, w):
    return F.instance_norm(x, weight=w)


@graph(floats(2, 4, 8), floats(8), floats(6, 4), floats(6, 4, seed=1))
def head_norm_and_rotary(q, w, cos, sin):
    q = F.rms_norm(q, (8,), w)
    a, b = q.chunk(2, -1)
    return torch.cat([a * cos[:4] - b * sin[:4], b * cos[:4] + a * sin[:4]], -1)


@graph(Indices((3, 4), 9), floats(9, 8), floats(8), floats(8, seed=1))
@graph(Indices((3, 4), 9), floats(9, 8), floats(8), floats(8, seed=1), gradient=True)
def embedding_layer_norm(i, table, w, b):
    return F.layer_norm(F.embedding(i, table), (8,), w, b)


@graph(floats(6, 16))
def quantised_by_token(x):
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 127
    return (x / scale).round().clamp(-127, 127).to(torch.int8), scale


@graph(floats(4, 16, dtype=brain), floats(16, dtype=brain))
def quantised_norm(x, w):
    y = F.rms_norm(x, (16,), w).float().reshape(4, 4, 4)
    scale = y.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 127
    return (y / scale).round().to(torch.int8), scale


@graph(floats(5, 8), floats(8, 8), floats(8))
@graph(floats(5, 8), floats(8, 8), floats(8), gradient=True)
def linear_then_norm(x, w, g):
    return F.layer_norm(F.linear(x, w).relu() + x, (8,), g)


@graph(floats(5, 12), gradient=True)
def normalised(x):
    return F.normalize(x + 5, dim=-1)
