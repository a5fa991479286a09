"""Convolutions read and write images channels-last, and their bias is added by a generated kernel.

cuDNN's kernels on tensor cores take the channels of a pixel side by side; for images laid out plane by plane
it converts every operand and the result by kernels of its own.  Here the operands become channels-last once,
where they are computed, and stay so: pointwise kernels, norms and pools follow the layout of what they read.

Before::

    c = aten.convolution(x, w, b, ...)              # x, w contiguous, so c is

After::

    xl, wl = clone(x, memory_format=channels_last), clone(w, memory_format=channels_last)
    c = aten.convolution(xl, wl, None, ...) + b.view(1, -1, 1, 1)        # c channels-last

The copy of ``x`` is part of the kernel that computes it, if one does; that of ``w`` is small beside the
convolution.  The sum goes into the kernel that reads ``c``; cuDNN would add the bias in a pass of its own.
So is the gradient of the bias: the sum of the gradient that arrives, over images and pixels, is added up by a
generated kernel, the one that computes it if that pays.

It does not fire for groups of several channels (cuDNN has slow kernels for them channels-last; depthwise ones
are fast), for other than two spatial dims, for float64 (no tensor cores), nor for sizes that are unknown
while compiling.  A weight of one pixel is in both layouts at once.
"""

import operator

import torch
from torch import Tensor
from torch.fx import Node

from ...fx.products import overloads
from .relayout import Relayout, is_static

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
_CONVOLUTIONS = overloads(lambda op: op.images)


def lay_out_convolution(layouts: Relayout, node: Node) -> None:
    """Makes the operands of one convolution, or of its backward op, channels-last."""
    op = _CONVOLUTIONS.get(node.target)
    if op is None or op.groups is None:
        return
    operands = [node.args[i] for i in op.images]
    if not all(isinstance(a, Node) and _is_image(a.meta["val"]) for a in operands):
        return
    if node.args[op.groups] != 1 and operands[-1].meta["val"].shape[1] > 1:  # type: ignore[union-attr]
        return
    args = list(node.args)
    for place, operand in zip(op.images, operands, strict=True):
        assert isinstance(operand, Node)
        if not operand.meta["val"].is_contiguous(memory_format=torch.channels_last):
            copy = layouts.emit(
                node, _aten.clone.default, operand, like=operand, memory_format=torch.channels_last
            )
            layouts.eager[copy] = layouts.eager.get(operand, operand.meta["val"])
            args[place] = copy
    node.args = tuple(args)


def split_bias(layouts: Relayout) -> int:
    """Takes the bias out of every convolution, and its gradient out of every backward op; how many.
    ``layouts.spread`` must follow.
    """
    count = 0
    for node in list(layouts.graph.nodes):
        if node.target is _aten.convolution_backward.default:
            count += _split_gradient(layouts, node)
        if node.target is not _aten.convolution.default or not isinstance(node.args[2], Node):
            continue
        value = node.meta["val"]
        if not isinstance(value, Tensor) or value.dtype not in _DTYPES:
            continue
        bias = node.args[2]
        node.args = (*node.args[:2], None, *node.args[3:])
        after = node.next
        shape = [1, -1] + [1] * (value.dim() - 2)
        column = layouts.emit(after, _aten.view.default, bias, shape, like=node)
        total = layouts.emit(after, _aten.add.Tensor, node, column, like=node)
        node.replace_all_uses_with(total, delete_user_cb=lambda user: user is not total)  # noqa: B023
        count += 1
    return count


def _split_gradient(layouts: Relayout, node: Node) -> bool:
    gradient, wanted = node.args[0], node.args[10]
    value = gradient.meta["val"]  # type: ignore[union-attr]
    parts = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    if len(parts) != len(node.users) or 2 not in parts or value.dtype not in _DTYPES:
        return False
    pixels = [d for d in range(value.dim()) if d != 1]
    layouts.replace(parts[2], layouts.emit(node, _aten.sum.dim_IntList, gradient, pixels, like=parts[2]))
    node.args = (*node.args[:10], [*wanted[:2], False])  # type: ignore[index,misc]
    node.meta["val"] = (*node.meta["val"][:2], None)
    return True


def _is_image(value: Tensor) -> bool:
    return is_static(value) and value.dim() == 4 and value.dtype in _DTYPES and value.numel() > 0


__all__ = ["lay_out_convolution", "split_bias"]
