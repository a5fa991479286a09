"""Ops in front of a user's kernel, which write what it reads."""

import torch
import triton
from torch import Tensor

from ..graph import Source
from .after import EPS
from .kernels import rms_norm, softmax
from .workload import Launching, Workload


def sum_rms_norm(source: Source, rows: int, columns: int) -> Launching:
    """RMS norm of the sum of two tensors."""

    def launch(x: Tensor, beside: Tensor, w: Tensor, fused: bool) -> Tensor:
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        rms_norm[(rows,)](
            x, beside, w, w, out, columns, EPS, BLOCK=block, BEFORE=fused, AFTER=False, num_warps=8
        )
        return out

    def model(x: Tensor, beside: Tensor, w: Tensor) -> Tensor:
        total = x + beside
        return launch(total, total, w, False)

    def by_hand(x: Tensor, beside: Tensor, w: Tensor) -> Tensor:
        return launch(x, beside, w, True)

    def exact(x: Tensor, beside: Tensor, w: Tensor) -> Tensor:
        wide = (x + beside).float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
        return (wide * scale * w).to(x.dtype)

    args = (source.normal(rows, columns), source.normal(rows, columns), source.normal(columns))
    return Launching(model, by_hand, exact, args, (3 * rows + 1) * columns * source.size)


def biased_softmax(source: Source, rows: int, columns: int) -> Launching:
    """Softmax of rows of x / 8 + bias."""

    def launch(x: Tensor, bias: Tensor, fused: bool) -> Tensor:
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        softmax[(rows,)](x, out, bias, bias, columns, BLOCK=block, BEFORE=fused, AFTER=False, num_warps=8)
        return out

    def model(x: Tensor, bias: Tensor) -> Tensor:
        return launch(x * 0.125 + bias, bias, False)

    def by_hand(x: Tensor, bias: Tensor) -> Tensor:
        return launch(x, bias, True)

    def exact(x: Tensor, bias: Tensor) -> Tensor:
        return (x * 0.125 + bias).softmax(-1)

    args = (source.normal(rows, columns), source.normal(columns))
    return Launching(model, by_hand, exact, args, (2 * rows + 1) * columns * source.size)


BEFORE = (
    Workload("sum_rms_norm_8192x4096", sum_rms_norm, (8192, 4096), (8, 60), torch.bfloat16),
    Workload("biased_softmax_16384x2048", biased_softmax, (16384, 2048), (8, 60), torch.float32),
)
