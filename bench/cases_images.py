"""Memory-bound graphs over images x [b, c, h, w], in both memory formats (NCHW and channels-last)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Built, Graph, Source


def _image(source: Source, batch: int, channels: int, side: int, last: bool) -> Tensor:
    x = source.normal(batch, channels, side, side)
    return x.contiguous(memory_format=torch.channels_last) if last else x


def _scale_relu_add(source: Source, batch: int, channels: int, side: int, last: bool) -> Built:
    """Batch norm in inference, reduced to a factor and a term for each channel; then the residual."""

    def scale_relu_add(x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor) -> Tensor:
        return F.relu(x * scale[:, None, None] + shift[:, None, None] + residual)

    images = (_image(source, batch, channels, side, last) for _ in range(2))
    vectors = source.normal(channels), source.normal(channels)
    x, residual = images
    moved = (3 * batch * side * side + 2) * channels * source.size
    return Built(scale_relu_add, (x, *vectors, residual), moved)


def _batch_norm(source: Source, batch: int, channels: int, side: int, last: bool) -> Built:
    """Training: statistics of the batch.  One read and one write are counted, though no cache can hold x."""

    def batch_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.relu(F.batch_norm(x, None, None, w, b, True))

    vectors = source.normal(channels), source.normal(channels)
    moved = (2 * batch * side * side + 2) * channels * source.size
    return Built(batch_norm, (_image(source, batch, channels, side, last), *vectors), moved)


def _channel_norm(source: Source, batch: int, channels: int, side: int, last: bool) -> Built:
    """Layer norm over the channels of each pixel."""

    def channel_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), w, b).permute(0, 3, 1, 2)

    vectors = source.normal(channels), source.normal(channels)
    moved = (2 * batch * side * side + 2) * channels * source.size
    return Built(channel_norm, (_image(source, batch, channels, side, last), *vectors), moved)


def _table() -> tuple[Graph, ...]:
    graphs = []
    for last, form in ((False, "nchw"), (True, "channels_last")):
        small = (4, 16, 4, last)
        graphs += [
            Graph(f"scale_relu_add_{form}_64x256x56x56", _scale_relu_add, (64, 256, 56, last), small),
            Graph(f"batch_norm_{form}_64x256x56x56", _batch_norm, (64, 256, 56, last), small),
            Graph(f"channel_norm_{form}_64x256x56x56", _channel_norm, (64, 256, 56, last), small),
        ]
    return tuple(graphs)


IMAGES = _table()
