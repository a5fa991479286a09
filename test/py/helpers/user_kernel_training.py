"""Triton kernels as tutorials, libraries of losses and of linear attention have them.  Shared by tests, no
test itself.
"""

import torch
from user_kernel_launches import floats, launch, numbers, tl, triton, zeros

HALF = torch.float16


@triton.jit
def block_of(program, blocks_m, blocks_n, GROUP: tl.constexpr):
    """Blocks of a matrix in groups of rows, so that neighbours share operands in the cache."""
    per = GROUP * blocks_n
    first = program // per * GROUP
    height = min(blocks_m - first, GROUP)
    return first + program % per % height, program % per // height


@launch("a:r b:r bias:r c:w", (6,), a=floats(40, 48), b=floats(48, 28), bias=floats(28), c=zeros(40, 28),
        m=40, n=28, k=48, B=16, GROUP=2)  # fmt: skip
@triton.jit
def grouped_matmul(a, b, bias, c, m, n, k, B: tl.constexpr, GROUP: tl.constexpr):
    row, column = block_of(tl.program_id(0), tl.cdiv(m, B), tl.cdiv(n, B), GROUP)
    i, j = row * B + tl.arange(0, B), column * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for step in range(tl.cdiv(k, B)):
        at = step * B + tl.arange(0, B)
        left = tl.load(a + (i % m)[:, None] * k + at[None, :], at[None, :] < k, other=0.0)
        right = tl.load(b + at[:, None] * n + (j % n)[None, :], at[:, None] < k, other=0.0)
        total = tl.dot(left, right, total)
    total += tl.load(bias + j, j < n, other=0.0)[None, :]
    total = tl.where(total > 0, total, 0.01 * total)
    tl.store(c + i[:, None] * n + j[None, :], total, (i[:, None] < m) & (j[None, :] < n))


@launch("a:r b:r c:w", (2,), a=floats(40, 48), b=floats(32, 48), c=zeros(40, 32), m=40, n=32, k=48, B=16)
@triton.jit
def persistent_matmul(a, b, c, m, n, k, B: tl.constexpr):
    of_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [B, B])
    of_b = tl.make_tensor_descriptor(b, [n, k], [k, 1], [B, B])
    of_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [B, B])
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, B) * tl.cdiv(n, B), tl.num_programs(0), flatten=True):
        i, j = tile // tl.cdiv(n, B) * B, tile % tl.cdiv(n, B) * B
        total = tl.zeros((B, B), tl.float32)
        for step in range(tl.cdiv(k, B)):
            total = tl.dot(of_a.load([i, step * B]), of_b.load([j, step * B]).T, total)
        of_c.store([i, j], total)


@launch("a:r b:r c:a", (2, 2, 3), a=floats(32, 48), b=floats(48, 32), c=zeros(32, 32), n=32, k=48, B=16)
@triton.jit
def split_matmul(a, b, c, n, k, B: tl.constexpr):
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    at = tl.program_id(2) * B + tl.arange(0, B)
    product = tl.dot(tl.load(a + i[:, None] * k + at[None, :]), tl.load(b + at[:, None] * n + j[None, :]))
    tl.atomic_add(c + i[:, None] * n + j[None, :], product, sem="relaxed")


@launch("x:r packed:r scales:r out:w", (2,), x=floats(16, 32), packed=numbers(16 * 32, 251, torch.uint8),
        scales=floats(2, 32), out=zeros(16, 32), K=32, N=32, GROUP=16)  # fmt: skip
