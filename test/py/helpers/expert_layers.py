"""Layers of experts, and what they are given: rows sorted by expert, and the end of each expert's rows."""

import itertools
import random

import torch
from random_offsets import ends
from torch import Tensor
from torch.nn import functional as F


def grouped(x: Tensor, w: Tensor, offs: Tensor) -> Tensor:
    """``w[e]`` times the rows of expert e; in float64, which torch's op does not take, one by one."""
    if x.dtype != torch.float64:
        return torch._grouped_mm(x, w, offs=offs)
    made, bounds = x.new_zeros(x.shape[0], w.shape[2]), [0, *offs.tolist()]
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        made[first:last] = x[first:last] @ w[number]
    return made


def summed(x: Tensor, g: Tensor, offs: Tensor) -> Tensor:
    """The rows of each expert of one matrix times those of another: the gradient of weights."""
    if x.dtype != torch.float64:
        return torch._grouped_mm(x.t(), g, offs=offs)
    bounds = [0, *offs.tolist()]
    return torch.stack([x[first:last].t() @ g[first:last] for first, last in itertools.pairwise(bounds)])


def scaled(
    x: Tensor, w: Tensor, row_scales: Tensor, scales: Tensor, offs: Tensor, fast: bool = False
) -> Tensor:
    """The same of floats of 8 bits, ``w`` with a row for each output, in bfloat16."""
    return torch._scaled_grouped_mm(
        x, w.mT, row_scales, scales, offs=offs, out_dtype=torch.bfloat16, use_fast_accum=fast
    )


def scaled_exactly(x: Tensor, w: Tensor, row_scales: Tensor, scales: Tensor, offs: Tensor) -> Tensor:
    """The same in float64; 0 behind the last end."""
    made, bounds = x.new_zeros(x.shape[0], w.shape[1], dtype=torch.float64), [0, *offs.tolist()]
    for e, (first, last) in enumerate(itertools.pairwise(bounds)):
        rows = x[first:last].double() * row_scales[first:last, None]
        made[first:last] = rows @ (w[e].double() * scales[e, :, None]).t()
    return made


def gated(x: Tensor, rows: Tensor, w1: Tensor, w3: Tensor, offs: Tensor) -> Tensor:
    taken = x[rows]
    return F.silu(grouped(taken, w1, offs)) * grouped(taken, w3, offs)


def joined(h: Tensor, w2: Tensor, offs: Tensor, scale: Tensor, inverse: Tensor) -> Tensor:
    """The rows of each token, scaled and added up in the order of its experts."""
    made = grouped(h, w2, offs) * scale[:, None]
    return made[inverse].sum(1)


def layer(
    x: Tensor, rows: Tensor, w1: Tensor, w3: Tensor, w2: Tensor, offs: Tensor, scale: Tensor, inverse: Tensor
) -> Tensor:
    return joined(gated(x, rows, w1, w3, offs), w2, offs, scale, inverse)


def drawn(
    tokens: int, top: int, experts: int, width: int, hidden: int, *, seed: int, device: str = "cpu"
) -> dict[str, Tensor]:
    """Arguments of ``layer`` by name: of tokens that choose ``top`` experts each, how many choose which one
    being drawn.
    """
    draw = torch.Generator().manual_seed(seed)

    def bf16(*sizes: int) -> Tensor:
        return (torch.randn(sizes, generator=draw) * sizes[-2] ** -0.5).to(device, torch.bfloat16)

    count = tokens * top
    order = torch.randperm(count, generator=draw)
    offs = ends(count, experts, random.Random(seed))
    offs[-1] = count  # torch leaves what lies behind the last end as it was in memory
    return {
        "x": bf16(tokens, width),
        "rows": (order // top).to(device),
        "w1": bf16(experts, width, hidden),
        "w3": bf16(experts, width, hidden),
        "w2": bf16(experts, hidden, width),
        "offs": torch.tensor(offs, dtype=torch.int32, device=device),
        "scale": torch.rand(count, generator=draw).to(device, torch.bfloat16),
        "inverse": order.argsort().view(tokens, top).to(device),
    }
