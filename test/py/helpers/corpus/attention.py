"""Attention, spelled out and not, and its masks."""

import math

import torch
from torch.nn import functional as F

from .graph import bools, floats, graph

heads = (2, 2, 6, 4)


@graph(floats(*heads), floats(*heads, seed=1), floats(*heads, seed=2))
@graph(floats(*heads), floats(*heads, seed=1), floats(*heads, seed=2), gradient=True)
@graph(floats(*heads), floats(*heads, seed=1), floats(*heads, seed=2), dynamic=True)
def causal(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


@graph(floats(*heads), floats(*heads, seed=1), floats(*heads, seed=2))
@graph(floats(*heads), floats(*heads, seed=1), floats(*heads, seed=2), gradient=True)
def library(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@graph(floats(2, 2, 6, 6), bools(2, 1, 1, 6))
@graph(floats(2, 2, 6, 6), bools(2, 1, 1, 6), gradient=True)
def masked_softmax(scores, keep):
    return (scores * 0.5).masked_fill(~keep, -1e4).softmax(-1)


@graph(floats(2, 6, 6), floats(6, 6, seed=1))
@graph(floats(2, 6, 6), floats(6, 6, seed=1), gradient=True)
def biased_softmax(scores, bias):
    return (scores + bias).float().softmax(-1).to(scores.dtype)


@graph(floats(2, 5, 12), floats(12, 36), floats(12, 12, seed=1))
@graph(floats(2, 5, 12), floats(12, 36), floats(12, 12, seed=1), gradient=True)
def self_attention(x, qkv, out):
    q, k, v = (x @ qkv * 0.1).view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v)
    return y.transpose(1, 2).reshape(2, 5, 12) @ out


@graph(floats(2, 4, 5, 4), floats(2, 2, 5, 4, seed=1), floats(2, 2, 5, 4, seed=2))
def grouped_queries(q, k, v):
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    return (q @ k.mT * 0.5).softmax(-1) @ v


@graph(floats(2, 3, 5, 8), floats(5, 4), floats(5, 4, seed=1))
@graph(floats(2, 3, 5, 8), floats(5, 4), floats(5, 4, seed=1), gradient=True)
def rotary(x, cos, sin):
    a, b = x[..., :4], x[..., 4:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


@graph(floats(1, 2, 7, 4), floats(1, 2, 7, 4, seed=1))
def distance_bias(q, k):
    position = torch.arange(7)
    distance = (position[:, None] - position[None, :]).abs().float()
    return (q @ k.mT - distance).softmax(-1)
