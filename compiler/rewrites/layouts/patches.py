"""A convolution over patches that do not overlap becomes a matrix product.

Before, as vision transformers cut images up and as networks halve them::

    y = aten.convolution(x, w, b, stride=[p, q], ...)          # w is [o, c, p, q]: each pixel is read once

After, with h = H / p and w = W / q::

    rows = x.view(n, c, h, p, w, q).permute(0, 2, 4, 1, 3, 5).reshape(n * h * w, c * p * q)
    y = addmm(b, rows, w.view(o, c * p * q).t()).view(n, h, w, o).permute(0, 3, 1, 2)

A convolution kernel gathers the pixels of each patch itself, slowly where there are few channels (three: 120
us for ViT-B/16 in a batch of 8 on an H200; the product and its copy take a seventh).  The generated kernel
that computes ``x``, if one does, writes the rows.  The backward op becomes the products of its gradients; the
gradient of ``x`` is channels-last, as convolutions leave what they read and write.

It does not fire where patches overlap, leave pixels over, are padded or dilated; for groups; for patches of
one pixel, where the library multiplies matrices already; for other than two spatial dims; for float64; nor
for sizes that are unknown while compiling.

Why not an MLIR pass: the product is an op of torch's libraries, and may be padded by the next rewrite.
"""

import operator

import torch
from torch.fx import Node

from ...base.dataclass import dataclass
from ..rewriting import rewrite
from .relayout import Relayout, is_static

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@dataclass(frozen=True)
class _Sizes:
    """Of the image, the patches in it, and the channels of the result."""

    batch: int
    channels: int
    rows: int
    columns: int
    height: int  #: of a patch
    width: int
    out: int

    @property
    def patches(self) -> int:
        return self.batch * self.rows * self.columns

    @property
    def pixels(self) -> int:
        """Numbers in a patch."""
        return self.channels * self.height * self.width


@rewrite("patches", "a convolution over patches that do not overlap becomes a matrix product")
def multiply_patches(layouts: Relayout) -> int:
    """Rewrites the convolutions of a graph; how many.  ``layouts.spread`` must follow."""
    count = 0
    for node in list(layouts.graph.nodes):
        if node.target is _aten.convolution.default:
            image, weight, bias = node.args[:3]
            sizes = _sizes(image, weight, *node.args[3:9])
            if sizes is not None:
                layouts.replace(node, _forward(layouts, node, sizes, image, weight, bias))
                count += 1
        elif node.target is _aten.convolution_backward.default:
            sizes = _sizes(node.args[1], node.args[2], *node.args[4:10])
            if sizes is not None and all(u.target is operator.getitem for u in node.users):
                _backward(layouts, node, sizes)
                count += 1
    return count


def _sizes(image, weight, stride, padding, dilation, transposed, output_padding, groups) -> _Sizes | None:  # type: ignore[no-untyped-def]
    x, w = image.meta["val"], weight.meta["val"]
    if not (is_static(x) and is_static(w)) or x.dim() != 4 or x.dtype not in _DTYPES or not x.numel():
        return None
    (n, c, high, wide), (o, _, p, q) = x.shape, w.shape
    if transposed or groups != 1 or any(padding) or any(d != 1 for d in dilation) or p * q == 1:
        return None
    strides = list(stride) * (2 // len(stride))
    if strides != [p, q] or high % p or wide % q:
        return None
    return _Sizes(n, c, high // p, wide // q, p, q, o)


def _forward(layouts: Relayout, node: Node, s: _Sizes, image: Node, weight: Node, bias: Node | None) -> Node:
    rows, matrix = _rows(layouts, node, s, image), _matrix(layouts, node, s, weight)
    turned = layouts.emit(node, _aten.permute.default, matrix, [1, 0])
    product = (
        layouts.emit(node, _aten.mm.default, rows, turned)
        if bias is None
        else layouts.emit(node, _aten.addmm.default, bias, rows, turned)
    )
    pixels = layouts.emit(node, _aten.view.default, product, [s.batch, s.rows, s.columns, s.out])
    return layouts.emit(node, _aten.permute.default, pixels, [0, 3, 1, 2])


def _backward(layouts: Relayout, node: Node, s: _Sizes) -> None:
    gradient, image, weight = node.args[:3]
    pixels = layouts.emit(node, _aten.permute.default, gradient, [0, 2, 3, 1])
    pixels = layouts.emit(node, _aten.clone.default, pixels, memory_format=torch.contiguous_format)
    pixels = layouts.emit(node, _aten.view.default, pixels, [s.patches, s.out])
    for user in list(node.users):
        which = user.args[1]
        if which == 0:
            layouts.replace(user, _image_gradient(layouts, user, s, pixels, weight))
        elif which == 1:
            rows = _rows(layouts, user, s, image)
            turned = layouts.emit(user, _aten.permute.default, pixels, [1, 0])
            product = layouts.emit(user, _aten.mm.default, turned, rows)
            sizes = [s.out, s.channels, s.height, s.width]
            layouts.replace(user, layouts.emit(user, _aten.view.default, product, sizes))
        else:
            layouts.replace(user, layouts.emit(user, _aten.sum.dim_IntList, pixels, [0]))
    layouts.graph.erase_node(node)


def _image_gradient(layouts: Relayout, node: Node, s: _Sizes, pixels: Node, weight: Node) -> Node:
    product = layouts.emit(node, _aten.mm.default, pixels, _matrix(layouts, node, s, weight))
    sizes = [s.batch, s.rows, s.columns, s.channels, s.height, s.width]
    patches = layouts.emit(node, _aten.view.default, product, sizes)
    patches = layouts.emit(node, _aten.permute.default, patches, [0, 1, 4, 2, 5, 3])
    patches = layouts.emit(node, _aten.clone.default, patches, memory_format=torch.contiguous_format)
    whole = [s.batch, s.rows * s.height, s.columns * s.width, s.channels]
    patches = layouts.emit(node, _aten.view.default, patches, whole)
    return layouts.emit(node, _aten.permute.default, patches, [0, 3, 1, 2])


def _rows(layouts: Relayout, node: Node, s: _Sizes, image: Node) -> Node:
    """``[patches, pixels]``: every patch as a row, channel by channel."""
    sizes = [s.batch, s.channels, s.rows, s.height, s.columns, s.width]
    split = layouts.emit(node, _aten.view.default, image, sizes)
    split = layouts.emit(node, _aten.permute.default, split, [0, 2, 4, 1, 3, 5])
    split = layouts.emit(node, _aten.clone.default, split, memory_format=torch.contiguous_format)
    return layouts.emit(node, _aten.view.default, split, [s.patches, s.pixels])


def _matrix(layouts: Relayout, node: Node, s: _Sizes, weight: Node) -> Node:
    """``[out, pixels]``; a view of a contiguous weight, else a copy."""
    if not weight.meta["val"].is_contiguous():
        weight = layouts.emit(node, _aten.clone.default, weight, memory_format=torch.contiguous_format)
    return layouts.emit(node, _aten.view.default, weight, [s.out, s.pixels])


__all__ = ["multiply_patches"]
