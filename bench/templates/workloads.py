"""The models of the suite `templates`: an op with a template, with a prologue and an epilogue."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...examples.norm_template import rms_norm as handwritten_norm
from ..graph import Built, Source
from ..user_kernels.workload import Workload
from . import helion_kernels

EPS = 1e-6
E4M3 = torch.float8_e4m3fn
LARGEST = torch.finfo(E4M3).max


@dataclass(frozen=True)
class Templated:
    """A workload ready to run.

    model: calls the op.  direct: calls the Helion kernel instead; None where there is none.  exact: the same
    of torch's ops alone.  args: of all three.  bytes: every argument read once, every result written once.
    """

    model: Callable[..., Any]
    direct: Callable[..., Any] | None
    exact: Callable[..., Any]
    args: tuple[Any, ...]
    bytes: int

    def judged(self) -> Built:
        """What ``GraphChecker`` judges answers by: eager's error is that of torch's ops."""
        return Built(self.exact, self.args, self.bytes)


def around(
    before_and_after: Callable[..., Any],
    op: Callable[..., Any],
    helion: Callable[..., Any] | None,
    exact: Callable[..., Any],
    args: tuple[Any, ...],
    moved: int,
) -> Templated:
    """The workload whose models are ``before_and_after(run, *args)``, with each ``run``."""

    def with_(run: Callable[..., Any]) -> Callable[..., Any]:
        def model(*given: Any) -> Any:
            return before_and_after(run, *given)

        return model

    direct = None if helion is None else with_(helion)
    if direct is not None and args[0].is_cuda:
        with torch.no_grad():
            direct(*args)  # older Dynamo can trace the call of a Helion kernel once it was called
    return Templated(with_(op), direct, with_(exact), args, moved)


def matmul_int8_bias_gelu(source: Source, m: int, n: int, k: int) -> Templated:
    """a [m, k] @ b [k, n] of 8-bit weights times a step, then + bias [n] and GELU."""
    return _product(source, m, n, k, helion_kernels.matmul_op, helion_kernels.matmul)


def few_rows_int8_bias_gelu(source: Source, m: int, n: int, k: int) -> Templated:
    """The same of few rows, so that each weight is loaded once."""
    return _product(source, m, n, k, helion_kernels.matmul_few_rows_op, helion_kernels.matmul_few_rows)


def tuned_matmul_int8_bias_gelu(source: Source, m: int, n: int, k: int) -> Templated:
    """The same, where the template gives several configurations, which are measured."""
    return _product(source, m, n, k, helion_kernels.matmul_tuned_op, None)


def _product(source: Source, m: int, n: int, k: int, op: Any, helion: Any) -> Templated:
    def model(run: Any, a: Tensor, b: Tensor, step: Tensor, bias: Tensor) -> Tensor:
        return F.gelu(run(a, b.to(a.dtype) * step) + bias)

    b = source.integers(255, k, n).sub_(127).to(torch.int8)
    step = torch.tensor(0.01, device=source.device, dtype=source.dtype)
    args = (source.normal(m, k), b, step, source.normal(n))
    return around(
        model, op, helion, torch.matmul, args, (m * k + n + m * n) * source.size + k * n + source.size
    )


def scaled_softmax_cast(source: Source, rows: int, columns: int) -> Templated:
    """Softmax of rows of x / 8 + bias, each column times its scale, in bfloat16."""

    def model(run: Any, x: Tensor, bias: Tensor, scale: Tensor) -> Tensor:
        return (run(x * 0.125 + bias) * scale).bfloat16()

    def exact(x: Tensor) -> Tensor:
        return x.softmax(-1)

    args = (source.normal(rows, columns), source.normal(columns), source.normal(columns))
    moved = rows * columns * (source.size + 2) + 2 * columns * source.size
    return around(model, helion_kernels.softmax_op, helion_kernels.softmax, exact, args, moved)


def sum_rms_norm_fp8(source: Source, rows: int, columns: int) -> Templated:
    """RMS norm of the sum of two tensors, divided by a static step and rounded to float8_e4m3fn."""
    return _normed(source, rows, columns, helion_kernels.rms_norm_op, helion_kernels.rms_norm)


def handwritten_sum_rms_norm_fp8(source: Source, rows: int, columns: int) -> Templated:
    """The same by a kernel that is written by hand, and returns the scale of each row, too."""

    def run(x: Tensor, w: Tensor, eps: float) -> Tensor:
        return handwritten_norm(x, w, eps)[0]

    return _normed(source, rows, columns, run, None)


def _normed(source: Source, rows: int, columns: int, op: Any, helion: Any) -> Templated:
    def model(run: Any, x: Tensor, beside: Tensor, w: Tensor, step: Tensor) -> Tensor:
        y = run(x + beside, w, EPS)
        return (y.float() / step).clamp(-LARGEST, LARGEST).to(E4M3)

    def exact(x: Tensor, w: Tensor, eps: float) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * w).to(x.dtype)

    step = torch.tensor(0.02, device=source.device)
    args = (source.normal(rows, columns), source.normal(rows, columns), source.normal(columns), step)
    moved = (2 * rows + 1) * columns * source.size + rows * columns + 4
    return around(model, op, helion, exact, args, moved)


_PRODUCT, _SMALL_PRODUCT = (8192, 4096, 1024), (128, 128, 64)
ALL = (
    Workload(
        "matmul_int8_bias_gelu_128x8192x4096",
        few_rows_int8_bias_gelu,
        (128, 8192, 4096),
        _SMALL_PRODUCT,
        torch.float16,
    ),
    Workload(
        "matmul_int8_bias_gelu_8192x4096x1024", matmul_int8_bias_gelu, _PRODUCT, _SMALL_PRODUCT, torch.float16
    ),
    Workload(
        "tuned_matmul_int8_bias_gelu_8192x4096x1024",
        tuned_matmul_int8_bias_gelu,
        _PRODUCT,
        _SMALL_PRODUCT,
        torch.float16,
    ),
    Workload("scaled_softmax_cast_16384x2048", scaled_softmax_cast, (16384, 2048), (8, 60), torch.float32),
    Workload("sum_rms_norm_fp8_8192x4096", sum_rms_norm_fp8, (8192, 4096), (8, 60), torch.bfloat16),
    Workload(
        "handwritten_sum_rms_norm_fp8_8192x4096",
        handwritten_sum_rms_norm_fp8,
        (8192, 4096),
        (8, 60),
        torch.bfloat16,
    ),
)
