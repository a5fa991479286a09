"""Audio and signals: spectra, filters, codecs, and losses of separation."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import Workloads

AUDIO = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@AUDIO.add("phase_search", (16, 64000, 1024), (1, 512, 64), slack=16.0)
def _phase_search(source: Source, batch: int, length: int, window: int):
    """Two rounds of Griffin and Lim's search for phases that fit given magnitudes."""

    def phase_search(wave: Tensor, wanted: Tensor, shape: Tensor) -> Tensor:
        for _ in range(2):
            found = torch.stft(wave, window, window // 4, window=shape, return_complex=True)
            turned = found / (found.abs() + 1e-3) * wanted
            wave = torch.istft(turned, window, window // 4, window=shape, length=length)
        return wave

    frames = length // (window // 4) + 1
    shape = torch.hann_window(window, device=source.device, dtype=source.dtype)
    return phase_search, (
        source.normal(batch, length), source.uniform(0.5, 1.5, batch, window // 2 + 1, frames), shape,
    )  # fmt: skip


@AUDIO.add("cepstra", (64, 80, 3000), (2, 16, 40))
def _cepstra(source: Source, batch: int, bands: int, frames: int):
    """Cepstral coefficients, lifted, with first and second differences, less their means (torchaudio)."""

    def cepstra(x: Tensor, dct: Tensor, filters: Tensor) -> Tensor:
        level = 10 * torch.log10(x.clamp(min=1e-10))
        level = torch.maximum(level, level.amax((1, 2), keepdim=True) - 80)
        c = (level.mT @ dct).mT
        lift = torch.arange(c.shape[1], device=x.device, dtype=x.dtype)
        c = c * (1 + 11 * torch.sin(torch.pi * lift / 22))[:, None]
        parts = [c]
        for _ in range(2):
            padded = F.pad(parts[-1], (2, 2), mode="replicate")
            parts.append(sum(filters[i] * padded[..., i : i + frames] for i in range(5)))
        found = torch.cat(parts, 1)
        mean = found.mean(2, keepdim=True)
        return (found - mean) / (found - mean).square().mean(2, keepdim=True).add(1e-3).sqrt()

    filters = torch.tensor([-0.2, -0.1, 0.0, 0.1, 0.2], device=source.device, dtype=source.dtype)
    dct = source.normal(bands, 13) / bands**0.5
    return cepstra, (source.uniform(0.01, 4.0, batch, bands, frames), dct, filters)


@AUDIO.add("linear_prediction", (64, 400, 400), (2, 6, 40), slack=4.0)
def _linear_prediction(source: Source, batch: int, frames: int, length: int):
    """Autocorrelations of frames and the recursion of Levinson and Durbin, eight orders."""
    order = 8

    def linear_prediction(x: Tensor) -> tuple[Tensor, Tensor]:
        x = x * torch.hann_window(length, device=x.device, dtype=x.dtype)
        r = [(x[..., : length - lag] * x[..., lag:]).sum(-1) for lag in range(order + 1)]
        a: list[Tensor] = []
        error = r[0] * 1.0001 + 1e-6
        for i in range(1, order + 1):
            total = r[i] + sum((c * r[i - 1 - j] for j, c in enumerate(a)), torch.zeros_like(error))
            k = -total / error
            a = [c + k * a[i - 2 - j] for j, c in enumerate(a)] + [k]
            error = error * (1 - k * k)
        return torch.stack(a, -1), error

    return linear_prediction, (source.normal(batch, frames, length),)


@AUDIO.add("cascaded_filters", (65536, 24, 4), (8, 12, 2))
def _cascaded_filters(source: Source, rows: int, steps: int, stages: int):
    """Second-order sections one after the other, sample by sample."""

    def cascaded_filters(x: Tensor, b: Tensor, a: Tensor) -> Tensor:
        state = [(torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])) for _ in range(stages)]
        out = []
        for t in range(steps):
            y = x[:, t]
            for s in range(stages):
                first, second = state[s]
                new = b[s, 0] * y + first
                state[s] = (b[s, 1] * y - a[s, 0] * new + second, b[s, 2] * y - a[s, 1] * new)
                y = new
            out.append(y)
        return torch.stack(out, 1)

    return cascaded_filters, (
        source.normal(rows, steps), source.uniform(0.1, 0.5, stages, 3), source.uniform(-0.3, 0.3, stages, 2),
    )  # fmt: skip


@AUDIO.add("snake_block", (16, 192, 8192), (1, 4, 40), trains=4, **_TRAINED)
def _snake_block(source: Source, batch: int, channels: int, length: int):
    """x + sin^2(a x) / a before a dilated convolution with normed weights, and a skip (BigVGAN, DAC)."""

    def snake_block(x: Tensor, a: Tensor, v: Tensor, g: Tensor, wanted: Tensor) -> Tensor:
        y = x + torch.sin(a * x).square() / (a + 1e-9)
        w = g * v / v.square().sum((1, 2), keepdim=True).sqrt()
        y = F.conv1d(y, w, padding=9, dilation=3)
        return ((x + y) * wanted).mean()

    return snake_block, (
        source.normal(batch, channels, length), source.uniform(0.5, 1.5, channels, 1),
        source.normal(channels, channels, 7), source.uniform(0.5, 1.5, channels, 1, 1),
        source.normal(batch, channels, length),
    )  # fmt: skip


@AUDIO.add("several_spectra", (16, 65536), (1, 256), trains=1, **_TRAINED)
def _several_spectra(source: Source, batch: int, length: int):
    """Spectral convergence and logarithms of magnitudes at three resolutions."""
    windows = (512, 1024, 2048) if length > 1000 else (16, 32, 64)

    def several_spectra(wave: Tensor, wanted: Tensor) -> Tensor:
        loss = 0
        for size in windows:
            shape = torch.hann_window(size, device=wave.device, dtype=wave.dtype)
            x, y = (
                torch.stft(w, size, size // 4, window=shape, return_complex=True)
                .abs()
                .square()
                .add(1e-4)
                .sqrt()
                for w in (wave, wanted)
            )
            loss = loss + (x - y).square().sum().sqrt() / y.square().sum().sqrt() + (x / y).log().abs().mean()
        return loss

    return several_spectra, (source.normal(batch, length), source.normal(batch, length))


@AUDIO.add("separated_speakers", (64, 3, 64000), (2, 2, 64), trains=1, **_TRAINED)
def _separated_speakers(source: Source, batch: int, speakers: int, length: int):
    """The best assignment of sources by signal to distortion, unmoved by scale."""

    def separated_speakers(x: Tensor, wanted: Tensor) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        y = wanted - wanted.mean(-1, keepdim=True)
        x, y = x[:, :, None], y[:, None]
        scale = (x * y).sum(-1, keepdim=True) / y.square().sum(-1, keepdim=True)
        signal = scale * y
        ratio = 10 * torch.log10(signal.square().sum(-1) / (x - signal).square().sum(-1) + 1e-8)
        orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
        orders = orders if speakers == 3 else [(0, 1), (1, 0)]
        totals = [sum(ratio[:, i, o] for i, o in enumerate(order)) for order in orders]
        return -torch.stack(totals).amax(0).mean() / speakers

    return separated_speakers, tuple(source.normal(batch, speakers, length) for _ in range(2))


@AUDIO.add("pitch_differences", (64, 500, 1024), (2, 4, 64), slack=16.0)
def _pitch_differences(source: Source, batch: int, frames: int, length: int):
    """Cumulative mean normalised differences of YIN by Fourier transforms, and their least."""

    def pitch_differences(x: Tensor) -> tuple[Tensor, Tensor]:
        half = length // 2
        spectrum = torch.fft.rfft(x, 2 * length)
        other = torch.fft.rfft(x[..., :half], 2 * length)
        across = torch.fft.irfft(spectrum * other.conj(), 2 * length)[..., :half]
        power = F.pad(x.square().cumsum(-1), (1, 0))
        energy = power[..., half : 2 * half] - power[..., :half]
        d = energy[..., :1] + energy - 2 * across
        lag = torch.arange(1, half, device=x.device, dtype=x.dtype)
        normed = d[..., 1:] * lag / (d[..., 1:].cumsum(-1) + 1e-3)
        return normed, normed.amin(-1)

    return pitch_differences, (source.normal(batch, frames, length),)


@AUDIO.add("stretched_spectra", (16, 513, 1200), (1, 9, 24))
def _stretched_spectra(source: Source, batch: int, bins: int, frames: int):
    """A phase vocoder: magnitudes between frames, phases from summed differences."""
    rate = 1.3

    def stretched_spectra(size: Tensor, phase: Tensor) -> tuple[Tensor, Tensor]:
        t = torch.arange(0, frames - 2, rate, device=size.device, dtype=size.dtype)
        low = t.long()
        part = t - low
        found = size[..., low] * (1 - part) + size[..., low + 1] * part
        own = torch.linspace(0, torch.pi * 0.25, bins, device=size.device, dtype=size.dtype)[:, None]
        turn = phase[..., low + 1] - phase[..., low] - own
        turn = turn - 2 * torch.pi * torch.round(turn / (2 * torch.pi)) + own
        turned = torch.cat((phase[..., :1], turn[..., :-1]), -1).cumsum(-1)
        return found * torch.cos(turned), found * torch.sin(turned)

    return stretched_spectra, (
        source.uniform(0.1, 1.0, batch, bins, frames), source.uniform(-3.0, 3.0, batch, bins, frames),
    )  # fmt: skip


@AUDIO.add("overlapping_frames", (32, 160000, 400), (2, 400, 40))
def _overlapping_frames(source: Source, batch: int, length: int, window: int):
    """Emphasis, frames of 25 ms every 10 ms, energies, zero crossings, and what is speech."""

    def overlapping_frames(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = torch.cat((x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]), 1)
        frames = x.unfold(1, window, window * 2 // 5)
        frames = frames - frames.mean(-1, keepdim=True)
        energy = frames.square().mean(-1).add(1e-8).log()
        crossings = (frames[..., 1:] * frames[..., :-1] < 0).to(x.dtype).mean(-1)
        least = F.max_pool1d(-energy, 5, 1, 2)
        return energy, crossings, energy + least

    return overlapping_frames, (source.normal(batch, length),)


@AUDIO.add("transducer_joint", (4, 200, 40, 512), (1, 5, 3, 6), trains=3, **_TRAINED)
def _transducer_joint(source: Source, batch: int, frames: int, words: int, classes: int):
    """All pairs of frames and words through a tanh and a layer; blanks and next words of the lattice."""
    width = min(classes, 256)

    def transducer_joint(heard: Tensor, said: Tensor, out: Tensor, word: Tensor) -> Tensor:
        logits = torch.tanh(heard[:, :, None] + said[:, None]) @ out
        total = logits.logsumexp(-1)
        blank = logits[..., 0] - total
        index = word[:, None, :, None].expand(-1, frames, -1, 1)
        step = logits.gather(-1, index)[..., 0] - total
        return -(blank.mean() + step.mean())

    return transducer_joint, (
        source.normal(batch, frames, width), source.normal(batch, words, width),
        source.normal(width, classes) / width**0.5, source.integers(classes, batch, words),
    )  # fmt: skip


__all__ = ["AUDIO"]
