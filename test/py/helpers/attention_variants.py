"""Variants of attention as programs spell them out, and the conditions that each is tested under: shared by
tests, no test itself.

A variant is a function of ``hide``, queries, keys, values and what else it takes.  ``hide`` is called with
the scores: it hides some, or returns them as they are.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from draws import drawn
from torch import Tensor

from fuse_mlir.compiler.base.dataclass import dataclass

Hide = Callable[[Tensor], Tensor]
#: What ``derive-cascades`` says of the last product of a variant.
Rule = Literal["cascade", "form", "whole-row"]


@dataclass(frozen=True)
class Sizes:
    """Of queries ``[batch, heads, rows, summed]``, keys ``[batch, heads, keys, summed]`` and values
    ``[batch, heads, keys, made]``.
    """

    rows: int
    keys: int
    batch: int = 2
    heads: int = 4


@dataclass(frozen=True)
class Variant:
    """``attend``: of ``hide``, q, k, v and what ``beside`` gives for sizes.  ``summed`` and ``made``: numbers
    of a key and of a value.  ``sharing``: heads of queries that share one of keys.  ``rows``: how many there
    are, if that is part of the variant.  ``keys``: how many there are at least, so that no program holds all.
    ``rule``: what becomes of it.  ``kernels``: of its gradients, where an option asks for them: how many are
    derived; 0 where torch saves what has rows and columns; None where there are none.  ``learned``: whether
    what is beside q, k and v has gradients, too.  ``skips``: whether it leaves out blocks that it masks.
    ``error``: how many times eager's error gradients may have: few rows are multiplied by calls, which round
    scores to 16 bits beside the sums of a kernel that does not.  ``batch``: errors of one row of each head
    vary from draw to draw by more than that, unless there are many.
    """

    attend: Callable[..., Tensor]
    beside: Callable[[Sizes], list[Tensor]] = lambda sizes: []
    summed: int = 32
    made: int = 16
    sharing: int = 1
    rows: int | None = None
    keys: int = 0
    rule: Rule = "cascade"
    kernels: int | None = 3
    learned: bool = False
    skips: bool = False
    error: float = 1.05
    batch: int = 2

    def sizes(self, rows: int, keys: int) -> Sizes:
        return Sizes(self.rows or rows, max(keys, self.keys), self.batch)

    def operands(self, sizes: Sizes) -> list[Tensor]:
        """In bf16, on a CPU, equal each time."""
        shared = sizes.heads // self.sharing
        return [
            drawn(sizes.batch, sizes.heads, sizes.rows, self.summed),
            drawn(sizes.batch, shared, sizes.keys, self.summed, of=1),
            drawn(sizes.batch, shared, sizes.keys, self.made, of=2),
            *self.beside(sizes),
        ]


def counted(upper: int, *sizes: int) -> Tensor:
    """Whole numbers from 0 below ``upper``."""
    return torch.randint(upper, sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ shared(q, k).transpose(-2, -1) * q.shape[-1] ** -0.5


def shared(q: Tensor, t: Tensor) -> Tensor:
    """Keys or values for each head of queries."""
    return t if t.shape[1] == q.shape[1] else t.repeat_interleave(q.shape[1] // t.shape[1], 1)


def places(s: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of rows, and of keys: the last row is that of the last key."""
    i, j = (torch.arange(n, device=s.device) for n in s.shape[-2:])
    return i[:, None] + (s.shape[-1] - s.shape[-2]), j


