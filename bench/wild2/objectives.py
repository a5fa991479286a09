"""Losses of metric and reinforcement learning, and steps of less usual optimizers."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import BFLOAT16, Workloads, lists

OBJECTIVES = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@OBJECTIVES.add("angular_margin", (1024, 128, 20000), (8, 4, 12), trains=2, **_TRAINED)
def _angular_margin(source: Source, rows: int, width: int, classes: int):
    """A margin on the angle to the own class, before a scaled cross entropy (ArcFace)."""

    def angular_margin(x: Tensor, w: Tensor, label: Tensor) -> Tensor:
        cosine = F.normalize(x, dim=1) @ F.normalize(w, dim=1).T
        own = cosine.gather(1, label[:, None])
        moved = own * 0.8776 - (1 - own.square()).clamp(min=1e-6).sqrt() * 0.4794
        moved = torch.where(own > -0.8776, moved, own - 0.2397)
        return F.cross_entropy(64 * cosine.scatter(1, label[:, None], moved), label)

    return angular_margin, (
        source.normal(rows, width), source.normal(classes, width), source.integers(classes, rows),
    )  # fmt: skip


@OBJECTIVES.add("labelled_contrast", (4096, 128), (8, 4), trains=1, **_TRAINED)
def _labelled_contrast(source: Source, rows: int, width: int):
    """All views of a class attract each other (supervised contrast)."""

    def labelled_contrast(x: Tensor, label: Tensor) -> Tensor:
        x = F.normalize(x, dim=1)
        logits = x @ x.T / 0.1
        logits = logits - logits.detach().amax(1, keepdim=True)
        other = ~torch.eye(rows, dtype=torch.bool, device=x.device)
        total = (logits.exp() * other).sum(1, keepdim=True).log()
        same = (label[:, None] == label) & other
        return -((logits - total) * same).sum(1).div(same.sum(1).clamp(min=1)).mean()

    return labelled_contrast, (source.normal(rows, width), source.integers(rows // 4, rows))


@OBJECTIVES.add("sorted_errors", (32, 262144), (2, 24), trains=1, **_TRAINED)
def _sorted_errors(source: Source, batch: int, pixels: int):
    """Lovasz' hinge: errors sorted, weighed by steps of the Jaccard index."""

    def sorted_errors(logits: Tensor, label: Tensor) -> Tensor:
        errors = 1 - logits * (2 * label - 1)
        order = errors.sort(1, descending=True)
        truth = label.gather(1, order.indices)
        total = truth.sum(1, keepdim=True)
        jaccard = 1 - (total - truth.cumsum(1)) / (total + (1 - truth).cumsum(1))
        steps = torch.cat((jaccard[:, :1], jaccard[:, 1:] - jaccard[:, :-1]), 1)
        return (F.elu(order.values) + 1).mul(steps).sum(1).mean()

    label = (source.normal(batch, pixels) > 0.5).to(source.dtype)
    return sorted_errors, (source.normal(batch, pixels), label)


@OBJECTIVES.add("sliced_transport", (16384, 64, 128), (12, 4, 3), trains=1, **_TRAINED)
def _sliced_transport(source: Source, points: int, width: int, slices: int):
    """Distances of sorted projections of two clouds."""

    def sliced_transport(x: Tensor, y: Tensor, ways: Tensor) -> Tensor:
        ways = F.normalize(ways, dim=0)
        return ((x @ ways).sort(0).values - (y @ ways).sort(0).values).square().mean()

    clouds = (source.normal(points, width) for _ in range(2))
    return sliced_transport, (*clouds, source.normal(width, slices))


@OBJECTIVES.add("kernel_discrepancy", (2048, 64), (8, 4), trains=1, **_TRAINED)
def _kernel_discrepancy(source: Source, rows: int, width: int):
    """Five bandwidths of a Gaussian kernel over both samples (MMD)."""

    def kernel_discrepancy(x: Tensor, y: Tensor) -> Tensor:
        both = torch.cat((x, y))
        size = both.square().sum(1)
        far = (size[:, None] + size - 2 * both @ both.T).clamp(min=0)
        width = far.detach().mean()
        kernel = sum(torch.exp(-far / (width * 2.0**i)) for i in range(-2, 3))
        xx, yy, xy = kernel[:rows, :rows], kernel[rows:, rows:], kernel[:rows, rows:]
        return xx.mean() + yy.mean() - 2 * xy.mean()

    return kernel_discrepancy, (source.normal(rows, width), source.normal(rows, width) + 0.5)


