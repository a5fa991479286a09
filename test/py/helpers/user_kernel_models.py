"""Triton kernels as libraries of layers have them.  Shared by tests, no test itself.

As a script it prints one JSON object: what is found of the kernels of the corpus that are named, with
whichever Triton it imports.
"""

import json
import sys

import torch
import user_kernel_corpus
import user_kernel_training
from user_kernel_launches import LAUNCHES, floats, launch, numbers, parsed, tl, triton, zeros

from fuse_mlir.compiler.report.user_kernels_text import user_kernels_text

assert user_kernel_corpus.N and user_kernel_training.HALF  # their kernels are in the corpus, too

ROWS = {"x": floats(12, 20), "columns": 20, "B": 32}


@launch("x:r weight:r bias:r out:w mean:w rstd:w", (12,), **ROWS, weight=floats(20), bias=floats(20),
        out=zeros(12, 20), mean=zeros(12), rstd=zeros(12))  # fmt: skip
@triton.jit
def layer_norm(x, weight, bias, out, mean, rstd, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    inside = j < columns
    v = tl.load(x + row * columns + j, inside, other=0.0)
    middle = tl.sum(v, 0) / columns
    centred = tl.where(inside, v - middle, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
    tl.store(mean + row, middle)
    tl.store(rstd + row, scale)
    tl.store(
        out + row * columns + j,
        centred * scale * tl.load(weight + j, inside) + tl.load(bias + j, inside),
        inside,
    )


@launch("dy:r x:r weight:r rstd:r dx:w dweight:w", (3,), **ROWS, dy=floats(12, 20), weight=floats(20),
        rstd=floats(12), dx=zeros(12, 20), dweight=zeros(3, 20), rows=12, per=4)  # fmt: skip
@triton.jit
def rms_norm_backward(dy, x, weight, rstd, dx, dweight, rows, columns, per, B: tl.constexpr):
    first, j = tl.program_id(0) * per, tl.arange(0, B)
    inside = j < columns
    w = tl.load(weight + j, inside, other=0.0)
    total = tl.zeros((B,), tl.float32)
    dy += first * columns
    x += first * columns
    dx += first * columns
    for row in range(first, min(first + per, rows)):
        g, v, scale = (
            tl.load(dy + j, inside, other=0.0),
            tl.load(x + j, inside, other=0.0),
            tl.load(rstd + row),
        )
        total += g * v * scale
        inner = tl.sum(g * w * v, 0) * scale * scale / columns
        tl.store(dx + j, scale * (g * w - v * inner), inside)
        dy += columns
        x += columns
        dx += columns
    tl.store(dweight + tl.program_id(0) * columns + j, total, inside)


@launch(
    "gate:r up:r out:w", (12,), gate=floats(12, 20), up=floats(12, 20), out=zeros(12, 20), columns=20, B=32
)
@triton.jit
def swiglu(gate, up, out, columns, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    g = tl.load(gate + at, inside, other=0.0)
    tl.store(out + at, g * tl.sigmoid(g) * tl.load(up + at, inside), inside)


@launch(
    "dc:r gate:rw up:rw", (12,), dc=floats(12, 20), gate=floats(12, 20), up=floats(12, 20), columns=20, B=32
)
@triton.jit
def swiglu_backward_in_place(dc, gate, up, columns, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    d, g, u = tl.load(dc + at, inside), tl.load(gate + at, inside), tl.load(up + at, inside)
    s = tl.sigmoid(g)
    tl.store(gate + at, d * u * (s + g * s * (1 - s)), inside)
    tl.store(up + at, d * g * s, inside)


@launch("logits:rw target:r loss:w", (6,), logits=floats(6, 50), target=numbers(6, 50), loss=zeros(6),
        columns=50, ignore=3, B=32)  # fmt: skip
@triton.jit
def cross_entropy_in_place(logits, target, loss, columns, ignore, B: tl.constexpr):
    row = tl.program_id(0)
    logits += row * columns
    label = tl.load(target + row)
    if label == ignore:
        for begin in range(0, columns, B):
            tl.store(logits + begin + tl.arange(0, B), 0.0, begin + tl.arange(0, B) < columns)
        return
    most, total = -float("inf"), 0.0
    for begin in range(0, columns, B):
        i = begin + tl.arange(0, B)
        v = tl.load(logits + i, i < columns, other=-float("inf"))
        more = tl.maximum(most, tl.max(v, 0))
        total = total * tl.exp(most - more) + tl.sum(tl.exp(v - more), 0)
        most = more
    tl.store(loss + row, most + tl.log(total) - tl.load(logits + label))
    for begin in range(0, columns, B):
        i = begin + tl.arange(0, B)
        v = tl.load(logits + i, i < columns, other=-float("inf"))
        tl.store(logits + i, tl.exp(v - most) / total - tl.where(i == label, 1.0, 0.0), i < columns)


@launch("x:rw cos:r sin:r", (8,), x=floats(8, 3, 16), cos=floats(8, 8), sin=floats(8, 8), heads=3, H=4, D=16)
@triton.jit
def rotary_in_place(x, cos, sin, heads, H: tl.constexpr, D: tl.constexpr):
    token, half = tl.program_id(0), tl.arange(0, D // 2)
    c, s = tl.load(cos + token * (D // 2) + half), tl.load(sin + token * (D // 2) + half)
    head = tl.arange(0, H)[:, None]
    at = x + token * heads * D + head * D + half[None, :]
    first, second = tl.load(at, head < heads, other=0.0), tl.load(at + D // 2, head < heads, other=0.0)
    tl.store(at, first * c[None, :] - second * s[None, :], head < heads)
    tl.store(at + D // 2, second * c[None, :] + first * s[None, :], head < heads)


@launch(
    "table:r ids:r out:w", (7,), table=floats(30, 20), ids=numbers(7, 30), out=zeros(7, 20), columns=20, B=32
)
@triton.jit
def embedding(table, ids, out, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(table + tl.load(ids + row) * columns + j, j < columns)
    tl.store(out + row * columns + j, v, j < columns)


@launch(
    "dout:r ids:r dtable:a",
    (7,),
    dout=floats(7, 20),
    ids=numbers(7, 3),
    dtable=zeros(30, 20),
    columns=20,
    B=32,
)
@triton.jit
def embedding_backward(dout, ids, dtable, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(dout + row * columns + j, j < columns, other=0.0)
    tl.atomic_add(dtable + tl.load(ids + row) * columns + j, v, j < columns)


@launch(
    "keys:r slots:r cache:w",
    (5,),
    keys=floats(5, 16),
    slots=numbers(5, 40, torch.int64),
    cache=zeros(40, 16),
    D=16,
)
@triton.jit
def cache_update(keys, slots, cache, D: tl.constexpr):
    token, j = tl.program_id(0), tl.arange(0, D)
    slot = tl.load(slots + token)
    if slot < 0:
        return
    tl.store(cache + slot * D + j, tl.load(keys + token * D + j))


@launch("x:r scale:w out:w", (12,), **ROWS, scale=zeros(12), out=zeros(12, 20, dtype=torch.int8))
@triton.jit
def quantised_rows(x, scale, out, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    by = tl.maximum(tl.max(tl.abs(v), 0) / 127, 1e-8)
    tl.store(scale + row, by)
    tl.store(out + row * columns + j, (v / by).to(tl.int8), j < columns)


@launch("q:r k:r v:r out:w lse:w", (2, 2), q=floats(2, 32, 16), k=floats(2, 32, 16), v=floats(2, 32, 16),
        out=zeros(2, 32, 16), lse=zeros(2, 32), n=32, M=16, D=16)  # fmt: skip
@triton.jit
def causal_attention(q, k, v, out, lse, n, M: tl.constexpr, D: tl.constexpr):
    head, i, j, d = tl.program_id(1), tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, M), tl.arange(0, D)
    base = head * n * D
    queries = tl.load(q + base + i[:, None] * D + d[None, :], i[:, None] < n, other=0.0)
    most, total = tl.full((M,), -float("inf"), tl.float32), tl.zeros((M,), tl.float32)
    sums = tl.zeros((M, D), tl.float32)
    for begin in range(0, (tl.program_id(0) + 1) * M, M):
        at = begin + j
        keys = tl.load(k + base + at[None, :] * D + d[:, None], at[None, :] < n, other=0.0)
        scores = tl.where(i[:, None] >= at[None, :], tl.dot(queries, keys), -float("inf"))
        more = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - more[:, None])
        old = tl.exp(most - more)
        total = total * old + tl.sum(weights, 1)
        values = tl.load(v + base + at[:, None] * D + d[None, :], at[:, None] < n, other=0.0)
        sums = sums * old[:, None] + tl.dot(weights, values)
        most = more
    tl.store(lse + head * n + i, most + tl.log(total), i < n)
    tl.store(out + base + i[:, None] * D + d[None, :], sums / total[:, None], i[:, None] < n)


@launch("x:r weight:r out:w state:rw", (3,), x=floats(3, 24), weight=floats(3, 4), out=zeros(3, 24),
        state=floats(3, 4), steps=24, W=4)  # fmt: skip
@triton.jit
def causal_convolution(x, weight, out, state, steps, W: tl.constexpr):
    channel, tap = tl.program_id(0), tl.arange(0, W)
    w, kept = tl.load(weight + channel * W + tap), tl.load(state + channel * W + tap)
    for step in tl.range(0, steps, num_stages=2):
        at = step - (W - 1) + tap
        v = tl.load(x + channel * steps + at, at >= 0, other=0.0)
        tl.store(out + channel * steps + step, tl.sum(v * w, 0) + tl.sum(kept, 0))
    tl.store(state + channel * W + tap, tl.load(x + channel * steps + steps - W + tap))


@launch("x:r starts:r out:w", (4,), x=floats(60), starts=numbers(5, 11), out=zeros(4), B=8)
@triton.jit
def segment_sums(x, starts, out, B: tl.constexpr):
    begin, end = tl.load(starts + tl.program_id(0)), tl.load(starts + tl.program_id(0) + 1)
    total = tl.zeros((B,), tl.float32)
    at = begin
    while at < end:
        total += tl.load(x + at + tl.arange(0, B), at + tl.arange(0, B) < end, other=0.0)
        at += B
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@launch("x:r out:w", (2, 3), x=floats(2, 3, 8, 4), out=zeros(2, 3, 8, 4), heads=3, T=8, D=4)
@triton.jit
def running_state(x, out, heads, T: tl.constexpr, D: tl.constexpr):
    base = (tl.program_id(0) * heads + tl.program_id(1)) * T * D
    d = tl.arange(0, D)
    state = tl.zeros((D,), tl.float32)
    for t in tl.static_range(T):
        state = state * 0.5 + tl.load(x + base + t * D + d)
        tl.store(out + base + t * D + d, state)


if __name__ == "__main__":
    found = {one.name: user_kernels_text(parsed(one)[1]) for one in LAUNCHES if one.name in sys.argv}
    print(json.dumps(found))
