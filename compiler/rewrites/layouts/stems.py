"""A convolution of few channels, as the first of a network, becomes a product of its weights with the columns of
the images that they meet, which a kernel gathers.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.fx import Node

from ..rewriting import rewrite
from .relayout import Relayout, is_static

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16)
MOST_TAPS = 256
MOST_CHANNELS = 4

_ops = torch.library.Library("fuse_mlir", "FRAGMENT")
_ops.define(
    "columns(Tensor input, int[] window, int[] stride, int[] padding, int[] dilation) -> Tensor"
)


def places(image: Sequence[int], window, stride, padding, dilation) -> list[int]:
    spans = zip(image, window, stride, padding, dilation, strict=True)
    return [(n + 2 * p - d * (taps - 1) - 1) // s + 1 for n, taps, s, p, d in spans]


def _columns(image: Tensor, window, stride, padding, dilation) -> Tensor:
    return _aten.im2col(image, window, dilation, padding, stride).contiguous()


def _columns_like(image: Tensor, window, stride, padding, dilation) -> Tensor:
    count = math.prod(places(image.shape[2:], window, stride, padding, dilation))
    return image.new_empty((image.shape[0], image.shape[1] * math.prod(window), count))


_ops.impl("columns", _columns, "CompositeExplicitAutograd")
_ops.impl("columns", _columns_like, "Meta")


@rewrite("stems", "a convolution of few channels becomes a product with columns that a kernel gathers")
def multiply_columns(layouts: Relayout) -> int:
    """Rewrites the convolutions of a graph; how many.  ``layouts.spread`` must follow."""
    count = 0
    for node in list(layouts.graph.nodes):
        if node.target is _aten.convolution.default and _is_stem(*node.args):
            layouts.replace(node, _product(layouts, node))
            count += 1
    return count


def _is_stem(image, weight, bias, stride, padding, dilation, transposed, output_padding, groups) -> bool:  # type: ignore[no-untyped-def]
    x, w = image.meta["val"], weight.meta["val"]
    if transposed or groups != 1 or not (is_static(x) and is_static(w)) or x.dtype not in _DTYPES or not x.numel():
        return False
    if x.dim() != 4 or x.shape[1] > MOST_CHANNELS:
        return False
    taps = math.prod(w.shape[1:])
    return math.prod(w.shape[2:]) > 1 and 16 < taps <= MOST_TAPS and w.shape[0] >= 16


def _product(layouts: Relayout, node: Node) -> Node:
    image, weight, bias, *spans = node.args[:6]
    w, result = weight.meta["val"], node.meta["val"]
    made, taps = w.shape[0], math.prod(w.shape[1:])
    spans = [list(n) * (2 // len(n)) for n in spans]
    columns = layouts.emit(node, torch.ops.fuse_mlir.columns.default, image, list(w.shape[2:]), *spans)
    if not w.is_contiguous():
        weight = layouts.emit(node, _aten.clone.default, weight, memory_format=torch.contiguous_format)
    matrix = layouts.emit(node, _aten.view.default, weight, [1, made, taps])
    matrix = layouts.emit(node, _aten.expand.default, matrix, [result.shape[0], made, taps])
    product = layouts.emit(node, _aten.bmm.default, matrix, columns)
    product = layouts.emit(node, _aten.view.default, product, list(result.shape))
    if bias is not None:
        bias = layouts.emit(node, _aten.view.default, bias, [1, made, 1, 1])
        product = layouts.emit(node, _aten.add.Tensor, product, bias)
    return product


__all__ = ["multiply_columns"]
