"""Vision: detection heads, matching, filters, and blocks of small networks in training."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from ..wild.workload import BFLOAT16, Workloads

IMAGES = Workloads()
_TRAINED = {"reduces": True, "slack": 16.0}


@IMAGES.add("deformed_samples", (4, 64, 128, 128, 9), (1, 4, 6, 6, 9), trains=2, **_TRAINED)
def _deformed_samples(source: Source, batch: int, channels: int, high: int, wide: int, taps: int):
    """Features read between places that offsets move, weighed by masks: modulated deformable convolution."""

    def deformed_samples(x: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
        row = torch.arange(high, device=x.device, dtype=x.dtype)[:, None, None]
        column = torch.arange(wide, device=x.device, dtype=x.dtype)[None, :, None]
        tap = torch.arange(taps, device=x.device)
        y = row + (tap // 3 - 1) + offset[..., 0]
        z = column + (tap % 3 - 1) + offset[..., 1]
        y0, z0 = y.floor(), z.floor()
        found = 0
        for i in (0, 1):
            for j in (0, 1):
                yi, zj = y0 + i, z0 + j
                weight = (1 - (y - yi).abs()) * (1 - (z - zj).abs())
                inside = (yi >= 0) & (yi < high) & (zj >= 0) & (zj < wide)
                flat = yi.clamp(0, high - 1).long() * wide + zj.clamp(0, wide - 1).long()
                picked = x.gather(1, flat.view(batch, -1, 1).expand(-1, -1, channels))
                found = found + picked.view(*flat.shape, channels) * (weight * inside * mask)[..., None]
        return found.sum(3).square().mean()

    return deformed_samples, (
        source.normal(batch, high * wide, channels), source.normal(batch, high, wide, taps, 2),
        source.uniform(0.0, 1.0, batch, high, wide, taps),
    )  # fmt: skip


@IMAGES.add("pooled_regions", (512, 256, 100, 152), (3, 4, 12, 10))
def _pooled_regions(source: Source, boxes: int, channels: int, high: int, wide: int):
    """Boxes of a feature map, seven by seven samples each, between four places; channels last."""

    def pooled_regions(x: Tensor, box: Tensor) -> Tensor:
        step = (torch.arange(7, device=x.device, dtype=x.dtype) + 0.5) / 7
        y = (box[:, 0, None] + step * box[:, 2, None]).clamp(0, high - 1.001)
        z = (box[:, 1, None] + step * box[:, 3, None]).clamp(0, wide - 1.001)
        y0, z0 = y.long(), z.long()
        fy, fz = (y - y0)[:, :, None, None], (z - z0)[:, None, :, None]
        y0, z0 = y0[:, :, None], z0[:, None]
        top = x[y0, z0] * (1 - fz) + x[y0, z0 + 1] * fz
        bottom = x[y0 + 1, z0] * (1 - fz) + x[y0 + 1, z0 + 1] * fz
        return top * (1 - fy) + bottom * fy

    return pooled_regions, (
        source.normal(high, wide, channels),
        source.uniform(0.0, 0.45, boxes, 4) * torch.tensor([high, wide, high, wide], device=source.device),
    )  # fmt: skip


@IMAGES.add("correlation_look_up", (2, 46, 62, 4), (1, 4, 6, 1))
def _correlation_look_up(source: Source, batch: int, high: int, wide: int, radius: int):
    """Windows of all-pairs correlations about moving centres, between places, as in RAFT."""
    side = 2 * radius + 1

    def correlation_look_up(volume: Tensor, flow: Tensor) -> Tensor:
        d = torch.arange(-radius, radius + 1, device=flow.device, dtype=flow.dtype)
        y = (flow[:, 0, None, None] + d[:, None]).clamp(0, high - 1.001)
        z = (flow[:, 1, None, None] + d[None]).clamp(0, wide - 1.001)
        y, z = torch.broadcast_tensors(y, z)
        y0, z0 = y.long(), z.long()
        fy, fz = y - y0, z - z0
        flat = (y0 * wide + z0).view(-1, side * side)

        def read(shift: int) -> Tensor:
            return volume.gather(1, flat + shift).view(fy.shape)

        top = read(0) * (1 - fz) + read(1) * fz
        bottom = read(wide) * (1 - fz) + read(wide + 1) * fz
        return top * (1 - fy) + bottom * fy

    pixels = batch * high * wide
    centres = source.uniform(0.0, 1.0, pixels, 2) * torch.tensor([high, wide], device=source.device)
    return correlation_look_up, (source.normal(pixels, high * wide), centres)


@IMAGES.add("detected_peaks", (16, 80, 128, 128), (2, 3, 16, 16))
def _detected_peaks(source: Source, batch: int, classes: int, high: int, wide: int):
    """Local maxima of heat maps, the hundred best, and their sizes, as in CenterNet."""

    def detected_peaks(heat: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        heat = heat.sigmoid()
        kept = heat * (F.max_pool2d(heat, 3, 1, 1) == heat)
        score, place = kept.flatten(1).topk(100)
        pixel = place % (high * wide)
        found = size.flatten(2).gather(2, pixel[:, None].expand(-1, 2, -1))
        return score, found

    return detected_peaks, (
        source.normal(batch, classes, high, wide), source.uniform(1.0, 9.0, batch, 2, high, wide),
    )  # fmt: skip


@IMAGES.add("box_decoding", (16, 33600, 80, 16), (2, 24, 3, 4))
def _box_decoding(source: Source, batch: int, anchors: int, classes: int, bins: int):
    """Distances to four sides as means of distributions, class scores, corners (YOLOv8, GFL)."""

    def box_decoding(x: Tensor, centre: Tensor, stride: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sides, logits = x.split((4 * bins, classes), -1)
        steps = torch.arange(bins, device=x.device, dtype=x.dtype)
        far = sides.unflatten(-1, (4, bins)).softmax(-1) @ steps
        low, high = centre - far[..., :2], centre + far[..., 2:]
        return torch.cat((low, high), -1) * stride[:, None], logits.amax(-1).sigmoid(), logits

    return box_decoding, (
        source.normal(batch, anchors, 4 * bins + classes), source.uniform(0.0, 80.0, anchors, 2),
        source.uniform(8.0, 32.0, anchors),
    )  # fmt: skip


@IMAGES.add("matrix_suppression", (32, 1024), (2, 12))
def _matrix_suppression(source: Source, images: int, boxes: int):
    """Scores lowered by overlaps with better boxes of the same class (matrix NMS of SOLO)."""

    def matrix_suppression(box: Tensor, score: Tensor, kind: Tensor) -> Tensor:
        low = torch.maximum(box[:, :, None, :2], box[:, None, :, :2])
        high = torch.minimum(box[:, :, None, 2:], box[:, None, :, 2:])
        both = (high - low).clamp(min=0).prod(-1)
        area = (box[..., 2:] - box[..., :2]).prod(-1)
        overlap = both / (area[:, :, None] + area[:, None] - both)
        overlap = (overlap * (kind[:, :, None] == kind[:, None])).triu(1)
        worst = overlap.amax(1)
        fade = torch.exp(-2 * (overlap**2 - worst[:, :, None] ** 2)).amin(1)
        return score * fade

    corner = source.uniform(0.0, 1.0, images, boxes, 2)
    box = torch.cat((corner, corner + source.uniform(0.05, 0.5, images, boxes, 2)), -1)
    score = source.uniform(0.0, 1.0, images, boxes).sort(1, descending=True).values
    return matrix_suppression, (box, score, source.integers(4, images, boxes))


@IMAGES.add("matching_costs", (16, 900, 80, 60), (2, 10, 3, 4))
def _matching_costs(source: Source, batch: int, queries: int, classes: int, targets: int):
    """Costs of all pairs of predictions and targets: focal, distance, overlap (DETR)."""

    def matching_costs(logits: Tensor, box: Tensor, kind: Tensor, wanted: Tensor) -> Tensor:
        p = logits.sigmoid()
        no = 0.75 * p**2 * -(1 - p + 1e-8).log()
        yes = 0.25 * (1 - p) ** 2 * -(p + 1e-8).log()
        index = kind[:, None].expand(-1, queries, -1)
        cost = 2 * (yes - no).gather(2, index) + 5 * torch.cdist(box, wanted, p=1)
        a, b = box[:, :, None], wanted[:, None]
        alow, ahigh, blow, bhigh = (
            x for t in (a, b) for x in (t[..., :2] - t[..., 2:] / 2, t[..., :2] + t[..., 2:] / 2)
        )
        both = (torch.minimum(ahigh, bhigh) - torch.maximum(alow, blow)).clamp(min=0).prod(-1)
        either = a[..., 2:].prod(-1) + b[..., 2:].prod(-1) - both
        hull = (torch.maximum(ahigh, bhigh) - torch.minimum(alow, blow)).prod(-1)
        return cost - 2 * (both / either - (hull - either) / hull)

    return matching_costs, (
        source.normal(batch, queries, classes), source.uniform(0.1, 0.9, batch, queries, 4),
        source.integers(classes, batch, targets), source.uniform(0.1, 0.9, batch, targets, 4),
    )  # fmt: skip


@IMAGES.add("matched_histograms", (48, 262144), (2, 64))
def _matched_histograms(source: Source, channels: int, pixels: int):
    """Levels of one image so changed that their shares are those of another."""

    def shares(x: Tensor) -> Tensor:
        first = torch.arange(channels, device=x.device)[:, None] * 256
        flat = (x.long() + first).flatten()
        count = torch.zeros(channels * 256, device=x.device).index_add(0, flat, torch.ones_like(flat) * 1.0)
        return count.view(channels, 256).cumsum(1) / pixels

    def matched_histograms(x: Tensor, y: Tensor) -> Tensor:
        table = torch.searchsorted(shares(y), shares(x) - 1e-4).clamp(max=255)
        return table.gather(1, x.long()).to(torch.uint8)

    return matched_histograms, tuple(
        source.integers(high, channels, pixels).to(torch.uint8) for high in (200, 256)
    )


@IMAGES.add("bilateral_filter", (8, 3, 512, 512), (1, 3, 10, 10))
def _bilateral_filter(source: Source, batch: int, channels: int, high: int, wide: int):
    """Five by five, weighed by place and colour (kornia)."""

    def bilateral_filter(x: Tensor) -> Tensor:
        near = F.pad(x, (2, 2, 2, 2), mode="reflect").unfold(2, 5, 1).unfold(3, 5, 1)
        far = (near - x[..., None, None]).abs().sum(1, keepdim=True)
        d = torch.arange(-2, 3, device=x.device, dtype=x.dtype)
        weight = torch.exp(-(far**2) / 0.5 - (d[:, None] ** 2 + d**2) / 4)
        return (near * weight).sum((-1, -2)) / weight.sum((-1, -2))

    return bilateral_filter, (source.uniform(0.0, 1.0, batch, channels, high, wide),)


@IMAGES.add("structural_similarity", (8, 3, 512, 512), (1, 2, 16, 16), trains=1, **_TRAINED)
def _structural_similarity(source: Source, batch: int, channels: int, high: int, wide: int):
    """Means, variances and covariance under a Gaussian of eleven."""

    def structural_similarity(x: Tensor, y: Tensor) -> Tensor:
        d = torch.arange(-5, 6, device=x.device, dtype=x.dtype)
        g = torch.exp(-(d**2) / 4.5)
        g = (g / g.sum()).expand(5 * channels, 1, 1, 11)
        maps = torch.cat((x, y, x * x, y * y, x * y), 1)
        maps = F.conv2d(F.conv2d(maps, g, groups=5 * channels), g.mT, groups=5 * channels)
        mx, my, xx, yy, xy = maps.chunk(5, 1)
        top = (2 * mx * my + 1e-4) * (2 * (xy - mx * my) + 9e-4)
        bottom = (mx**2 + my**2 + 1e-4) * (xx - mx**2 + yy - my**2 + 9e-4)
        return 1 - (top / bottom).mean()

    return structural_similarity, tuple(
        source.uniform(0.0, 1.0, batch, channels, high, wide) for _ in range(2)
    )


@IMAGES.add("stereo_volume", (2, 32, 48, 128, 240), (1, 4, 4, 6, 10))
def _stereo_volume(source: Source, batch: int, channels: int, depths: int, high: int, wide: int):
    """Correlations of the left image with the right one moved, a softmax over moves, and its mean."""

    def stereo_volume(left: Tensor, right: Tensor) -> Tensor:
        costs = []
        for d in range(depths):
            moved = F.pad(right, (d, 0))[..., :wide]
            costs.append((left * moved).mean(1))
        p = torch.stack(costs, 1).softmax(1)
        steps = torch.arange(depths, device=left.device, dtype=left.dtype)
        return (p * steps[:, None, None]).sum(1)

    return stereo_volume, tuple(source.normal(batch, channels, high, wide) for _ in range(2))


@IMAGES.add("block_compression", (16, 3, 512, 512), (1, 3, 16, 16), trains=1, **_TRAINED)
def _block_compression(source: Source, batch: int, channels: int, high: int, wide: int):
    """Cosine transforms of eight by eight, rounded straight through, and back (differentiable JPEG)."""

    def block_compression(x: Tensor, dct: Tensor, table: Tensor) -> Tensor:
        blocks = x.unflatten(2, (-1, 8)).unflatten(4, (-1, 8)).transpose(3, 4)
        spectrum = dct @ (blocks - 0.5) @ dct.T / table
        rounded = spectrum + (spectrum.round() - spectrum).detach()
        found = dct.T @ (rounded * table) @ dct + 0.5
        return (found.transpose(3, 4).reshape(x.shape) - x).square().mean()

    k = torch.arange(8, device=source.device, dtype=source.dtype)
    dct = torch.cos(torch.pi * (k + 0.5) * k[:, None] / 8) * torch.where(k[:, None] == 0, 0.125, 0.25).sqrt()
    args = (source.uniform(0.0, 1.0, batch, channels, high, wide), dct, source.uniform(0.05, 0.5, 8, 8))
    return block_compression, args


@IMAGES.add("gated_depthwise", (32, 96, 56, 56), (2, 4, 6, 6), trains=4, reduces=True, slack=4.0)
def _gated_depthwise(source: Source, batch: int, width: int, high: int, wide: int):
    """Depthwise five by five between batch norms of a training step, hard swishes, and weighed channels;
    channels last, autocast, as in MobileNetV3.
    """

    def gated_depthwise(x: Tensor, up: Tensor, deep: Tensor, norms: Tensor, gate: Tensor, wanted: Tensor):
        with torch.autocast(x.device.type, torch.bfloat16):
            y = F.conv2d(x, up)
            y = F.hardswish(F.batch_norm(y, None, None, norms[0], norms[1], training=True))
            y = F.conv2d(y, deep, padding=2, groups=3 * width)
            y = F.batch_norm(y, None, None, norms[2], norms[3], training=True)
            y = F.hardswish(y * F.hardsigmoid(y.mean((2, 3)) @ gate)[:, :, None, None])
        return (y.to(wanted.dtype) * wanted).mean()

    def last(*shape: int) -> Tensor:
        return source.normal(*shape).contiguous(memory_format=torch.channels_last)

    inner = 3 * width
    return gated_depthwise, (
        last(batch, width, high, wide), last(inner, width, 1, 1) / width**0.5, last(inner, 1, 5, 5) / 5,
        source.uniform(0.5, 1.5, 4, inner), source.normal(inner, inner) / inner**0.5,
        last(batch, inner, high, wide),
    )  # fmt: skip


@IMAGES.add("two_branches", (64, 64, 56, 56), (2, 4, 6, 6), trains=3, reduces=True, slack=4.0)
def _two_branches(source: Source, batch: int, width: int, high: int, wide: int):
    """A depthwise and a plain branch of batch norms, their sum rectified: RepVGG in training, bfloat16."""

    def two_branches(x: Tensor, deep: Tensor, norms: Tensor, wanted: Tensor) -> Tensor:
        a = F.batch_norm(F.conv2d(x, deep, padding=1, groups=width), None, None, norms[0], norms[1], True)
        b = F.batch_norm(x, None, None, norms[2], norms[3], True)
        return (F.relu(a + b) * wanted).float().mean()

    args = (source.normal(batch, width, high, wide), source.normal(width, 1, 3, 3) / 3)
    return two_branches, (
        *args, source.uniform(0.5, 1.5, 4, width), source.normal(batch, width, high, wide),
    )  # fmt: skip


# the scales' gradients are few sums in which much cancels
@IMAGES.add("cosine_windows", (8, 56, 96, 3), (1, 8, 6, 2), trains=4, reduces=True, slack=64.0)
def _cosine_windows(source: Source, batch: int, side: int, width: int, heads: int):
    """Rolled windows, cosines by a learned scale, a bias by logarithms of distances: Swin V2, training."""
    w = 7 if side % 7 == 0 else 4

    def cosine_windows(x: Tensor, qkv: Tensor, scale: Tensor, table: Tensor, place: Tensor, mask: Tensor):
        def parts(t: Tensor) -> Tensor:
            n = side // w
            return t.view(batch, n, w, n, w, -1).transpose(2, 3).reshape(batch * n * n, w * w, -1)

        y = parts(x.roll((-(w // 2), -(w // 2)), (1, 2))) @ qkv
        q, k, v = y.view(-1, w * w, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        score = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT
        score = score * scale.clamp(max=4.6).exp()[:, None, None]
        bias = 16 * torch.sigmoid(table)[place].permute(2, 0, 1)
        score = score.view(batch, -1, heads, w * w, w * w) + bias + mask[:, None]
        found = (score.softmax(-1).flatten(0, 1) @ v).transpose(1, 2).reshape(-1, w * w, width)
        return (found - parts(x)).square().mean()

    k = torch.arange(w, device=source.device)
    near = (k[:, None] - k + w - 1)[:, None, :, None] * (2 * w - 1) + (k[:, None] - k + w - 1)[None, :, None]
    region = torch.zeros(side, device=source.device)
    region[-w:], region[-(w // 2) :] = 1, 2
    kind = (region[:, None] * 3 + region).view(side // w, w, -1, w).transpose(1, 2).reshape(-1, w * w)
    mask = torch.where(kind[:, :, None] == kind[:, None], 0.0, -100.0).to(source.dtype)
    return cosine_windows, (
        source.normal(batch, side, side, width), source.normal(width, 3 * width) / width**0.5,
        source.normal(heads) + 2, source.normal((2 * w - 1) ** 2, heads), near.reshape(w * w, w * w), mask,
    )  # fmt: skip


@IMAGES.add("grid_attention", (8, 56, 128, 4), (1, 8, 6, 2), BFLOAT16, slack=4.0)
def _grid_attention(source: Source, batch: int, side: int, width: int, heads: int):
    """Attention over places eight apart, with a bias by distance (MaxViT)."""
    g = 7 if side % 7 == 0 else 4

    def grid_attention(x: Tensor, qkv: Tensor, out: Tensor, bias: Tensor) -> Tensor:
        y = F.layer_norm(x, (width,)).view(batch, g, side // g, g, side // g, width)
        y = y.permute(0, 2, 4, 1, 3, 5).reshape(-1, g * g, width)
        q, k, v = (y @ qkv).view(-1, g * g, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(q, k, v, bias.expand(q.shape[0], -1, -1, -1))
        found = found.transpose(1, 2).reshape(-1, g * g, width) @ out
        found = found.view(batch, side // g, side // g, g, g, width).permute(0, 3, 1, 4, 2, 5)
        return x + found.reshape(x.shape)

    weights = (source.normal(width, n * width) / width**0.5 for n in (3, 1))
    return grid_attention, (
        source.normal(batch, side, side, width), *weights, source.normal(heads, g * g, g * g),
    )  # fmt: skip


__all__ = ["IMAGES"]
