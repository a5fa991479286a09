"""One query of each sequence and a cache, as programs spell it out: `DECODING`, a part of suite `attention`.

q[B, H, 1, D] in bf16, and a cache of keys and values [B, KEY_HEADS, N, D] that H / KEY_HEADS heads share;
names end with B, H, N, D.  The cache is in bf16, or in bytes with a scale for each key, or in pages.  The
copy that a case is compared with moves as many bytes: what reads the cache alone takes half of its time.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .graph import Source
from .wild.workload import BFLOAT16, Workloads

DECODING = Workloads()
#: One long sequence, as many keys as fill the memory's queue, and many short sequences; of a dry run.
LONG, SIZES, MANY, SMALL = (1, 32, 32768, 128), (16, 32, 8192, 128), (64, 32, 2048, 128), (2, 8, 64, 16)
KEY_HEADS, PAGE = 8, 64
#: Of the numbers of a cache in bytes, whose standard deviation is 1 once they are scaled.
SCALE = 1 / 32


def _for_heads(q: Tensor, t: Tensor) -> Tensor:
    return t.repeat_interleave(q.shape[1] // t.shape[1], 1)


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ _for_heads(q, k).mT * q.shape[-1] ** -0.5
    return scores.softmax(-1) @ _for_heads(q, v)


def _decoding(source: Source, batch: int, heads: int, keys: int, width: int):
    """A cache in the dtype of the query."""
    cache = (source.normal(batch, KEY_HEADS, keys, width) for _ in range(2))
    return _attend, (source.normal(batch, heads, 1, width), *cache)


for _sizes in (LONG, SIZES, MANY):
    DECODING.add("decoding", _sizes, SMALL, BFLOAT16, summed=_sizes[2])(_decoding)


def _in_bytes(dtype: torch.dtype) -> Callable[..., tuple]:
    """A cache in 8 bits, and a scale for each key and each value."""

    def make(source: Source, batch: int, heads: int, keys: int, width: int):
        def attend(q: Tensor, k: Tensor, v: Tensor, of_k: Tensor, of_v: Tensor) -> Tensor:
            return _attend(q, k.to(q.dtype) * of_k, v.to(q.dtype) * of_v)

        rows = batch, KEY_HEADS, keys
        q = source.normal(batch, heads, 1, width)
        numbers = (source.normal(*rows, width, dtype=torch.float32) / SCALE for _ in range(2))
        cache = (t.clamp(-127, 127).to(dtype) for t in numbers)
        scales = (source.uniform(0.5 * SCALE, 1.5 * SCALE, *rows, 1) for _ in range(2))
        return attend, (q, *cache, *scales)

    return make


DECODING.add("decoding_int8", SIZES, SMALL, BFLOAT16, summed=SIZES[2])(_in_bytes(torch.int8))
DECODING.add("decoding_fp8", SIZES, SMALL, BFLOAT16, summed=SIZES[2])(_in_bytes(torch.float8_e4m3fn))


@DECODING.add("decoding_pages", SIZES, SMALL, BFLOAT16, summed=SIZES[2])
def _pages(source: Source, batch: int, heads: int, keys: int, width: int):
    """A cache in pages of 64 keys, whose places a table has."""

    def attend(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
        return _attend(q, *(t[table].flatten(1, 2).transpose(1, 2) for t in (k, v)))

    count = keys // PAGE
    pages = (source.normal(batch * count, PAGE, KEY_HEADS, width) for _ in range(2))
    places = torch.randperm(batch * count, generator=torch.Generator().manual_seed(0))
    return attend, (
        source.normal(batch, heads, 1, width),
        *pages,
        places.view(batch, count).to(source.device),
    )


__all__ = ["DECODING"]