@triton.jit
def four_bit_matmul(x, packed, scales, out, K: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    """Two weights of 4 bits in a byte, a scale for each group along k."""
    i, j = tl.arange(0, 16), tl.program_id(0) * 16 + tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    for first in tl.static_range(0, K, GROUP):
        k = first + tl.arange(0, GROUP)
        byte = tl.load(packed + (k // 2)[:, None] * N + j[None, :])
        weight = ((byte >> (k % 2 * 4)[:, None].to(tl.uint8)) & 15).to(tl.float32) - 8
        weight *= tl.load(scales + first // GROUP * N + j)[None, :]
        total += tl.dot(tl.load(x + i[:, None] * K + k[None, :]), weight)
    tl.store(out + i[:, None] * N + j[None, :], total)


@launch("dx:w dy:r x:r w:r rstd:r partial:rw locks:a counts:rw", (6,), dx=zeros(6, 20), dy=floats(6, 20),
        x=floats(6, 20), w=floats(20), rstd=floats(6), partial=zeros(2, 20),
        locks=zeros(2, dtype=torch.int32), counts=zeros(2, dtype=torch.int32), columns=20,
        GROUPS=2, B=32)  # fmt: skip
@triton.jit
def norm_backward_with_locks(
    dx, dy, x, w, rstd, partial, locks, counts, columns, GROUPS: tl.constexpr, B: tl.constexpr
):
    """Rows of one group add into one row, one after the other."""
    row, j = tl.program_id(0), tl.arange(0, B)
    inside = j < columns
    g = tl.load(dy + row * columns + j, inside, other=0.0)
    v = tl.load(x + row * columns + j, inside, other=0.0) * tl.load(rstd + row)
    scaled = g * tl.load(w + j, inside, other=0.0)
    tl.store(dx + row * columns + j, scaled - v * tl.sum(scaled * v, 0) / columns, inside)
    group = row % GROUPS
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    mine = g * v
    if tl.load(counts + group) == 0:
        tl.store(counts + group, 1)
    else:
        mine += tl.load(partial + group * columns + j, inside, other=0.0)
    tl.store(partial + group * columns + j, mine, inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


@launch("x:rw residual:rw weight:r out:w", (6,), x=floats(6, 20), residual=floats(6, 20), weight=floats(20),
        out=zeros(6, 20), columns=20, B=32)  # fmt: skip
@triton.jit
def add_and_norm(x, residual, weight, out, columns, B: tl.constexpr):
    """The sum replaces both."""
    row, j = tl.program_id(0), tl.arange(0, B)
    at, inside = row * columns + j, j < columns
    total = tl.load(x + at, inside, other=0.0) + tl.load(residual + at, inside, other=0.0)
    tl.store(x + at, total, inside)
    tl.store(residual + at, total, inside)
    scale = tl.rsqrt(tl.sum(total * total, 0) / columns + 1e-6)
    tl.store(out + at, total * scale * tl.load(weight + j, inside), inside)


@launch("x:r weight:r bias:r out:w", (2, 3), x=floats(2, 6, 20), weight=floats(6), bias=floats(6),
        out=zeros(2, 6, 20), channels=6, size=20, PER=2, B=16)  # fmt: skip
@triton.jit
def group_norm(x, weight, bias, out, channels, size, PER: tl.constexpr, B: tl.constexpr):
    image, group = tl.program_id(0), tl.program_id(1)
    start = (image * channels + group * PER) * size
    total, squares = 0.0, 0.0
    for first in range(0, PER * size, B):
        i = first + tl.arange(0, B)
        v = tl.load(x + start + i, i < PER * size, other=0.0)
        total += tl.sum(v)
        squares += tl.sum(v * v)
    mean = total / (PER * size)
    scale = 1 / tl.sqrt(squares / (PER * size) - mean * mean + 1e-5)
    for channel in range(PER):
        w, b = tl.load(weight + group * PER + channel), tl.load(bias + group * PER + channel)
        for first in range(0, size, B):
            i = first + tl.arange(0, B)
            at = start + channel * size + i
            tl.store(out + at, (tl.load(x + at, i < size) - mean) * scale * w + b, i < size)


@launch("logits:r target:r loss:w", (6,), logits=floats(6, 50), target=floats(6, 50), loss=zeros(6, 50),
        columns=50, beta=0.25, B=32)  # fmt: skip
@triton.jit
def divergence(logits, target, loss, columns, beta, B: tl.constexpr):
    """Of two distributions from their mixture."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * columns
    target += row * columns
    loss += row * columns
    for first in range(0, columns, B):
        i = first + tl.arange(0, B)
        p = tl.load(logits + i, i < columns, other=-float("inf"))
        q = tl.load(target + i, i < columns, other=-float("inf"))
        mixed = tl.log(beta * tl.exp(q) + (1 - beta) * tl.exp(p))
        tl.store(loss + i, beta * tl.exp(q) * (q - mixed) + (1 - beta) * tl.exp(p) * (p - mixed), i < columns)


@launch("out:r dout:r delta:w", (3, 2), out=floats(2, 40, 16), dout=floats(2, 40, 16), delta=zeros(2, 40),
        n=40, M=16, D=16)  # fmt: skip
@triton.jit
def attention_delta(out, dout, delta, n, M: tl.constexpr, D: tl.constexpr):
    i, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    at = (tl.program_id(1) * n + i[:, None]) * D + d[None, :]
    both = tl.load(out + at, i[:, None] < n, other=0.0) * tl.load(dout + at, i[:, None] < n, other=0.0)
    tl.store(delta + tl.program_id(1) * n + i, tl.sum(both, 1), i < n)


@launch("q:r k:r v:r pages:r lengths:r out:w", (2, 2), q=floats(2, 2, 16), k=floats(6, 8, 16),
        v=floats(6, 8, 16), pages=numbers(8, 6), lengths=lambda: torch.tensor([19, 30], dtype=torch.int32),
        out=zeros(2, 2, 16), heads=2, per=4, PAGE=8, D=16)  # fmt: skip
@triton.jit
def paged_attention(q, k, v, pages, lengths, out, heads, per, PAGE: tl.constexpr, D: tl.constexpr):
    """One query for each sequence; keys and values lie in pages that a table names."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    length, i, d = tl.load(lengths + sequence), tl.arange(0, PAGE), tl.arange(0, D)
    query = tl.load(q + (sequence * heads + head) * D + d)
    most, total, kept = -float("inf"), 0.0, tl.zeros((D,), tl.float32)
    for number in range(tl.cdiv(length, PAGE)):
        page = tl.load(pages + sequence * per + number).to(tl.int64)
        at, valid = (page * PAGE + i[:, None]) * D + d[None, :], number * PAGE + i < length
        keys = tl.load(k + at, valid[:, None], other=0.0)
        scores = tl.where(valid, tl.sum(query[None, :] * keys, 1), -float("inf"))
        more = tl.maximum(most, tl.max(scores, 0))
        weights = tl.exp(scores - more)
        old = tl.exp(most - more)
        total = total * old + tl.sum(weights, 0)
        kept = kept * old + tl.sum(weights[:, None] * tl.load(v + at, valid[:, None], other=0.0), 0)
        most = more
    tl.store(out + (sequence * heads + head) * D + d, kept / total)


@launch("k:r v:r gates:r states:w last:w", (2,), k=floats(2, 32, 16), v=floats(2, 32, 16),
        gates=floats(2, 32), states=zeros(2, 2, 16, 16), last=zeros(2, 16, 16), steps=32, C=16,
        D=16)  # fmt: skip
@triton.jit
def chunk_states(k, v, gates, states, last, steps, C: tl.constexpr, D: tl.constexpr):
    """The state of linear attention in front of each chunk."""
    head, i, d = tl.program_id(0), tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros((D, D), tl.float32)
    for chunk in range(tl.cdiv(steps, C)):
        tl.store(states + ((head * tl.cdiv(steps, C) + chunk) * D + d[:, None]) * D + d[None, :], state)
        at = (head * steps + chunk * C + i[:, None]) * D + d[None, :]
        sums = tl.cumsum(tl.load(gates + head * steps + chunk * C + i), 0)
        end = tl.sum(tl.where(i == C - 1, sums, 0.0), 0)
        values = tl.load(v + at) * tl.exp(end - sums)[:, None]
        state = state * tl.exp(end) + tl.dot(tl.trans(tl.load(k + at)), values)
    tl.store(last + (head * D + d[:, None]) * D + d[None, :], state)


@launch("x:r starts:r chunks:r out:w", (5,), x=floats(40, 8), starts=lambda: torch.tensor([0, 20, 40]),
        chunks=lambda: torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]), out=zeros(40, 8),
        C=8, D=8)  # fmt: skip
@triton.jit
def packed_cumulative_sums(x, starts, chunks, out, C: tl.constexpr, D: tl.constexpr):
    """Sequences of different lengths behind each other; a table names the chunk of each program."""
    sequence, chunk = tl.load(chunks + tl.program_id(0) * 2), tl.load(chunks + tl.program_id(0) * 2 + 1)
    begin, end = tl.load(starts + sequence), tl.load(starts + sequence + 1)
    i, d = chunk * C + tl.arange(0, C), tl.arange(0, D)
    at = (begin + i[:, None]) * D + d[None, :]
    inside = (begin + i < end)[:, None] & (d < D)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at, inside, other=0.0), 0), inside)


