"""Functions with ops in front of a user's Triton kernel: shared by tests, no test itself.

``FUSED``: function -> the same in torch ops, the shapes of its arguments, and how many kernels it becomes.
``APART``: the same of functions whose ops stay in front, with the rule that says so.
"""

import torch
from user_kernels import added, double_kernel, rms_kernel, softmax_kernel, tl, triton


@triton.jit
def matmul_kernel(a, b, out, rows, columns, inner, B: tl.constexpr):
    """Both addresses move in a loop."""
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, B)
    at_a, at_b = a + i[:, None] * inner + k[None, :], b + k[:, None] * columns + j[None, :]
    total = tl.zeros((B, B), tl.float32)
    for begin in range(0, inner, B):
        left = tl.load(at_a, (i[:, None] < rows) & (k[None, :] < inner - begin), other=0.0)
        right = tl.load(at_b, (k[:, None] < inner - begin) & (j[None, :] < columns), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        at_a += B
        at_b += B * columns
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(out + i[:, None] * columns + j[None, :], total, inside)


@triton.jit
def layer_norm_kernel(x, out, columns, B: tl.constexpr):
    """Three loops load the row."""
    row, j = tl.program_id(0) * columns, tl.arange(0, B)
    total, squares = tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32)
    for begin in range(0, columns, B):
        total += tl.load(x + row + begin + j, begin + j < columns, other=0.0)
    mean = tl.sum(total, 0) / columns
    for begin in range(0, columns, B):
        v = tl.load(x + row + begin + j, begin + j < columns, other=0.0)
        squares += tl.where(begin + j < columns, (v - mean) * (v - mean), 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + 1e-5)
    for begin in range(0, columns, B):
        inside = begin + j < columns
        tl.store(out + row + begin + j, (tl.load(x + row + begin + j, inside) - mean) * scale, inside)


@triton.jit
def rows_kernel(table, ids, out, columns, B: tl.constexpr):
    """What is loaded says where to load."""
    row, j = tl.program_id(0), tl.arange(0, B)
    v = tl.load(table + tl.load(ids + row) * columns + j, j < columns)
    tl.store(out + row * columns + j, v, j < columns)


@triton.jit
def chosen_kernel(x, keep, out, n, B: tl.constexpr):
    """A tensor of bools, and a program that returns early."""
    first = tl.program_id(0) * B
    if first >= n:
        return
    i = first + tl.arange(0, B)
    tl.store(out + i, tl.where(tl.load(keep + i, i < n), tl.load(x + i, i < n), 0.0), i < n)


@triton.jit
def sum_kernel(x, out, columns, B: tl.constexpr):
    """No ``other``: lanes behind the end of the row add 0."""
    row, j = tl.program_id(0), tl.arange(0, B)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + j, j < columns), 0))


