"""Triton kernels as users write them: shared by tests, no test itself."""

import contextlib
from unittest import mock

import pytest
import torch

from fuse_mlir.bench.user_kernels.without_gpu import triton_without_a_gpu as triton_without_a_gpu
from fuse_mlir.compiler.fx.user_kernels import Opaque

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def both_kernel(x, z, a, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + i, i < n)
    tl.store(z + i, v + 1, i < n)
    tl.store(a + i, v * 2, i < n)


@triton.autotune([triton.Config({"block": 64}), triton.Config({"block": 128})], key=["n"])
@triton.jit
def halve_kernel(x, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) * 0.5, i < n)


@triton.autotune([triton.Config({"block": 64}, num_warps=n) for n in (2, 4)], key=[], restore_value=["out"])
@triton.jit
def restored_kernel(x, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) * 0.5, i < n)


@triton.jit
def add_kernel(x, y, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax_kernel(out, x, out_stride, x_stride, columns, block: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, block)
    v = tl.load(x + row * x_stride + i, i < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * out_stride + i, e / tl.sum(e, 0), i < columns)


@triton.jit
def root(v, columns, eps):
    return 1 / tl.sqrt(tl.sum(v * v, 0) / columns + eps)


@triton.jit
def rms_kernel(out, out_stride, x, x_stride, w, scales, columns, eps, offset, block: tl.constexpr):
    """As Liger's: one program for each row, the scale of the row is kept for the backward pass."""
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, block)
    v = tl.load(x + row * x_stride + i, i < columns, other=0).to(tl.float32)
    scale = root(v, columns, eps)
    tl.store(scales + row, scale)
    v = (v * scale).to(x.dtype.element_ty)
    tl.store(out + row * out_stride + i, v * (offset + tl.load(w + i, i < columns, other=0)), i < columns)


@triton.jit
def double_kernel(x, n, block: tl.constexpr):
    """In place; the programs behind the end return early."""
    tl.assume(n > 0)
    first = tl.program_id(0) * block
    if first >= n:
        return
    i = first + tl.arange(0, block)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def transpose_kernel(x, out, rows, columns, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)[:, None]
    j = tl.program_id(1) * block + tl.arange(0, block)[None, :]
    inside = (i < rows) & (j < columns)
    tl.store(out + j * rows + i, tl.load(x + i * columns + j, inside), inside)


@triton.jit
def add_up_kernel(x, out, n, block: tl.constexpr):
    """A sum by atomics, of a loop."""
    total = 0.0
    for first in range(tl.program_id(0) * block, n, tl.num_programs(0) * block):
        i = first + tl.arange(0, block)
        total += tl.sum(tl.load(x + i, i < n, other=0), 0)
    tl.atomic_add(out, total)


clustered_kernel = triton.autotune([triton.Config({"block": 64}, num_ctas=2)], key=[])(add_kernel)


@triton.jit
def shift_kernel(x, out, by, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) + by, i < n)


@triton.jit
def telling_kernel(x, n, negative, factor: tl.int64, by, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.device_print("begins")
    v = tl.load(x + i, i < n)
    tl.device_print("x", v)
    if negative:
        v = v + by
    tl.store(x + i, v * factor, i < n)


@triton.jit
def flip_kernel(x, out, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.store(out + i, ~tl.load(x + i))


@triton.jit
def barrier_kernel(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.debug_barrier()
    tl.store(x + i, i, mask=i < n)


@triton.jit
def tile_kernel(x, out, rows, columns, block: tl.constexpr):
    """By descriptors that the kernel makes; the last tiles reach over the ends."""
    of_x = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [block, block])
    of_out = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [block, block])
    at = [tl.program_id(0) * block, tl.program_id(1) * block]
    of_out.store(at, of_x.load(at) * 2)


@triton.jit
def given_tiles_kernel(of_x, of_out, block: tl.constexpr):
    """By descriptors that it is given."""
    at = [tl.program_id(0) * block, tl.program_id(1) * block]
    of_out.store(at, of_x.load(at) * of_x.shape[1])


@triton.jit
def meeting_kernel(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    if n > 3:
        if n > 5:
            return
        tl.store(x, 1.0)
    tl.store(x + i, i * 2.0, mask=i < n)


@triton.jit
def refused_kernel(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.store(x + i, tl.load(x + i, mask=i < n, beside=n))


def added(x, y):
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["block"]),)](x, y, out, x.numel(), block=64)
    return out


