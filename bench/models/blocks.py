"""Transformer blocks, each a few lines of plain PyTorch. Activations are [batch, seq, width]."""

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .case import Draw, Inputs, ModelCase, projection_loss

WIDTH, HEADS, SEQ, BATCH_FIRST = 64, 4, 16, {"0": (0,)}


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[b, t, heads * d] -> [b, heads, t, d]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """[b, heads, t, d] -> [b, t, heads * d]."""
    return x.transpose(1, 2).flatten(2)


def explicit_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float = 0.0, training: bool = False
) -> Tensor:
    """dropout(softmax(q k^T / sqrt(d) + mask)) v with every step visible to the compiler.

    q [b, h, t, d], k and v [b, h, s, d]; mask is additive and broadcasts to [b, h, t, s].
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask
    return F.dropout(scores.softmax(-1), dropout, training) @ v


def causal_mask(length: int, like: Tensor) -> Tensor:
    """[length, length], -inf above the diagonal and 0 elsewhere; dtype and device of `like`."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu(1)


class MLP(nn.Module):
    """Linear, activation, linear. activation: a function from tensor to tensor."""

    def __init__(self, width: int, hidden: int, activation=F.relu) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


class GPT2Block(nn.Module):
    """Pre-norm causal block with tanh-gelu MLP; `explicit` spells attention out instead of calling SDPA."""

    def __init__(self, width: int, heads: int, *, explicit: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.explicit = explicit
        self.norm_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = MLP(width, 4 * width, partial(F.gelu, approximate="tanh"))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            split_heads(part, self.heads) for part in self.qkv(self.norm_attention(x)).chunk(3, dim=-1)
        )
        if self.explicit:
            mixed = explicit_attention(q, k, v, causal_mask(x.shape[1], x))
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(merge_heads(mixed))
        return x + self.mlp(self.norm_mlp(x))


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight; statistics in float32 whatever the dtype of x."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * (wide * scale).to(x.dtype)


def rotary(x: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate pairs (i, i + d/2) of [b, h, t, d], d even, by position * base^(-2i/d); angles in float32."""
    length, dim = x.shape[-2:]
    frequency = base ** (torch.arange(0, dim, 2, device=x.device).float() / -dim)
    angle = torch.outer(torch.arange(length, device=x.device).float(), frequency)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class LlamaBlock(nn.Module):
    """RMSNorm, rotary positions, grouped-query causal attention (kv_heads divides heads), SwiGLU."""

    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int) -> None:
        super().__init__()
        if heads % kv_heads:
            raise ValueError(f"LlamaBlock needs kv_heads to divide heads, got {kv_heads} and {heads}")
        head = width // heads
        self.heads, self.kv_heads = heads, kv_heads
        self.norm_attention = RMSNorm(width)
        self.q = nn.Linear(width, heads * head, bias=False)
        self.k = nn.Linear(width, kv_heads * head, bias=False)
        self.v = nn.Linear(width, kv_heads * head, bias=False)
        self.o = nn.Linear(heads * head, width, bias=False)
        self.norm_mlp = RMSNorm(width)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def _share(self, x: Tensor) -> Tensor:
        """[b, kv_heads, t, d] -> [b, heads, t, d], each head repeated for its group of queries."""
        group = self.heads // self.kv_heads
        return x[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm_attention(x)
        q = rotary(split_heads(self.q(y), self.heads))
        k = self._share(rotary(split_heads(self.k(y), self.kv_heads)))
        v = self._share(split_heads(self.v(y), self.kv_heads))
        x = x + self.o(merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        y = self.norm_mlp(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class BertLayer(nn.Module):
    """Post-norm encoder layer: spelled-out attention with an additive padding mask [b, 1, 1, t], erf gelu."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.norm_attention = nn.LayerNorm(width, eps=1e-12)
        self.mlp = MLP(width, 4 * width, F.gelu)
        self.norm_mlp = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (split_heads(project(x), self.heads) for project in (self.q, self.k, self.v))
        x = self.norm_attention(x + self.o(merge_heads(explicit_attention(q, k, v, mask))))
        return self.norm_mlp(x + self.mlp(x))


class DecoderLayer(nn.Module):
    """Pre-norm decoder layer: causal self-attention, cross-attention to `memory` [b, s, width], relu MLP.

    Dropout with probability `dropout` on attention weights and on each branch while training.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv = nn.Linear(width, 3 * width)
        self.cross_q = nn.Linear(width, width)
        self.cross_kv = nn.Linear(width, 2 * width)
        self.outs = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.mlp = MLP(width, 4 * width)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (split_heads(part, self.heads) for part in (q, k, v))
        return merge_heads(explicit_attention(q, k, v, mask, self.dropout, self.training))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        drop = partial(F.dropout, p=self.dropout, training=self.training)
        q, k, v = self.qkv(self.norms[0](x)).chunk(3, dim=-1)
        x = x + drop(self.outs[0](self._attend(q, k, v, causal_mask(x.shape[1], x))))
        k, v = self.cross_kv(memory).chunk(2, dim=-1)
        x = x + drop(self.outs[1](self._attend(self.cross_q(self.norms[1](x)), k, v, None)))
        return x + drop(self.mlp(self.norms[2](x)))


def _activations(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
    return Inputs((Draw(device, dtype).normal(batch, SEQ, WIDTH),))


def _padded(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
    """Row i of the batch hides its last i + 1 positions; -10000 is representable in every dtype's range."""
    draw = Draw(device, dtype)
    hidden = torch.arange(SEQ)[None, :] >= SEQ - 1 - torch.arange(batch)[:, None] % (SEQ // 2)
    mask = (hidden * -10000.0)[:, None, None, :].to(device=device, dtype=dtype)
    return Inputs((draw.normal(batch, SEQ, WIDTH), mask))


def _with_memory(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
    draw = Draw(device, dtype)
    return Inputs((draw.normal(batch, SEQ, WIDTH), draw.normal(batch, SEQ // 2, WIDTH)))


def cases() -> Iterator[ModelCase]:
    """Tiny cases of every block of this file."""
    x, pair = BATCH_FIRST, {"0": (0,), "1": (0,)}
    yield ModelCase("mlp", lambda: MLP(WIDTH, 128), _activations, projection_loss, x)
    yield ModelCase("gpt2_block", lambda: GPT2Block(WIDTH, HEADS), _activations, projection_loss, x)
    yield ModelCase(
        "gpt2_block_explicit",
        lambda: GPT2Block(WIDTH, HEADS, explicit=True),
        _activations,
        projection_loss,
        x,
    )
    yield ModelCase("llama_block", lambda: LlamaBlock(WIDTH, HEADS, 2, 160), _activations, projection_loss, x)
    yield ModelCase(
        "bert_layer", lambda: BertLayer(WIDTH, HEADS), _padded, projection_loss, pair, frozen=frozenset({"1"})
    )
    yield ModelCase(
        "decoder_layer_dropout",
        lambda: DecoderLayer(WIDTH, HEADS, dropout=0.1),
        _with_memory,
        projection_loss,
        pair,
        random=True,
    )
