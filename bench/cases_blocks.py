"""Memory-bound graphs around a transformer's matrix products: gates, norms with what follows them, masks."""

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Built, Graph, Source

BOOL = 1
INT64 = 8
DROPOUT = 0.1


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of x [.., t, d] by cos, sin [t, d]: the halves of d are the two coordinates."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


def angles(source: Source, length: int, width: int) -> tuple[Tensor, Tensor]:
    """cos and sin of [length, width] angles, in the graph's dtype."""
    drawn = source.normal(length, width, dtype=torch.float32)
    return drawn.cos().to(source.dtype), drawn.sin().to(source.dtype)


def _swiglu(source: Source, rows: int, columns: int) -> Built:
    def swiglu(gate: Tensor, up: Tensor) -> Tensor:
        return F.silu(gate) * up

    args = source.normal(rows, columns), source.normal(rows, columns)
    return Built(swiglu, args, 3 * rows * columns * source.size)


def _qk_norm_rotary(source: Source, batch: int, heads: int, length: int, width: int) -> Built:
    """RMS norm of each head's vector, then the rotary embedding; x [b, h, t, d]."""

    def qk_norm_rotary(x: Tensor, w: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        return rotated((wide * scale).to(x.dtype) * w, cos, sin)

    x, w = source.normal(batch, heads, length, width), source.normal(width)
    moved = ((2 * batch * heads + 2) * length + 1) * width * source.size
    return Built(qk_norm_rotary, (x, w, *angles(source, length, width)), moved)


def _dropout_residual_norm(source: Source, rows: int, columns: int) -> Built:
    """Returns the sum, which a backward pass or the next residual needs, and its layer norm."""

    def dropout_residual_norm(x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        h = F.dropout(x, DROPOUT, True) + residual
        return h, _plain_norm(h)

    # x has no numbers near zero: a zero that was kept would look dropped
    args = (source.uniform(0.5, 1.5, rows, columns), source.normal(rows, columns))
    return Built(dropout_residual_norm, args, 4 * rows * columns * source.size)


def _plain_norm(h: Tensor) -> Tensor:
    return F.layer_norm(h, (h.shape[-1],))


def _masked_softmax(source: Source, batch: int, heads: int, length: int) -> Built:
    """A causal mask [t, t] over scores [b, h, t, t]."""

    def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(mask, float("-inf")).softmax(-1)

    mask = torch.ones(length, length, dtype=torch.bool, device=source.device).triu(1)
    args = source.normal(batch, heads, length, length), mask
    moved = 2 * batch * heads * length * length * source.size + length * length * BOOL
    return Built(masked_softmax, args, moved)


def _var_mean(source: Source, rows: int, columns: int) -> Built:
    def var_mean(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.var_mean(x, -1)

    return Built(var_mean, (source.normal(rows, columns),), (columns + 2) * rows * source.size)


def _argmax(source: Source, rows: int, columns: int) -> Built:
    def argmax(x: Tensor) -> Tensor:
        return x.argmax(-1)

    return Built(argmax, (source.normal(rows, columns),), rows * columns * source.size + rows * INT64)


def _top1_gather(source: Source, tokens: int, experts: int) -> Built:
    """The value at each row's largest score: one element of a row of values is needed."""

    def top1_gather(scores: Tensor, values: Tensor) -> Tensor:
        return values.gather(-1, scores.argmax(-1, keepdim=True))

    args = source.normal(tokens, experts), source.normal(tokens, experts)
    return Built(top1_gather, args, (experts + 2) * tokens * source.size)


BLOCKS = (
    Graph("swiglu_8192x4096", _swiglu, (8192, 4096), (16, 64)),
    Graph("qk_norm_rotary_8x32x2048x128", _qk_norm_rotary, (8, 32, 2048, 128), (2, 2, 8, 16)),
    Graph(
        "dropout_residual_norm_8192x4096",
        _dropout_residual_norm,
        (8192, 4096),
        (64, 128),
        dropout=DROPOUT,
        then=_plain_norm,
    ),
    Graph("masked_softmax_4x16x1024x1024", _masked_softmax, (4, 16, 1024), (2, 2, 16)),
    Graph("var_mean_16384x8192", _var_mean, (16384, 8192), (48, 64), reduces=True),
    Graph("argmax_4096x50257", _argmax, (4096, 50257), (16, 525), reduces=True),
    Graph("top1_gather_16384x8192", _top1_gather, (16384, 8192), (48, 64), reduces=True),
)
