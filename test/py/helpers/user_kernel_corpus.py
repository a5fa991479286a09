"""Triton kernels as users write them: each way of accessing memory, small.  Shared by tests, no test
itself.
"""

import torch
from user_kernel_launches import floats, launch, numbers, tl, triton, zeros

N = 100  #: elements of the vectors, which no block divides
B = 32

V = {"x": floats(N), "out": zeros(N), "n": N, "B": B}


# --- one axis
@launch("x:r out:w", **V)
@triton.jit
def add_one(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, i < n) + 1, i < n)


@launch("x:rw", x=floats(N), n=N, B=B)
@triton.jit
def double_in_place(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


@launch("x:r out:w", x=floats(2 * N), out=zeros(N), n=N, stride=2, B=B)
@triton.jit
def every_second(x, out, n, stride, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i * stride, i < n, other=0.0), i < n)


@launch("x:r out:w", (2,), **V)
@triton.jit
def persistent(x, out, n, B: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, B), tl.num_programs(0)):
        i = block * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, i < n), i < n)


@launch("x:r out:w", (1,), **V)
@triton.jit
def moving_pointers(x, out, n, B: tl.constexpr):
    lanes = tl.arange(0, B)
    x += lanes
    out += lanes
    for k in range(0, tl.cdiv(n, B)):
        tl.store(out, tl.load(x, lanes < n - k * B), lanes < n - k * B)
        x += B
        out += B


@launch("x:r out:w", (10,), **{**V, "B": 16})
@triton.jit
def reversed_order(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + n - 1 - i, tl.load(x + i, i < n), i < n)


