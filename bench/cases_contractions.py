"""Products of few rows with large weights, which are bound by the bytes of the weights; `cases_products.py`
has those of more rows.

Weights are bf16, int8 or fp8 with a scale for each output, or numbers of 4 bits with a scale for each output
and 128 inputs: int4 (two in a byte) and as GPTQ packs them (eight in a word, across inputs, with zero points
in words); or of a table, as NF4, with a scale for 64.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Built, Graph, Source, graph_table

BF16 = (torch.bfloat16,)
#: Inputs that share a scale of int4 weights, and of NF4.
GROUP, TABLE_GROUP = 128, 64
#: The numbers of NF4, to two digits.
NF4 = (-1.0, -0.7, -0.53, -0.39, -0.28, -0.18, -0.09, 0.0, 0.08, 0.16, 0.25, 0.34, 0.44, 0.56, 0.72, 1.0)
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


def fp8_linear(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    """A product with weights that are floats of 8 bits, which have a scale for each output."""

    def fp8(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        return F.linear(x, w.to(x.dtype)) * scale

    w = source.normal(outputs, inputs, dtype=torch.float8_e4m3fn)
    args = source.normal(rows, inputs), w, source.uniform(0.001, 0.01, outputs)
    return Built(fp8, args, outputs * inputs + (rows * (inputs + outputs) + outputs) * source.size)


def nf4_linear(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    """A product with numbers of a table in float32, times scales, rounded to the type of the rows."""

    def nf4(x: Tensor, w: Tensor, scale: Tensor, table: Tensor) -> Tensor:
        found = table[torch.stack([w >> 4, w & 15], -1).flatten(-2).int()]
        weights = found.view(outputs, -1, TABLE_GROUP) * scale[:, :, None]
        return F.linear(x, weights.view(outputs, -1).to(x.dtype))

    w = source.integers(256, outputs, inputs // 2).to(torch.uint8)
    scale = source.uniform(0.001, 0.01, outputs, inputs // TABLE_GROUP).float()
    args = source.normal(rows, inputs), w, scale, torch.tensor(NF4, device=source.device)
    moved = outputs * inputs // 2 + 4 * (scale.numel() + len(NF4)) + rows * (inputs + outputs) * source.size
    return Built(nf4, args, moved)


def gptq_linear(source: Source, rows: int, outputs: int, inputs: int) -> Built:
    """A product with numbers in words across the inputs, minus zero points, which are one less in words."""

    def gptq(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        at = torch.arange(0, 32, 4, dtype=torch.int32, device=x.device)
        numbers = (w[:, None] >> at[:, None] & 15).view(-1, GROUP, outputs)
        less = (zero[:, :, None] >> at & 15).view(-1, 1, outputs) + 1
        return x @ ((numbers - less).to(x.dtype) * scale[:, None]).view(-1, outputs)

    def words(*shape: int) -> Tensor:
        return (source.integers(2**32, *shape) - 2**31).to(torch.int32)

    groups = inputs // GROUP
    args = (
        source.normal(rows, inputs),
        words(inputs // 8, outputs),
        source.uniform(0.001, 0.01, groups, outputs),
        words(groups, outputs // 8),
    )
    moved = (inputs + groups) * outputs // 2 + (rows * (inputs + outputs) + groups * outputs) * source.size
    return Built(gptq, args, moved)


#: Each of the weights is multiplied by so many rows; `cases_products.py` has two of these.
ROWS = (1, 2, 4, 8, 64)
_ELSEWHERE = (("linear_silu", 64, *SHAPES[0]), ("linear_int8", 64, *SHAPES[0]))
_FORMS = (
    ("linear_silu", silu_linear),
    ("linear_int8", int8_linear),
    ("linear_int4", _int4),
    ("linear_fp8", fp8_linear),
    ("linear_nf4", nf4_linear),
)


def _few_rows(name: str, build: Callable[..., Built], rows: int, outputs: int, inputs: int) -> Graph:
    full, small = (rows, outputs, inputs), (rows, 64, 256)
    return Graph(f"{name}_{rows}x{outputs}x{inputs}", build, full, small, BF16, reduces=True, summed=inputs)


FEW_ROWS = graph_table(
    (
        *(
            _few_rows(name, build, rows, outputs, inputs)
            for outputs, inputs in SHAPES
            for rows in ROWS
            for name, build in _FORMS
            if (name, rows, outputs, inputs) not in _ELSEWHERE
        ),
        *(_few_rows("linear_gptq", gptq_linear, rows, *SHAPES[0]) for rows in ROWS),
    )
)