@triton.jit
def atomic_kernel(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(x + i, 1.0, i < n)


@triton.jit
def beside_kernel(x, y, n, B: tl.constexpr):
    """Writes y = x, and then x of a tensor that y was made of is another."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) + 1, i < n)


def softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], block=128)
    return out


def norm(x, w):
    out, scales = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)
    sizes = {"out_stride": out.stride(0), "x_stride": x.stride(0), "columns": x.shape[1]}
    rms_kernel[(x.shape[0],)](out, x=x, w=w, scales=scales, eps=1e-6, offset=0.0, block=128, **sizes)
    return out


def matmul(a, b):
    out = torch.empty(a.shape[0], b.shape[1], device=a.device)
    grid = (triton.cdiv(a.shape[0], 16), triton.cdiv(b.shape[1], 16))
    matmul_kernel[grid](a, b, out, a.shape[0], b.shape[1], a.shape[1], 16)
    return out


def layer_norm(x, block=32):
    out = torch.empty_like(x)
    layer_norm_kernel[(x.shape[0],)](x, out, x.shape[1], block)
    return out


def rows(table, ids):
    out = torch.empty(len(ids), table.shape[1], device=table.device)
    rows_kernel[(len(ids),)](table, ids, out, table.shape[1], 32)
    return out


def chosen(x, keep):
    out = torch.empty_like(x)
    chosen_kernel[(9,)](x, keep, out, x.numel(), 32)
    return out


def row_sums(x):
    out = torch.empty(x.shape[0], device=x.device)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], 128)
    return out


def exact_norm(x, w):
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * w


def exact_layer_norm(x):
    return (x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, unbiased=False, keepdim=True) + 1e-5)


def softmax_of_sum(x, bias, scale):
    """Lanes behind the row get ``-inf``, and not what is computed of it."""
    return softmax((x * scale + bias).square().neg())


def normed_sum(x, y, w):
    return norm(x + y, w)


def norm_of_long_rows(x, y):
    return layer_norm(x - y)


def sum_of_exponentials(x):
    return row_sums(x.exp())


def narrow_input(x, w):
    """The kernel loads float32, the model has bfloat16."""
    return norm(x.bfloat16().float() * 2, w)


def both_factors(a, b):
    return matmul(a * 2, b + 1)


def transposed_factor(a, b):
    return matmul((a.T + 1).contiguous(), b)


def flat(x, y):
    """The tensor is loaded as one row."""
    z = x.mul(2).reshape(-1)
    return added(z, y)


def half(x, y):
    """A part of the tensor is loaded."""
    return added((x + 1)[2:4].reshape(-1), y)


def two_of_one(x, y):
    """One kernel loads the tensor twice."""
    z = x * y
    return added(z, z)


def two_kernels(x, y):
    z = x * y
    return added(z, x), added(y, z)


def bools(x, y):
    return chosen(x, x > y)


def computed_rows(table, x):
    return rows(table, (x.abs() * 3).int())


def gathered(table, x):
    """The producer gathers."""
    ids = (x.abs() * 3).int()
    return softmax(table[ids] * 2)


def two_results(x, w):
    """The producer still stores its other result."""
    return norm(x.sin(), w), x.cos()


def input_read_anyway(x, y):
    """The tensor is a result, too, and the kernel reads what it is made of."""
    z = x * 2
    return added(z, x), z


def two_readers(x, w):
    """Another kernel reads the tensor, and costs less to compute it than to load it."""
    z = w.expand(x.shape) * 2
    return norm(z, x[0]), z.sum(0), z.sum(1), z


def cheap_and_stored(x, y):
    """The tensor is a result, too, and costs less to compute than to load."""
    z = y.expand(x.shape) * 2
    return norm(z, x[0]), z


FUSED = {
    softmax_of_sum: (lambda x, b, s: (-((x * s + b) ** 2)).softmax(1), 1, (5, 100), (100,), (5, 1)),
    normed_sum: (lambda x, y, w: exact_norm(x + y, w), 1, (7, 100), (7, 100), (100,)),
    norm_of_long_rows: (lambda x, y: exact_layer_norm(x - y), 1, (6, 75), (6, 1)),
    sum_of_exponentials: (lambda x: x.exp().sum(1), 1, (6, 75)),
    narrow_input: (lambda x, w: exact_norm(x.bfloat16().to(x.dtype) * 2, w), 1, (7, 100), (100,)),
    both_factors: (lambda a, b: (a * 2) @ (b + 1), 1, (20, 40), (40, 18)),
    transposed_factor: (lambda a, b: (a.T + 1) @ b, 1, (40, 20), (40, 18)),
    flat: (lambda x, y: x.flatten() * 2 + y, 1, (6, 50), (300,)),
    half: (lambda x, y: (x + 1)[2:4].flatten() + y, 1, (6, 50), (100,)),
    two_of_one: (lambda x, y: x * y * 2, 1, (300,), (300,)),
    two_kernels: (lambda x, y: (x * y + x, x * y + y), 2, (300,), (300,)),
    bools: (lambda x, y: x * (x > y), 1, (200,), (200,)),
    computed_rows: (lambda t, x: t[(x.abs() * 3).int()], 1, (30, 20), (9,)),
    two_results: (lambda x, w: (exact_norm(x.sin(), w), x.cos()), 2, (7, 100), (100,)),
    input_read_anyway: (lambda x, y: (x * 3, x * 2), 2, (300,), (1,)),
    two_readers: (
        lambda x, w: (
            exact_norm((w * 2).expand(x.shape), x[0]),
            x.shape[0] * w.expand(x.shape)[0] * 2,
            (w * 2).expand(x.shape).sum(1),
            (w * 2).expand(x.shape),
        ),
        3,
        (7, 100),
        (100,),
    ),
    cheap_and_stored: (
        lambda x, y: (exact_norm((y * 2).expand(x.shape), x[0]), (y * 2).expand(x.shape)),
        2,
        (7, 100),
        (7, 1),
    ),
}


def summed_rows(x, y):
    return added(x.sum(1), y)


def in_place(x):
    """The kernel stores to what it loads."""
    y = x + 1
    double_kernel[(9,)](y, y.numel(), block=32)
    return y


def atomic(x):
    y = x * 2
    atomic_kernel[(7,)](y, y.numel(), 32)
    return y


def overwritten(x):
    """The kernel overwrites what its other argument was made of."""
    y = x * 2
    beside_kernel[(7,)](y, x, x.numel(), 32)
    return x


def overwritten_before(x):
    y = x * 2
    double_kernel[(9,)](x, x.numel(), block=32)
    return added(y, x)


def returned(x, y):
    """The tensor is a result: to load it is cheaper."""
    z = x * y
    return added(z, x), z


APART = {
    summed_rows: (lambda x, y: x.sum(1) + y, "reduction", (200, 5), (200,)),
    in_place: (lambda x: (x + 1) * 2, "written", (200,)),
    atomic: (lambda x: x * 2 + 1, "written", (200,)),
    gathered: (lambda t, x: (t[(x.abs() * 3).int()] * 2).softmax(1), "assert", (30, 100), (9,)),
    overwritten: (lambda x: x.copy_(x * 2 + 1), "overwritten", (200,)),
    overwritten_before: (lambda x: (x * 2) + x.mul_(2), "overwritten", (200,)),
    returned: (lambda x, y: (x * y + x, x * y), "slower", (300,), (300,)),
}
