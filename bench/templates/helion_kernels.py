"""Helion kernels, and the ops that run them and have templates."""

import helion
import helion.language as hl
import torch
from torch import Tensor

from ...integrations.helion import helion_op


def product(a: Tensor, b: Tensor) -> Tensor:
    """a [m, k] @ b [k, n], summed in float32."""
    m, k = a.size()
    n = b.size(1)
    out = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for rows, columns in hl.tile([m, n]):
        total = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            total = torch.addmm(total, a[rows, inner], b[inner, columns])
        out[rows, columns] = total.to(a.dtype)
    return out


@helion.kernel(config=helion.Config(block_sizes=[1], num_warps=8))
def softmax(x: Tensor) -> Tensor:
    """Of each row."""
    out = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        out[row, :] = torch.softmax(x[row, :], dim=1)
    return out


@helion.kernel(config=helion.Config(block_sizes=[1], num_warps=8))
def rms_norm(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """The rows of x over their root mean square, times w."""
    out = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        wide = x[row, :].to(torch.float32)
        scale = torch.rsqrt(torch.mean(wide * wide, dim=-1, keepdim=True) + eps)
        out[row, :] = (wide * scale * w[:].to(torch.float32)).to(x.dtype)
    return out


def _tile(*sizes: int, warps: int, stages: int) -> helion.Config:
    return helion.Config(block_sizes=[*sizes], l2_groupings=[8], num_warps=warps, num_stages=stages)


#: Of many rows: the first is that of ``matmul``, the op ``matmul_tuned`` is measured with all.
TILES = [
    _tile(128, 128, 64, warps=8, stages=3),
    _tile(128, 128, 64, warps=4, stages=3),
    _tile(128, 256, 64, warps=8, stages=3),
    _tile(64, 128, 64, warps=4, stages=4),
]
matmul = helion.kernel(product, config=TILES[0])
matmul_few_rows = helion.kernel(product, config=_tile(128, 64, 64, warps=4, stages=4))


def empty_product(a: Tensor, b: Tensor) -> Tensor:
    """What a product returns, without values."""
    return a.new_empty(a.shape[0], b.shape[1])


def empty_norm(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """What the norm returns, without values."""
    return torch.empty_like(x)


matmul_op = helion_op("fuse_bench::matmul", matmul, empty_product)
matmul_few_rows_op = helion_op("fuse_bench::matmul_few_rows", matmul_few_rows, empty_product)
matmul_tuned_op = helion_op("fuse_bench::matmul_tuned", matmul, empty_product, TILES)
softmax_op = helion_op("fuse_bench::softmax", softmax, torch.empty_like)
rms_norm_op = helion_op("fuse_bench::rms_norm", rms_norm, empty_norm)
