"""Few bits: code books, block formats, and optimizers that keep their states in bytes."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import BFLOAT16, Workloads

QUANTISE = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


def _code_book(source: Source, size: int = 256) -> Tensor:
    """Ascending numbers of both signs, denser about zero, from -1 to 1."""
    half = torch.logspace(-4, 0, size // 2, device=source.device)
    return torch.cat((-half.flip(0), half)).to(source.dtype)


@QUANTISE.add("momentum_in_bytes", (16777216, 2048), (1024, 64), mutates=True)
def _momentum_in_bytes(source: Source, size: int, block: int):
    """Momentum as codes of a table and a scale for each block: decoded, moved, encoded by bisection."""

    def momentum_in_bytes(p: Tensor, g: Tensor, code: Tensor, scale: Tensor, book: Tensor) -> None:
        m = book[code.int() + 128].view(-1, block) * scale[:, None]
        m = 0.9 * m + g.view(-1, block)
        most = m.abs().amax(1)
        middle = (book[1:] + book[:-1]) / 2
        code.copy_(torch.bucketize((m / most[:, None]).flatten(), middle) - 128)
        scale.copy_(most)
        p.sub_(0.01 * m.flatten())

    codes = (source.integers(256, size) - 128).to(torch.int8)
    scales = source.uniform(0.5, 2.0, size // block)
    return momentum_in_bytes, (source.normal(size), source.normal(size), codes, scales, _code_book(source))


@QUANTISE.add("moments_in_bytes", (8388608, 128), (512, 16), mutates=True)
def _moments_in_bytes(source: Source, size: int, block: int):
    """Adam over blocks of 128: the first moment in codes of a table, the root of the second in even steps."""

    def moments_in_bytes(p: Tensor, g: Tensor, first, scale, second, peak, book: Tensor) -> None:
        g = g.view(-1, block)
        m = 0.9 * book[first.int() + 128].view(-1, block) * scale[:, None] + 0.1 * g
        root = second.to(g.dtype).view(-1, block) * (peak / 127)[:, None]
        v = 0.999 * root * root + 0.001 * g * g
        p.sub_((0.001 * m / (v.sqrt() + 1e-3)).flatten())
        most, highest = m.abs().amax(1) + 1e-8, v.amax(1).sqrt() + 1e-8
        code = torch.bucketize(m / most[:, None], (book[1:] + book[:-1]) / 2)
        first.copy_((code - 128).flatten())
        second.copy_((v.sqrt() / highest[:, None] * 127).round().flatten())
        scale.copy_(most)
        peak.copy_(highest)

    blocks = size // block
    return moments_in_bytes, (
        source.normal(size), source.normal(size), (source.integers(256, size) - 128).to(torch.int8),
        source.uniform(0.5, 2.0, blocks), source.integers(128, size).to(torch.int8),
        source.uniform(0.5, 2.0, blocks), _code_book(source),
    )  # fmt: skip


@QUANTISE.add("table_weights", (32, 4096, 4096, 64), (4, 32, 32, 16), BFLOAT16, slack=4.0)
def _table_weights(source: Source, rows: int, out: int, inner: int, block: int):
    """Rows times weights that are codes of sixteen numbers, with scales that are bytes themselves."""

    def table_weights(x, packed, book, scale, scale_of_scale):
        code = torch.stack((packed >> 4, packed & 15), -1).int()
        steps = scale.to(x.dtype) * scale_of_scale
        w = book[code].view(out, -1, block) * steps.view(out, -1, 1)
        return x @ w.view(out, inner).T

    return table_weights, (
        source.normal(rows, inner), source.integers(256, out, inner // 2).to(torch.uint8),
        _code_book(source, 16), source.integers(256, out * inner // block).to(torch.uint8),
        source.uniform(0.0001, 0.0002, 1),
    )  # fmt: skip


@QUANTISE.add("shared_exponents", (8192, 8192), (8, 64))
def _shared_exponents(source: Source, rows: int, columns: int):
    """Blocks of 32 share a power of two, each number is rounded to one of eight, as in MXFP4."""

    def shared_exponents(x: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
        blocks = x.view(rows, -1, 32)
        most = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-6)
        power = torch.floor(torch.log2(most)) - 2
        unit = blocks / torch.exp2(power)
        place = torch.bucketize(unit.abs(), (grid[1:] + grid[:-1]) / 2)
        return (grid[place] * unit.sign() * torch.exp2(power)).view_as(x), power.squeeze(-1)

    grid = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], device=source.device, dtype=source.dtype)
    return shared_exponents, (source.uniform(-0.99, 1.0, rows, columns), grid)


@QUANTISE.add("product_codes", (500000, 16, 64), (64, 4, 8))
def _product_codes(source: Source, rows: int, parts: int, queries: int):
    """Distances of queries to codes by a table for each part, and the ten nearest."""
    queries = min(queries, 16)

    def product_codes(table: Tensor, code: Tensor) -> Tensor:
        found = 0
        for part in range(parts):
            found = found + table[:, part][:, code[part].int()]
        return found.topk(10, -1, largest=False).values

    return product_codes, (
        source.uniform(0.0, 1.0, queries, parts, 256), source.integers(256, parts, rows).to(torch.uint8),
    )  # fmt: skip


@QUANTISE.add("learned_steps", (4096, 11008), (8, 32), trains=2, **_TRAINED)
def _learned_steps(source: Source, rows: int, columns: int):
    """Weights rounded to four bits by a learned step for each row; straight through (LSQ)."""

    def learned_steps(w: Tensor, step: Tensor, wanted: Tensor) -> Tensor:
        s = step * 0.01 + (step - step * 0.01).detach()
        unit = (w / s).clamp(-8, 7)
        rounded = unit + (unit.round() - unit).detach()
        return (rounded * s * wanted).mean()

    args = (source.normal(rows, columns), source.uniform(0.2, 0.4, rows, 1))
    return learned_steps, (*args, source.normal(rows, columns))


@QUANTISE.add("ternary_layer", (4096, 2048, 4096), (8, 16, 16), BFLOAT16, slack=4.0)
def _ternary_layer(source: Source, rows: int, inner: int, out: int):
    """Weights of -1, 0 and 1, activations of eight bits for each row, as in BitNet."""

    def ternary_layer(x: Tensor, w: Tensor) -> Tensor:
        x = F.rms_norm(x, (inner,))
        scale = 127 / x.abs().amax(-1, keepdim=True).clamp(min=1e-5)
        codes = (x * scale).round().clamp(-128, 127) / scale
        mean = w.abs().mean().clamp(min=1e-5)
        return codes @ ((w / mean).round().clamp(-1, 1) * mean).T

    return ternary_layer, (source.normal(rows, inner), source.normal(out, inner))


@QUANTISE.add("drawn_rounding", (8192, 8192), (8, 32))
def _drawn_rounding(source: Source, rows: int, columns: int):
    """Scaled to eight bits by rows, up or down as given numbers say, and what was lost by rows."""

    def drawn_rounding(x: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        scale = x.abs().amax(1, keepdim=True) / 127
        unit = x / scale
        low = unit.floor()
        code = (low + (drawn < unit - low)).clamp(-127, 127)
        return code.to(torch.int8), (code * scale - x).square().mean(1)

    return drawn_rounding, (source.normal(rows, columns), source.uniform(0.0, 1.0, rows, columns))


@QUANTISE.add("residual_codes", (32768, 128, 1024), (16, 8, 6))
def _residual_codes(source: Source, rows: int, width: int, size: int):
    """Four code books, each for what the ones before left, as audio codecs have."""

    def residual_codes(x: Tensor, books: Tensor) -> tuple[Tensor, Tensor]:
        left, total = x, torch.zeros_like(x)
        losses = []
        for book in books:
            far = book.square().sum(1) - 2 * left @ book.T
            found = book[far.argmin(1)]
            losses.append((left - found).square().mean(1))
            total, left = total + found, left - found
        return total, torch.stack(losses)

    return residual_codes, (source.normal(rows, width), source.normal(4, size, width))


@QUANTISE.add("finite_scalars", (262144, 6), (32, 6), trains=1, **_TRAINED)
def _finite_scalars(source: Source, rows: int, width: int):
    """Each number bounded and rounded to a few levels; the code is the number they spell (FSQ)."""

    def finite_scalars(z: Tensor, levels: Tensor, table: Tensor) -> Tensor:
        half = (levels - 1) * 0.999 / 2
        shift = torch.where(levels % 2 == 0, 0.5, 0.0)
        bounded = torch.tanh(z + shift) * half - shift
        codes = bounded + (bounded.round() - bounded).detach()
        basis = torch.cumprod(torch.cat((torch.ones_like(levels[:1]), levels[:-1])), 0)
        place = ((codes.detach().round() + levels // 2) * basis).sum(-1).long()
        return (codes / (levels // 2) * table[place % 4096]).mean()

    levels = torch.tensor([8, 8, 8, 5, 5, 5][:width], device=source.device).to(source.dtype)
    return finite_scalars, (source.normal(rows, width), levels, source.normal(4096, width))


@QUANTISE.add("sign_entropy", (65536, 14), (16, 4), trains=1, **_TRAINED)
def _sign_entropy(source: Source, rows: int, bits: int):
    """Signs as codes, with the entropies of each and of their mean (look-up free quantisation)."""

    def sign_entropy(z: Tensor) -> Tensor:
        p = torch.sigmoid(2 * z).clamp(1e-6, 1 - 1e-6)
        own = F.binary_cross_entropy(p, p, reduction="none").sum(-1).mean()
        mean = p.mean(0)
        joint = -(mean * mean.log() + (1 - mean) * (1 - mean).log()).sum()
        code = z.sign()
        return own - joint + 0.25 * (z - code.detach()).square().mean()

    return sign_entropy, (source.normal(rows, bits),)


__all__ = ["QUANTISE"]
