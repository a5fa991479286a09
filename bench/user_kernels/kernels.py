"""Triton kernels as users write them, and each with the model's ops behind or in front of it written in.

The constants ``FUSED``, ``BEFORE`` and ``AFTER`` add those ops before the store, or behind the load.  They
start from the number that the tensor in between would hold, rounded to its element type.  Nothing else
differs between a kernel and its form that was fused by hand.
"""

import triton
import triton.language as tl

HALF_ROOT = tl.constexpr(0.7071067811865476)
LARGEST_E4M3 = tl.constexpr(448.0)


@triton.jit
def matmul(a, b, c, bias, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           FUSED: tl.constexpr):  # fmt: skip
    """c = a @ b, in tiles whose rows are grouped so that programs that run together share columns of b."""
    program = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = program // (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    inner = program % (GROUP * columns)
    i = (group * GROUP + inner % height) * BM + tl.arange(0, BM)
    j = inner // height * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    at_a = a + (i % M)[:, None] * K + k[None, :]
    at_b = b + k[:, None] * N + (j % N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = tl.load(at_a, mask=k[None, :] < K - step * BK, other=0.0)
        right = tl.load(at_b, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(left, right, total)
        at_a += BK
        at_b += BK * N
    if FUSED:
        total = total.to(c.dtype.element_ty).to(tl.float32)
        total += tl.load(bias + j, mask=j < N)[None, :].to(tl.float32)
        total = 0.5 * total * (1 + tl.erf(total * HALF_ROOT))
    inside = (i[:, None] < M) & (j[None, :] < N)
    tl.store(c + i[:, None] * N + j[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def softmax(x, out, bias, scale, columns, BLOCK: tl.constexpr, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    """One program for each row.  BEFORE: of x * 0.125 + bias.  AFTER: times the scale of the column."""
    row, j = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = j < columns
    v = tl.load(x + row * columns + j, mask=inside, other=-float("inf")).to(tl.float32)
    if BEFORE:
        v = v * 0.125 + tl.load(bias + j, mask=inside, other=0.0).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    y = e / tl.sum(e, 0)
    if AFTER:
        y = y * tl.load(scale + j, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + j, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm(x, weight, bias, residual, out, columns, eps, BLOCK: tl.constexpr, FUSED: tl.constexpr):
    """One program for each row, in passes of BLOCK elements over it."""
    row, j = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        total += tl.load(x + row + begin + j, mask=begin + j < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        inside = begin + j < columns
        v = tl.load(x + row + begin + j, mask=inside, other=0.0).to(tl.float32)
        centred = tl.where(inside, v - mean, 0.0)
        squares += centred * centred
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    for begin in range(0, columns, BLOCK):
        at = begin + j
        inside = at < columns
        v = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
        w, b = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
        y = (v - mean) * scale * w + b
        if FUSED:
            y = y.to(out.dtype.element_ty).to(tl.float32)
            y += tl.load(residual + row + at, mask=inside).to(tl.float32)
        tl.store(out + row + at, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm(x, beside, weight, step, out, columns, eps, BLOCK: tl.constexpr, BEFORE: tl.constexpr,
             AFTER: tl.constexpr):  # fmt: skip
    """A program for each row, which holds it.  BEFORE: of x + beside.  AFTER: quantised by a static step."""
    row, j = tl.program_id(0).to(tl.int64) * columns, tl.arange(0, BLOCK)
    inside = j < columns
    v = tl.load(x + row + j, mask=inside, other=0.0).to(tl.float32)
    if BEFORE:
        v += tl.load(beside + row + j, mask=inside, other=0.0).to(tl.float32)
        v = v.to(x.dtype.element_ty).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(v * v, 0) / columns + eps)
    y = v * scale * tl.load(weight + j, mask=inside, other=0.0).to(tl.float32)
    if AFTER:
        y = y.to(x.dtype.element_ty).to(tl.float32)
        y = tl.clamp(y / tl.load(step), -LARGEST_E4M3, LARGEST_E4M3, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + row + j, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def swiglu(gate, up, out, count, BLOCK: tl.constexpr):
    """silu(gate) * up; ``out`` may be narrower than what is computed."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    g, u = tl.load(gate + at, mask=inside).to(tl.float32), tl.load(up + at, mask=inside).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * u).to(out.dtype.element_ty), mask=inside)


@triton.jit
def attention(q, k, v, gate, out, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
              FUSED: tl.constexpr):  # fmt: skip
    """Forward flash attention without a mask; all tensors are [heads, length, D]."""
    i, j, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    base = tl.program_id(1).to(tl.int64) * length * D
    at = base + i[:, None] * D + d[None, :]
    inside = i[:, None] < length
    queries = tl.load(q + at, mask=inside, other=0.0)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    factor: tl.constexpr = 1.4426950408889634 / D**0.5  # of base 2
    for begin in range(0, length, BN):
        n = begin + j
        keys = tl.load(k + base + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        scores = tl.where(n[None, :] < length, tl.dot(queries, keys) * factor, -float("inf"))
        more = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - more[:, None])
        old = tl.exp2(most - more)
        total = total * old + tl.sum(weights, 1)
        values = tl.load(v + base + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        sums = tl.dot(weights.to(values.dtype), values, sums * old[:, None])
        most = more
    result = sums / total[:, None]
    if FUSED:
        result = result.to(out.dtype.element_ty).to(tl.float32)
        result *= tl.sigmoid(tl.load(gate + at, mask=inside, other=0.0).to(tl.float32))
    tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)
