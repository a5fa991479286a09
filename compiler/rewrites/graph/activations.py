"""Which nodes of an FX graph are an activation that the library's products can compute: ReLU, or GELU by
tanh.

A GELU that is spelled out is found by what it computes, not by how it is written.  Around a ``tanh`` node,
sums, products, powers and casts are read as a polynomial in the value x that they are computed of and in
``t = tanh(..)``.  It is GELU where the argument of ``tanh`` is ``sqrt(2 / pi) * (x + 0.044715 * x ** 3)`` and
the result is ``x / 2 + x * t / 2`` (Hendrycks and Gimpel 2016), in any order, by any of these ops.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

_aten = torch.ops.aten

#: Constants of GELU by tanh: of the inner sum, and of its cube.
_SLOPE, _CUBE = math.sqrt(2 / math.pi), 0.044715

#: A polynomial in x and t: from the two exponents to the coefficient.
Polynomial = dict[tuple[int, int], float]
_X, _T = {(1, 0): 1.0}, {(0, 1): 1.0}
_INNER: Polynomial = {(1, 0): _SLOPE, (3, 0): _SLOPE * _CUBE}
_GELU: Polynomial = {(1, 0): 0.5, (1, 1): 0.5}

#: The highest exponent that is followed, and how many nodes behind a tanh.
_DEGREE, _STEPS = 4, 8


@dataclass(frozen=True)
class Activation:
    """``function(source)`` as nodes, its result the last of them."""

    source: Node
    nodes: tuple[Node, ...]
    gelu: bool

    @property
    def result(self) -> Node:
        return self.nodes[-1]

    def is_private(self) -> bool:
        """Whether the source and all that is computed from it, but the result, have no other reader."""
        inside = set(self.nodes)
        return all(user in inside for n in (self.source, *self.nodes[:-1]) for user in n.users)


def activation_of(node: Node) -> Activation | None:
    """The activation whose function a node is: ``relu``, ``gelu`` or the ``tanh`` of one that is spelled out.
    A cast to a wider type in front of it and one back behind it are parts of it.
    """
    if node.target is _aten.tanh.default:
        return _spelled_out(node)
    relu = node.target is _aten.relu.default or (
        node.target in (_aten.clamp_min.default, _aten.clamp.default)
        and node.args[1:] == (0,)
        and not node.kwargs
    )
    gelu = node.target is _aten.gelu.default and node.kwargs.get("approximate") == "tanh"
    source = node.args[0] if relu or gelu else None
    if not isinstance(source, Node):
        return None
    return _with_casts(Activation(source, (node,), gelu))


def _with_casts(found: Activation) -> Activation:
    """With the cast in front of it and the one back behind it, where both are there."""
    cast, [*users] = found.source, found.result.users
    if not _is_cast(cast) or len(users) != 1 or not _is_cast(users[0]):
        return found
    source, back = cast.args[0], users[0]
    if not isinstance(source, Node) or _dtype(back) != _dtype(source):
        return found
    return Activation(source, (cast, *found.nodes, back), found.gelu)


def _dtype(node: Node) -> torch.dtype | None:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, Tensor) else None


def _is_cast(node: Node) -> bool:
    """Whether a node changes nothing but the type of floating-point numbers."""
    if node.target is not _aten._to_copy.default or node.kwargs.keys() != {"dtype"}:
        return False
    before = _dtype(node.args[0]) if isinstance(node.args[0], Node) else None
    return before is not None and before.is_floating_point and node.kwargs["dtype"].is_floating_point


def _spelled_out(tanh: Node) -> Activation | None:
    """GELU, if what is around a ``tanh`` is that."""
    inner = _Reading(tanh)
    if not isinstance(tanh.args[0], Node) or not _equal(inner.of(tanh.args[0]), _INNER) or inner.x is None:
        return None
    node = tanh
    for _ in range(_STEPS):
        if len(node.users) != 1:
            return None
        [node] = node.users
        outer = _Reading(tanh, inner.x)
        found = outer.of(node)
        if found is None:
            return None
        if _equal(found, _GELU) and _dtype(node) == _dtype(inner.x):
            nodes = dict.fromkeys((*inner.nodes, tanh, *(n for n in outer.nodes if n is not node), node))
            return Activation(inner.x, tuple(nodes), gelu=True)
    return None


def _equal(found: Polynomial | None, expected: Polynomial) -> bool:
    return (
        found is not None
        and found.keys() == expected.keys()
        and all(math.isclose(found[k], expected[k], rel_tol=1e-6) for k in expected)
    )


@dataclass
class _Reading:
    """Reads nodes as polynomials.  ``x``: the one node that is no arithmetic.  ``nodes``: those that are."""

    tanh: Node
    x: Node | None = None
    nodes: dict[Node, Polynomial] = field(default_factory=dict)

    def of(self, value: Any) -> Polynomial | None:
        """The polynomial of an argument; None where it is no polynomial in one value."""
        if isinstance(value, (int, float)):
            return {(0, 0): float(value)}
        if not isinstance(value, Node):
            return None
        if value is self.tanh or value is self.x:
            return _T if value is self.tanh else _X
        if value not in self.nodes:
            found = self._arithmetic(value)
            if found is None:
                return None
            if value is self.x:
                return found
            self.nodes[value] = found
        return self.nodes[value]

    def _arithmetic(self, node: Node) -> Polynomial | None:
        if _is_cast(node):
            return self.of(node.args[0])
        operands, target = node.args, node.target
        if node.kwargs:
            return self._leaf(node)
        if target is _aten.neg.default:
            return _times(self.of(operands[0]), {(0, 0): -1.0})
        if target is _aten.pow.Tensor_Scalar and operands[1] in (2, 3):
            base = self.of(operands[0])
            square = _times(base, base)
            return square if operands[1] == 2 else _times(square, base)
        if target is _aten.div.Tensor and isinstance(operands[1], (int, float)) and operands[1]:
            return _times(self.of(operands[0]), {(0, 0): 1.0 / operands[1]})
        if target is _aten.mul.Tensor:
            return _times(self.of(operands[0]), self.of(operands[1]))
        if target in (_aten.add.Tensor, _aten.sub.Tensor):
            sign = 1.0 if target is _aten.add.Tensor else -1.0
            return _plus(self.of(operands[0]), _times(self.of(operands[1]), {(0, 0): sign}))
        return self._leaf(node)

    def _leaf(self, node: Node) -> Polynomial | None:
        """A value that is no arithmetic: x, if there is none yet."""
        if self.x is not None:
            return None
        self.x = node
        return _X


def _times(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    if a is None or b is None:
        return None
    product: Polynomial = {}
    for (i, j), one in a.items():
        for (k, m), other in b.items():
            if i + k + j + m > _DEGREE:
                return None
            product[i + k, j + m] = product.get((i + k, j + m), 0.0) + one * other
    return product


def _plus(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    if a is None or b is None:
        return None
    return {key: a.get(key, 0.0) + b.get(key, 0.0) for key in (a | b)}


__all__ = ["Activation", "activation_of"]