@OBJECTIVES.add("quantile_differences", (8192, 64), (6, 4), trains=1, **_TRAINED)
def _quantile_differences(source: Source, rows: int, quantiles: int):
    """Huber's loss of all pairs of quantiles, weighed by their levels (QR-DQN)."""

    def quantile_differences(now: Tensor, after: Tensor, reward: Tensor, going: Tensor) -> Tensor:
        target = reward[:, None] + 0.99 * going[:, None] * after
        apart = target[:, None] - now[:, :, None]
        levels = (torch.arange(quantiles, device=now.device, dtype=now.dtype) + 0.5) / quantiles
        huber = torch.where(apart.abs() <= 1, 0.5 * apart**2, apart.abs() - 0.5)
        weight = (levels[:, None] - (apart.detach() < 0).to(now.dtype)).abs()
        return (weight * huber).mean(2).sum(1).mean()

    return quantile_differences, (
        source.normal(rows, quantiles), source.normal(rows, quantiles), source.normal(rows),
        source.uniform(0.0, 1.0, rows).round(),
    )  # fmt: skip


@OBJECTIVES.add("projected_returns", (65536, 51), (6, 5), trains=1, **_TRAINED)
def _projected_returns(source: Source, rows: int, atoms: int):
    """A moved and shrunk distribution put back on fixed places, and the cross entropy (C51)."""

    def projected_returns(logits: Tensor, after: Tensor, reward: Tensor) -> Tensor:
        z = torch.linspace(-10, 10, atoms, device=logits.device, dtype=logits.dtype)
        b = ((reward[:, None] + 0.97 * z).clamp(-10, 10) + 10) * (atoms - 1) / 20
        low = b.floor()
        part = b - low
        low = low.long()
        target = torch.zeros_like(after).scatter_add(1, low, after * (1 - part))
        target = target.scatter_add(1, (low + 1).clamp(max=atoms - 1), after * part)
        return -(target * logits.log_softmax(-1)).sum(-1).mean()

    return projected_returns, (
        source.normal(rows, atoms), source.normal(rows, atoms).softmax(-1), source.normal(rows),
    )  # fmt: skip


@OBJECTIVES.add("squashed_actions", (262144, 17), (8, 3), trains=2, **_TRAINED)
def _squashed_actions(source: Source, rows: int, actions: int):
    """Actions drawn through a tanh, their likelihoods, and the less of two critics (SAC)."""

    def squashed_actions(mean: Tensor, spread: Tensor, noise: Tensor, critics: Tensor) -> Tensor:
        log_std = -5 + 3.5 * (torch.tanh(spread) + 1)
        drawn = mean + log_std.exp() * noise
        a = torch.tanh(drawn)
        likely = (-0.5 * noise.square() - log_std - 0.919).sum(-1)
        likely = likely - (2 * (0.6931 - drawn - F.softplus(-2 * drawn))).sum(-1)
        value = torch.minimum(*(a @ critics).tanh().unbind(-1))
        return (0.2 * likely - value).mean()

    return squashed_actions, (
        source.normal(rows, actions), source.normal(rows, actions), source.normal(rows, actions),
        source.normal(actions, 2),
    )  # fmt: skip


@OBJECTIVES.add("mixed_densities", (131072, 20), (8, 3), trains=1, **_TRAINED)
def _mixed_densities(source: Source, rows: int, parts: int):
    """Pen strokes under a mixture of correlated Gaussians, as handwriting models have."""

    def mixed_densities(out: Tensor, at: Tensor) -> Tensor:
        weight, mx, my, sx, sy, turn = out.chunk(6, -1)
        r = torch.tanh(turn) * 0.95
        dx, dy = (at[:, :1] - mx) * torch.exp(-sx), (at[:, 1:] - my) * torch.exp(-sy)
        rest = 1 - r * r
        z = (dx * dx + dy * dy - 2 * r * dx * dy) / (2 * rest)
        each = weight.log_softmax(-1) - sx - sy - 0.5 * rest.log() - 1.8379 - z
        return -each.logsumexp(-1).mean()

    return mixed_densities, (source.normal(rows, 6 * parts), source.normal(rows, 2))


@OBJECTIVES.add(
    "regularised_vocabulary", (2048, 151936), (4, 24), BFLOAT16, trains=1, reduces=True, slack=4.0
)
def _regularised_vocabulary(source: Source, rows: int, words: int):
    """Cross entropy over a large vocabulary with capped logits, a z-loss and ignored labels."""

    def regularised_vocabulary(logits: Tensor, label: Tensor) -> Tensor:
        x = 30 * torch.tanh(logits.float() / 30)
        total = torch.logsumexp(x, -1)
        kept = label >= 0
        own = x.gather(1, label.clamp(min=0)[:, None])[:, 0]
        loss = torch.where(kept, total - own + 1e-4 * total.square(), 0)
        return loss.sum() / kept.sum()

    label = source.integers(words, rows)
    return regularised_vocabulary, (source.normal(rows, words), torch.where(label % 7 == 0, -100, label))


