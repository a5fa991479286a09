"""The windows of poolings along one dim, and sums over several dims of them."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ....base.dataclass import dataclass
from ....fx.table import Refused
from ....index import Expr, Facts, const
from ....rewrites.joint.pool_offsets import LARGEST_WINDOW
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor


class Windows(ABC):
    """The windows along one dim of ``extent`` places.  A window is at most ``longest`` places, of which some
    may lie outside the dim.  ``most``: the largest number of windows that can hold a place.
    """

    extent: Expr

    @property
    @abstractmethod
    def longest(self) -> Expr: ...

    @property
    @abstractmethod
    def most(self) -> Expr: ...

    @abstractmethod
    def begin(self, window: Expr) -> Expr:
        """The first place of a window."""

    @abstractmethod
    def place(self, window: Expr, step: Expr) -> Expr:
        """The place number ``step`` of a window."""

    @abstractmethod
    def last(self, place: Expr) -> Expr:
        """The number of the last window that begins at or before ``place``."""

    @abstractmethod
    def skipped(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        """How many places of a window lie in front of the dim."""

    @abstractmethod
    def count(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        """The divisor of the sum over a window."""

    @abstractmethod
    def reaches(self, k: KernelBuilder, window: Expr, place: Expr) -> list[Scalar]:
        """When a window that begins at or before ``place`` reaches it; nothing where it always does."""

    def held(self, k: KernelBuilder, window: Expr, place: Expr) -> list[Scalar]:
        """When a place of a window lies in the dim, without comparisons that hold at every point."""
        return inside(k, place, self.extent)


@dataclass(frozen=True)
class StridedWindows(Windows):
    """Windows of one size at equal distances.  ``dilation``: the distance of their places.  ``padding``: how
    many places before the first place the first window begins.  ``padded``: whether padding counts in the
    divisor.  ``ceiling``: whether the last window may reach beyond the padding; what lies there never counts.
    """

    extent: Expr
    size: Expr
    stride: Expr
    padding: int = 0
    dilation: int = 1
    padded: bool = True
    ceiling: bool = False

    @property
    def longest(self) -> Expr:
        return self.size

    @property
    def most(self) -> Expr:
        return ((self.size - 1) * self.dilation).floordiv(self.stride) + 1

    def begin(self, window: Expr) -> Expr:
        return window * self.stride - self.padding

    def place(self, window: Expr, step: Expr) -> Expr:
        return self.begin(window) + step * self.dilation

    def last(self, place: Expr) -> Expr:
        return (place + self.padding).floordiv(self.stride)

    def skipped(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        if not self.padding:
            return const(0)
        outside = (self.dilation - 1 - self.begin(window)).floordiv(const(self.dilation))
        return k.maximum(k.index(outside), 0)

    def count(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        if not self.ceiling and (self.padded or not self.padding):
            return self.size
        limit = self.extent + (self.padding if self.padded else 0)
        end = k.minimum(k.index(self._end(window)), k.index(limit))
        begin = k.index(self.begin(window))
        return k.sub(end, begin if self.padded else k.maximum(begin, 0))

    def reaches(self, k: KernelBuilder, window: Expr, place: Expr) -> list[Scalar]:
        return [k.compare("lt", k.index(place - self._end(window)), 0)]

    def _end(self, window: Expr) -> Expr:
        return self.begin(window) + self.size


@dataclass(frozen=True)
class Adaptive(Windows):
    """``windows`` windows cover the dim.  Each has the places that overlap its equal share of the dim."""

    extent: Expr
    windows: Expr

    @property
    def longest(self) -> Expr:
        return self._most_overlaps(self.windows, self.extent)

    @property
    def most(self) -> Expr:
        return self._most_overlaps(self.extent, self.windows)

    def begin(self, window: Expr) -> Expr:
        return (window * self.extent).floordiv(self.windows)

    def place(self, window: Expr, step: Expr) -> Expr:
        return self.begin(window) + step

    def last(self, place: Expr) -> Expr:
        return ((place + 1) * self.windows - 1).floordiv(self.extent)

    def skipped(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        return const(0)

    def count(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        return self._end(window) - self.begin(window)

    def reaches(self, k: KernelBuilder, window: Expr, place: Expr) -> list[Scalar]:
        return [k.compare("lt", k.index(place - self._end(window)), 0)]

    def held(self, k: KernelBuilder, window: Expr, place: Expr) -> list[Scalar]:
        return self.reaches(k, window, place)

    def _end(self, window: Expr) -> Expr:
        return ((window + 1) * self.extent + (self.windows - 1)).floordiv(self.windows)

    @staticmethod
    def _most_overlaps(parts: Expr, whole: Expr) -> Expr:
        """How many of ``whole`` equal intervals one of ``parts`` equal intervals of the same line overlaps at
        most: exactly if both numbers are known.
        """
        if parts.constant is None or whole.constant is None:
            return (whole + (parts - 1)).floordiv(parts) + 1
        n, m = parts.constant, whole.constant
        return const(max(-(-(i + 1) * m // n) - i * m // n for i in range(n)))


def strided(call: Call, rank: int, sizes: Sequence[Expr] | None = None) -> list[Windows]:
    """The windows of a pooling over the last ``rank`` dims of an image, as the arguments of the call say.
    ``sizes``: of the image; None means those of ``self``.
    """
    extents = (call.tensor("self").sizes if sizes is None else sizes)[-rank:]
    size = [call.expr(n) for n in _listed(call["kernel_size"], rank)]
    stride = [call.expr(n) for n in _listed(call["stride"], rank)] if call["stride"] else size
    padding = _numbers(call["padding"], rank)
    dilation = _numbers(call.arguments.get("dilation", 1), rank)
    padded, ceiling = (
        bool(call.arguments.get("count_include_pad", True)),
        bool(call.arguments.get("ceil_mode", False)),
    )
    return [
        StridedWindows(extent, n, step, front, apart, padded, ceiling)
        for extent, n, step, front, apart in zip(extents, size, stride, padding, dilation, strict=True)
    ]


def adaptive(image: Tensor, results: Sequence[Expr], rank: int) -> list[Windows]:
    """Windows over the last ``rank`` dims that make ``results``; equal ones where the extent divides by their
    number, so that their places need no comparison.
    """
    windows: list[Windows] = []
    for extent, count in zip(image.sizes[-rank:], results[-rank:], strict=True):
        each = extent.over(count)
        windows.append(Adaptive(extent, count) if each is None else StridedWindows(extent, each, each))
    return windows


def _listed(value: Any, rank: int) -> list[Any]:
    listed = list(value) if isinstance(value, list | tuple) else [value]
    return listed * rank if len(listed) == 1 else listed


def _numbers(value: Any, rank: int) -> list[int]:
    numbers = _listed(value, rank)
    if not all(type(n) is int for n in numbers):
        raise Refused("the padding or dilation of a window is known only when the program runs")
    return numbers


def inside(k: KernelBuilder, place: Expr, extent: Expr) -> list[Scalar]:
    """The conditions 0 <= place < extent, without those that hold at every point."""
    facts, conditions = Facts.of(k.dims), []
    least, most = facts.interval(place)[0], facts.interval(place - extent)[1]
    if least is None or least < 0:
        conditions.append(k.compare("ge", k.index(place), 0))
    if most is None or most >= 0:
        conditions.append(k.compare("lt", k.index(place - extent), 0))
    return conditions


def all_of(k: KernelBuilder, conditions: Sequence[Scalar]) -> Scalar:
    """Whether every condition holds."""
    return reduce(k.bit_and, conditions, k.true())


def unrolled(extents: Sequence[Expr]) -> list[tuple[Expr, ...]] | None:
    """All steps through ``extents`` in row-major order; None where a kernel should fold over dims instead,
    as there are too many, or their number is known only when the program runs.
    """
    numbers = [e.constant for e in extents]
    total = 1
    for n in numbers:
        total *= LARGEST_WINDOW + 1 if n is None else n
    if total > LARGEST_WINDOW:
        return None
    return list(itertools.product(*([const(i) for i in range(n or 0)] for n in numbers)))


def fold(k: KernelBuilder, kind: str, value: Scalar, over: Sequence[Expr]) -> Scalar:
    """``fuse.reduce`` over the dims among ``over``."""
    return k.fold(kind, value, [str(o) for o in over if not o.is_constant])


def summed(k: KernelBuilder, extents: Sequence[Expr], term: Callable[[Sequence[Expr]], Scalar]) -> Scalar:
    """The sum of ``term`` over all steps through ``extents``."""
    steps = unrolled(extents)
    if steps is not None:
        return reduce(k.add, map(term, steps))
    over = k.iterate(extents)
    return fold(k, "sum", term(over), over)


__all__ = [
    "Adaptive", "StridedWindows", "Windows", "adaptive", "all_of", "fold", "inside", "strided", "summed",
    "unrolled",
]  # fmt: skip
