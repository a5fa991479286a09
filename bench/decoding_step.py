"""Times a decoding step of eight Llama layers: eager, Inductor and this backend, with and without graphs.

``python -m fuse_mlir.bench.decoding_step`` prints device and wall microseconds of a step, beside a copy of as
many bytes as its weights and caches have, on the current CUDA device, and the wall time of a step among 64 in
a row; ``--small`` runs a small one, also on a CPU.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir

from .timing import Stopwatch, measure, stopwatch


class Sizes(NamedTuple):
    """Of a step: layers, width, heads of queries and of keys, width between the last two products, and cached
    keys.
    """

    layers: int
    width: int
    heads: int
    key_heads: int
    inner: int
    cached: int

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.width // self.heads


#: Steps in a row, as a text is generated: the host's time before the first counts little.
IN_A_ROW = 64
LLAMA, SMALL = Sizes(8, 2048, 32, 8, 8192, 1024), Sizes(1, 256, 4, 2, 512, 64)


def _norm(x: Tensor, w: Tensor) -> Tensor:
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * w


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


def layer(
    x: Tensor,
    at: Tensor,
    turns: tuple[Tensor, Tensor],
    p: Mapping[str, Tensor],
    cache: tuple[Tensor, Tensor],
    sizes: Sizes,
) -> Tensor:
    """One layer for the token x[1, 1, width] at a position: writes its key and value into the cache."""
    y = _norm(x, p["first"])
    q, k, v = (F.linear(y, p[name]).view(1, 1, -1, sizes.head).transpose(1, 2) for name in "qkv")
    cache[0].index_copy_(2, at, _turned(k, *turns))
    cache[1].index_copy_(2, at, v)
    mask = (torch.arange(sizes.cached, device=x.device) <= at)[None, None, None]
    q = _turned(q, *turns)
    o = F.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=mask, enable_gqa=True)
    x = x + F.linear(o.transpose(1, 2).reshape(1, 1, -1), p["o"])
    y = _norm(x, p["second"])
    return x + F.linear(F.silu(F.linear(y, p["gate"])) * F.linear(y, p["up"]), p["down"])


class Step(torch.nn.Module):
    """A step.  Weights are parameters, caches and tables buffers, so that CUDA graphs copy none of them."""

    def __init__(self, sizes: Sizes, device: torch.device) -> None:
        super().__init__()
        self.sizes = sizes
        width, keys = sizes.width, sizes.key_heads * sizes.head
        shapes = {
            "q": (width, width),
            "k": (keys, width),
            "v": (keys, width),
            "o": (width, width),
            "gate": (sizes.inner, width),
            "up": (sizes.inner, width),
            "down": (width, sizes.inner),
            "first": (width,),
            "second": (width,),
        }
        self.layers = torch.nn.ModuleList()
        for _ in range(sizes.layers):
            one = torch.nn.Module()
            for name, shape in shapes.items():
                one.register_parameter(name, torch.nn.Parameter(normal(*shape, device=device)))
            for name in ("keys", "values"):
                cache = (1, sizes.key_heads, sizes.cached, sizes.head)
                one.register_buffer(name, normal(*cache, device=device))
            self.layers.append(one)
        speeds = 10000.0 ** (-torch.arange(0, sizes.head, 2, device=device) / sizes.head)
        angles = torch.arange(sizes.cached, device=device)[:, None] * torch.cat([speeds, speeds])
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        cos, sin = (t[at].view(1, 1, 1, -1).to(x.dtype) for t in (self.cos, self.sin))
        for one in self.layers:
            x = layer(x, at, (cos, sin), dict(one.named_parameters()), (one.keys, one.values), self.sizes)
        return x

    @property
    def nbytes(self) -> int:
        """Of all weights and caches."""
        held = (*self.layers.parameters(), *self.layers.buffers())
        return sum(t.nbytes for t in held)


def normal(*shape: int, device: torch.device) -> Tensor:
    """Normal numbers, smaller for longer rows."""
    return (torch.randn(*shape, device=device) * shape[-1] ** -0.5).bfloat16()


def in_a_row(call: Callable[[], Any], watch: Stopwatch) -> float:
    """Wall microseconds of one of many calls."""
    watch.synchronize()
    start = time.perf_counter()
    for _ in range(IN_A_ROW):
        call()
    watch.synchronize()
    return (time.perf_counter() - start) / IN_A_ROW * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a small step, also on a CPU")
    small = parser.parse_args().small
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    sizes = SMALL if small else LLAMA
    step = Step(sizes, device)
    args = normal(1, 1, sizes.width, device=device), torch.tensor([sizes.cached - 1], device=device)
    moved = step.nbytes
    source, target = torch.empty(2, moved // 2, dtype=torch.uint8, device=device)
    ways: dict[str, dict[str, Any]] = {
        "inductor": {},
        "inductor, graphs": {"mode": "reduce-overhead"},
        "fuse": {"backend": fuse_mlir.backend},
        "fuse, graphs": {"backend": fuse_mlir.backend, "options": {"cudagraphs": True}},
    }
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: target.copy_(source),
        "eager": lambda: step(*args),
    }
    with torch.no_grad():
        wanted = step(*args).clone()
        for name, how in ways.items():
            torch._dynamo.reset()
            compiled = torch.compile(step, fullgraph=True, dynamic=False, **how)
            error = ((compiled(*args).clone() - wanted).float().norm() / wanted.float().norm()).item()
            print(f"{name}: differs from eager by {error:.4f} in the norm")
            calls[name] = lambda compiled=compiled: compiled(*args)  # type: ignore[misc]
        watch = stopwatch(device)
        for name, timing in measure(calls, watch, samples=20, seconds=5.0).items():
            row = in_a_row(calls[name], watch)
            print(
                f"{name}: {timing.device:.1f} us on the device, {timing.wall:.1f} us, {row:.1f} us in a row"
            )
    print(f"{moved / 1e6:.1f} MB of weights and caches")


if __name__ == "__main__":
    main()
