"""What ``flex_attention``'s functions of single scores say: whether they can be computed for all scores at
once, and which keys a mask admits.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from ...base.dataclass import dataclass

_aten = torch.ops.aten
#: Ops of no tensor, or of the type of one, that give one number.
_NUMBERS = (
    _aten.full.default,
    _aten.ones.default,
    _aten.zeros.default,
    _aten.new_full.default,
    _aten.new_ones.default,
    _aten.new_zeros.default,
    _aten.full_like.default,
    _aten.ones_like.default,
    _aten.zeros_like.default,
    _aten.scalar_tensor.default,
    _aten.lift_fresh_copy.default,
)
#: Ops that change a type or a device, or nothing.
_MOVED = (_aten._to_copy.default, _aten.clone.default, _aten.alias.default, _aten.detach.default)
#: What computes a place of a table by distances, each in an instruction or two.
_DISTANCES = (
    *(*_NUMBERS, *_MOVED),
    *(_aten.sub.Tensor, _aten.add.Tensor, _aten.rsub.Scalar, _aten.neg.default, _aten.abs.default),
    *(_aten.clamp.default, _aten.clamp_min.default, _aten.clamp_max.default),
    *(_aten.minimum.default, _aten.maximum.default),
)
_AND = (_aten.bitwise_and.Tensor, _aten.logical_and.default, _aten.__and__.Tensor)
_OR = (_aten.bitwise_or.Tensor, _aten.logical_or.default, _aten.__or__.Tensor)
#: Comparisons, and whether the first operand is the greater one.
_ORDERS = {
    **{f"{name}.{kind}": True for name in ("ge", "gt") for kind in ("Tensor", "Scalar")},
    **{f"{name}.{kind}": False for name in ("le", "lt") for kind in ("Tensor", "Scalar")},
}

#: How a condition bounds keys: from a side; not at all, as it compares look-ups; or as one of two masks do.
Side = Literal["first", "last", "look-ups", "choice"]


class LookUps(Enum):
    """What is looked up for each row and key."""

    NONE, DISTANCES, PAIRS = "nothing", "distances", "pairs"


class NotRead(Exception):
    """Why a call of ``flex_attention`` is not spelled out."""


@dataclass(frozen=True)
class Mask:
    """``open``: whether it admits all scores.  ``by_tables``: whether only tables of blocks bound the keys,
    as it compares what is looked up for a row with what is looked up for a key, or chooses between masks.
    ``choice``: whether it does the latter.
    """

    open: bool
    by_tables: bool
    choice: bool


def read_score(function: GraphModule) -> Node:
    """The result of a function, each step of which is computed for each score by itself.  Raises NotRead
    where a step is not.
    """
    result = None
    for node in function.graph.nodes:
        if node.op == "output":
            result = node.args[0][0] if isinstance(node.args[0], list | tuple) else node.args[0]
        elif node.op == "call_function":
            _check_step(node)
        elif node.op != "placeholder":
            raise NotRead(f"{node.name} in a function is {node.op}")
    if not isinstance(result, Node):
        raise NotRead("a function returns no tensor")
    return result


def _check_step(node: Node) -> None:
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.dim():
        raise NotRead(f"{node.name} in a function is no number")
    target: Any = node.target
    if target == _aten.index.Tensor:
        table, places = node.args[0], node.args[1]
        rank = table.meta["val"].dim() if isinstance(table, Node) and table.op == "placeholder" else None
        if not isinstance(places, Sequence) or len(places) != rank or None in places:
            raise NotRead(f"{node.name} in a function looks a part of a tensor up")
    elif target not in _NUMBERS and target not in _MOVED:
        if torch.Tag.pointwise not in getattr(target, "tags", ()):
            raise NotRead(f"{target} in a function is not pointwise")
        if any(n.meta["val"].dim() for n in node.all_input_nodes):
            raise NotRead(f"{node.name} in a function reads a tensor whole")


def read_mask(function: GraphModule) -> Mask:
    """What a mask function says.  Raises NotRead where that is not known to bound keys as well as the tables
    of blocks do.
    """
    result = read_score(function)
    places = [n for n in function.graph.nodes if n.op == "placeholder"]
    sides = _Conditions(places[3], places[2]).sides(result)
    return Mask(not sides, not sides.isdisjoint(("look-ups", "choice")), "choice" in sides)


def look_ups(function: GraphModule) -> LookUps:
    """What a score function looks up for each row and key: numbers of both (``pairs``), only numbers at sums,
    differences and extremes of their places (``distances``), or nothing.
    """
    places = [n for n in function.graph.nodes if n.op == "placeholder"][3:5]
    needs, found = dict[Node, set[Node]](), LookUps.NONE
    for node in function.graph.nodes:
        needs[node] = {node}.union(*(needs[n] for n in node.all_input_nodes))
        if node.target != _aten.index.Tensor or not needs[node].issuperset(places):
            continue
        both = [n for n in node.args[1] if needs[n].issuperset(places)]
        computed = {n for place in both for n in needs[place] if n.op == "call_function"}
        if not both or any(n.target not in _DISTANCES for n in computed):
            return LookUps.PAIRS
        found = LookUps.DISTANCES
    return found


@dataclass(frozen=True)
class _Conditions:
    """Of keys at a place that is the node ``key``."""

    key: Node
    row: Node

    def sides(self, node: Any) -> frozenset[Side]:
        """From which sides a condition bounds keys; of none where it admits all."""
        if not isinstance(node, Node) or node.op != "call_function":
            raise NotRead("its mask is no comparison")
        target: Any = node.target
        if target in _MOVED:
            return self.sides(node.args[0])
        if target in _AND:
            return self.sides(node.args[0]) | self.sides(node.args[1])
        if target in _OR:
            both = [self.sides(side) - {"choice"} for side in node.args]
            if both[0] != both[1] or len(both[0]) > 1 or "look-ups" in both[0]:
                raise NotRead("its mask is a choice between masks that bound keys from two sides")
            return both[0] | {"choice"}
        if target in _NUMBERS:
            if not _is_true(node):
                raise NotRead("its mask is a number")
            return frozenset()
        return frozenset({self._side(node)})

    def _side(self, node: Node) -> Side:
        target: Any = node.target
        name = (
            f"{target.overloadpacket.__name__}.{target._overloadname}" if hasattr(target, "_schema") else ""
        )
        if target == _aten.eq.Tensor and all(_is_lookup(side) for side in node.args):
            if node.args[0].args[0] is not node.args[1].args[0]:  # type: ignore[union-attr]
                raise NotRead("its mask compares look-ups of two tensors")
            return "look-ups"
        if name not in _ORDERS:
            raise NotRead(f"its mask is computed by {target}")
        times = [self._times(side) for side in node.args]
        if None in times:
            raise NotRead(f"{node.name} in its mask is not linear in the key")
        along = (times[0] or 0) - (times[1] or 0)
        if along not in (-1, 1):
            raise NotRead(f"{node.name} in its mask compares no key")
        return "first" if (along > 0) == _ORDERS[name] else "last"

    def _times(self, node: Any) -> int | None:
        """The factor of the key in a number that is linear in it, else None."""
        if not isinstance(node, Node):
            return 0
        if node.op == "placeholder":
            return int(node is self.key)
        target: Any = node.target
        if target in _MOVED:
            return self._times(node.args[0])
        inner = [
            self._times(n) for n in node.all_input_nodes if n.op != "placeholder" or not n.meta["val"].dim()
        ]
        if not any(factor != 0 for factor in inner):
            return 0
        times = [self._times(side) for side in node.args[:2]]
        if None in times or node.kwargs:
            return None
        first, second = (factor or 0 for factor in times)
        if target in (_aten.add.Tensor, _aten.add.Scalar):
            return first + second
        if target in (_aten.sub.Tensor, _aten.sub.Scalar):
            return first - second
        return None


def _is_lookup(node: Any) -> bool:
    return isinstance(node, Node) and node.target == _aten.index.Tensor


def _is_true(node: Node) -> bool:
    target: Any = node.target
    if target in (_aten.ones.default, _aten.new_ones.default, _aten.ones_like.default):
        return True
    numbers = [a for a in node.args if isinstance(a, bool | int)]
    return target != _aten.zeros.default and numbers == [True]


__all__ = ["LookUps", "Mask", "NotRead", "look_ups", "read_mask", "read_score"]
