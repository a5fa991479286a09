"""A convolution that is bound by bytes becomes a generated kernel: each channel has a stencil of its own, or
there are few channels.

Before::

    c = aten.convolution(x, w, b, [1, 1], [3, 3], [1, 1], False, [0, 0], n)           # w is [n, 1, 7, 7]
    y = aten.gelu(c)

After::

    c = fuse_mlir.stencil(x, w, b, [1, 1], [3, 3], [1, 1], n)
    y = aten.gelu(c)                                                  # one kernel with the stencil

A place of the result is a sum of at most ``MOST_TERMS`` products, which are added in float32 and rounded
once.  That is pointwise work: it fuses with what reads it, and padding is a condition on what is loaded.  The
library's kernels for such sums take several times as long as their bytes, and what follows is another pass
over memory.  The backward op stays the library's.

It does not fire for sums of more products; for one place, which is a product of matrices; for more than
``LARGEST_WINDOW`` where something is reduced behind the convolution, as the sums would become part of the
reduction; for images that are channels-last once all layouts are chosen, which suit the library; for groups
of several channels; where more than ``MOST_READERS`` channels of the result read a channel of the image, as
each would load it again; for transposed convolutions; for float64; nor for sizes that are unknown while
compiling.

Why not an MLIR pass: the strides of the result are chosen here, with those of the convolutions that stay.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ...fx.products import overloads
from ..joint.pool_offsets import LARGEST_WINDOW
from ..rewriting import rewrite
from .relayout import Relayout, is_static

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
#: Calls of libraries: what they read is stored in any case.
_LIBRARY = overloads(lambda op: True)
#: Products that are added for a place of the result: those of 7 x 7 places.
MOST_TERMS = 49
#: Channels of the result that read the same channels of the image.
MOST_READERS = 4

_ops = torch.library.Library("fuse_mlir", "FRAGMENT")
_ops.define(
    "stencil(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "int groups) -> Tensor"
)


def _stencil(
    image: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    none = [0] * len(stride)
    result = _aten.convolution(image, weight, bias, stride, padding, dilation, False, none, groups)
    return result.contiguous(memory_format=_format(image))


def _stencil_like(image, weight, bias, stride, padding, dilation, groups):  # type: ignore[no-untyped-def]
    spans = zip(image.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    places = [(n + 2 * p - d * (taps - 1) - 1) // s + 1 for n, taps, s, p, d in spans]
    sizes = (image.shape[0], weight.shape[0], *places)
    return torch.empty(sizes, dtype=image.dtype, device=image.device, memory_format=_format(image))


def _format(image: Tensor) -> torch.memory_format:
    """Of the result: channels-last where the image is, and only so."""
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(image.dim())
    if last is None or image.is_contiguous() or not image.is_contiguous(memory_format=last):
        return torch.contiguous_format
    return last


_ops.impl("stencil", _stencil, "CompositeExplicitAutograd")
_ops.impl("stencil", _stencil_like, "Meta")


@rewrite("stencils", "a convolution that is bound by bytes becomes a generated kernel")
def generate_stencils(layouts: Relayout) -> int:
    """Rewrites the convolutions of a graph that have few products for each place; how many.
    ``layouts.spread`` must follow.
    """
    count = 0
    for node in list(layouts.graph.nodes):
        if node.target is _aten.convolution.default and _is_stencil(node, *node.args):
            image, weight, bias, stride, padding, dilation, _, _, groups = node.args
            rank = image.meta["val"].dim() - 2
            spans = [_each(numbers, rank) for numbers in (stride, padding, dilation)]
            made = layouts.emit(
                node, torch.ops.fuse_mlir.stencil.default, image, weight, bias, *spans, groups
            )
            layouts.replace(node, made)
            count += 1
    return count


def _is_stencil(
    node, image, weight, bias, stride, padding, dilation, transposed, output_padding, groups
) -> bool:  # type: ignore[no-untyped-def]
    x, w = image.meta["val"], weight.meta["val"]
    if transposed or not (is_static(x) and is_static(w)) or x.dtype not in _DTYPES or not x.numel():
        return False
    if x.dim() != w.dim() or not 3 <= x.dim() <= 5:
        return False
    readers, terms = w.shape[0] // groups, math.prod(w.shape[1:])
    alone = w.shape[1] == 1 or groups == 1
    if not alone or math.prod(w.shape[2:]) == 1 or terms > MOST_TERMS or readers > MOST_READERS:
        return False
    return terms <= LARGEST_WINDOW or _is_read_plainly(node)


def leave_to_library(layouts: Relayout, node: Node) -> bool:
    """Makes a convolution, and the addition of its bias, of a stencil whose image is channels-last, with its
    final strides; whether it was one.
    """
    if node.target is not torch.ops.fuse_mlir.stencil.default:
        return False
    image, weight, bias, stride, padding, dilation, groups = node.args
    last = _format(image.meta["val"])  # type: ignore[union-attr]
    if last is torch.contiguous_format:
        return False
    if not weight.meta["val"].is_contiguous(memory_format=last):  # type: ignore[union-attr]
        weight = layouts.emit(node, _aten.clone.default, weight, memory_format=last)
    spans: tuple[Any, ...] = (stride, padding, dilation)
    rank = len(spans[0])
    result = layouts.emit(
        node, _aten.convolution.default, image, weight, None, *spans, False, [0] * rank, groups
    )
    if bias is not None:
        column = layouts.emit(node, _aten.view.default, bias, [1, -1] + [1] * rank)
        result = layouts.emit(node, _aten.add.Tensor, result, column)
    layouts.replace(node, result)
    return True


def _is_read_plainly(node: Node) -> bool:
    """Whether what reads a result computes as many numbers of it, up to what leaves the graph or a call of a
    library.
    """
    ahead, count = [node], math.prod(node.meta["val"].shape)
    for reader in ahead:
        for user in reader.users:
            value = user.meta.get("val")
            if user.op == "output" or user.target in _LIBRARY:
                continue
            if not isinstance(value, Tensor) or math.prod(value.shape) != count:
                return False
            if user not in ahead:
                ahead.append(user)
    return True


def _each(numbers: Any, rank: int) -> list[int]:
    """One number for each spatial dim."""
    return list(numbers) * (rank // len(numbers))


__all__ = ["MOST_READERS", "MOST_TERMS", "generate_stencils", "leave_to_library"]
