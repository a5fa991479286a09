"""A value that only generated kernels read is stored without the gaps that it has in eager mode.

Ops that stand for a write (``copy``, ``slice_scatter``, ..) return the strides of what is written to, with
the gaps of an input that is a part of a larger tensor.  Eager writes into that input and allocates nothing.
In a functional graph the result is a tensor of its own, which needs no gaps.

Before (``x`` has 8 elements, 2 apart; eager copies into them)::

    s = aten.slice.Tensor(x, 0, 1, 8)           # [7], stride 2
    y = aten.copy.default(s, t)                 # [7], stride 2: 13 elements of storage
    z = aten.slice_scatter.default(x, y, 0, 1, 8)

After::

    s = aten.slice.Tensor(x, 0, 1, 8)           # [7], stride 2
    y = aten.copy.default(s, t)                 # [7], stride 1: 7 elements of storage
    z = aten.slice_scatter.default(x, y, 0, 1, 8)

It does not fire on a value that is copied into an argument, because with the strides of the argument it can
be computed there; on a value that torch ops or the caller get, through views as well, unless they take any
strides; on values whose elements overlap; nor where a size that is unknown while compiling would decide.

Why not an MLIR pass: the strides of a value are what its metadata says, which torch's meta functions
propagate before the import."""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ...base.strides import span
from ...fx.views import is_one_view
from ..rewriting import rewrite
from .relayout import Relayout, generated, takes_any_strides

_aten = torch.ops.aten


@rewrite(
    "gaps",
    "a value that only generated kernels read is stored without the gaps that it has in eager mode",
)
def close_gaps(layouts: Relayout) -> int:
    """Gives values that only kernels read dense strides, in the order they have; how many values.
    ``layouts.spread`` must follow.
    """
    count = 0
    for node in layouts.graph.nodes:
        if not generated(node) or node in layouts.eager or not _may_move(node):
            continue
        strides = _without_gaps(node.meta["val"])
        if strides is not None:
            layouts.set_strides(node, strides)
            count += 1
    return count


def _may_move(node: Node) -> bool:
    """Whether who reads a value, or a view of it, takes any strides and does not write it to an argument."""
    return all(
        user.op == "call_function"
        and user.target is not _aten.copy_.default
        and takes_any_strides(user)
        and (not is_one_view(user) or _may_move(user))
        for user in node.users
    )


def _without_gaps(value: Tensor) -> list[Any] | None:
    """Dense strides in the order of a value's own; None where it has no gaps."""
    sizes, strides = _hints(value.shape), _hints(value.stride())
    if sizes is None or strides is None or 0 in sizes:
        return None
    if span(sizes, strides) <= prod(sizes):
        return None
    dense: list[Any] = [1] * len(sizes)
    elements: Any = 1
    for dim in sorted(reversed(range(len(sizes))), key=strides.__getitem__):
        dense[dim] = elements
        elements = elements * value.shape[dim]
    return dense


def _hints(numbers: Sequence[Any]) -> list[int] | None:
    """Numbers as far as they are known while compiling, without a guard; None if one is not."""
    known = [n if type(n) is int else n.node.hint for n in numbers]
    return None if None in known else known


__all__ = ["close_gaps"]
