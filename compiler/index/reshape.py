"""Tensors in row-major order: their strides, and the coordinates of one at a point of another that has as
many elements.
"""

from collections.abc import Sequence
from functools import lru_cache

from .expr import Expr, const, sym
from .facts import Facts
from .simplify import simplify


@lru_cache(maxsize=4096)
def contiguous_strides(sizes: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Row-major strides in elements; a size of 0 counts as 1, as in torch."""
    strides: list[Expr] = []
    step = const(1)
    for size in reversed(sizes):
        strides.append(step)
        step = step * (const(1) if size.constant == 0 else size)
    return tuple(reversed(strides))


def reshape(source: Sequence[Expr], result: Sequence[Expr], prefix: str = "v") -> tuple[Expr, ...]:
    """Source coordinates of the point ``v0..`` of a result with as many elements, in row-major order.

    Dims are matched in groups of equal product, so that only dims that are really split or merged get
    divisions.
    """
    return _reshape(tuple(source), tuple(result), prefix)


@lru_cache(maxsize=4096)
def _reshape(source: tuple[Expr, ...], result: tuple[Expr, ...], prefix: str) -> tuple[Expr, ...]:
    names = [f"{prefix}{i}" for i in range(len(result))]
    if any(size.constant == 0 for size in (*source, *result)):
        return _of_nothing(source, result, names)
    coordinates: list[Expr] = []
    facts = Facts.of(extents={n: str(s) for n, s in zip(names, result, strict=True)})
    for inside, outside in _groups(source, result):
        linear = const(0)
        for i in outside:
            linear = linear * result[i] + (const(0) if result[i].constant == 1 else sym(names[i]))
        coordinates += digits(linear, [source[i] for i in inside], facts)
    return tuple(coordinates)


def _of_nothing(source: Sequence[Expr], result: Sequence[Expr], names: Sequence[str]) -> tuple[Expr, ...]:
    """Coordinates where there is no point.  They name the dims of the result that have none: an access that
    did not vary with these would happen.
    """
    empty = sum((sym(name) for name, size in zip(names, result, strict=True) if size.constant == 0), const(0))
    place = next((i for i, size in enumerate(source) if size.constant == 0), 0)
    return tuple(empty if i == place else const(0) for i in range(len(source)))


def _groups(source: Sequence[Expr], result: Sequence[Expr]) -> list[tuple[list[int], list[int]]]:
    """The finest runs of source and result dims with equal products, size-1 dims aside."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) or j < len(result):
        inside: list[int] = []
        outside: list[int] = []
        left = right = const(1)
        while (not inside and not outside) or left != right:
            grow_left = _smaller(left, right, i < len(source), j < len(result), bool(inside))
            if grow_left:
                inside.append(i)
                left, i = left * source[i], i + 1
            elif j < len(result):
                outside.append(j)
                right, j = right * result[j], j + 1
            else:
                break
        groups.append((inside, outside))
    return groups


def _smaller(left: Expr, right: Expr, more_left: bool, more_right: bool, begun: bool) -> bool:
    """Whether the next dim is taken from the source side: the first one is, then one from the side whose
    product divides the other's.
    """
    if not more_left or not more_right:
        return more_left
    if not begun:
        return True
    if left.constant is not None and right.constant is not None:
        return left.constant < right.constant
    return right.over(left) is not None and left != right


def digits(linear: Expr, sizes: Sequence[Expr], facts: Facts) -> list[Expr]:
    """The coordinates of a row-major linear index in ``sizes``; the first one gets the quotient that is
    left.
    """
    found: list[Expr] = []
    step = const(1)
    first = next((i for i, s in enumerate(sizes) if s.constant != 1), 0)
    for i in reversed(range(len(sizes))):
        if sizes[i].constant == 1:
            found.append(const(0))
            continue
        digit = linear.floordiv(step) if step.constant != 1 else linear
        if i != first:
            digit = digit.mod(sizes[i])
        found.append(simplify(digit, facts))
        step = step * sizes[i]
    return found[::-1]
