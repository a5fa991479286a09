"""Language and audio: steps of decoding, samplers, recurrences, attention with masks, spectra."""

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention

from ..graph import Source
from .workload import BFLOAT16, Workloads

SEQUENCES = Workloads()


@SEQUENCES.add("alibi_flex_attention", (4, 16, 2048, 64), (1, 2, 128, 16), BFLOAT16, slack=4.0)
def _alibi_flex_attention(source: Source, batch: int, heads: int, length: int, width: int):
    def score(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(i >= j, s - (i - j) * torch.exp2(-(h + 1) / 2.0), -torch.inf)

    def alibi_flex_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=score)

    def exact(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads_, i = (torch.arange(n, device=q.device) for n in (heads, length))
        s = q @ k.mT / width**0.5 - (i[:, None] - i) * torch.exp2(-(heads_ + 1) / 2.0)[:, None, None]
        return s.masked_fill(i[:, None] < i, -torch.inf).softmax(-1) @ v

    return alibi_flex_attention, tuple(source.normal(batch, heads, length, width) for _ in range(3)), exact


@SEQUENCES.add("top_k_filter", (64, 50257), (4, 64))
def _top_k_filter(source: Source, rows: int, words: int):
    """Temperature, the 50 likeliest words, and their probabilities."""

    def top_k_filter(logits: Tensor) -> Tensor:
        logits = logits / 0.7
        least = logits.topk(min(50, words // 2)).values[:, -1:]
        return logits.masked_fill(logits < least, -torch.inf).softmax(-1)

    return top_k_filter, (source.normal(rows, words),)


@SEQUENCES.add("top_p_filter", (64, 32000), (4, 64), slack=16.0)
def _top_p_filter(source: Source, rows: int, words: int):
    def top_p_filter(logits: Tensor) -> Tensor:
        ordered, places = logits.sort(descending=True)
        p = ordered.softmax(-1)
        far = p.cumsum(-1) - p > 0.9001
        return p.masked_fill(far, 0.0).sum(-1) + far.scatter(1, places, far).sum(-1)

    return top_p_filter, (source.normal(rows, words),)


@SEQUENCES.add("repetition_penalty", (128, 32000, 1024), (4, 64, 8))
def _repetition_penalty(source: Source, rows: int, words: int, length: int):
    def repetition_penalty(logits: Tensor, said: Tensor) -> Tensor:
        score = logits.gather(1, said)
        return logits.scatter(1, said, torch.where(score < 0, score * 1.3, score / 1.3)).log_softmax(-1)

    return repetition_penalty, (source.normal(rows, words), source.integers(words, rows, length))


@SEQUENCES.add("beam_step", (64, 8, 32000), (2, 3, 32))
def _beam_step(source: Source, batch: int, beams: int, words: int):
    def beam_step(logits: Tensor, scores: Tensor) -> Tensor:
        total = logits.log_softmax(-1) + scores[..., None]
        return total.view(batch, -1).topk(2 * beams).values

    return beam_step, (source.normal(batch, beams, words), source.normal(batch, beams))


@SEQUENCES.add("speculative_acceptance", (64, 8, 32000), (2, 4, 32))
def _speculative_acceptance(source: Source, batch: int, drafts: int, words: int):
    """How many words of a draft hold, and what is drawn from instead."""

    def speculative_acceptance(big: Tensor, small: Tensor, said: Tensor, drawn: Tensor):
        p, q = big.softmax(-1), small.softmax(-1)
        ratio = (p.gather(-1, said[..., None]) / q.gather(-1, said[..., None]))[..., 0]
        held = (drawn < ratio.clamp(max=1.0)).long().cumprod(-1).sum(-1)
        left = (p - q).clamp(min=0)
        return held, left / (left.sum(-1, keepdim=True) + 1e-9)

    args = (source.normal(batch, drafts, words), source.normal(batch, drafts, words))
    return speculative_acceptance, (
        *args,
        source.integers(words, batch, drafts),
        source.uniform(0.0, 1.0, batch, drafts),
    )


@SEQUENCES.add("cached_attention", (16, 32, 4096, 128), (2, 2, 16, 8), BFLOAT16, mutates=True, slack=4.0)
def _cached_attention(source: Source, batch: int, heads: int, length: int, width: int):
    """A word's keys and values go into the cache, and its queries look at all of it."""

    def cached_attention(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, at: Tensor) -> Tensor:
        keys.index_copy_(2, at, k)
        values.index_copy_(2, at, v)
        seen = torch.arange(length, device=q.device) <= at
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen[None, None, None])

    new = (source.normal(batch, heads, 1, width) for _ in range(3))
    caches = (source.normal(batch, heads, length, width) for _ in range(2))
    return cached_attention, (*new, *caches, torch.tensor([length // 2], device=source.device))


@SEQUENCES.add("diffusion_step", (16, 4, 128, 128), (2, 4, 8, 8), BFLOAT16)
def _diffusion_step(source: Source, *shape: int):
    """Guidance with rescaling, and a step of DDIM, between two calls of a model."""

    def diffusion_step(x: Tensor, free: Tensor, told: Tensor, now: Tensor, later: Tensor) -> Tensor:
        noise = free + 7.5 * (told - free)
        dims = (1, 2, 3)
        scaled = noise * (told.std(dims, keepdim=True) / noise.std(dims, keepdim=True))
        noise = 0.7 * scaled + 0.3 * noise
        clean = (x - (1 - now).sqrt() * noise) / now.sqrt()
        return later.sqrt() * clean + (1 - later).sqrt() * noise

    levels = (source.uniform(0.3, 0.9, 1)[0] for _ in range(2))
    return diffusion_step, (*(source.normal(*shape) for _ in range(3)), *levels)


@SEQUENCES.add("state_space_step", (64, 4096, 16), (4, 8, 4), BFLOAT16, mutates=True, slack=4.0)
def _state_space_step(source: Source, batch: int, width: int, states: int):
    """One word of a selective state space model."""

    def state_space_step(state: Tensor, x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor, z: Tensor):
        dt = F.softplus(dt)
        new = state * torch.exp(dt[..., None] * -a.exp()) + (dt * x)[..., None] * b[:, None]
        state.copy_(new)
        return (new * c[:, None]).sum(-1) * F.silu(z)

    wide = (source.normal(batch, width) for _ in range(3))
    x, dt, z = wide
    b, c = (source.normal(batch, states) for _ in range(2))
    return state_space_step, (
        source.normal(batch, width, states),
        x,
        dt,
        source.normal(width, states),
        b,
        c,
        z,
    )


@SEQUENCES.add("gru_cells", (1024, 512, 4), (4, 8, 2), slack=4.0)
def _gru_cells(source: Source, batch: int, width: int, steps: int):
    def gru_cells(xs: Tensor, h: Tensor, w: Tensor, u: Tensor) -> Tensor:
        for x in xs.unbind(1):
            r, z, n = (x @ w).chunk(3, -1)
            a, b, c = (h @ u).chunk(3, -1)
            z = torch.sigmoid(z + b)
            h = z * h + (1 - z) * torch.tanh(n + torch.sigmoid(r + a) * c)
        return h

    weights = (source.normal(width, 3 * width) / width**0.5 for _ in range(2))
    return gru_cells, (source.normal(batch, steps, width), source.normal(batch, width), *weights)


@SEQUENCES.add("lstm_gates", (16384, 1024), (8, 16), BFLOAT16)
def _lstm_gates(source: Source, rows: int, width: int):
    def lstm_gates(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = gates.chunk(4, -1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell

    return lstm_gates, (source.normal(rows, 4 * width), source.normal(rows, width))


@SEQUENCES.add("min_gru_scan", (16, 4096, 512), (2, 16, 8), slack=64.0)
def _min_gru_scan(source: Source, batch: int, length: int, width: int):
    """A recurrence h = z h + (1 - z) x as sums of logarithms."""

    def min_gru_scan(gate: Tensor, x: Tensor) -> Tensor:
        keep = F.logsigmoid(gate).cumsum(1)
        come = F.logsigmoid(-gate) + torch.where(x >= 0, (F.relu(x) + 0.5).log(), F.logsigmoid(x))
        return (keep + (come - keep).logcumsumexp(1)).exp()

    return min_gru_scan, (0.1 * source.normal(batch, length, width), source.normal(batch, length, width))


@SEQUENCES.add("linear_attention", (8, 16, 4096, 64), (1, 2, 16, 8), slack=16.0)
def _linear_attention(source: Source, batch: int, heads: int, length: int, width: int):
    def linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = F.elu(q) + 1, F.elu(k) + 1
        both = k.mT @ v
        return q @ both / (q @ k.sum(-2)[..., None] + 1e-6)

    return linear_attention, tuple(source.normal(batch, heads, length, width) for _ in range(3))


@SEQUENCES.add("expert_router", (65536, 64), (16, 8), BFLOAT16, reduces=True)
def _expert_router(source: Source, tokens: int, experts: int):
    """Weights of the two best experts, and the loss that balances them."""

    def expert_router(logits: Tensor) -> tuple[Tensor, Tensor]:
        p = logits.float().softmax(-1)
        best, which = p.topk(2)
        share = F.one_hot(which[:, 0], experts).float().mean(0)
        return best / best.sum(-1, keepdim=True), experts * (share * p.mean(0)).sum()

    return expert_router, (source.normal(tokens, experts),)


@SEQUENCES.add("crf_forward", (512, 16, 64), (4, 4, 8), slack=16.0)
def _crf_forward(source: Source, batch: int, steps: int, tags: int):
    """The partition function of a chain."""

    def crf_forward(scores: Tensor, moves: Tensor) -> Tensor:
        alpha = scores[:, 0]
        for step in range(1, steps):
            alpha = (alpha[:, :, None] + moves).logsumexp(1) + scores[:, step]
        return alpha.logsumexp(-1)

    return crf_forward, (source.normal(batch, steps, tags), source.normal(tags, tags))


@SEQUENCES.add("log_mel", (64, 160000), (2, 4000), slack=64.0)
def _log_mel(source: Source, batch: int, samples: int):
    """What a speech model reads: windows, spectra, 80 bands, logarithms."""

    def log_mel(x: Tensor, window: Tensor, bands: Tensor) -> Tensor:
        spectrum = torch.stft(x, 400, 160, window=window, return_complex=True)
        power = spectrum.real.square() + spectrum.imag.square()
        logs = (bands @ power).clamp(min=1e-10).log10()
        return (torch.maximum(logs, logs.amax((1, 2), keepdim=True) - 8.0) + 4.0) / 4.0

    window = torch.hann_window(400, device=source.device, dtype=source.dtype)
    return log_mel, (source.normal(batch, samples), window, source.uniform(0.0, 0.1, 80, 201))


@SEQUENCES.add("mu_law", (64, 480000), (2, 64))
def _mu_law(source: Source, *shape: int):
    """Encoded to 256 levels and back."""

    def mu_law(x: Tensor) -> Tensor:
        y = x.sign() * torch.log1p(255 * x.abs()) / 5.545177444479562
        levels = ((y + 1) * 127.5 + 0.5).long().clamp(0, 255)
        back = levels.float() / 127.5 - 1
        return back.sign() * (torch.exp(back.abs() * 5.545177444479562) - 1) / 255

    return mu_law, (source.uniform(-1.0, 1.0, *shape).float(),)


@SEQUENCES.add("envelope", (256, 65536), (2, 64), slack=64.0)
def _envelope(source: Source, rows: int, samples: int):
    """The analytic signal by a Fourier transform, and its length in decibels."""

    def envelope(x: Tensor, twice: Tensor) -> Tensor:
        z = torch.fft.ifft(torch.fft.fft(x) * twice)
        return 10 * (z.real.square() + z.imag.square() + 1e-6).log10()

    twice = torch.zeros(samples, device=source.device, dtype=source.dtype)
    twice[: samples // 2] = 2
    return envelope, (source.normal(rows, samples), twice)


@SEQUENCES.add("spectral_gate", (32, 513, 4096), (2, 17, 16), slack=16.0)
def _spectral_gate(source: Source, batch: int, bins: int, frames: int):
    """What is not much louder than the quietest frames is made quieter."""

    def spectral_gate(power: Tensor) -> Tensor:
        level = 10 * (power + 1e-8).log10()
        smooth = F.avg_pool1d(level, 9, 1, 4)
        floor = smooth.mean(-1, keepdim=True) + 1.5 * smooth.std(-1, keepdim=True)
        return power * torch.sigmoid((smooth - floor) / 3)

    return spectral_gate, (source.normal(batch, bins, frames).square(),)


@SEQUENCES.add("vector_quantise", (65536, 64, 1024), (16, 8, 8), slack=4.0)
def _vector_quantise(source: Source, rows: int, width: int, codes: int):
    """The nearest code of each vector, and how far it is."""

    def vector_quantise(x: Tensor, book: Tensor) -> tuple[Tensor, Tensor]:
        far = x.square().sum(1, keepdim=True) - 2 * x @ book.t() + book.square().sum(1)
        nearest = book[far.argmin(1)]
        return x + (nearest - x), (nearest - x).square().mean()

    return vector_quantise, (source.normal(rows, width), source.normal(codes, width))


__all__ = ["SEQUENCES"]
