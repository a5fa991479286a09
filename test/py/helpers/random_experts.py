"""Random layers of experts: what is in front of the products and behind them, and who is in which segment."""

import random
from dataclasses import dataclass

import torch
from expert_layers import grouped
from random_offsets import ends
from torch import Tensor
from torch.nn import functional as F

#: What makes the rows, what joins two products, what is behind the last one.
FRONTS = ("given", "taken", "scaled", "normed")
GATES = ("none", "silu", "gelu", "product")
BEHINDS = ("rows", "scaled", "added up", "added up in a row", "scattered", "biased")


@dataclass(frozen=True)
class Experts:
    """A layer.  ``lies``: how weights lie in memory, by rows or by columns.  ``kept``: whether the rows are a
    result, too.  ``products``, ``level``: the options of compiling.
    """

    tokens: int
    top: int
    count: int
    width: int
    hidden: int
    front: str
    gate: str
    behind: str
    lies: str
    kept: bool
    products: str
    level: str
    seed: int

    @staticmethod
    def drawn(seed: int) -> "Experts":
        """The same for the same seed."""
        draw = random.Random(seed)
        sizes = draw.choice((8, 24, 33)), draw.choice((1, 2, 4, 8)), draw.choice((2, 3, 5, 8))
        widths = draw.choice((16, 32, 40)), draw.choice((16, 24, 48))
        kinds = (
            draw.choice(FRONTS),
            draw.choice(GATES),
            draw.choice(BEHINDS),
            draw.choice(("rows", "columns")),
        )
        how = draw.choice(("generated", "generated", "auto")), draw.choice(("scheduled", "planned"))
        return Experts(*sizes, *widths, *kinds, draw.random() < 0.3, *how, seed)

    def given(self) -> list[Tensor]:
        """The arguments of ``layer``: in bfloat16 what is no index."""
        draw, rows = torch.Generator().manual_seed(self.seed), self.tokens * self.top
        order = torch.randperm(rows, generator=draw)
        offs = ends(rows, self.count, random.Random(self.seed))
        offs[-1] = rows  # torch leaves what lies behind the last end as it was in memory

        def bf16(*sizes: int, scale: float = 1.0) -> Tensor:
            return (torch.randn(sizes, generator=draw) * scale).to(torch.bfloat16)

        def weights(first: int, last: int) -> Tensor:
            if self.lies == "rows":
                return bf16(self.count, first, last, scale=first**-0.5)
            return bf16(self.count, last, first, scale=first**-0.5).transpose(1, 2)

        up = weights(self.width, self.hidden), weights(self.width, self.hidden)
        index = order // self.top, torch.tensor(offs, dtype=torch.int32), order.argsort()
        down = weights(self.hidden, self.width)
        return [bf16(self.tokens, self.width), *up, down, *index, bf16(rows), bf16(self.width)]

    def layer(
        self, x: Tensor, w1: Tensor, w3: Tensor, w2: Tensor,
        order: Tensor, offs: Tensor, inverse: Tensor, scale: Tensor, bias: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """What is compiled, and what float64 has to agree with."""
        if self.front == "normed":
            x = F.rms_norm(x, (self.width,)) * bias
        rows = x.repeat(self.top, 1) if self.front == "given" else x[order]
        if self.front == "scaled":
            rows = rows * scale[:, None]
        h = grouped(rows, w1, offs)
        if self.gate == "silu":
            h = F.silu(h) * grouped(rows, w3, offs)
        elif self.gate == "gelu":
            h = F.gelu(grouped(rows, w3, offs)) * h
        elif self.gate == "product":
            h = h * grouped(rows, w3, offs)
        made = grouped(h, w2, offs)
        return (self._behind(made, order, inverse, scale, bias), *([rows] if self.kept else []))

    def _behind(self, made: Tensor, order: Tensor, inverse: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        by_token = inverse.view(self.tokens, self.top)
        if self.behind == "scaled":
            return made * scale[:, None]
        if self.behind == "biased":
            return made + bias
        if self.behind == "added up":
            return (made * scale[:, None])[by_token].sum(1)
        if self.behind == "added up in a row":
            return (made[inverse] * scale[inverse, None]).view(self.tokens, self.top, -1).sum(1)
        if self.behind == "scattered":
            return torch.zeros_like(made[: self.tokens]).index_add(0, order, made * scale[:, None])
        return made