def soft_cap(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return hide(20 * torch.tanh(scores(q, k) / 20)).softmax(-1) @ v


def alibi(hide: Hide, q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = places(s)
    s = s - slopes[:, None, None] * (i - j)
    return torch.where(i >= j, hide(s), -math.inf).softmax(-1) @ v


def window(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = places(s)
    return torch.where((i >= j) & (i - j < 20), hide(s), -math.inf).softmax(-1) @ v


def prefix(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = places(s)
    return torch.where((i >= j) | (j < 10), hide(s), -math.inf).softmax(-1) @ v


def chunks(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = places(s)
    return torch.where(i // 16 == j // 16, hide(s), -math.inf).softmax(-1) @ v


def grouped(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return hide(scores(q, k)).softmax(-1) @ shared(q, v)


def grouped_in_five_dims(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    many = q.unflatten(1, (k.shape[1], -1))
    s = many @ k[:, :, None].transpose(-2, -1) * q.shape[-1] ** -0.5
    return (hide(s).softmax(-1) @ v[:, :, None]).flatten(1, 2)


def added(hide: Hide, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return hide(scores(q, k) + bias).softmax(-1).to(v.dtype) @ v


def admitted(hide: Hide, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return hide(scores(q, k).masked_fill(~mask, -math.inf)).softmax(-1) @ v


def filled(hide: Hide, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return hide(scores(q, k).masked_fill(mask == 0, -1e30)).softmax(-1) @ v


def distances(hide: Hide, q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = places(s)
    bias = table[(i - j).clamp(-8, 8) + 8].permute(2, 0, 1)
    return hide(s + bias).softmax(-1) @ v


def sigmoid(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.sigmoid(hide(scores(q, k)) - 4) @ v


def relu_squared(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (torch.relu(hide(scores(q, k))).square() / k.shape[-2]) @ v


def documents(hide: Hide, q: Tensor, k: Tensor, v: Tensor, of_row: Tensor, of_key: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = places(s)
    seen = (of_row[:, None] == of_key) & (i >= j)
    return torch.where(seen, hide(s), -math.inf).softmax(-1) @ v


def causal_float(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k).float()
    i, j = places(s)
    return torch.where(i >= j, hide(s), -math.inf).softmax(-1).to(v.dtype) @ v


def triangle(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = hide(scores(q, k))
    return (s + torch.full_like(s[0, 0], -math.inf).triu(1)).softmax(-1) @ v


def sinks(hide: Hide, q: Tensor, k: Tensor, v: Tensor, numbers: Tensor) -> Tensor:
    s = hide(scores(q, k))
    beside = numbers.view(1, -1, 1, 1).expand(*s.shape[:3], 1)
    return torch.cat([s, beside], -1).softmax(-1)[..., :-1] @ v


def plus_one(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = hide(scores(q, k)).float()
    top = s.amax(-1, True).clamp(min=0)
    powers = torch.exp(s - top)
    return (powers / (powers.sum(-1, True) + torch.exp(-top))).to(v.dtype) @ v


def differential(hide: Hide, q: Tensor, k: Tensor, v: Tensor, weight: Tensor) -> Tensor:
    (q1, q2), (k1, k2) = (t.chunk(2, -1) for t in (q, k))
    return hide(scores(q1, k1)).softmax(-1) @ v - weight * (hide(scores(q2, k2)).softmax(-1) @ v)


def two_products(hide: Hide, q: Tensor, k: Tensor, v: Tensor, q2: Tensor, k2: Tensor) -> Tensor:
    s = q @ k.transpose(-2, -1) + q2 @ k2.transpose(-2, -1)
    return hide(s * (q.shape[-1] + q2.shape[-1]) ** -0.5).softmax(-1) @ v


def concatenated(hide: Hide, q: Tensor, k: Tensor, v: Tensor, q2: Tensor, k2: Tensor) -> Tensor:
    k2 = k2.expand(-1, k.shape[1], -1, -1)
    return hide(scores(torch.cat([q, q2], -1), torch.cat([k, k2], -1))).softmax(-1) @ v


def turned(x: Tensor, angles: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()


def normed_and_turned(hide: Hide, q: Tensor, k: Tensor, v: Tensor, of_q: Tensor, of_k: Tensor) -> Tensor:
    q, k = (x * (x.float().square().mean(-1, True) + 1e-6).rsqrt().to(x.dtype) for x in (q, k))
    return hide(scores(turned(q, of_q), turned(k, of_k))).softmax(-1) @ v


def gated(hide: Hide, q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
    o = hide(scores(q, k)).softmax(-1) @ v
    return (o * torch.sigmoid(gate)).transpose(1, 2).flatten(-2)


def logarithms(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = hide(scores(q, k)).float()
    return torch.exp(s - s.logsumexp(-1, keepdim=True)).to(v.dtype) @ v


def safe(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As ``_safe_softmax``: rows without a key are 0."""
    s = hide(scores(q, k))
    return s.softmax(-1).masked_fill((s == -math.inf).all(-1, True), 0) @ v


def torchs_safe(hide: Hide, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The op that torch's own attention is made of, where it has a mask."""
    return torch.ops.aten._safe_softmax(hide(scores(q, k)), -1) @ v


def talking_heads(hide: Hide, q: Tensor, k: Tensor, v: Tensor, mix: Tensor) -> Tensor:
    p = hide(torch.einsum("bhij,hg->bgij", scores(q, k), mix)).softmax(-1)
    return torch.einsum("bhij,hg->bgij", p, mix) @ v


def lengths(hide: Hide, q: Tensor, k: Tensor, v: Tensor, number: Tensor) -> Tensor:
    seen = torch.arange(k.shape[2], device=k.device) < number[:, None]
    s = hide(scores(q, k)).masked_fill(~seen[:, None, None], -math.inf)
    return s.softmax(-1) @ shared(q, v)


def paged(hide: Hide, q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    """The keys of each sequence are in pages of 4, in the order of ``table``, which has more."""
    keys = k.shape[2]
    pages, behind = table[:, : keys // 4 + 1], (0, 0, 0, 0, 0, 4 - keys % 4)
    k, v = (torch.nn.functional.pad(t.transpose(1, 2), behind).unflatten(1, (-1, 4)) for t in (k, v))
    k, v = (t.flatten(0, 1)[pages].flatten(1, 2)[:, :keys].transpose(1, 2) for t in (k, v))
    return hide(scores(q, k)).softmax(-1) @ shared(q, v)


def in_bytes(hide: Hide, q: Tensor, k: Tensor, v: Tensor, *cache: Tensor) -> Tensor:
    k8, v8, of_k, of_v = cache
    k, v = k8.to(q.dtype) * of_k, v8.to(q.dtype) * of_v
    return hide(scores(q, k)).softmax(-1) @ shared(q, v)


def cache_of(dtype: torch.dtype, shared_heads: int = 2) -> Callable[[Sizes], list[Tensor]]:
    def made(sizes: Sizes) -> list[Tensor]:
        heads = sizes.batch, shared_heads, sizes.keys
        numbers = [(30 * drawn(*heads, n, of=n)).to(torch.float32).to(dtype) for n in (32, 16)]
        return [*numbers, *(drawn(*heads, 1, of=n).abs() / 30 for n in (1, 2))]

    return made


def tree(hide: Hide, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Guesses of a few tokens, each of which sees those in front of it in a tree, and all keys before."""
    s = hide(scores(q, k))
    behind = torch.nn.functional.pad(mask, (k.shape[2] - mask.shape[-1], 0), value=True)
    return s.masked_fill(~behind, -math.inf).softmax(-1) @ shared(q, v)


def _at_rows_and_keys(*heads: int, dtype: torch.dtype = torch.bfloat16) -> Callable[[Sizes], list[Tensor]]:
    return lambda sizes: [drawn(*heads, sizes.rows, sizes.keys).to(dtype)]


def _pages(sizes: Sizes) -> list[Tensor]:
    """Places of pages, of which some belong to two sequences."""
    return [counted(sizes.batch * (sizes.keys // 4 + 1), sizes.batch, 128)]


def _mask(sizes: Sizes) -> list[Tensor]:
    return [counted(4, sizes.rows, sizes.keys) > 0]


def _other_factors(sizes: Sizes) -> list[Tensor]:
    """Of a second product of scores, whose keys all heads share."""
    return [
        drawn(sizes.batch, sizes.heads, sizes.rows, 16, of=3),
        drawn(sizes.batch, 1, sizes.keys, 16, of=4),
    ]


#: Name -> variant.
VARIANTS: dict[str, Variant] = {
    "soft cap": Variant(soft_cap),
    "ALiBi": Variant(alibi, lambda s: [torch.exp2(-torch.arange(s.heads)).to(torch.bfloat16)], skips=True),
    "window": Variant(window, skips=True),
    "prefix": Variant(prefix, skips=True),
    "chunks": Variant(chunks, skips=True),
    "two heads share keys": Variant(grouped, sharing=2),
    "all heads share keys": Variant(grouped, sharing=4),
    "sharing in five dims": Variant(grouped_in_five_dims, sharing=2),
    "learned bias": Variant(added, _at_rows_and_keys(4), kernels=0, learned=True),
    "bias of a batch": Variant(added, _at_rows_and_keys(2, 1)),
    "bias of keys": Variant(added, lambda s: [drawn(s.keys)]),
    "bias in float32": Variant(added, _at_rows_and_keys(dtype=torch.float32)),
    "bias in float16": Variant(added, _at_rows_and_keys(dtype=torch.float16)),
    "bias in float64": Variant(added, _at_rows_and_keys(dtype=torch.float64), rule="whole-row"),
    "mask of bools": Variant(admitted, _mask),
    "mask of bytes": Variant(filled, lambda s: [_mask(s)[0].to(torch.uint8)]),
    "mask of int64": Variant(filled, lambda s: [_mask(s)[0].long()]),
    "distances": Variant(distances, lambda s: [drawn(17, s.heads)], kernels=0, learned=True),
    "sigmoid": Variant(sigmoid, keys=300),
    "squared ReLU": Variant(relu_squared, keys=300),
    "documents": Variant(
        documents, lambda s: [counted(3, n).sort()[0] for n in (s.rows, s.keys)], skips=True
    ),
    "causal, of floats": Variant(causal_float, skips=True),
    "a triangle added": Variant(triangle, skips=True, kernels=0),
    "sinks": Variant(sinks, lambda s: [drawn(s.heads)]),
    "softmax plus one": Variant(plus_one, kernels=0),
    "differential": Variant(differential, lambda s: [drawn(1).abs()], kernels=6),
    "heads of 16 and 40": Variant(soft_cap, summed=16, made=40),
    "heads of 256": Variant(soft_cap, summed=256, made=256),
    "heads of 24 and 8": Variant(soft_cap, summed=24, made=8),
    "two products": Variant(two_products, _other_factors, kernels=0),
    "two parts": Variant(concatenated, _other_factors),
    "norm and rotary embedding": Variant(
        normed_and_turned, lambda s: [drawn(n, 32, of=n) for n in (s.rows, s.keys)]
    ),
    "gate": Variant(gated, lambda s: [drawn(s.batch, s.heads, s.rows, 16, of=3)]),
    "of a logarithm": Variant(logarithms, kernels=0),
    "safe softmax": Variant(safe, kernels=0),
    "torch's safe softmax": Variant(torchs_safe, rule="whole-row", kernels=0),
    "talking heads": Variant(talking_heads, lambda s: [drawn(s.heads, s.heads)], rule="form", kernels=0),
    "lengths": Variant(lengths, lambda s: [torch.tensor([s.keys, 0])], skips=True),
    "one query": Variant(
        lengths, lambda s: [torch.tensor([s.keys, 7])], skips=True, sharing=2, rows=1, kernels=0
    ),
    "a few queries": Variant(grouped, sharing=2, rows=4, kernels=0),
    "guesses in a tree": Variant(
        tree, lambda s: [torch.ones(s.rows, s.rows).tril().bool() & (counted(2, s.rows, s.rows) > 0)],
        sharing=2, rows=5, kernels=0,
    ),
    "int8 cache": Variant(in_bytes, cache_of(torch.int8), sharing=2, rows=1, kernels=0, batch=32),
    "fp8 cache": Variant(in_bytes, cache_of(torch.float8_e4m3fn), sharing=2, rows=1, kernels=0, batch=32),
    "pages of a cache": Variant(paged, _pages, sharing=2, rows=1, kernels=None),
    "pages and many rows": Variant(paged, _pages, sharing=2, kernels=None),
}  # fmt: skip

#: The names of those whose gradients are asked for.
TRAINED = [name for name, variant in VARIANTS.items() if variant.kernels is not None]
