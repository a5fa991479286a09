"""Rows that are added into two tables of zeros, whose sum is wanted, are added into one table.

A tensor that is gathered twice has two gradients, each in a table of its size (the items of a shop, looked up
as what was bought and as what is offered).

Before::

    left = index_put(zeros([v, c]), [first], rows, accumulate=True)
    right = index_add(zeros([v, c]), 0, second, others)
    gradient = left + right

After::

    left = index_put(zeros([v, c]), [first], rows, accumulate=True)
    gradient = index_add(left, 0, second, others)

A table is not cleared, and two are not read: four passes over it less, and its memory.  ``scatter_add`` takes
part, too, and a sum of more tables becomes one table in the same way.  The numbers are added in another
order, which atomics leave open anyway.

It does not fire where both have more numbers to add than the table has elements, as one kernel may compute
and add them into two tables (the messages of a graph's edges, for both ends); for tables smaller than
``LEAST_BYTES``; on 16-bit numbers, as each addition would round to 16 bits, and complex ones; where a table
has another reader; where the tables have other sizes or strides than the sum; on a table that holds other
numbers than zeros before, as small numbers that are added to a large one round each time; for sizes unknown
while compiling; nor where algorithms must be deterministic.

Why not an MLIR pass: there each scatter is a kernel already, and zeros are stores of a kernel.
"""

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ...fx.new_node import new_node, replace_nodes
from ..rewriting import rewrite
from .one_hot import ZEROS

_aten = torch.ops.aten
#: Ops that add to a table -> the number of the argument that they add.
_SCATTERS: dict[Any, int] = {
    _aten.index_put.default: 2, _aten.index_add.default: 3, _aten.scatter_add.default: 3,
}  # fmt: skip
_SUMMED = (torch.float32, torch.float64, torch.int32, torch.int64)

#: Bytes of a table below which ``write-in-place`` would leave a copy in front of the second scatter.
LEAST_BYTES = 1 << 20


@rewrite("scattered-sums", "rows go into one table, where two tables of zeros were added up")
def scatter_into_one_table(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many tables it saves."""
    if torch.are_deterministic_algorithms_enabled():
        return 0
    return replace_nodes(gm, _one_table)


def _one_table(total: Node) -> Node | None:
    """The last scatter into the one table, in place of the sum ``total`` of two; None for any other node."""
    if total.target is not _aten.add.Tensor or total.kwargs or len(set(total.all_input_nodes)) != 2:
        return None
    before, after = sorted(total.all_input_nodes)  # the rows of what comes later need not wait
    scatters, others = _into_zeros(after), _into_zeros(before)
    if not scatters or not others or not _alike(before, after, total):
        return None
    if not _is_large(total, min(_numbers(scatters), _numbers(others))):
        return None
    table = before
    with total.graph.inserting_before(total):
        for scatter in reversed(scatters):
            arguments = (table, *scatter.args[1:])
            table = new_node(
                total.graph,
                scatter.target,
                *arguments,
                like=scatter,
                val=scatter.meta["val"],
                **scatter.kwargs,
            )
    return table


def _into_zeros(node: Node) -> list[Node]:
    """The scatters whose sum ``node`` is, the last first: each adds to the one before, which nobody else
    reads, and the first to zeros.  Empty for anything else.
    """
    found = []
    while node.target in _SCATTERS and len(node.users) == 1:
        if node.target is _aten.index_put.default and node.args[3:] != (True,):
            return []
        found.append(node)
        node = node.args[0]  # type: ignore[assignment]
    return found if node.target in ZEROS else []


def _numbers(scatters: list[Node]) -> Any:
    """How many numbers are added."""
    added: list[Any] = [node.args[_SCATTERS[node.target]] for node in scatters]
    return sum(rows.meta["val"].numel() for rows in added)


def _is_large(table: Node, numbers: Any) -> bool:
    """Whether passes over a table take longer than numbers of rows that would be read again."""
    value = table.meta["val"]
    return statically_known_true(numbers <= value.numel()) and statically_known_true(
        value.numel() * value.element_size() >= LEAST_BYTES
    )


def _alike(*nodes: Node) -> bool:
    """Whether tensors have one size, one layout, and one type of numbers that can be added in any order."""
    first, *others = (node.meta["val"] for node in nodes)
    return first.dtype in _SUMMED and all(
        (value.dtype, value.device, value.dim()) == (first.dtype, first.device, first.dim())
        and all(
            statically_known_true(a == b)
            for a, b in zip((*value.shape, *value.stride()), (*first.shape, *first.stride()), strict=True)
        )
        for value in others
    )


__all__ = ["scatter_into_one_table"]