def softmaxed(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], block=128, num_warps=2)
    return out.exp()


def normed(x, w, eps=1e-6):
    out, scales = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)
    rms_kernel[(x.shape[0],)](
        out,
        out.stride(0),
        x,
        x.stride(0),
        w,
        scales,
        x.shape[1],
        eps,
        0.0,
        block=128,
        num_warps=8,
        num_stages=2,
    )
    return out * 2, scales


def doubled(x):
    """A value of the graph is written in place."""
    y = x + 1
    double_kernel[(9,)](y, y.numel(), block=32)
    return y * 3


def doubled_argument(x):
    """An argument is written in place."""
    double_kernel[(9,)](x, x.numel(), block=32)
    return x + 1


def doubled_twice(x):
    """The value that is written is read before."""
    y = x.sin()
    z = y.cos()
    double_kernel[(9,)](y, y.numel(), block=32)
    double_kernel[(10,)](y, y.numel(), block=32)
    return y, z


tuned_double_kernel = triton.autotune([triton.Config({"block": n}) for n in (32, 64)], key=["n"])(
    double_kernel
)


def doubled_by_the_fastest(x):
    """A value of the graph is written in place by a kernel that is measured."""
    y = x + 1
    tuned_double_kernel[lambda meta: (triton.cdiv(y.numel(), meta["block"]),)](y, y.numel())
    return y


def transposed(x):
    out = torch.empty(x.shape[1], x.shape[0], device=x.device)
    transpose_kernel[(triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 16))](
        x, out, x.shape[0], x.shape[1], block=16
    )
    return out + 1


def tiled(x):
    out = torch.empty_like(x)
    grid = triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 16)
    tile_kernel[grid](x, out, x.shape[0], x.shape[1], block=16)
    return out + 1


def given_tiles(x):
    from triton.tools.tensor_descriptor import TensorDescriptor

    out = torch.empty_like(x)
    both = TensorDescriptor.from_tensor(x, [16, 16]), TensorDescriptor.from_tensor(out, [16, 16])
    given_tiles_kernel[triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 16)](*both, block=16)
    return out + 1


def barred(x):
    """The lanes of a program wait for each other."""
    y = x + 1
    barrier_kernel[(1,)](y, 60, 64)
    return y


def added_up(x):
    out = torch.zeros((), device=x.device)
    add_up_kernel[(3,)](x, out, x.numel(), block=32)
    return out * 2


def halves(x):
    """Views of one tensor: the kernel gets addresses inside it."""
    return added(x[: len(x) // 2], x[len(x) // 2 :])


@torch.library.triton_op("user_kernels::added", mutates_args={})
def added_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), block=64)
    return out


def in_an_op(x, y):
    return added_op(x, y) * 2


def exact_norm(x, w):
    scale = 1 / (x.square().mean(1) + 1e-6).sqrt()
    return x * scale[:, None] * w * 2, scale


#: Function -> the same in torch ops, and the shapes of its arguments.
CASES = {
    added: (lambda x, y: x + y, (300,), (300,)),
    softmaxed: (lambda x: x.softmax(1).exp(), (5, 100)),
    normed: (exact_norm, (7, 100), (100,)),
    doubled: (lambda x: (x + 1) * 6, (200,)),
    doubled_argument: (lambda x: x.mul_(2) + 1, (200,)),
    doubled_twice: (lambda x: (x.sin() * 4, x.sin().cos()), (200,)),
    transposed: (lambda x: x.T + 1, (20, 33)),
    added_up: (lambda x: x.sum() * 2, (500,)),
    barred: (lambda x: torch.cat([torch.arange(60, device=x.device), x[60:] + 1]), (64,)),
    tiled: (lambda x: x * 2 + 1, (40, 52)),
    given_tiles: (lambda x: x * 52 + 1, (40, 52)),
    halves: (lambda x: x[: len(x) // 2] + x[len(x) // 2 :], (260,)),
    in_an_op: (lambda x, y: (x + y) * 2, (300,), (300,)),
}


@contextlib.contextmanager
def opaque_kernels():
    """All kernels stay calls of torch's."""
    launches = "fuse_mlir.compiler.frontend.ops.user_kernels.launches.launch_of"
    with mock.patch(launches, side_effect=Opaque("the test says so")):
        yield
