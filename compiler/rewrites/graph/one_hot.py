"""The sum of a row that has one element besides zeros becomes that element.

The gradient of cross-entropy is the example: autograd scatters one number into each row of zeros, scales the
rows, and sums each row over all classes for the backward op of log-softmax.  Without that sum nothing
reduces, and the gradient of the logits is one pointwise kernel.

Before::

    rows = scatter(zeros, 1, index, -1.0)                  # index is [n, 1]
    total = sum(rows * scale, [1], True)                   # scale is [n, 1]

After::

    total = scale * -1.0

It fires on a sum along one dim, which is kept, of the product (or of its conversion to another floating
dtype) of two tensors: a ``scatter.value`` into zeros along that dim, with one index for each row, and a
tensor with one element for each row.  An index that is out of range is asserted where the rows themselves are
computed.

It does not fire where a row may hold several elements, where the sum drops the dim, or where the second
factor varies along it.

Why not an MLIR pass: it recognises the scatter and the zeros as ops; after the import they are kernels with
stores at loaded indices.
"""

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from ...fx.new_node import computed_node, replace_nodes
from ..rewriting import rewrite

_aten = torch.ops.aten
#: Ops that make a tensor of zeros.
ZEROS = frozenset({_aten.zeros.default, _aten.zeros_like.default, _aten.new_zeros.default})


@rewrite("one-hot", "the sum of a row that has one element besides zeros becomes that element")
def sum_one_hots(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many sums became products.

    Fires on a sum along one dim, which is kept, of the product (or of that in another floating dtype) of
    ``scatter.value`` into zeros along that dim, with one index for each row, and a tensor with one element
    for each row.  An index that is out of range is asserted where the rows themselves are computed.
    """
    return replace_nodes(gm, _product)


def _product(node: Node) -> Node | None:
    if node.target is not _aten.sum.dim_IntList:
        return None
    rows, dims = node.args[:2]
    if isinstance(rows, Node) and _is_cast(rows):
        rows = rows.args[0]
    keeps = len(node.args) > 2 and node.args[2] is True
    if not isinstance(rows, Node) or not keeps or len(dims or ()) != 1 or node.kwargs:  # type: ignore[arg-type]
        return None
    whole, total = rows.meta["val"], node.meta["val"]
    dim = dims[0] % max(whole.dim(), 1)  # type: ignore[index]
    if rows.target is not _aten.mul.Tensor:
        return None
    for one_hot, scale in (rows.args, tuple(reversed(rows.args))):
        value = _scattered(one_hot, dim)
        if value is not None and isinstance(scale, Node) and _is_line(scale.meta["val"], total, whole):
            break
    else:
        return None
    if one_hot.meta["val"].shape != whole.shape:  # type: ignore[union-attr]
        return None
    with node.graph.inserting_before(node):
        made = computed_node(node, _aten.mul.Tensor, scale, value)
        if whole.dtype == total.dtype:
            return made
        return computed_node(node, _aten._to_copy.default, made, dtype=total.dtype)


def _is_cast(node: Node) -> bool:
    """Whether a node makes one floating dtype of another on the same device."""
    if node.target is not _aten._to_copy.default or set(node.kwargs) != {"dtype"}:
        return False
    return node.meta["val"].is_floating_point() and node.args[0].meta["val"].is_floating_point()  # type: ignore[union-attr]


def _scattered(node: Any, dim: int) -> int | float | None:
    """The one number that each row along ``dim`` holds; None if the node is something else."""
    if not isinstance(node, Node) or node.target is not _aten.scatter.value:
        return None
    target, along, index, value = node.args
    whole, places = node.meta["val"], index.meta["val"]  # type: ignore[union-attr]
    if target.target not in ZEROS or not isinstance(value, int | float) or places.dim() != whole.dim():  # type: ignore[union-attr]
        return None
    if along % whole.dim() != dim:  # type: ignore[operator]
        return None
    wanted = [1 if d == dim else n for d, n in enumerate(whole.shape)]
    return value if all(type(n) is int for n in places.shape) and list(places.shape) == wanted else None


def _is_line(value: Any, total: Tensor, whole: Tensor) -> bool:
    """Whether ``value`` has one element for each row, in the dtype of the rows."""
    return isinstance(value, Tensor) and value.shape == total.shape and value.dtype == whole.dtype


__all__ = ["sum_one_hots"]
