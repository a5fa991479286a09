"""What complex arithmetic does to pairs of reals: a formula for each op, in ops on real tensors.

The formulas are those that eager mode evaluates, so infinities and NaNs come out where they do there: a real
operand is one with the imaginary part 0, which is multiplied as any other; a division is Smith's; ``abs`` is
``hypot``, which does not overflow.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.fx import Node, map_arg

from ...fx.new_node import new_node

_aten = torch.ops.aten
#: A real tensor, or a number.
Plane: TypeAlias = Node | float


class NoFormula(Exception):
    """A complex op that torch runs."""


class Pair(NamedTuple):
    """The real and the imaginary part of a complex tensor, or of a number."""

    re: Plane
    im: Plane


class Maker:
    """Makes ops on real tensors in front of ``like``, with its origin; folds what has numbers alone."""

    def __init__(self, like: Node) -> None:
        self.like = like
        self._mode: Any = getattr(like.meta["val"], "fake_mode", None) or nullcontext()
        self.made: list[Node] = []

    def __call__(self, target: Any, /, *args: Any, **kwargs: Any) -> Node:
        values, named = map_arg((args, kwargs), lambda node: node.meta["val"])
        with self._mode:
            val = target(*values, **named)
        with self.like.graph.inserting_before(self.like):
            node = new_node(self.like.graph, target, *args, like=self.like, val=val, **kwargs)
        self.made.append(node)
        return node

    def discard(self) -> None:
        """Erases what was made; nobody reads it."""
        for node in reversed(self.made):
            node.graph.erase_node(node)

    def mul(self, a: Plane, b: Plane) -> Plane:
        if isinstance(a, Node):
            return self(_aten.mul.Tensor, a, b)
        return self(_aten.mul.Tensor, b, a) if isinstance(b, Node) else a * b

    def add(self, a: Plane, b: Plane) -> Plane:
        if isinstance(a, Node):
            return self(_aten.add.Tensor, a, b)
        return self(_aten.add.Tensor, b, a) if isinstance(b, Node) else a + b

    def sub(self, a: Plane, b: Plane) -> Plane:
        if isinstance(a, Node):
            return self(_aten.sub.Tensor, a, b)
        return self(_aten.rsub.Scalar, b, a) if isinstance(b, Node) else a - b

    def div(self, a: Plane, b: Plane) -> Plane:
        if isinstance(a, Node):
            return self(_aten.div.Tensor, a, b)
        return self.mul(self(_aten.reciprocal.default, b), a) if isinstance(b, Node) else a / b

    def where(self, condition: Node, a: Plane, b: Plane) -> Node:
        if isinstance(a, Node):
            target = _aten.where.self if isinstance(b, Node) else _aten.where.ScalarOther
        else:
            assert isinstance(b, Node)
            target = _aten.where.ScalarSelf
        return self(target, condition, a, b)


def multiplied(m: Maker, x: Pair, y: Pair) -> Pair:
    return Pair(
        m.sub(m.mul(x.re, y.re), m.mul(x.im, y.im)),
        m.add(m.mul(x.re, y.im), m.mul(x.im, y.re)),
    )


def added(m: Maker, x: Pair, y: Pair) -> Pair:
    return Pair(m.add(x.re, y.re), m.add(x.im, y.im))


def subtracted(m: Maker, x: Pair, y: Pair) -> Pair:
    return Pair(m.sub(x.re, y.re), m.sub(x.im, y.im))


def divided(m: Maker, x: Pair, y: Pair) -> Pair:
    """Smith's division, by the larger part of the divisor first, which overflows only where the result does.
    By zero, each part is divided by zero.
    """
    c, d = y
    if not isinstance(c, Node):
        return _divided_by_number(m, x, c, d)
    if not isinstance(d, Node):  # a real tensor
        d = m(_aten.full_like.default, c, d)
    abs_c, abs_d = m(_aten.abs.default, c), m(_aten.abs.default, d)
    wide = m(_aten.ge.Tensor, abs_c, abs_d)
    large, small = m.where(wide, c, d), m.where(wide, d, c)
    ratio = m(_aten.div.Tensor, small, large)
    below = m.add(m.mul(ratio, ratio), 1.0)
    a, b = m.div(x.re, large), m.div(x.im, large)
    re = m.where(wide, m.add(a, m.mul(b, ratio)), m.add(m.mul(a, ratio), b))
    im = m.where(wide, m.sub(b, m.mul(a, ratio)), m.sub(m.mul(b, ratio), a))
    zero, nothing = m(_aten.eq.Scalar, m.add(abs_c, abs_d), 0), m(_aten.abs.default, large)
    return Pair(
        m.where(zero, m.div(x.re, nothing), m.div(re, below)),
        m.where(zero, m.div(x.im, nothing), m.div(im, below)),
    )


def _divided_by_number(m: Maker, x: Pair, c: float, d: Plane) -> Pair:
    """The same, where the larger part is known."""
    if isinstance(d, Node) or math.isnan(c) or math.isnan(d):
        raise NoFormula
    if c == d == 0:
        return Pair(m.div(x.re, 0.0), m.div(x.im, 0.0))
    wide = abs(c) >= abs(d)
    large, small = (c, d) if wide else (d, c)
    ratio = small / large
    below = 1 / (1 + ratio * ratio)
    a, b = m.div(x.re, large), m.div(x.im, large)
    if wide:
        re, im = m.add(a, m.mul(b, ratio)), m.sub(b, m.mul(a, ratio))
    else:
        re, im = m.add(m.mul(a, ratio), b), m.sub(m.mul(b, ratio), a)
    return Pair(m.mul(re, below), m.mul(im, below))


def magnitude(m: Maker, x: Pair) -> Node:
    return m(_aten.hypot.default, *tensors(m, x))


def angle(m: Maker, x: Pair) -> Node:
    re, im = tensors(m, x)
    return m(_aten.atan2.default, im, re)


def tensors(m: Maker, x: Pair) -> tuple[Node, Node]:
    """Both parts as tensors, one of which there is."""
    re, im = x
    if isinstance(re, Node):
        return re, im if isinstance(im, Node) else m(_aten.full_like.default, re, im)
    if not isinstance(im, Node):
        raise NoFormula
    return m(_aten.full_like.default, im, re), im


def negated(m: Maker, x: Pair) -> Pair:
    return Pair(m(_aten.neg.default, x.re), m(_aten.neg.default, x.im))


def conjugate(m: Maker, x: Pair) -> Pair:
    return Pair(x.re, m(_aten.neg.default, x.im) if isinstance(x.im, Node) else -x.im)


def reciprocal(m: Maker, x: Pair) -> Pair:
    return divided(m, Pair(1.0, 0.0), x)


def polar(m: Maker, radius: Node, at: Node) -> Pair:
    return Pair(m.mul(radius, m(_aten.cos.default, at)), m.mul(radius, m(_aten.sin.default, at)))


def sgn(m: Maker, x: Pair) -> Pair:
    length = magnitude(m, x)
    zero = m(_aten.eq.Scalar, length, 0)
    return Pair(
        m.where(zero, 0.0, m(_aten.div.Tensor, x.re, length)),
        m.where(zero, 0.0, m(_aten.div.Tensor, x.im, length)),
    )


def interpolated(m: Maker, start: Pair, end: Pair, weight: Pair) -> Pair:
    """From the nearer end, by the size of the weight."""
    way, rest = subtracted(m, end, start), subtracted(m, Pair(1.0, 0.0), weight)
    forth, back = added(m, start, multiplied(m, weight, way)), subtracted(m, end, multiplied(m, way, rest))
    if not isinstance(weight.re, Node) and not isinstance(weight.im, Node):
        return forth if abs(complex(*weight)) < 0.5 else back
    small = m(_aten.lt.Scalar, magnitude(m, weight), 0.5)
    return Pair(m.where(small, forth.re, back.re), m.where(small, forth.im, back.im))


def scaled(m: Maker, x: Pair, factor: float) -> Pair:
    """Each part by a number."""
    return Pair(m.mul(x.re, factor), m.mul(x.im, factor))


def both(m: Maker, target: Any, joined: Any, x: Pair, *others: Any) -> Node:
    """A test of both parts, ``joined`` by and or or."""
    return m(joined, m(target, x.re, *others), m(target, x.im, *others))


#: Ops of two complex operands.
BINARY: dict[str, Callable[[Maker, Pair, Pair], Pair]] = {
    "mul": multiplied, "add": added, "sub": subtracted, "div": divided,
}  # fmt: skip
