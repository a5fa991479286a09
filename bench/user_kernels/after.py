"""Ops behind a user's kernel, which read what it wrote."""

import torch
import triton
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from .kernels import LARGEST_E4M3, attention, layer_norm, matmul, rms_norm, softmax, swiglu
from .workload import Launching, Workload

EPS = 1e-6
E4M3 = torch.float8_e4m3fn


def matmul_bias_gelu(source: Source, m: int, n: int, k: int) -> Launching:
    """a [m, k] @ b [k, n], then + bias [n] and GELU."""
    # 16 is the smallest tile that a product takes
    tile = {"BM": min(128, m), "BN": min(128, n), "BK": min(64, k), "GROUP": 8}

    def launch(a: Tensor, b: Tensor, bias: Tensor, fused: bool) -> Tensor:
        c = torch.empty((m, n), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(m, tile["BM"]) * triton.cdiv(n, tile["BN"]),)
        matmul[grid](a, b, c, bias, m, n, k, **tile, FUSED=fused, num_warps=8, num_stages=3)
        return c

    def model(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        return F.gelu(launch(a, b, bias, False) + bias)

    def by_hand(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        return launch(a, b, bias, True)

    def exact(a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        return F.gelu(a @ b + bias)

    args = (source.normal(m, k), source.normal(k, n), source.normal(n))
    return Launching(model, by_hand, exact, args, (m * k + k * n + n + m * n) * source.size)


def softmax_scale(source: Source, rows: int, columns: int) -> Launching:
    """Softmax of rows, each column times its scale."""

    def launch(x: Tensor, scale: Tensor, fused: bool) -> Tensor:
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        softmax[(rows,)](x, out, scale, scale, columns, BLOCK=block, BEFORE=False, AFTER=fused, num_warps=8)
        return out

    def model(x: Tensor, scale: Tensor) -> Tensor:
        return launch(x, scale, False) * scale

    def by_hand(x: Tensor, scale: Tensor) -> Tensor:
        return launch(x, scale, True)

    def exact(x: Tensor, scale: Tensor) -> Tensor:
        return x.softmax(-1) * scale

    args = (source.normal(rows, columns), source.normal(columns))
    return Launching(model, by_hand, exact, args, (2 * rows + 1) * columns * source.size)


def layer_norm_residual(source: Source, rows: int, columns: int) -> Launching:
    """Layer norm of rows, plus a residual."""

    def launch(x: Tensor, w: Tensor, b: Tensor, residual: Tensor, fused: bool) -> Tensor:
        out = torch.empty_like(x)
        block = min(triton.next_power_of_2(columns), 4096)
        layer_norm[(rows,)](x, w, b, residual, out, columns, EPS, BLOCK=block, FUSED=fused, num_warps=8)
        return out

    def model(x: Tensor, w: Tensor, b: Tensor, residual: Tensor) -> Tensor:
        return launch(x, w, b, residual, False) + residual

    def by_hand(x: Tensor, w: Tensor, b: Tensor, residual: Tensor) -> Tensor:
        return launch(x, w, b, residual, True)

    def exact(x: Tensor, w: Tensor, b: Tensor, residual: Tensor) -> Tensor:
        return F.layer_norm(x, (columns,), w, b, EPS) + residual

    vectors = source.normal(columns), source.normal(columns)
    args = (source.normal(rows, columns), *vectors, source.normal(rows, columns))
    return Launching(model, by_hand, exact, args, (3 * rows + 2) * columns * source.size)


def rms_norm_fp8(source: Source, rows: int, columns: int) -> Launching:
    """RMS norm of rows, divided by a static step and rounded to float8_e4m3fn."""

    def launch(x: Tensor, w: Tensor, step: Tensor, fused: bool) -> Tensor:
        out = torch.empty_like(x, dtype=E4M3 if fused else x.dtype)
        block = triton.next_power_of_2(columns)
        rms_norm[(rows,)](
            x, x, w, step, out, columns, EPS, BLOCK=block, BEFORE=False, AFTER=fused, num_warps=8
        )
        return out

    def quantised(y: Tensor, step: Tensor) -> Tensor:
        return (y.float() / step).clamp(-LARGEST_E4M3.value, LARGEST_E4M3.value).to(E4M3)

    def model(x: Tensor, w: Tensor, step: Tensor) -> Tensor:
        return quantised(launch(x, w, step, False), step)

    def by_hand(x: Tensor, w: Tensor, step: Tensor) -> Tensor:
        return launch(x, w, step, True)

    def exact(x: Tensor, w: Tensor, step: Tensor) -> Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
        return quantised((wide * scale * w).to(x.dtype), step)

    step = torch.tensor(0.02, device=source.device)
    args = (source.normal(rows, columns), source.normal(columns), step)
    return Launching(model, by_hand, exact, args, (rows + 1) * columns * source.size + rows * columns + 4)


def swiglu_cast(source: Source, rows: int, columns: int) -> Launching:
    """SwiGLU of float32, rounded to bfloat16."""

    def launch(gate: Tensor, up: Tensor, dtype: torch.dtype) -> Tensor:
        out = torch.empty_like(gate, dtype=dtype)
        swiglu[(triton.cdiv(gate.numel(), 1024),)](gate, up, out, gate.numel(), BLOCK=1024, num_warps=4)
        return out

    def model(gate: Tensor, up: Tensor) -> Tensor:
        return launch(gate, up, gate.dtype).bfloat16()

    def by_hand(gate: Tensor, up: Tensor) -> Tensor:
        return launch(gate, up, torch.bfloat16)

    def exact(gate: Tensor, up: Tensor) -> Tensor:
        return (F.silu(gate) * up).bfloat16()

    args = (source.normal(rows, columns), source.normal(rows, columns))
    return Launching(model, by_hand, exact, args, rows * columns * (2 * source.size + 2))


def attention_gate(source: Source, batch: int, heads: int, length: int, width: int) -> Launching:
    """Attention without a mask, times the sigmoid of a gate."""
    block = min(128, length), min(64, length)

    def launch(q: Tensor, k: Tensor, v: Tensor, gate: Tensor, fused: bool) -> Tensor:
        out = torch.empty_like(q)
        grid = (triton.cdiv(length, block[0]), batch * heads)
        attention[grid](
            q, k, v, gate, out, length, BM=block[0], BN=block[1], D=width, FUSED=fused,
            num_warps=8, num_stages=3,
        )  # fmt: skip
        return out

    def model(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        return launch(q, k, v, gate, False) * torch.sigmoid(gate)

    def by_hand(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        return launch(q, k, v, gate, True)

    def exact(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        each = zip(q, k, v, strict=True)  # all scores at once would need gigabytes
        out = torch.stack([(a @ b.mT * width**-0.5).softmax(-1) @ c for a, b, c in each])
        return out * torch.sigmoid(gate)

    args = tuple(source.normal(batch, heads, length, width) for _ in range(4))
    return Launching(model, by_hand, exact, args, 5 * batch * heads * length * width * source.size)


AFTER = (
    Workload(
        "matmul_bias_gelu_8192x4096x1024", matmul_bias_gelu, (8192, 4096, 1024), (64, 32, 32), torch.float16
    ),
    Workload("softmax_scale_16384x2048", softmax_scale, (16384, 2048), (8, 60), torch.float32),
    Workload("layer_norm_residual_8192x4096", layer_norm_residual, (8192, 4096), (8, 60), torch.bfloat16),
    Workload("rms_norm_fp8_8192x4096", rms_norm_fp8, (8192, 4096), (8, 60), torch.bfloat16),
    Workload("swiglu_cast_8192x4096", swiglu_cast, (8192, 4096), (8, 60), torch.float32),
    Workload("attention_gate_8x32x2048x64", attention_gate, (8, 32, 2048, 64), (1, 2, 32, 16), torch.float16),
)
