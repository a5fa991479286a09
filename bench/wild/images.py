"""Images: augmentations, resampling, and what is between the layers of vision models."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from .workload import BFLOAT16, Workloads

IMAGES = Workloads()


@IMAGES.add("color_jitter", (64, 3, 224, 224), (2, 3, 8, 8))
def _color_jitter(source: Source, *shape: int):
    """Brightness, contrast and saturation by factors of each image, then the mean and deviation of
    ImageNet.
    """

    def gray(x: Tensor) -> Tensor:
        return 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]

    def color_jitter(x: Tensor, factors: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
        a, b, c = (f.view(-1, 1, 1, 1) for f in factors)
        x = (x * a).clamp(0, 1)
        x = (b * x + (1 - b) * gray(x).mean((1, 2, 3), keepdim=True)).clamp(0, 1)
        x = (c * x + (1 - c) * gray(x)).clamp(0, 1)
        return (x - mean) / deviation

    args = (source.uniform(0.0, 1.0, *shape), source.uniform(0.6, 1.4, 3, shape[0]))
    return color_jitter, (*args, source.normal(3, 1, 1), source.uniform(0.2, 0.3, 3, 1, 1))


@IMAGES.add("mixup_cutmix", (128, 3, 224, 224), (4, 3, 8, 8))
def _mixup_cutmix(source: Source, batch: int, channels: int, high: int, wide: int):
    def mixup_cutmix(x: Tensor, labels: Tensor, order: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        other, hot = x[order], F.one_hot(labels, 1000).to(x.dtype)
        rows, columns = (torch.arange(n, device=x.device) for n in (high, wide))
        inside = ((rows >= high // 4) & (rows < high // 2))[:, None] & (columns < wide // 2)[None]
        mixed = share * x + (1 - share) * other
        return torch.where(inside, other, mixed), share * hot + (1 - share) * hot[order]

    order = torch.arange(batch, device=source.device).flip(0)
    args = (source.normal(batch, channels, high, wide), source.integers(1000, batch), order)
    return mixup_cutmix, (*args, source.uniform(0.2, 0.8, 1)[0])


@IMAGES.add("flip_crop_bytes", (256, 3, 256, 256), (4, 3, 16, 16))
def _flip_crop_bytes(source: Source, batch: int, channels: int, high: int, wide: int):
    """Bytes, channels last, to a normalised batch: crops at places of their own, half of them flipped."""
    side = high * 7 // 8

    def flip_crop_bytes(x: Tensor, top: Tensor, left: Tensor, flips: Tensor) -> Tensor:
        rows = top[:, None] + torch.arange(side, device=x.device)
        columns = torch.arange(side, device=x.device).expand(batch, side)
        columns = left[:, None] + torch.where(flips[:, None], side - 1 - columns, columns)
        images = torch.arange(batch, device=x.device)[:, None, None]
        cut = x[images, rows[:, :, None], columns[:, None, :]]
        return (cut.permute(0, 3, 1, 2).float() / 255 - 0.45) / 0.225

    pixels = source.integers(256, batch, high, wide, channels).to(torch.uint8)
    corners = (source.integers(high - side, batch) for _ in range(2))
    return flip_crop_bytes, (pixels, *corners, source.integers(2, batch) == 1)


@IMAGES.add("gaussian_blur", (16, 3, 512, 512), (2, 3, 16, 16), slack=4.0)
def _gaussian_blur(source: Source, batch: int, channels: int, high: int, wide: int):
    """A separable kernel of nine, with mirrored borders."""

    def gaussian_blur(x: Tensor, weights: Tensor) -> Tensor:
        x = F.pad(x, (4, 4, 4, 4), mode="reflect")
        x = F.conv2d(x, weights.view(1, 1, 1, 9).expand(channels, 1, 1, 9), groups=channels)
        return F.conv2d(x, weights.view(1, 1, 9, 1).expand(channels, 1, 9, 1), groups=channels)

    return gaussian_blur, (source.normal(batch, channels, high, wide), source.normal(9).softmax(0))


@IMAGES.add("grid_sample", (16, 64, 128, 128), (2, 3, 8, 8), slack=4.0)
def _grid_sample(source: Source, batch: int, channels: int, high: int, wide: int):
    def grid_sample(x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, align_corners=False)

    return grid_sample, (
        source.normal(batch, channels, high, wide),
        source.uniform(-1.1, 1.1, batch, high, wide, 2),
    )


@IMAGES.add("rotated_crops", (64, 3, 224, 224), (2, 3, 8, 8), slack=4.0)
def _rotated_crops(source: Source, *shape: int):
    def rotated_crops(x: Tensor, matrices: Tensor) -> Tensor:
        grid = F.affine_grid(matrices, list(shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)

    one = torch.eye(2, 3, device=source.device, dtype=source.dtype)
    return rotated_crops, (source.normal(*shape), one + 0.2 * source.normal(shape[0], 2, 3))


@IMAGES.add("warped_flow", (8, 32, 256, 256), (2, 3, 8, 8), slack=4.0)
def _warped_flow(source: Source, batch: int, channels: int, high: int, wide: int):
    """Features moved along an optical flow, and a mask of what stays inside."""

    def warped_flow(x: Tensor, flow: Tensor) -> Tensor:
        rows, columns = (torch.arange(n, device=x.device, dtype=x.dtype) for n in (high, wide))
        to_x = 2 * (columns[None, None] + flow[:, 0]) / (wide - 1) - 1
        to_y = 2 * (rows[None, :, None] + flow[:, 1]) / (high - 1) - 1
        moved = F.grid_sample(x, torch.stack((to_x, to_y), -1), align_corners=True)
        inside = (to_x.abs() <= 1) & (to_y.abs() <= 1)
        return moved * inside[:, None].to(x.dtype)

    return warped_flow, (source.normal(batch, channels, high, wide), source.normal(batch, 2, high, wide))


@IMAGES.add("rgb_to_lab", (32, 3, 512, 512), (2, 3, 8, 8), slack=16.0)
def _rgb_to_lab(source: Source, *shape: int):
    def rgb_to_lab(x: Tensor, matrix: Tensor) -> Tensor:
        linear = torch.where(x > 0.04045, ((x + 0.055) / 1.055) ** 2.4, x / 12.92)
        xyz = torch.einsum("oc,bchw->bohw", matrix, linear)
        f = torch.where(xyz > 0.008856, xyz.clamp(min=1e-4) ** (1 / 3), 7.787 * xyz + 0.1379)
        first, second, third = f.unbind(1)
        return torch.stack((116 * second - 16, 500 * (first - second), 200 * (second - third)), 1)

    return rgb_to_lab, (source.uniform(0.0, 1.0, *shape), source.uniform(0.1, 0.4, 3, 3))


@IMAGES.add("masked_patches", (256, 196, 768), (4, 16, 8), BFLOAT16)
def _masked_patches(source: Source, batch: int, patches: int, width: int):
    """What a masked autoencoder keeps of its patches, and puts back in order for the decoder."""
    kept = patches // 4

    def masked_patches(x: Tensor, order: Tensor, back: Tensor, empty: Tensor) -> Tensor:
        some = x.gather(1, order[:, :kept, None].expand(-1, -1, width))
        rest = empty.expand(batch, patches - kept, width)
        return torch.cat((some * 2, rest), 1).gather(1, back[..., None].expand(-1, -1, width))

    order = torch.stack([torch.arange(patches, device=source.device).roll(i) for i in range(batch)])
    args = (source.normal(batch, patches, width), order, order.argsort(1), source.normal(1, 1, width))
    return masked_patches, args


@IMAGES.add("upsample_and_join", (16, 128, 64, 64), (2, 4, 4, 4), BFLOAT16)
def _upsample_and_join(source: Source, batch: int, channels: int, high: int, wide: int):
    """The skip connection of a U-net."""

    def upsample_and_join(x: Tensor, skip: Tensor) -> Tensor:
        x = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        return F.silu(torch.cat((x, skip), 1))

    skip = source.normal(batch, channels, 2 * high, 2 * wide)
    return upsample_and_join, (source.normal(batch, channels, high, wide), skip)


@IMAGES.add("pixel_shuffle", (16, 64, 256, 256), (2, 16, 4, 4), BFLOAT16)
def _pixel_shuffle(source: Source, *shape: int):
    def pixel_shuffle(x: Tensor, bias: Tensor) -> Tensor:
        return F.leaky_relu(F.pixel_shuffle(x + bias[:, None, None], 2), 0.2)

    return pixel_shuffle, (source.normal(*shape), source.normal(shape[1]))


@IMAGES.add("unet_block", (4, 320, 64, 64), (2, 32, 4, 4), BFLOAT16, slack=4.0)
def _unet_block(source: Source, batch: int, channels: int, high: int, wide: int):
    """The residual block of a diffusion model, channels last: norm, SiLU, convolution, twice, and a time."""

    def unet_block(x: Tensor, time: Tensor, norms: list, kernels: list, biases: list) -> Tensor:
        h = F.conv2d(F.silu(F.group_norm(x, 32, *norms[0])), kernels[0], biases[0], padding=1)
        h = h + time[:, :, None, None]
        h = F.conv2d(F.silu(F.group_norm(h, 32, *norms[1])), kernels[1], biases[1], padding=1)
        return x + h

    def last(x: Tensor) -> Tensor:
        return x.contiguous(memory_format=torch.channels_last)

    kernels = [last(source.normal(channels, channels, 3, 3) / (3 * channels**0.5)) for _ in range(2)]
    norms = [(source.normal(channels), source.normal(channels)) for _ in range(2)]
    args = (last(source.normal(batch, channels, high, wide)), source.normal(batch, channels), norms)
    return unet_block, (*args, kernels, [source.normal(channels) for _ in range(2)])


@IMAGES.add("squeeze_excite", (32, 256, 56, 56), (2, 8, 4, 4), BFLOAT16, slack=4.0)
def _squeeze_excite(source: Source, batch: int, channels: int, high: int, wide: int):
    def squeeze_excite(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
        s = F.silu(x.mean((2, 3)) @ down)
        return x * torch.sigmoid(s @ up)[:, :, None, None]

    weights = (source.normal(channels, channels // 4) / 16, source.normal(channels // 4, channels) / 8)
    return squeeze_excite, (source.normal(batch, channels, high, wide), *weights)


@IMAGES.add("shifted_windows", (32, 56, 56, 96), (2, 14, 14, 8), BFLOAT16)
def _shifted_windows(source: Source, batch: int, high: int, wide: int, width: int):
    """Norm, shift and cut of a Swin block, and the way back."""

    def shifted_windows(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        y = F.layer_norm(x, (width,), weight, bias).roll((-3, -3), (1, 2))
        y = y.view(batch, high // 7, 7, wide // 7, 7, width).transpose(2, 3).reshape(-1, 49, width)
        back = y.view(batch, high // 7, wide // 7, 7, 7, width).transpose(2, 3)
        return y, x + back.reshape(x.shape).roll((3, 3), (1, 2))

    return shifted_windows, (
        source.normal(batch, high, wide, width),
        source.normal(width),
        source.normal(width),
    )


@IMAGES.add("box_overlaps", (8192, 4096), (16, 8))
def _box_overlaps(source: Source, boxes: int, others: int):
    """Intersection over union of all pairs, and the best of each."""

    def box_overlaps(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        low = torch.max(a[:, None, :2], b[None, :, :2])
        high = torch.min(a[:, None, 2:], b[None, :, 2:])
        inner = (high - low).clamp(min=0).prod(2)
        areas = [(x[:, 2:] - x[:, :2]).prod(1) for x in (a, b)]
        overlap = inner / (areas[0][:, None] + areas[1][None] - inner)
        return overlap, overlap.amax(1)

    corners = [(source.uniform(0.0, 0.5, n, 2), source.uniform(0.5, 1.0, n, 2)) for n in (boxes, others)]
    return box_overlaps, tuple(torch.cat(pair, 1) for pair in corners)


__all__ = ["IMAGES"]
