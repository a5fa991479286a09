"""Losses with their gradients: detection, segmentation, contrast, language, reinforcement learning."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from .workload import BFLOAT16, Workloads

LOSSES = Workloads()
_LOSS = {"reduces": True, "slack": 16.0}


@LOSSES.add("focal_loss", (120000, 80), (64, 8), trains=1, **_LOSS)
def _focal_loss(source: Source, rows: int, classes: int):
    """RetinaNet's."""

    def focal_loss(logits: Tensor, targets: Tensor) -> Tensor:
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        p_t = p * targets + (1 - p) * (1 - targets)
        alpha_t = 0.25 * targets + 0.75 * (1 - targets)
        return (alpha_t * ce * (1 - p_t) ** 2).mean()

    return focal_loss, (source.normal(rows, classes), (source.normal(rows, classes) > 2).to(source.dtype))


@LOSSES.add("dice_loss", (16, 8, 512, 512), (2, 4, 8, 8), trains=1, **_LOSS)
def _dice_loss(source: Source, batch: int, classes: int, high: int, wide: int):
    """Soft dice of a segmentation, with cross-entropy."""

    def dice_loss(logits: Tensor, target: Tensor) -> Tensor:
        p = logits.softmax(1)
        hot = F.one_hot(target, classes).permute(0, 3, 1, 2).to(p.dtype)
        both = (p * hot).sum((0, 2, 3))
        all_ = p.sum((0, 2, 3)) + hot.sum((0, 2, 3))
        return 1 - ((2 * both + 1) / (all_ + 1)).mean() + F.cross_entropy(logits, target)

    return dice_loss, (source.normal(batch, classes, high, wide), source.integers(classes, batch, high, wide))


@LOSSES.add("triplet_cosine", (131072, 256), (32, 16), trains=3, **_LOSS)
def _triplet_cosine(source: Source, rows: int, width: int):
    def triplet_cosine(anchor: Tensor, good: Tensor, bad: Tensor) -> Tensor:
        near, far = F.cosine_similarity(anchor, good), F.cosine_similarity(anchor, bad)
        return F.relu(far - near + 0.2).mean()

    return triplet_cosine, tuple(source.normal(rows, width) for _ in range(3))


@LOSSES.add("clip_contrast", (4096, 512), (16, 8), trains=3, **_LOSS)
def _clip_contrast(source: Source, rows: int, width: int):
    def clip_contrast(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
        images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
        logits = scale.exp() * images @ texts.t()
        labels = torch.arange(logits.shape[0], device=logits.device)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2

    return clip_contrast, (source.normal(rows, width), source.normal(rows, width), source.normal(1)[0])


@LOSSES.add("giou_boxes", (1000000,), (64,), trains=1, **_LOSS)
def _giou_boxes(source: Source, boxes: int):
    """Generalised intersection over union, and a smooth L1, of pairs of boxes."""

    def giou_boxes(given: Tensor, target: Tensor) -> Tensor:
        low = torch.max(given[:, :2], target[:, :2])
        high = torch.min(given[:, 2:], target[:, 2:])
        inner = (high - low).clamp(min=0).prod(1)
        areas = [(b[:, 2:] - b[:, :2]).prod(1) for b in (given, target)]
        union = areas[0] + areas[1] - inner
        around = torch.max(given[:, 2:], target[:, 2:]) - torch.min(given[:, :2], target[:, :2])
        hull = around.clamp(min=0).prod(1)
        giou = inner / (union + 1e-7) - (hull - union) / (hull + 1e-7)
        return (1 - giou).mean() + F.smooth_l1_loss(given, target, beta=0.1)

    corners = (source.uniform(0.0, 0.5, boxes, 2), source.uniform(0.6, 1.0, boxes, 2))
    moved = tuple(c + source.uniform(-0.05, 0.05, boxes, 2) for c in corners)
    return giou_boxes, (torch.cat(corners, 1), torch.cat(moved, 1))


@LOSSES.add("smoothed_cross_entropy", (8192, 32000), (16, 64), BFLOAT16, trains=1, **_LOSS)
def _smoothed_cross_entropy(source: Source, rows: int, classes: int):
    def smoothed_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits.float(), target, label_smoothing=0.1, ignore_index=0)

    return smoothed_cross_entropy, (source.normal(rows, classes), source.integers(classes, rows))


