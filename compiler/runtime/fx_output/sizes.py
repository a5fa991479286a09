"""Index expressions as arithmetic of FX nodes."""

import operator
from collections.abc import Callable
from typing import Any

from torch.fx import Node

from ...base.dataclass import dataclass

#: Makes a node from a function and its arguments.
Call = Callable[[Callable[..., Any], tuple[Any, ...]], Node]


@dataclass(frozen=True)
class SizeNode:
    """A node as a number, for ``Expr.evaluate``: arithmetic makes nodes."""

    node: Node
    call: Call

    def _with(self, function: Callable[..., Any], left: Any, right: Any) -> "SizeNode":
        parts = tuple(side.node if isinstance(side, SizeNode) else side for side in (left, right))
        return SizeNode(self.call(function, parts), self.call)

    def __add__(self, other: Any) -> "SizeNode":
        return self if other == 0 else self._with(operator.add, self, other)

    def __radd__(self, other: Any) -> "SizeNode":
        return self + other

    def __mul__(self, other: Any) -> "SizeNode":
        return self if other == 1 else self._with(operator.mul, self, other)

    def __rmul__(self, other: Any) -> "SizeNode":
        return self * other

    def __floordiv__(self, other: Any) -> "SizeNode":
        return self._with(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> "SizeNode":
        return self._with(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> "SizeNode":
        return self._with(operator.mod, self, other)

    def __rmod__(self, other: Any) -> "SizeNode":
        return self._with(operator.mod, other, self)
