"""The bias of a convolution is added by a generated kernel, and its gradient is summed by one.

Before::

    c = aten.convolution(x, w, b, ...)
    gx, gw, gb = aten.convolution_backward(g, x, w, ..., [True, True, True])

After::

    c = aten.convolution(x, w, None, ...) + b.view(1, -1, 1, 1)
    gx, gw, _ = aten.convolution_backward(g, x, w, ..., [True, True, False])
    gb = g.sum([0, 2, 3])

The sum fuses with the kernel that reads ``c``; cuDNN would add the bias in a second pass.  The gradient of
the bias fuses with the kernel that computes ``g``, if that pays.

It does not fire for float64, nor where the results of a backward op are not taken one by one.

Why not an MLIR pass: the library's call must lose an argument, and its result's strides are chosen after that
(``convolutions.py``).
"""

import operator

import torch
from torch import Tensor
from torch.fx import Node

from ..rewriting import rewrite
from .relayout import Relayout

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@rewrite(
    "convolution-biases",
    "the bias of a convolution is added by a generated kernel, and its gradient is summed by one",
)
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


__all__ = ["split_bias"]