@launch("x:r out:w rstd:w", (6,), x=floats(6, 20), out=zeros(6, 20, dtype=HALF), rstd=zeros(6), D=20, B=32)
@triton.jit
def unit_rows(x, out, rstd, D, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * D + j, j < D, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(v * v) + 1e-6)
    tl.store(rstd + row, scale)
    tl.store(out + row * D + j, (v * scale).to(out.dtype.element_ty), j < D)


@launch("scores:r chosen:w weights:w", (6,), scores=floats(6, 16), chosen=zeros(6, 4, dtype=torch.int32),
        weights=zeros(6, 4), E=16, K=4)  # fmt: skip
@triton.jit
def best_experts(scores, chosen, weights, E: tl.constexpr, K: tl.constexpr):
    """The largest scores and where they are, as one number each that sorts."""
    row, j, first = tl.program_id(0), tl.arange(0, E), tl.arange(0, K)
    v = tl.load(scores + row * E + j)
    bits = v.to(tl.int32, bitcast=True)
    order = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64) << 32 | j.to(tl.int64)
    best = tl.topk(order, K)
    at = (best & 0xFFFFFFFF).to(tl.int32)
    tl.store(chosen + row * K + first, at)
    tl.store(weights + row * K + first, tl.gather(v, at, 0))
