"""Blocks of convolutional networks. Images are [batch, channels, height, width]."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .case import Draw, Inputs, ModelCase, projection_loss

CHANNELS, SIDE = 32, 8


class Bottleneck(nn.Module):
    """ResNet bottleneck, 1x1 - 3x3 - 1x1 with batch norm, projected shortcut, relu.

    In training mode the running statistics and `num_batches_tracked` of each batch norm are mutated.
    """

    def __init__(self, channels: int, middle: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, middle, 1, bias=False)
        self.conv2 = nn.Conv2d(middle, middle, 3, stride=stride, padding=1, bias=False)
        self.conv3 = nn.Conv2d(middle, out, 1, bias=False)
        self.norm1, self.norm2, self.norm3 = (nn.BatchNorm2d(n) for n in (middle, middle, out))
        self.shortcut = nn.Sequential(
            nn.Conv2d(channels, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)))
        return F.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


class ConvNeXtBlock(nn.Module):
    """7x7 depthwise convolution, channels-last layer norm, gelu MLP, layer scale, residual."""

    def __init__(self, channels: int, scale: float = 0.1) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.layer_scale = nn.Parameter(torch.full((channels,), scale))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.layer_scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


def _images(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
    return Inputs((Draw(device, dtype).normal(batch, CHANNELS, SIDE, SIDE),))


def cases() -> Iterator[ModelCase]:
    """Tiny cases of every block of this file."""
    x = {"0": (0,)}
    yield ModelCase("resnet_bottleneck", lambda: Bottleneck(CHANNELS, 16, 64, 2), _images, projection_loss, x)
    yield ModelCase("convnext_block", lambda: ConvNeXtBlock(CHANNELS), _images, projection_loss, x)
