"""Products with a structure, scans and convolutions bound by bytes: `STRUCTURED[name]`.

The suite `structured`: state spaces in chunks, recurrences that a loop spells out, batches of small matrices,
triangular and symmetric products, losses behind a wide head, and convolutions of few channels or of one for
each group.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Source, graph_table
from .wild.workload import BFLOAT16, Workloads

WORKLOADS = Workloads()


# Losses


@WORKLOADS.add("gemma_loss", (512, 2304, 256000), (6, 16, 40), BFLOAT16, trains=2, slack=16.0, summed=256000)
def _gemma_loss(source: Source, tokens: int, width: int, words: int):
    """RMS norm, a frozen head, soft cap, label smoothing, z-loss; gradients of x and the norm."""

    def gemma_loss(x: Tensor, scale: Tensor, head: Tensor, label: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * (1 + scale.float())
        logits = F.linear(normed.to(x.dtype), head).float()
        logits = 30 * torch.tanh(logits / 30)
        z = torch.logsumexp(logits, -1)
        return F.cross_entropy(logits, label, label_smoothing=0.1) + 1e-4 * z.square().mean()

    head = source.normal(words, width) / width**0.5
    return gemma_loss, (
        source.normal(tokens, width),
        source.normal(width) / 8,
        head,
        source.integers(words, tokens),
    )


# Recurrences


@WORKLOADS.add("wkv", (8, 64, 2048), (2, 6, 8))
def _wkv(source: Source, batch: int, steps: int, width: int):
    """Weighted means of the past, kept finite by a running maximum (RWKV 4)."""

    def wkv(decay: Tensor, first: Tensor, k: Tensor, v: Tensor) -> Tensor:
        above = below = torch.zeros_like(k[:, 0])
        most = torch.full_like(above, -1e30)
        out = []
        for t in range(steps):
            new = torch.maximum(most, first + k[:, t])
            kept, added = torch.exp(most - new), torch.exp(first + k[:, t] - new)
            out.append((kept * above + added * v[:, t]) / (kept * below + added))
            new = torch.maximum(most - decay, k[:, t])
            kept, added = torch.exp(most - decay - new), torch.exp(k[:, t] - new)
            above, below, most = kept * above + added * v[:, t], kept * below + added, new
        return torch.stack(out, 1)

    numbers = source.uniform(0.1, 1.0, width), source.normal(width)
    return wkv, (*numbers, source.normal(batch, steps, width), source.normal(batch, steps, width))


@WORKLOADS.add("selective_scan", (4, 32, 1536, 16), (2, 5, 6, 4))
def _selective_scan(source: Source, batch: int, steps: int, width: int, states: int):
    """States that decay and gain by what is read, step by step (Mamba)."""

    def selective_scan(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        dt = F.softplus(dt)
        state = x.new_zeros(batch, width, states)
        out = []
        for t in range(steps):
            step = dt[:, t, :, None]
            state = torch.exp(step * -torch.exp(a)) * state + step * x[:, t, :, None] * b[:, t, None]
            out.append((state * c[:, t, None]).sum(-1) + d * x[:, t])
        return torch.stack(out, 1)

    return selective_scan, (
        source.normal(batch, steps, width), source.normal(batch, steps, width) - 1,
        source.normal(width, states), source.normal(batch, steps, states),
        source.normal(batch, steps, states), source.normal(width),
    )  # fmt: skip


@WORKLOADS.add("decay_by_sums", (16, 2048, 512), (2, 12, 4), slack=16.0)
def _decay_by_sums(source: Source, batch: int, steps: int, width: int):
    """The recurrence h = a h + b of all steps by running sums of logarithms (minGRU, Heinsen)."""

    def decay_by_sums(gate: Tensor, hidden: Tensor) -> Tensor:
        keep, gain = -F.softplus(gate), -F.softplus(-gate)
        value = torch.where(hidden >= 0, (F.relu(hidden) + 0.5).log(), -F.softplus(-hidden))
        total = keep.cumsum(1)
        return torch.exp(total + torch.logcumsumexp(gain + value - total, 1))

    return decay_by_sums, (source.normal(batch, steps, width), source.normal(batch, steps, width))


@WORKLOADS.add("gated_steps", (64, 65536), (6, 16))
def _gated_steps(source: Source, steps: int, cells: int):
    """x * sigmoid(g) + h * (1 - sigmoid(g)), step by step."""

    def gated_steps(x: Tensor, gate: Tensor) -> Tensor:
        h, out = torch.zeros_like(x[0]), []
        for t in range(steps):
            keep = torch.sigmoid(gate[t])
            h = x[t] * keep + h * (1 - keep)
            out.append(h)
        return torch.stack(out)

    return gated_steps, (source.normal(steps, cells), source.normal(steps, cells))


# Products along a sequence, in chunks


def _segment_sums(x: Tensor) -> Tensor:
    """[.., t] -> [.., t, s]: the sums of x between s (without) and t, -inf where s is later."""
    length = x.shape[-1]
    rows = x[..., None].expand(*x.shape, length)
    rows = rows.masked_fill(~torch.ones(length, length, dtype=torch.bool, device=x.device).tril(-1), 0)
    kept = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
    return rows.cumsum(-2).masked_fill(~kept, -torch.inf)


@WORKLOADS.add("chunked_states", (4, 2048, 24, 64, 128, 64), (2, 12, 2, 4, 6, 4), BFLOAT16, summed=128)
def _chunked_states(source: Source, batch: int, length: int, heads: int, width: int, states: int, chunk: int):
    """Mamba 2's SSD in chunks, by einsums of up to four operands; decays in float32."""

    def chunked_states(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        x, b, c = (t.unflatten(1, (-1, chunk)) for t in (x, b, c))
        a = a.unflatten(1, (-1, chunk)).permute(0, 3, 1, 2)
        sums = a.cumsum(-1)
        decay = torch.exp(_segment_sums(a)).to(x.dtype)
        inside = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", c, b, decay, x)
        to_end = torch.exp(sums[..., -1:] - sums).to(x.dtype)
        state = torch.einsum("bclhn,bhcl,bclhp->bchpn", b, to_end, x)
        state = torch.cat((torch.zeros_like(state[:, :1]), state), 1)
        between = torch.exp(_segment_sums(F.pad(sums[..., -1], (1, 0)))).to(x.dtype)
        state = torch.einsum("bhzc,bchpn->bzhpn", between, state)
        before = torch.exp(sums).to(x.dtype)
        across = torch.einsum("bclhn,bchpn,bhcl->bclhp", c, state[:, :-1], before)
        return (inside + across).flatten(1, 2), state[:, -1]

    return chunked_states, (
        source.normal(batch, length, heads, width), -source.uniform(0.01, 0.5, batch, length, heads).float(),
        source.normal(batch, length, heads, states) / states**0.5,
        source.normal(batch, length, heads, states),
    )  # fmt: skip


@WORKLOADS.add("gated_linear", (4, 8, 1024, 128, 64), (2, 2, 8, 4, 4), BFLOAT16, summed=128)
def _gated_linear(source: Source, batch: int, heads: int, length: int, width: int, chunk: int):
    """Gated linear attention, chunk by chunk with a carried state."""

    def gated_linear(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        sums = F.logsigmoid(gate.float()).div(16).unflatten(2, (-1, chunk)).cumsum(-2)
        q, k, v = (t.unflatten(2, (-1, chunk)) for t in (q, k, v))
        last = sums[..., -1:, :]
        asked = (q * torch.exp(sums)).to(q.dtype)
        given, kept = (k * torch.exp(-sums)).to(q.dtype), (k * torch.exp(last - sums)).to(q.dtype)
        state, out = torch.zeros(batch, heads, width, width, device=q.device), []
        for i in range(length // chunk):
            near = (asked[:, :, i] @ given[:, :, i].mT).tril() @ v[:, :, i]
            out.append(near + asked[:, :, i] @ state.to(q.dtype))
            state = torch.exp(last[:, :, i]).mT * state + (kept[:, :, i].mT @ v[:, :, i]).float()
        return torch.cat(out, 2)

    shape = (batch, heads, length, width)
    return gated_linear, tuple(source.normal(*shape) for _ in range(4))


@WORKLOADS.add("causal_linear", (2, 16, 2048, 64), (1, 2, 16, 8), BFLOAT16, summed=2048)
def _causal_linear(source: Source, batch: int, heads: int, length: int, width: int):
    """The lower triangle of a product, times values (linear attention)."""

    def causal_linear(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT).tril() @ v

    return causal_linear, tuple(source.normal(batch, heads, length, width) / 4 for _ in range(3))


@WORKLOADS.add("decayed_triangle", (2, 16, 1024, 64), (1, 2, 16, 8), BFLOAT16, summed=1024)
def _decayed_triangle(source: Source, batch: int, heads: int, length: int, width: int):
    """A product times the exponentials of sums between both places, times values (RetNet)."""

    def decayed_triangle(q: Tensor, k: Tensor, v: Tensor, a: Tensor) -> Tensor:
        return ((q @ k.mT) * torch.exp(_segment_sums(a)).to(q.dtype)) @ v

    decay = -source.uniform(0.01, 0.5, batch, heads, length).float()
    return decayed_triangle, (*(source.normal(batch, heads, length, width) / 4 for _ in range(3)), decay)


# Small and symmetric matrices


@WORKLOADS.add("small_products_16", (16384, 16), (6, 16), BFLOAT16, summed=16)
@WORKLOADS.add("small_products_32", (16384, 32), (6, 32), BFLOAT16, summed=32)
@WORKLOADS.add("small_products_64", (16384, 64), (3, 64), BFLOAT16, summed=64)
def _small_products(source: Source, matrices: int, size: int):
    """Many square products, with tanh and an addition behind."""

    def small_products(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.tanh(a @ b) + c

    return small_products, tuple(source.normal(matrices, size, size) for _ in range(3))


@WORKLOADS.add("coupled_newton", (32, 512), (2, 8), slack=64.0, summed=512)
def _coupled_newton(source: Source, matrices: int, size: int):
    """Inverse fourth roots of symmetric matrices, by coupled Newton steps (Shampoo)."""

    def coupled_newton(m: Tensor) -> Tensor:
        eye = torch.eye(size, device=m.device, dtype=m.dtype)
        scale = 5 / (2 * m.norm(dim=(-2, -1), keepdim=True))
        m, root = m * scale, eye * scale**0.25
        for _ in range(6):
            step = 1.25 * eye - 0.25 * m
            twice = step @ step
            m, root = twice @ twice @ m, root @ step
        return root

    half = source.normal(matrices, size, size) / size**0.5
    return coupled_newton, (half @ half.mT + 0.1 * torch.eye(size, device=source.device),)


# Convolutions


@WORKLOADS.add("sobel", (16, 1024), (2, 16))
def _sobel(source: Source, images: int, side: int):
    """Lengths of gradients by two 3x3 stencils."""

    def sobel(x: Tensor, w: Tensor) -> Tensor:
        return F.conv2d(x, w, padding=1).square().sum(1, keepdim=True).sqrt()

    one = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]], device=source.device)
    return sobel, (source.normal(images, 1, side, side), torch.stack((one, one.mT))[:, None].to(source.dtype))


@WORKLOADS.add("stem_3x3", (32, 224, 32, 3), (2, 16, 4, 3), BFLOAT16, summed=27)
@WORKLOADS.add("stem_7x7", (32, 224, 64, 7), (2, 16, 4, 7), BFLOAT16, summed=147)
def _stem(source: Source, images: int, side: int, channels: int, taps: int):
    """The first convolution of a network, of three channels and every second place; norm and SiLU behind."""

    def stem(x: Tensor, w: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        y = F.conv2d(x, w, stride=2, padding=taps // 2)
        return F.silu(y * scale[:, None, None] + shift[:, None, None])

    weights = source.normal(channels, 3, taps, taps) / (3 * taps * taps) ** 0.5
    return stem, (
        source.normal(images, 3, side, side), weights, source.normal(channels), source.normal(channels),
    )  # fmt: skip


@WORKLOADS.add("depthwise_7x7", (32, 96, 56), (2, 3, 12), BFLOAT16, summed=49)
def _depthwise(source: Source, images: int, channels: int, side: int):
    """A stencil of its own for each channel, with a bias and GELU behind (ConvNeXt)."""

    def depthwise(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
        return F.gelu(F.conv2d(x, w, bias, padding=3, groups=channels))

    weights = source.normal(channels, 1, 7, 7) / 7
    return depthwise, (source.normal(images, channels, side, side), weights, source.normal(channels))


@WORKLOADS.add("convnext_front", (32, 96, 56), (2, 8, 12), BFLOAT16, summed=49)
def _convnext_front(source: Source, images: int, channels: int, side: int):
    """The same stencil of images whose channels lie side by side, and a norm of the channels behind."""

    def convnext_front(x: Tensor, w: Tensor, bias: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        y = F.conv2d(x.permute(0, 3, 1, 2), w, bias, padding=3, groups=channels)
        return F.layer_norm(y.permute(0, 2, 3, 1), (channels,), scale, shift)

    weights = source.normal(channels, 1, 7, 7) / 7
    numbers = (source.normal(channels) for _ in range(3))
    return convnext_front, (source.normal(images, side, side, channels), weights, *numbers)


@WORKLOADS.add("causal_taps", (8, 3072, 2048, 4), (2, 6, 16, 4), BFLOAT16, summed=4)
def _causal_taps(source: Source, batch: int, channels: int, length: int, taps: int):
    """Four taps of the past for each channel, and SiLU (in front of Mamba's scan)."""

    def causal_taps(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
        y = F.conv1d(x, w, bias, padding=taps - 1, groups=channels)
        return F.silu(y[..., :length])

    weights = source.normal(channels, 1, taps) / 2
    return causal_taps, (source.normal(batch, channels, length), weights, source.normal(channels))


STRUCTURED = graph_table(WORKLOADS)
