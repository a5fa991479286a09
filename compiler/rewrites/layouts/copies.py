"""A copy that only generated kernels read keeps the strides of what it copies.

Decompositions of norms and softmaxes, and programs, ask for contiguous copies.  What generated kernels read
needs none: in the strides of its source the copy fuses with what is around it, and nothing is transposed on
the way.

Before (``x`` comes from a channels-last convolution)::

    c = aten.clone.default(x, memory_format=torch.contiguous_format)   # [4, 320, 64, 64], strides 1310720,
    4096, 64, 1 m = aten.var_mean.correction(aten.view.default(c, [4, 32, 10, 4096]), [2, 3])

After::

    c = aten.clone.default(x)                                          # strides 1310720, 1, 20480, 320
    m = aten.var_mean.correction(aten.view.default(c, [4, 32, 10, 4096]), [2, 3])

Where the source gets other strides later, as one of a convolution does, the copy follows it.

It does not fire where torch ops or the caller get the copy or a view of it, where a view that is made of it
needs eager's strides, where the source is not dense (broadcast, a part of something larger), where sizes
are unknown, nor where no reduction follows: a kernel that is pointwise throughout transposes as well as the
copy does, and once.

Why not an MLIR pass: the strides of a value are what its metadata says, which torch's meta functions
propagate before the import."""

from typing import Any

import torch
from torch import Tensor
from torch.fx import Node, map_arg
from torch.utils import _pytree as pytree

from ...fx.views import is_one_view
from ..rewriting import rewrite
from .relayout import Relayout, computed, generated, is_static

_aten = torch.ops.aten
#: How many ops there may be between a copy and the reduction of it.
_NEAR = 4


@rewrite("copies", "a copy that only generated kernels read keeps the strides of what it copies")
def keep_strides_of_copies(layouts: Relayout) -> int:
    """Gives such copies the strides of their sources; how many.  ``layouts.spread`` must follow."""
    count = 0
    for node in layouts.graph.find_nodes(op="call_function", target=_aten.clone.default):
        source, value = node.args[0].meta["val"], node.meta["val"]
        if node in layouts.eager or not (is_static(source) and is_static(value)) or not value.numel():
            continue
        if not _dense(source) or source.stride() == value.stride():
            continue
        moved = value.new_empty_strided(value.shape, source.stride())
        if _only_kernels(node, moved) and _reduced(node, _NEAR):
            layouts.keep_strides(node, source.stride())
            count += 1
    return count


def _dense(value: Tensor) -> bool:
    """Whether the elements of a tensor lie one behind the other, in some order of its dims."""
    elements = 1
    for stride, size in sorted(pair for pair in zip(value.stride(), value.shape, strict=True) if pair[1] > 1):
        if stride != elements:
            return False
        elements *= size
    return True


def _only_kernels(node: Node, value: Tensor) -> bool:
    """Whether generated ops alone read a node, with this value, or views of it that can be made of it."""
    for user in node.users:
        if is_one_view(user):
            viewed = _viewed(user, node, value)
            if viewed is None or not _only_kernels(user, viewed):
                return False
        elif not computed(user) or user.target is _aten.copy_.default:
            return False
    return True


def _viewed(view: Node, of: Node, value: Tensor) -> Tensor | None:
    args, kwargs = map_arg((view.args, view.kwargs), lambda n: value if n is of else n.meta["val"])
    try:
        made: Any = view.target(*args, **kwargs)  # type: ignore[operator]
    except (RuntimeError, ValueError):
        return None
    return made if isinstance(made, Tensor) and made.shape == view.meta["val"].shape else None


def _reduced(node: Node, near: int) -> bool:
    """Whether a generated op makes fewer elements of a value, at most ``near`` ops behind it."""
    size = node.meta["val"].numel()
    return near > 0 and any(
        (computed(user) and _elements(user) < size)
        or ((generated(user) or is_one_view(user)) and _elements(user) == size and _reduced(user, near - 1))
        for user in node.users
    )


def _elements(node: Node) -> int:
    """How many elements the largest of the node's tensors has."""
    return max((v.numel() for v in pytree.tree_leaves(node.meta["val"]) if isinstance(v, Tensor)), default=0)


__all__ = ["keep_strides_of_copies"]