@OBJECTIVES.add("asymmetric_labels", (32768, 400), (6, 5), trains=1, **_TRAINED)
def _asymmetric_labels(source: Source, rows: int, classes: int):
    """Positives and shifted negatives of many labels focused differently (ASL)."""

    def asymmetric_labels(x: Tensor, y: Tensor) -> Tensor:
        p = torch.sigmoid(x)
        no = (1 - p + 0.05).clamp(max=1)
        loss = y * p.clamp(min=1e-8).log() + (1 - y) * no.clamp(min=1e-8).log()
        with torch.no_grad():
            sure = p * y + no * (1 - y)
            weight = (1 - sure) ** (y + 4 * (1 - y))
        return -(loss * weight).sum(1).mean()

    return asymmetric_labels, (
        source.normal(rows, classes), (source.normal(rows, classes) > 1.5).to(source.dtype),
    )  # fmt: skip


@OBJECTIVES.add("averaged_steps", (12, 1024, 1024), (2, 4, 6), mutates=True)
def _averaged_steps(source: Source, tensors: int, *shape: int):
    """Schedule-free AdamW, in place: the point of gradients lies between an average and a fast one."""

    def averaged_steps(points, gradients, fast, seconds) -> None:
        torch._foreach_mul_(seconds, 0.999)
        torch._foreach_addcmul_(seconds, gradients, gradients, 0.001)
        roots = torch._foreach_sqrt(seconds)
        torch._foreach_add_(roots, 1e-3)
        steps = torch._foreach_div(gradients, roots)
        torch._foreach_add_(steps, points, alpha=0.01)
        torch._foreach_lerp_(points, fast, 0.05)
        torch._foreach_add_(points, steps, alpha=-0.0001)
        torch._foreach_sub_(fast, steps, alpha=0.002)

    points, gradients, fast, seconds = lists(source, 4, tensors, *shape)
    return averaged_steps, (points, gradients, fast, [s.square() for s in seconds])


@OBJECTIVES.add("clipped_curvature", (4096, 8192), (6, 8), mutates=True)
def _clipped_curvature(source: Source, *shape: int):
    """Sophia's step: momentum over a curvature, clipped, with the share that was."""

    def clipped_curvature(p: Tensor, m: Tensor, h: Tensor, g: Tensor) -> Tensor:
        m.lerp_(g, 0.04)
        h.mul_(0.99).addcmul_(g, g, value=0.01)
        ratio = m / (0.05 * h).clamp(min=1e-2)
        p.mul_(0.999).sub_(0.001 * ratio.clamp(-1, 1))
        return (ratio.abs() < 1).to(p.dtype).mean()

    first = [source.normal(*shape) for _ in range(4)]
    first[2] = first[2].square()
    return clipped_curvature, tuple(first)


@OBJECTIVES.add("clipped_by_units", (12, 1024, 1024), (2, 4, 6))
def _clipped_by_units(source: Source, tensors: int, *shape: int):
    """Gradients of each row no longer than a share of its weights (AGC), and a step with momentum."""

    def clipped_by_units(weights, gradients, momenta):
        new, moved = [], []
        for w, g, m in zip(weights, gradients, momenta, strict=True):
            most = w.square().sum(1, keepdim=True).sqrt().clamp(min=1e-3) * 0.01
            size = g.square().sum(1, keepdim=True).sqrt()
            m = 0.9 * m + torch.where(size > most, g * (most / size.clamp(min=1e-6)), g)
            moved.append(m)
            new.append(w - 0.1 * m)
        return new, moved

    return clipped_by_units, lists(source, 3, tensors, *shape)


@OBJECTIVES.add("one_rate_a_row", (8192, 4096), (6, 8), BFLOAT16, slack=4.0)
def _one_rate_a_row(source: Source, rows: int, columns: int):
    """One second moment for each row, weights in bfloat16 with a float32 remainder (Adam-mini)."""

    def one_rate_a_row(p: Tensor, rest: Tensor, g: Tensor, m: Tensor, v: Tensor):
        g = g.float()
        v = 0.95 * v + 0.05 * g.square().mean(1)
        m = 0.9 * m + 0.1 * g
        full = p.float() + rest
        full = full - 0.001 * (m / (v.sqrt() + 1e-6)[:, None] + 0.1 * full)
        return full, m, v

    return one_rate_a_row, (
        source.normal(rows, columns), source.normal(rows, columns, dtype=torch.float32) * 1e-3,
        source.normal(rows, columns), source.normal(rows, columns, dtype=torch.float32),
        source.normal(rows, dtype=torch.float32).square(),
    )  # fmt: skip


__all__ = ["OBJECTIVES"]
