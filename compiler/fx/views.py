"""Views in FX graphs: which nodes share the storage of another, and who reads that storage.

Two questions are told apart.  ``may_share_storage`` is for rewrites that write into storage or move reads of
it: it says yes where it is not known.  ``is_one_view`` is for the choice of strides: the node becomes one
``fuse.view`` of its first operand, so that its strides follow from the operand's.  (A third one, whether
torch's schema declares a view, is ``OpOverload.is_view``; ``roundings.py`` asks it.)
"""

import operator
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .ordered_groups import is_ordered
from .table import LOWERINGS, target_name

_aten = torch.ops.aten

#: For each node that starts a collective those that wait for it (``collectives.waits_by_start``).
Waits = dict[Node, list[Node]]

#: Views that change the sizes alone: the same elements in the same order.
RESHAPES = frozenset({_aten.view.default, _aten._unsafe_view.default, _aten.reshape.default})


def may_share_storage(node: Node) -> bool:
    """Whether a node's value, or one of its results, may lie in the storage of its first operand.

    An op that writes its operand is none: it is a reader of that storage.
    """
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return may_share_storage(node.all_input_nodes[0])
    lowering = LOWERINGS.get(target_name(node.target))
    if node.target in RESHAPES or (lowering is not None and lowering.view):
        return True
    schema = node.target._schema if isinstance(node.target, torch._ops.OpOverload) else None
    return schema is not None and not schema.is_mutable and any(r.alias_info for r in schema.returns)


def is_one_view(node: Node) -> bool:
    """Whether a node becomes one ``fuse.view`` of its first operand; not one with several results."""
    lowering = LOWERINGS.get(target_name(node.target)) if node.op == "call_function" else None
    return lowering is not None and lowering.view and isinstance(node.meta.get("val"), Tensor)


def storage_root(node: Any) -> Any:
    """What a value is a view of: the first value of its storage, as far as the graph shows it."""
    while isinstance(node, Node) and may_share_storage(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def storage_of(node: Node) -> int | None:
    """Which storage the value of a node lies in, by its metadata; None where it is no tensor with one."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return value.untyped_storage()._cdata
    except NotImplementedError:  # sparse
        return None


def storage_readers(root: Node, waits: Waits) -> list[Node]:
    """Whatever reads a value or a view of it, the graph's output included.

    What a collective reads, it reads until the waits for it.  An ordered group reads what it takes, not what
    it only runs after, and may give a view of it.
    """
    found: list[Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for user in node.users:
            if is_ordered(user) and node not in user.args[2:]:
                continue
            is_view = may_share_storage(user)
            if is_view:
                waiting.append(user)
            if not is_view or is_ordered(user):
                found += [user, *waits.get(user, ())]
    return found


def meets_itself(tensor: Tensor) -> bool:
    """Whether two elements of a strided tensor, real or fake, may lie in one place."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


__all__ = [
    "RESHAPES",
    "Waits",
    "is_one_view",
    "may_share_storage",
    "meets_itself",
    "storage_of",
    "storage_readers",
    "storage_root",
]
