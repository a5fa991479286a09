"""Memory-bound graphs that quantise the output of a norm: fp8 (e4m3) and int8, a scale for each row or
group.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Built, Graph, Source

FLOAT32 = 4
GROUP = 128
FP8 = torch.float8_e4m3fn


def _largest(dtype: torch.dtype) -> float:
    return 448.0 if dtype == FP8 else 127.0


def quantised(y: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """(scale, q) of float32 rows y: q = y / scale in ``dtype``, the largest of a row at the dtype's limit."""
    scale = y.abs().amax(-1, keepdim=True).clamp(min=1e-12) / _largest(dtype)
    q = y / scale
    return scale, (q if dtype == FP8 else q.round().clamp(-127, 127)).to(dtype)


def _rms_norm(x: Tensor, w: Tensor) -> Tensor:
    wide = x.float()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * w.float()


def _layer_norm(x: Tensor, w: Tensor) -> Tensor:
    return F.layer_norm(x.float(), (x.shape[-1],), w.float())


def _graph(norm: str, dtype: torch.dtype, group: int, rows: int, columns: int, name: str) -> Graph:
    """``group``: columns that share a scale; 0 is the whole row."""
    function = {"rms": _rms_norm, "layer": _layer_norm}[norm]

    def build(source: Source, rows: int, columns: int) -> Built:
        width = min(group or columns, columns)

        def norm_quantise(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
            y = function(x, w)
            scale, q = quantised(y.view(*y.shape[:-1], -1, width), dtype)
            return scale.squeeze(-1), q.view(x.shape)

        moved = (rows + 1) * columns * source.size + rows * columns + rows * (columns // width) * FLOAT32
        return Built(norm_quantise, (source.normal(rows, columns), source.normal(columns)), moved)

    return Graph(f"{name}_{rows}x{columns}", build, (rows, columns), (16, 256))


QUANTISE = (
    _graph("rms", FP8, 0, 16384, 4096, "rms_norm_fp8_token"),
    _graph("rms", FP8, GROUP, 16384, 4096, "rms_norm_fp8_group"),
    _graph("layer", torch.int8, 0, 16384, 4096, "layer_norm_int8_token"),
    _graph("layer", torch.int8, GROUP, 16384, 4096, "layer_norm_int8_group"),
)
