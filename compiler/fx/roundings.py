"""Which results of a graph are rounded to 16 bits for every reader, also with ``rounding="float32"``.

In eager mode an op that computes in float32 rounds its 16-bit result.  With ``rounding="float32"`` a reader
in the same kernel gets the float32 number from before the rounding.  Every reader gets the rounded number of

- a cast that the program asks for: ``x.to(torch.bfloat16)``, or one of autocast's.  A cast inside the
  decomposition of an op (a softmax is computed in float32) is a part of that op, and does not count;
- each value that an integer or a bool is computed from (by a comparison, ``argmax``, a conversion to int8, a
  check for infinity), back to arguments and to results of library ops.  Two kernels may compute such a value
  from different numbers, one in registers and one in memory; ``x == x.amax()`` must then find in the second
  kernel the maximum of the first.  Two exceptions: a comparison inside the decomposition of an op (a loss),
  whose result no other op reads; and a comparison with a constant that only chooses between two values
  (``where(x > 0, ..)``), where either side of the threshold is as good;
- each value that the forward graph saves.  The backward graph reads it from memory, rounded; the forward
  graph must compute with the same number.
"""

import operator
from collections.abc import Iterable

import torch
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from . import library_ops as _whole  # noqa: F401  (enters library ops)
from .new_node import ROUNDED
from .table import KEPT_WHOLE

_aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)
_CASTS = (_aten._to_copy.default, torch.ops.prims.convert_element_type.default)
_ORDERS = (_aten.gt.Scalar, _aten.ge.Scalar, _aten.lt.Scalar, _aten.le.Scalar)
_ORDERS_OF_TENSORS = (_aten.gt.Tensor, _aten.ge.Tensor, _aten.lt.Tensor, _aten.le.Tensor)
_CONSTANTS = (_aten.scalar_tensor.default, _aten.full.default)
_CHOICES = (_aten.where.self, _aten.masked_fill.Scalar, _aten.masked_fill.Tensor)
_AGAIN = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


def rounds_implicitly(node: Node) -> bool:
    """Whether a node's 16-bit result is rounded only because eager mode rounds after each op."""
    return ROUNDED not in node.meta and not _is_asked_for(node)


def _is_asked_for(node: Node) -> bool:
    """Whether a node is a cast of the program's to another dtype."""
    if node.target not in _CASTS or _op_of_eager(node) not in map(str, _CASTS):
        return False
    dtypes = [n.meta["val"].dtype for n in (node, *node.all_input_nodes[:1]) if "val" in n.meta]
    return len(set(dtypes)) != 1


def round_what_decides(gm: GraphModule) -> int:
    """Marks what integers and bools are computed from, in a graph with ``meta["val"]`` and the graphs inside
    it; how many results are newly marked.
    """
    count = 0
    for module in gm.modules():
        if isinstance(module, GraphModule):
            count += _mark(_computed_from(filter(_decides, module.graph.nodes)))
    return count


def round_what_is_saved(saved: Iterable[Node]) -> int:
    """Marks what a forward graph returns for the backward graph; how many results are newly marked."""
    return _mark(map(_viewed, saved))


def _viewed(node: Node) -> Node:
    """The node whose result a view (as torch's schema declares it), or one of several results, lies in."""
    while node.target is operator.getitem or getattr(node.target, "is_view", False):
        node = node.all_input_nodes[0]
    return node


def _mark(nodes: Iterable[Node]) -> int:
    found = [n for n in nodes if n.op == "call_function" and _has(n, _HALVES) and ROUNDED not in n.meta]
    for node in found:
        node.meta[ROUNDED] = True
    return len(found)


def _computed_from(nodes: Iterable[Node]) -> Iterable[Node]:
    """The nodes and those that they are computed from, in kernels."""
    waiting = list(nodes)
    found = dict.fromkeys(waiting)
    while waiting:
        node = waiting.pop()
        if str(node.target) in KEPT_WHOLE and node.meta.get("recompute") not in _AGAIN:
            continue
        for operand in node.all_input_nodes:
            if operand not in found:
                found[operand] = None
                waiting.append(operand)
    return found


def _decides(node: Node) -> bool:
    """Whether a node gives integers or bools, and not to other parts of the same op alone."""
    value = node.meta.get("val")
    if node.op != "call_function" or not isinstance(value, torch.Tensor):
        return False
    if value.is_floating_point() or value.is_complex():
        return False
    if _orders_constant(node) and all(user.target in _CHOICES for user in node.users):
        return False
    op = _op_of_eager(node)
    return str(node.target) == op or any(_op_of_eager(user) != op for user in node.users)


def _orders_constant(node: Node) -> bool:
    """Whether a node asks whether values are larger than a number that the program has as such, or less."""
    if node.target in _ORDERS:
        return True
    constants = [n for n in node.all_input_nodes if n.target in _CONSTANTS and not n.all_input_nodes]
    return node.target in _ORDERS_OF_TENSORS and len(constants) == 1


def _op_of_eager(node: Node) -> str:
    """The name of the op that a node is a part of, or all of."""
    return str(node.meta.get("original_aten") or node.target)


def _has(node: Node, dtypes: tuple[torch.dtype, ...]) -> bool:
    """Whether a result of a node is a tensor of such a dtype."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else (value,)
    return any(isinstance(v, torch.Tensor) and v.dtype in dtypes for v in values)


__all__ = ["round_what_decides", "round_what_is_saved", "rounds_implicitly"]
