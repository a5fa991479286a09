"""Products of few rows with large weights, which are bound by the bytes of the weights; `cases_products.py`
has those of more rows.

Weights are bf16, int8 with a scale for each output, or int4 (two in a byte) with a scale for each output and
128 inputs.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Built, Graph, Source, graph_table

BF16 = (torch.bfloat16,)
#: Inputs that share a scale of int4 weights.
GROUP = 128
#: Of Llama 3 8B: (outputs, inputs) of the gate, of the projection down, and of the logits.
SHAPES = ((14336, 4096), (4096, 14336), (128256, 4096))


def silu_linear(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    """SiLU of a product: x[rows, inputs], w[outputs, inputs]."""

    def plain(x: Tensor, w: Tensor) -> Tensor:
        return F.silu(F.linear(x, w))

    args = source.normal(rows, inputs), source.normal(outputs, inputs)
    return Built(plain, args, (outputs * inputs + rows * (inputs + outputs)) * source.size)


def int8_linear(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    """A product with int8 weights, which have a scale for each output."""

    def int8(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        return F.linear(x, w.to(x.dtype)) * scale

    w = (source.integers(255, outputs, inputs) - 127).to(torch.int8)
    args = source.normal(rows, inputs), w, source.uniform(0.001, 0.01, outputs)
    return Built(int8, args, outputs * inputs + (rows * (inputs + outputs) + outputs) * source.size)


def _int4(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    def int4(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        halves = torch.stack([w & 15, w >> 4], -1).view(outputs, -1, GROUP)
        weights = (halves.to(x.dtype) - 8) * scale[:, :, None]
        return F.linear(x, weights.view(outputs, -1))

    w = source.integers(256, outputs, inputs // 2).to(torch.uint8)
    args = source.normal(rows, inputs), w, source.uniform(0.001, 0.01, outputs, inputs // GROUP)
    moved = outputs * inputs // 2 + (rows * (inputs + outputs) + outputs * inputs // GROUP) * source.size
    return Built(int4, args, moved)


FEW_ROWS = graph_table(
    Graph(
        f"{name}_{rows}x{outputs}x{inputs}",
        build,
        (rows, outputs, inputs),
        (rows, 64, 256),
        BF16,
        reduces=True,
        summed=inputs,
    )
    for outputs, inputs in SHAPES
    for rows in (1, 2, 4)
    for name, build in (("linear_silu", silu_linear), ("linear_int8", int8_linear), ("linear_int4", _int4))
    if (name, rows) != ("linear_int4", 2)  # between those of 1 and 4 rows, which are bound alike
)
