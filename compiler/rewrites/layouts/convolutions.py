"""The operands of a convolution become channels-last, and so does its result.

cuDNN's kernels on tensor cores take the channels of a pixel next to each other.  For images that are stored
plane by plane, cuDNN converts each operand and the result by kernels of its own.  Here the operands become
channels-last once, where they are computed, and stay so: pointwise kernels, norms and pools write the layout
of what they read.

Before::

    c = aten.convolution(x, w, None, ...)           # x, w contiguous, so c is

After::

    xl, wl = clone(x, memory_format=channels_last), clone(w, memory_format=channels_last)
    c = aten.convolution(xl, wl, None, ...)         # c channels-last

The generated kernel that computes ``x``, if one does, writes it in the new layout; the copy of ``w`` is small
beside the convolution.

It does not fire for groups of several channels (cuDNN's channels-last kernels for them are slow; depthwise
ones of 16 bits are fast); for depthwise ones of float32, which torch's own kernel computes plane by plane
(the structural similarity of eight images, with its gradient, took 17 ms and lost digits in channels last on
an H100, and takes 2.6 ms so); for other than two spatial dims; for float64, which tensor cores do not
multiply; for sizes that are unknown while compiling; nor on an operand that is channels-last already, as a
weight of one pixel is.

Why not an MLIR pass: torch's meta functions say which strides the library's convolution returns, and every
reader of the result is imported with those.
"""

import torch
from torch import Tensor
from torch.fx import Node

from ...fx.products import overloads
from ..rewriting import rewrite
from .relayout import Relayout, is_static
from .stencils import leave_to_library

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
_CONVOLUTIONS = overloads(lambda op: op.images)


@rewrite("convolutions", "the operands of a convolution become channels-last, and so does its result")
def lay_out_convolutions(layouts: Relayout) -> int:
    """Makes the operands of every convolution, and of every backward op of one, channels-last, and spreads
    all strides that were changed; how many convolutions.
    """
    count = 0

    def visit(node: Node) -> None:
        nonlocal count
        count += leave_to_library(layouts, node) or _lay_out(layouts, node)

    layouts.spread(visit)
    return count


def _lay_out(layouts: Relayout, node: Node) -> bool:
    """Whether an operand of the node, once those before it are laid out, had to be made channels-last."""
    op = _CONVOLUTIONS.get(node.target)
    if op is None or op.groups is None:
        return False
    operands = [node.args[i] for i in op.images]
    if not all(isinstance(a, Node) and _is_image(a.meta["val"]) for a in operands):
        return False
    weight = operands[-1].meta["val"]  # type: ignore[union-attr]
    if node.args[op.groups] != 1 and (weight.shape[1] > 1 or weight.dtype == torch.float32):
        return False
    args, changed = list(node.args), False
    for place, operand in zip(op.images, operands, strict=True):
        assert isinstance(operand, Node)
        if not operand.meta["val"].is_contiguous(memory_format=torch.channels_last):
            copy = layouts.emit(
                node, _aten.clone.default, operand, like=operand, memory_format=torch.channels_last
            )
            layouts.eager[copy] = layouts.eager.get(operand, operand.meta["val"])
            args[place], changed = copy, True
    node.args = tuple(args)
    return changed


def _is_image(value: Tensor) -> bool:
    return is_static(value) and value.dim() == 4 and value.dtype in _DTYPES and value.numel() > 0


__all__ = ["lay_out_convolutions"]
