"""Numbers of 16 bits that are added at indices are added in float32, and rounded once.

The gradient of a lookup ``table[i]`` adds what every reader of a row gives.  Atomics of 16 bits round each
addition: of 6000 numbers with a standard deviation of 1, the sum is 10 percent off, as each new number is
smaller than a unit in the last place of the sum.  torch's kernels for a GPU add in float32.

Before::

    gradient = index_put(zeros([v, c], bfloat16), [index], rows, accumulate=True)

After::

    sums = index_put(zeros([v, c], float32), [index], rows.to(float32), accumulate=True)
    gradient = sums.to(bfloat16)

It does not fire where masks choose the elements, each of which gets one number; for one place; for a table
that holds other numbers than zeros and has more elements than there are numbers to add, as all of it would be
converted twice; nor where algorithms must be deterministic, as torch then sorts and adds.  ``index_add`` and
``scatter_add`` are left, as torch's kernels for a GPU round each of their additions, too.

Why not an MLIR pass: there the scatter is a kernel already, and the type of its tensor is that of the result.
"""

import math
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ...fx.new_node import computed_node, new_node, replace_nodes
from ..rewriting import rewrite
from .one_hot import ZEROS

_aten = torch.ops.aten
_NARROW = (torch.bfloat16, torch.float16)


@rewrite("wide-sums", "numbers of 16 bits are added at indices in float32, and rounded once")
def add_in_float32(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many scatters."""
    if torch.are_deterministic_algorithms_enabled():
        return 0
    return replace_nodes(gm, _wide)


def _wide(node: Node) -> Node | None:
    """The rounded sums in place of one ``index_put``; None for any other node."""
    if node.target is not _aten.index_put.default or node.args[3:] != (True,) or node.kwargs:
        return None
    table, indices, rows = node.args[:3]
    assert isinstance(table, Node) and isinstance(rows, Node)
    dtype = node.meta["val"].dtype
    if dtype not in _NARROW or not _may_meet(table, indices, rows):
        return None
    val = node.meta["val"].float()
    with node.graph.inserting_before(node):
        if table.target in ZEROS:
            zeros = {**table.kwargs, "dtype": torch.float32}
            table = new_node(node.graph, table.target, *table.args, like=node, val=val, **zeros)
        else:
            table = computed_node(node, _aten._to_copy.default, table, dtype=torch.float32)
        rows = computed_node(node, _aten._to_copy.default, rows, dtype=torch.float32)
        sums = new_node(node.graph, node.target, table, indices, rows, True, like=node, val=val)
        return computed_node(node, _aten._to_copy.default, sums, dtype=dtype)


def _may_meet(table: Node, indices: Any, rows: Node) -> bool:
    """Whether several numbers may be added to one element, and whether the table is worth two conversions."""
    places = [i.meta["val"] for i in indices if i is not None]
    if any(i.dtype in (torch.bool, torch.uint8) for i in places):
        return False
    if all(statically_known_true(math.prod(i.shape) == 1) for i in places):
        return False
    held, added = table.meta["val"].numel(), rows.meta["val"].numel()
    return table.target in ZEROS or statically_known_true(added >= held)


__all__ = ["add_in_float32"]
