"""What a captured graph alone determines, whatever the arguments of the call are, computed on the CPU.

A mask made of ranges and constants is such a value.  It is computed by the same calls, of nodes that nobody
writes to at any time (``memory.py``).
"""

import logging
import operator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Node, map_arg

from .matching import example
from .memory import SharedMemory

log = logging.getLogger(__name__)

#: Calls that are computed here: the same numbers on every device, and no state.
_FUNCTIONS = frozenset({
    torch.arange, torch.ones, torch.zeros, torch.full, torch.tril, torch.triu, torch.where, torch.diff,
    torch.cumsum, torch.eq, torch.ne, torch.le, torch.lt, torch.ge, torch.gt, torch.logical_and,
    torch.logical_or, torch.logical_not, torch.bitwise_and, torch.bitwise_or, torch.bitwise_not,
    torch.ones_like, torch.zeros_like, torch.full_like, torch.unsqueeze, torch.masked_fill,
    torch.add, torch.sub, torch.mul, torch.neg,
    operator.add, operator.sub, operator.mul, operator.neg, operator.getitem, operator.and_, operator.or_,
    operator.invert, operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt,
})  # fmt: skip
_METHODS = frozenset({
    "new_ones", "new_zeros", "new_full", "unsqueeze", "squeeze", "expand", "expand_as", "view", "reshape",
    "transpose", "permute", "t", "repeat", "to", "bool", "float", "half", "bfloat16", "long", "int", "type",
    "cumsum", "diff", "tril", "triu", "contiguous", "clone", "masked_fill", "logical_and", "logical_or",
    "logical_not", "eq", "ne", "le", "lt", "ge", "gt", "add", "sub", "mul", "flatten",
    "__eq__", "__ne__", "__le__", "__lt__", "__ge__", "__gt__", "__add__", "__radd__", "__sub__", "__rsub__",
    "__mul__", "__rmul__", "__neg__", "__and__", "__rand__", "__or__", "__ror__", "__invert__", "__getitem__",
})  # fmt: skip

#: What makes a tensor from nothing, on the current device unless told.
_CREATE = frozenset({torch.arange, torch.ones, torch.zeros, torch.full})

#: No mask is larger: it would be computed on the host.
_LARGEST = 1 << 26


class _Unknown(Exception):
    """A value that depends on more than the graph."""


class KnownValues:
    """The values of nodes that a graph determines.  ``memory``: of the graph as it is."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self._known: dict[Node, Any] = {}
        self._unknown: set[Node] = set()

    @unset_fake_temporarily()
    def tensor(self, node: Node) -> Tensor | None:
        """What the node computes, on the CPU; None where that depends on more than the graph."""
        if node in self._unknown:
            return None
        try:
            value = self._evaluate(node)
        except _Unknown as reason:
            log.debug("%s is unknown: %s", node.name, reason)
            self._unknown.add(node)
            return None
        return value if isinstance(value, Tensor) else None

    def _evaluate(self, node: Node) -> Any:
        if node not in self._known:
            for reached in self._inputs_first(node):
                self._known[reached] = _call(reached, self._known)
        return self._known[node]

    def _inputs_first(self, node: Node) -> list[Node]:
        """The unknown nodes that it is computed from and itself, operands first."""
        found: dict[Node, None] = {}
        waiting = [node]
        while waiting:
            current = waiting[-1]
            missing = [a for a in current.all_input_nodes if a not in self._known and a not in found]
            if missing and self._computed(current):
                waiting += missing
                continue
            self._computed(current)
            found[waiting.pop()] = None
        return list(found)

    def _computed(self, node: Node) -> bool:
        """True of a call that is computed here.  Raises ``_Unknown`` for anything else."""
        if not _is_known(node):
            raise _Unknown(f"{node.name} is {node.op} {node.target}")
        value = example(node)
        if value is None or any(type(n) is not int for n in value.shape) or value.numel() > _LARGEST:
            raise _Unknown(f"{node.name} has no size, or a large one")
        writers = self._memory.writers(node)
        if writers:
            raise _Unknown(f"{writers[0].name} may write to {node.name}")
        return True


def _is_known(node: Node) -> bool:
    calls = {"call_function": _FUNCTIONS, "call_method": _METHODS}.get(node.op, frozenset())
    return node.target in calls and node.kwargs.get("out") is None


def _call(node: Node, known: dict[Node, Any]) -> Any:
    """What the call gives on the CPU; a device, also by its name, becomes that."""
    cpu = torch.device("cpu")
    args = tuple(
        cpu if isinstance(a, torch.device | str) else a for a in map_arg(node.args, known.__getitem__)
    )
    kwargs = dict(map_arg(node.kwargs, known.__getitem__))
    if "device" in kwargs or node.target in _CREATE:
        kwargs["device"] = cpu
    try:
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        return node.target(*args, **kwargs)  # type: ignore[operator]
    except (RuntimeError, TypeError) as error:
        raise _Unknown(f"{node.name} fails on the CPU: {error}") from None


__all__ = ["KnownValues"]
