"""A Llama whose parameters, or whose products, are split over processes by functional collectives alone.

`Sharded` keeps of each parameter the rows of this process. A layer gathers what it needs and, in the
backward, gathers it again and scatters the sums of the gradients: fully sharded data parallelism inside of
the graph. `Whole` is the same network with plain parameters, for `fully_shard`. `Split` splits the products
of each layer by columns and rows, and the sequence between them: tensor parallelism.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import _functional_collectives as collectives
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


@dataclass(frozen=True)
class Sizes:
    """Of the network and of what one process computes."""

    layers: int = 8
    width: int = 2048
    heads: int = 16
    hidden: int = 5632
    batch: int = 1
    length: int = 4096

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The parameters of a layer, products as [columns, rows]."""
        products = dict.fromkeys(("q", "k", "v", "o"), (self.width, self.width))
        hidden = {"gate": (self.hidden, self.width), "up": (self.hidden, self.width)}
        norms = {"first": (self.width,), "second": (self.width,)}
        return {**products, **hidden, "down": (self.width, self.hidden), **norms}


SMALL = Sizes(layers=2, width=32, heads=2, hidden=64, length=16)


def attention(x: Tensor, w: Mapping[str, Tensor], head: int) -> Tensor:
    """Causal attention of [batch, length, width], heads of `head` numbers, without its last product."""
    q, k, v = (F.linear(x, w[name]).unflatten(-1, (-1, head)).transpose(1, 2) for name in "qkv")
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def gated(x: Tensor, w: Mapping[str, Tensor]) -> Tensor:
    """What the last product of the feed-forward part reads."""
    return F.silu(F.linear(x, w["gate"])) * F.linear(x, w["up"])


def layer(x: Tensor, w: Mapping[str, Tensor], head: int) -> Tensor:
    """One layer: [batch, length, width] twice."""
    size = (x.shape[-1],)
    x = x + F.linear(attention(F.rms_norm(x, size, w["first"]), w, head), w["o"])
    return x + F.linear(gated(F.rms_norm(x, size, w["second"]), w), w["down"])


def drawn(sizes: Sizes, device: torch.device, dtype: torch.dtype) -> list[dict[str, Tensor]]:
    """The parameters of all layers, the same in each process."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for _ in range(sizes.layers):
        found.append(
            {
                name: (
                    torch.randn(s, generator=generator) * s[-1] ** -0.5 if len(s) > 1 else torch.ones(s)
                ).to(device, dtype)
                for name, s in sizes.shapes().items()
            }
        )
    return found


def part(value: Tensor, dim: int = 0) -> nn.Parameter:
    """What this process keeps of a tensor."""
    return nn.Parameter(value.chunk(dist.get_world_size(), dim)[dist.get_rank()].clone().contiguous())


class WholeLayer(nn.Module):
    def __init__(self, weights: Mapping[str, Tensor], head: int) -> None:
        super().__init__()
        self.head = head
        self.names = tuple(weights)
        for name, value in weights.items():
            self.register_parameter(name, nn.Parameter(value))

    def weights(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in self.names}

    def forward(self, x: Tensor) -> Tensor:
        return layer(x, self.weights(), self.head)


class Whole(nn.Sequential):
    """Every parameter in every process."""

    def __init__(self, sizes: Sizes, weights: list[dict[str, Tensor]]) -> None:
        super().__init__(*(WholeLayer(w, sizes.width // sizes.heads) for w in weights))


def _again(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_RECOMPUTE


def gathered(shard: Tensor, group: str) -> Tensor:
    """The whole of a parameter: an all-gather, whose gradient is a reduce-scatter."""
    return collectives.all_gather_tensor_autograd(shard, 0, group)


class ShardedLayer(WholeLayer):
    def __init__(self, weights: Mapping[str, Tensor], head: int) -> None:
        super().__init__({name: part(value).detach() for name, value in weights.items()}, head)
        self.group = dist.group.WORLD.group_name

    def forward(self, x: Tensor) -> Tensor:
        again = partial(create_selective_checkpoint_contexts, _again)
        whole = {
            name: checkpoint(gathered, shard, self.group, use_reentrant=False, context_fn=again)
            for name, shard in self.weights().items()
        }
        return layer(x, whole, self.head)


class Sharded(nn.Sequential):
    """The rows of this process of every parameter."""

    def __init__(self, sizes: Sizes, weights: list[dict[str, Tensor]]) -> None:
        super().__init__(*(ShardedLayer(w, sizes.width // sizes.heads) for w in weights))


class SplitLayer(WholeLayer):
    """Takes and gives the rows of this process of the sequence, as [length / processes, width]."""

    def __init__(self, weights: Mapping[str, Tensor], head: int) -> None:
        rows = {"o": 1, "down": 1}  # which dim is split; norms are whole
        parts = {n: v if v.dim() == 1 else part(v, rows.get(n, 0)).detach() for n, v in weights.items()}
        super().__init__(parts, head)
        self.group = dist.group.WORLD.group_name

    def forward(self, x: Tensor) -> Tensor:
        w, size = self.weights(), (x.shape[-1],)

        def entered(x: Tensor) -> Tensor:
            return collectives.all_gather_tensor_autograd(x, 0, self.group).unsqueeze(0)

        def left(x: Tensor) -> Tensor:
            return collectives.reduce_scatter_tensor_autograd(x.squeeze(0), "sum", 0, self.group)

        inside = attention(entered(F.rms_norm(x, size, w["first"])), w, self.head)
        x = x + left(F.linear(inside, w["o"]))
        return x + left(F.linear(gated(entered(F.rms_norm(x, size, w["second"])), w), w["down"]))


class Split(nn.Sequential):
    """Products and sequence split over processes."""

    def __init__(self, sizes: Sizes, weights: list[dict[str, Tensor]]) -> None:
        super().__init__(*(SplitLayer(w, sizes.width // sizes.heads) for w in weights))
