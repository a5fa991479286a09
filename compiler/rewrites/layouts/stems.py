"""A convolution of few channels, as the first of a network, becomes a product with columns that its kernel
gathers.

Before::

    c = aten.convolution(x, w, b, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)           # w is [32, 3, 3, 3]

After, with L places for each of n images::

    columns = fuse_mlir.columns(x, [3, 3], [2, 2], [1, 1], [1, 1])                    # [n, 27, L]
    rows, matrix = columns.permute(0, 2, 1), w.view(1, 32, 27).permute(0, 2, 1).expand(n, 27, 32)
    c = bmm(rows, matrix).view(n, h, w, 32).permute(0, 3, 1, 2) + b.view(1, 32, 1, 1)

The result is channels-last, as that of the convolutions that stay.  A column has the numbers of the image
that the window meets at a place, zero in the padding.  The kernel of the product reads them where they are in
the image, so that columns are never stored; what follows, such as a norm and an activation, is part of it.
The library's kernels want more channels: they convert and pad the image, and take 6 to 14 times as long as a
copy of its bytes on an H200.

Where the product stays a call of the library, columns are stored: with a stride of 1 as many images as the
window has places.  Such a call was not measured beside the convolution; the more bytes the columns have, the
more the estimates prefer the kernel.

It does not fire for more than ``MOST_CHANNELS`` channels; for sums of up to ``SHORTEST`` or of more than
``MOST_TAPS`` products, and fewer results than ``FEWEST_RESULTS`` or more than ``MOST_RESULTS`` for each
place, which are another shape for tensor cores; for windows that do not overlap, or have a single row or
column; for groups and transposed convolutions; for other than two spatial dims; for float32 and float64; nor
for sizes that are unknown while compiling.  The backward op stays the library's.

Why not an MLIR pass: the strides of the result are chosen here, with those of the convolutions that stay.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ..rewriting import rewrite
from .relayout import Relayout, is_static

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16)
#: Channels of the image.
MOST_CHANNELS = 4
#: Products that are added for a place of the result.
SHORTEST, MOST_TAPS = 16, 256
#: Channels of the result.
FEWEST_RESULTS, MOST_RESULTS = 16, 128

_ops = torch.library.Library("fuse_mlir", "FRAGMENT")
_ops.define("columns(Tensor input, int[] window, int[] stride, int[] padding, int[] dilation) -> Tensor")


def _columns(
    image: Tensor,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    return _aten.im2col(image, window, dilation, padding, stride).contiguous()


def _columns_like(image, window, stride, padding, dilation):  # type: ignore[no-untyped-def]
    count = math.prod(places(image.shape[2:], window, stride, padding, dilation))
    return image.new_empty((image.shape[0], image.shape[1] * math.prod(window), count))


def places(
    extents: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """How many places a window has along each dim of an image."""
    spans = zip(extents, window, stride, padding, dilation, strict=True)
    return [(n + 2 * p - d * (taps - 1) - 1) // s + 1 for n, taps, s, p, d in spans]


_ops.impl("columns", _columns, "CompositeExplicitAutograd")
_ops.impl("columns", _columns_like, "Meta")


@rewrite("stems", "a convolution of few channels becomes a product with columns that its kernel gathers")
def multiply_columns(layouts: Relayout) -> int:
    """Rewrites the convolutions of a graph that have few channels; how many.  ``layouts.spread`` must
    follow.
    """
    count = 0
    for node in list(layouts.graph.nodes):
        if node.target is _aten.convolution.default and _is_stem(*node.args):
            layouts.replace(node, _product(layouts, node, *node.args[:6]))
            count += 1
    return count


def _is_stem(image, weight, bias, stride, padding, dilation, transposed, output_padding, groups) -> bool:  # type: ignore[no-untyped-def]
    x, w = image.meta["val"], weight.meta["val"]
    if transposed or groups != 1 or not (is_static(x) and is_static(w)) or x.dim() != 4:
        return False
    if x.dtype not in _DTYPES or not x.numel() or x.shape[1] > MOST_CHANNELS:
        return False
    spans = zip(w.shape[2:], _both(stride), _both(dilation), strict=True)
    overlap = min(w.shape[2:]) > 1 and any(s <= d * (taps - 1) for taps, s, d in spans)
    fits = SHORTEST < math.prod(w.shape[1:]) <= MOST_TAPS
    return overlap and fits and FEWEST_RESULTS <= w.shape[0] <= MOST_RESULTS


def _product(
    layouts: Relayout, node: Node, image: Node, weight: Node, bias: Node | None, *spans: Sequence[int]
) -> Node:
    w, (images, made, *extents) = weight.meta["val"], node.meta["val"].shape
    taps = math.prod(w.shape[1:])
    columns = layouts.emit(
        node, torch.ops.fuse_mlir.columns.default, image, list(w.shape[2:]), *map(_both, spans)
    )
    if not w.is_contiguous():
        weight = layouts.emit(node, _aten.clone.default, weight, memory_format=torch.contiguous_format)
    rows = layouts.emit(node, _aten.permute.default, columns, [0, 2, 1])
    matrix = layouts.emit(node, _aten.view.default, weight, [1, made, taps])
    matrix = layouts.emit(node, _aten.permute.default, matrix, [0, 2, 1])
    matrix = layouts.emit(node, _aten.expand.default, matrix, [images, taps, made])
    product = layouts.emit(node, _aten.bmm.default, rows, matrix)
    product = layouts.emit(node, _aten.view.default, product, [images, *extents, made])
    product = layouts.emit(node, _aten.permute.default, product, [0, 3, 1, 2])
    if bias is None:
        return product
    column = layouts.emit(node, _aten.view.default, bias, [1, made, 1, 1])
    return layouts.emit(node, _aten.add.Tensor, product, column)


def _both(numbers: Any) -> list[int]:
    """One number for each of two spatial dims."""
    return list(numbers) * (2 // len(numbers))


__all__ = [
    "FEWEST_RESULTS",
    "MOST_CHANNELS",
    "MOST_RESULTS",
    "MOST_TAPS",
    "SHORTEST",
    "multiply_columns",
    "places",
]