@launch("x:r out:w", (7,), x=floats(N), out=zeros(N), n=N, B=16)
@triton.jit
def two_axes_in_one(x, out, n, B: tl.constexpr):
    lanes = tl.arange(0, B)
    i = tl.program_id(0) * B + (lanes // 4) * 4 + 3 - lanes % 4
    tl.store(out + i, tl.load(x + i, i < n), i < n)


# --- two axes
M2 = {"x": floats(24, 20), "rows": 24, "columns": 20}


@launch("x:r out:w", (2, 2), **M2, out=zeros(20, 24), A=16, B=16)
@triton.jit
def transposed(x, out, rows, columns, A: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * A + tl.arange(0, A)[:, None]
    j = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    inside = (i < rows) & (j < columns)
    tl.store(out + j * rows + i, tl.load(x + i * columns + j, inside), inside)


@launch("x:r out:w", (24,), **M2, out=zeros(24, 20), B=32)
@triton.jit
def softmax(x, out, rows, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * columns + j, j < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + j, e / tl.sum(e, 0), j < columns)


@launch("x:r weight:r out:w rstd:w", (24,), **M2, weight=floats(20), out=zeros(24, 20), rstd=zeros(24), B=32)
@triton.jit
def rms_norm(x, weight, out, rstd, rows, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    scale = tl.rsqrt(tl.sum(v * v, 0) / columns + 1e-5)
    tl.store(rstd + row, scale)
    tl.store(out + row * columns + j, v * scale * tl.load(weight + j, j < columns), j < columns)


@launch("x:r out:w", (3,), **M2, out=zeros(24), A=8, B=8)
@triton.jit
def row_sums(x, out, rows, columns, A: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * A + tl.arange(0, A)
    total = tl.zeros((A,), tl.float32)
    for begin in range(0, columns, B):
        j = begin + tl.arange(0, B)
        total += tl.sum(tl.load(x + i[:, None] * columns + j[None, :], j[None, :] < columns, other=0.0), 1)
    tl.store(out + i, total, i < rows)


@launch("x:r best:w where:w", (24,), **M2, best=zeros(24), where=zeros(24, dtype=torch.int32), B=32)
@triton.jit
def arg_max(x, best, where, rows, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v, at = tl.max(tl.load(x + row * columns + j, j < columns, other=-2.0), 0, return_indices=True)
    tl.store(best + row, v)
    tl.store(where + row, at)


@launch("a:r b:r c:w", (6,), a=floats(40, 36), b=floats(36, 24), c=zeros(40, 24), m=40, n=24, k=36, B=16, G=2)
@triton.jit
def matmul(a, b, c, m, n, k, B: tl.constexpr, G: tl.constexpr):
    across = tl.cdiv(n, B)
    group = tl.program_id(0) // (G * across)
    size = min(tl.cdiv(m, B) - group * G, G)
    row = group * G + (tl.program_id(0) % (G * across)) % size
    column = (tl.program_id(0) % (G * across)) // size
    i, j, l = row * B + tl.arange(0, B), column * B + tl.arange(0, B), tl.arange(0, B)
    left, right = a + (i % m)[:, None] * k + l[None, :], b + l[:, None] * n + (j % n)[None, :]
    total = tl.zeros((B, B), tl.float32)
    for step in range(0, tl.cdiv(k, B)):
        x = tl.load(left, l[None, :] < k - step * B, other=0.0)
        y = tl.load(right, l[:, None] < k - step * B, other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
        left += B
        right += B * n
    tl.store(c + i[:, None] * n + j[None, :], total, (i[:, None] < m) & (j[None, :] < n))


# --- at loaded places
@launch("x:r at:r out:w", x=floats(50), at=numbers(N, 50), out=zeros(N), n=N, B=B)
@triton.jit
def gathered(x, at, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + tl.load(at + i, i < n, other=0), i < n), i < n)


@launch("x:r starts:r out:w", (5,), x=floats(N), starts=numbers(6, 13), out=zeros(5, 16), B=16)
@triton.jit
def ragged(x, starts, out, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    begin, end = tl.load(starts + row), tl.load(starts + row + 1)
    tl.store(out + row * B + j, tl.load(x + begin + j, begin + j < end, other=0.0))


# --- atomics
@launch("x:r out:a", x=floats(N), out=zeros(1), n=N, B=B)
@triton.jit
def atomic_sum(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), 0))


@launch("at:r out:a", at=numbers(N, 10), out=zeros(10, dtype=torch.int32), n=N, B=B)
@triton.jit
def atomic_counts(at, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.load(at + i, i < n, other=0), 1, i < n)


@launch("x:r highest:a order:w", (3,), x=numbers(96, 50), highest=zeros(1, dtype=torch.int32),
        order=zeros(3, dtype=torch.int32), B=B)  # fmt: skip
@triton.jit
def atomic_max_and_old(x, highest, order, B: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.store(order + tl.program_id(0), tl.atomic_max(highest, tl.max(v, 0)))


@launch("flag:a out:w", (3,), flag=zeros(1, dtype=torch.int32), out=zeros(3, dtype=torch.int32))
@triton.jit
def compare_and_swap(flag, out):
    tl.store(out + tl.program_id(0), tl.atomic_cas(flag, 0, tl.program_id(0) + 1))


# --- control flow
@launch("x:r y:r out:w", **V, y=floats(N), which=3)
@triton.jit
def chosen_pointer(x, y, out, n, which, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    source = y
    if which % 3 == 0:
        source = x
    tl.store(out + i, tl.load(source + i, i < n), i < n)


@launch("x:r a:w b:w", **{k: v for k, v in V.items() if k != "out"}, a=zeros(N), b=zeros(N))
@triton.jit
def even_and_odd(x, a, b, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    if tl.program_id(0) % 2 == 0:
        tl.store(a + i, v, i < n)
    else:
        tl.store(b + i, v, i < n)


@launch("x:rw y:rw", (1,), x=floats(N), y=zeros(N), turns=3, B=B)
@triton.jit
def swapped_pointers(x, y, turns, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = x + i, y + i
    for _ in range(turns):
        tl.store(b, tl.load(a) + 1)
        a, b = b, a


@launch("x:r out:w", (4,), x=numbers(4, 9, torch.int32), out=zeros(4, dtype=torch.int32))
@triton.jit
def while_loop(x, out):
    left = tl.load(x + tl.program_id(0))
    steps = 0
    while left > 0:
        left = left // 2
        steps += 1
    tl.store(out + tl.program_id(0), steps)


@triton.jit
def both_of(p, q, i, inside):
    return tl.load(p + i, inside), tl.load(q + i, inside)


@triton.jit(noinline=True)
def put(p, v):
    tl.store(p, v)


@launch("x:r y:r out:w last:w", **V, y=floats(N), last=zeros(4))
@triton.jit
def device_functions(x, y, out, last, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b = both_of(x, y, i, i < n)
    tl.store(out + i, a * b, i < n)
    put(last + tl.program_id(0), tl.sum(a, 0))


# --- casts of addresses
@launch("x:r out:w", **V)
@triton.jit
def as_bits(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    bits = x.to(tl.pointer_type(tl.int32))
    tl.store(out.to(tl.pointer_type(tl.int32)) + i, tl.load(bits + i, i < n), i < n)


# --- tiles in registers
@launch("x:r out:w", (24,), **M2, out=zeros(24, 20), B=32)
@triton.jit
def cumulative_sums(x, out, rows, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    tl.store(out + row * columns + j, tl.cumsum(v, 0), j < columns)


@triton.jit
def keep_first(a, i, b, j):
    first = a >= b
    return tl.where(first, a, b), tl.where(first, i, j)


@launch("x:r out:w at:w", (24,), **M2, out=zeros(24, 20), at=zeros(24, 20, dtype=torch.int32), B=32)
@triton.jit
def running_maximum(x, out, at, rows, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * columns + j, j < columns, other=-2.0)
    best, where = tl.associative_scan((v, j), 0, keep_first)
    tl.store(out + row * columns + j, best, j < columns)
    tl.store(at + row * columns + j, where, j < columns)


@triton.jit
def joined_moments(n, mean, m2, n_b, mean_b, m2_b):
    both = n + n_b
    delta = mean_b - mean
    share = tl.where(both == 0, 0.0, n_b / both)
    return both, mean + delta * share, m2 + m2_b + delta * delta * n * share


@launch("x:r out:w", (24,), **M2, out=zeros(24, 2), B=32)
@triton.jit
def moments(x, out, rows, columns, B: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    one = tl.where(j < columns, 1.0, 0.0)
    n, mean, m2 = tl.reduce((one, v, tl.zeros((B,), tl.float32)), 0, joined_moments)
    tl.store(out + row * 2, mean)
    tl.store(out + row * 2 + 1, m2 / n)


@launch("x:r out:w", (1,), x=floats(16, 8), out=zeros(8, 16))
@triton.jit
def split_and_joined(x, out):
    i = tl.arange(0, 128)
    a, b = tl.split(tl.reshape(tl.load(x + i), (64, 2)))
    tl.store(out + i, tl.reshape(tl.trans(tl.join(b, a)), (128,)))


@launch("at:r out:w", (1,), at=numbers(64, 8), out=zeros(8, dtype=torch.int32))
@triton.jit
def histogram(at, out):
    tl.store(out + tl.arange(0, 8), tl.histogram(tl.load(at + tl.arange(0, 64)), 8))


@launch("x:r at:r out:w", (1,), x=floats(32), at=numbers(32, 32), out=zeros(32))
@triton.jit
def gathered_in_registers(x, at, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(at + i), 0))


@launch("x:r out:w", x=floats(N), out=zeros(N), seed=5, n=N, B=B)
@triton.jit
def dropout(x, out, seed, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    tl.store(out + i, tl.where(tl.rand(seed, i) > 0.5, v * 2, 0.0), i < n)


# --- descriptors
@launch("x:r out:w", (3, 2), x=floats(40, 24), out=zeros(40, 24), rows=40, columns=24, A=16, B=16)
@triton.jit
def copied_tiles(x, out, rows, columns, A: tl.constexpr, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [A, B])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [A, B])
    i, j = tl.program_id(0) * A, tl.program_id(1) * B
    target.store([i, j], source.load([i, j]) + 1)


@launch("x:r out:a", (2,), x=floats(64), out=zeros(64), n=64, B=B)
@triton.jit
def added_tiles(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B
    sums = tl.make_tensor_descriptor(out, [n], [1], [B])
    sums.atomic_add([i], tl.load(x + i + tl.arange(0, B)))


@launch("x:r rows:r out:w", (1,), x=floats(16, 8), rows=numbers(8, 16), out=zeros(16, 8), n=16)
@triton.jit
def moved_rows(x, rows, out, n):
    source = tl.make_tensor_descriptor(x, [n, 8], [8, 1], [1, 8])
    target = tl.make_tensor_descriptor(out, [n, 8], [8, 1], [1, 8])
    at = tl.load(rows + tl.arange(0, 8))
    target.scatter(source.gather(at, 0), at, 0)


# --- several outputs, nothing read, nothing written
@launch("out:w", out=zeros(N), n=N, B=B)
@triton.jit
def iota(out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, i.to(tl.float32), i < n)


@launch("x:r out: a:w", x=floats(N), out=zeros(N), a=zeros(N), n=N, both=False, B=B)
@triton.jit
def unused_output(x, out, a, n, both: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    tl.store(a + i, v, i < n)
    if both:
        tl.store(out + i, v, i < n)


@launch("x:r out:w", (3, 2, 2), x=floats(3, 2, 2, 16), out=zeros(3, 2, 2, 16), B=16)
@triton.jit
def three_axes(x, out, B: tl.constexpr):
    at = (tl.program_id(0) * 2 + tl.program_id(1)) * 2 + tl.program_id(2)
    i = at * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i))


@launch("x:r out:w", (2,), x=floats(64), out=zeros(64))
@triton.jit
def with_hints(x, out):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    v = tl.load(x + i, eviction_policy="evict_first", cache_modifier=".cg")
    tl.store(out + i, v, cache_modifier=".cs", eviction_policy="evict_last")