@LOSSES.add("vae_elbo", (8192, 3072, 256), (8, 32, 8), trains=4, **_LOSS)
def _vae_elbo(source: Source, rows: int, pixels: int, latent: int):
    def vae_elbo(logits: Tensor, mean: Tensor, log_var: Tensor, x: Tensor) -> Tensor:
        seen = F.binary_cross_entropy_with_logits(logits, torch.sigmoid(x), reduction="none").sum(1)
        prior = -0.5 * (1 + log_var - mean.square() - log_var.exp()).sum(1)
        return (seen + prior).mean()

    parts = (source.normal(rows, pixels), *(source.normal(rows, latent) for _ in range(2)))
    return vae_elbo, (*parts, source.normal(rows, pixels))


@LOSSES.add("ppo_loss", (2000000, 8), (128, 4), trains=2, **_LOSS)
def _ppo_loss(source: Source, steps: int, actions: int):
    def ppo_loss(logits: Tensor, value: Tensor, action: Tensor, old: Tensor, gain: Tensor, returns: Tensor):
        log_p = logits.log_softmax(-1)
        ratio = (log_p.gather(1, action[:, None])[:, 0] - old).exp()
        advantage = (gain - gain.mean()) / (gain.std() + 1e-8)
        policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        return policy + 0.5 * F.mse_loss(value, returns) - 0.01 * entropy

    args = (source.normal(steps, actions), source.normal(steps), source.integers(actions, steps))
    return ppo_loss, (*args, source.uniform(-3.0, -1.0, steps), source.normal(steps), source.normal(steps))


@LOSSES.add("dpo_loss", (8, 256, 32000), (2, 8, 40), BFLOAT16, trains=1, **_LOSS)
def _dpo_loss(source: Source, pairs: int, length: int, words: int):
    """The first half of the rows is preferred to the second."""

    def dpo_loss(logits: Tensor, reference: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        log_p = logits.float().log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
        total = (log_p * mask).sum(-1) - reference
        chosen, rejected = total.chunk(2)
        return -F.logsigmoid(0.1 * (chosen - rejected)).mean()

    tokens = source.integers(words, pairs, length)
    mask = (source.integers(4, pairs, length) > 0).float()
    return dpo_loss, (source.normal(pairs, length, words), source.normal(pairs).float(), tokens, mask)


@LOSSES.add("charbonnier_total_variation", (16, 3, 512, 512), (2, 3, 8, 8), trains=1, **_LOSS)
def _charbonnier(source: Source, *shape: int):
    """Of image restoration."""

    def charbonnier_total_variation(x: Tensor, y: Tensor) -> Tensor:
        near = ((x - y).square() + 1e-6).sqrt().mean()
        across = (x[..., 1:] - x[..., :-1]).abs().mean()
        return near + 0.1 * (across + (x[..., 1:, :] - x[..., :-1, :]).abs().mean())

    return charbonnier_total_variation, (source.normal(*shape), source.normal(*shape))


@LOSSES.add("gaussian_likelihood", (8000000,), (512,), trains=2, **_LOSS)
def _gaussian_likelihood(source: Source, count: int):
    def gaussian_likelihood(mean: Tensor, raw: Tensor, x: Tensor) -> Tensor:
        variance = F.softplus(raw) + 1e-4
        return 0.5 * (variance.log() + (x - mean).square() / variance).mean()

    return gaussian_likelihood, tuple(source.normal(count) for _ in range(3))


@LOSSES.add("vicreg", (4096, 1024), (16, 8), trains=2, **_LOSS)
def _vicreg(source: Source, rows: int, width: int):
    """Variance, invariance and covariance of two views of a batch."""

    def off_diagonal(x: Tensor) -> Tensor:
        x = x - x.mean(0)
        covariance = x.t() @ x / (rows - 1)
        return (covariance.square().sum() - covariance.diagonal().square().sum()) / width

    def spread(x: Tensor) -> Tensor:
        return F.relu(1 - (x.var(0) + 1e-4).sqrt()).mean()

    def vicreg(x: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(x, y) * 25 + (spread(x) + spread(y)) * 25 + off_diagonal(x) + off_diagonal(y)

    return vicreg, (source.normal(rows, width), source.normal(rows, width))


__all__ = ["LOSSES"]
