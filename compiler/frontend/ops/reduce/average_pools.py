"""Average pooling and its gradient: sums over windows in two or three dims.

A result reads the places of its window.  A gradient reads the windows that contain its place, so no atomic
add is needed.  Up to ``LARGEST_WINDOW`` places are read by one load each; for more the kernel has a
reduction.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any

from ....base.dataclass import dataclass
from ....fx.table import lowers
from ....index import Expr, const
from ....rewrites.joint.pool_offsets import LARGEST_WINDOW
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor


class Windows(ABC):
    """The windows along one dim of ``extent`` places.  A window is [``begin``, ``end``) and may reach beyond
    the places.  ``longest``: most places in a window.  ``most``: most windows that contain a place.
    """

    extent: Expr

    @property
    @abstractmethod
    def longest(self) -> Expr: ...

    @property
    @abstractmethod
    def most(self) -> int: ...

    @abstractmethod
    def begin(self, window: Expr) -> Expr: ...

    @abstractmethod
    def end(self, window: Expr) -> Expr: ...

    @abstractmethod
    def last(self, place: Expr) -> Expr:
        """The number of the last window that begins at or before ``place``."""

    @abstractmethod
    def count(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        """The divisor of the sum over a window."""


@dataclass(frozen=True)
class StridedWindows(Windows):
    """Windows of one size at equal distances.  ``padding``: how many places before the first place the first
    window begins.  ``padded``: whether padding counts in the divisor.  ``ceiling``: whether the last window
    may reach beyond the padding; what lies there never counts.
    """

    extent: Expr
    size: Expr
    stride: int
    padding: int = 0
    padded: bool = True
    ceiling: bool = False

    @property
    def longest(self) -> Expr:
        return self.size

    @property
    def most(self) -> int:
        assert self.size.constant is not None
        return -(-self.size.constant // self.stride)

    def begin(self, window: Expr) -> Expr:
        return window * self.stride - self.padding

    def end(self, window: Expr) -> Expr:
        return self.begin(window) + self.size

    def last(self, place: Expr) -> Expr:
        return (place + self.padding).floordiv(const(self.stride))

    def count(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        if not self.ceiling and (self.padded or not self.padding):
            return self.size
        limit = self.extent + (self.padding if self.padded else 0)
        end = k.minimum(k.index(self.end(window)), k.index(limit))
        begin = k.index(self.begin(window))
        return k.sub(end, begin if self.padded else k.maximum(begin, 0))


@dataclass(frozen=True)
class Adaptive(Windows):
    """``windows`` windows cover the dim.  Each has the places that overlap its equal share of the dim."""

    extent: Expr
    places: int
    windows: int

    @property
    def longest(self) -> Expr:
        return const(max(self._last(w) - self._first(w) for w in range(self.windows)))

    @property
    def most(self) -> int:
        return max(
            sum(self._first(w) <= p < self._last(w) for w in range(self.windows)) for p in range(self.places)
        )

    def begin(self, window: Expr) -> Expr:
        return (window * self.places).floordiv(const(self.windows))

    def end(self, window: Expr) -> Expr:
        return ((window + 1) * self.places + (self.windows - 1)).floordiv(const(self.windows))

    def last(self, place: Expr) -> Expr:
        return ((place + 1) * self.windows - 1).floordiv(const(self.places))

    def count(self, k: KernelBuilder, window: Expr) -> Expr | Scalar:
        return self.end(window) - self.begin(window)

    def _first(self, window: int) -> int:
        return window * self.places // self.windows

    def _last(self, window: int) -> int:
        return -(-(window + 1) * self.places // self.windows)


# --- the ops ------------------------------------------------------------------------------------------------


@lowers("aten.avg_pool2d.default")
def avg_pool2d(call: Call) -> Any:
    return _mean(call, _strided(call, 2))


@lowers("aten.avg_pool3d.default")
def avg_pool3d(call: Call) -> Any:
    return _mean(call, _strided(call, 3))


@lowers("aten.avg_pool2d_backward.default")
def avg_pool2d_backward(call: Call) -> Any:
    return _shares(call, _strided(call, 2))


@lowers("aten.avg_pool3d_backward.default")
def avg_pool3d_backward(call: Call) -> Any:
    return _shares(call, _strided(call, 3))


@lowers("aten._adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(call: Call) -> Any:
    return _mean(call, _adaptive(call, call.tensor("self"), call.result.sizes, 2))


@lowers("aten._adaptive_avg_pool3d.default")
def adaptive_avg_pool3d(call: Call) -> Any:
    return _mean(call, _adaptive(call, call.tensor("self"), call.result.sizes, 3))


@lowers("aten._adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool2d_backward(call: Call) -> Any:
    return _shares(call, _adaptive(call, call.tensor("self"), call.tensor("grad_output").sizes, 2))


@lowers("aten._adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool3d_backward(call: Call) -> Any:
    return _shares(call, _adaptive(call, call.tensor("self"), call.tensor("grad_output").sizes, 3))


def _strided(call: Call, rank: int) -> list[Windows]:
    extents = call.tensor("self").sizes[-rank:]
    size = _numbers(call, call["kernel_size"], rank)
    stride = _numbers(call, call["stride"], rank) if call["stride"] else size
    padding = _numbers(call, call["padding"], rank)
    padded, ceiling = bool(call["count_include_pad"]), bool(call["ceil_mode"])
    return [
        StridedWindows(extent, const(n), step, front, padded, ceiling)
        for extent, n, step, front in zip(extents, size, stride, padding, strict=True)
    ]


def _adaptive(call: Call, image: Tensor, results: Sequence[Expr], rank: int) -> list[Windows]:
    """Equal windows if the extent divides by their number, so that their places need no comparison."""
    windows: list[Windows] = []
    for extent, result in zip(image.sizes[-rank:], results[-rank:], strict=True):
        places, count = extent.constant, result.constant
        if count == 1 and places is None:
            windows.append(StridedWindows(extent, extent, 1))
        elif not places or not count:
            call.refuse("how many windows share a place is known only when the program runs")
        elif places % count == 0:
            windows.append(StridedWindows(extent, const(places // count), places // count))
        else:
            windows.append(Adaptive(extent, places, count))
    return windows


def _numbers(call: Call, value: Any, rank: int) -> list[int]:
    numbers = [value] if isinstance(value, int) else list(value)
    if not all(type(n) is int for n in numbers):
        call.refuse("a window's size is known only when the program runs")
    return numbers * rank if len(numbers) == 1 else numbers


# --- the kernels --------------------------------------------------------------------------------------------


def _mean(call: Call, windows: Sequence[Windows]) -> Any:
    """Each result is the sum over its window, divided by the window's divisor."""
    source, override = call.tensor("self"), call.arguments.get("divisor_override")
    _require_float(call, source)
    rank = len(windows)
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)
    longest = [w.longest for w in windows]

    def element(offsets: Sequence[Expr]) -> Scalar:
        places = [w.begin(o) + step for w, o, step in zip(windows, at[-rank:], offsets, strict=True)]
        conditions = [
            c for w, o, p in zip(windows, at[-rank:], places, strict=True) for c in _held(kernel, w, o, p)
        ]
        guard = reduce(kernel.bit_and, conditions) if conditions else None
        return kernel.load(source, (*at[:-rank], *places), guard, 0)

    numbers = [n.constant for n in longest]
    if all(n is not None for n in numbers) and _product(numbers) <= LARGEST_WINDOW:
        steps = itertools.product(*(map(const, range(n or 0)) for n in numbers))
        total = reduce(kernel.add, map(element, steps))
    else:
        offsets = kernel.iterate(longest)
        x = element(offsets)
        over = kernel.builder.strings([str(o) for o in offsets if not o.is_constant])
        attributes = {"kind": kernel.builder.string("sum"), "over": over}
        total = Scalar(kernel.emit("fuse.reduce", x.value.type, [x.value], attributes), x.dtype)
    kernel.store(0, at, kernel.div(total, _divisor(kernel, windows, at[-rank:], override, total)))
    return call.finish(kernel)


def _shares(call: Call, windows: Sequence[Windows]) -> Any:
    """The gradient of an image: for each place, the sum over the windows that contain it of their gradients,
    each divided by the window's divisor.
    """
    gradient, rank = call.tensor("grad_output"), len(windows)
    _require_float(call, gradient)
    override = call.arguments.get("divisor_override")
    if any(w.longest.constant is None for w in windows):
        call.refuse("a window's size is known only when the program runs")
    if _product([w.most for w in windows]) > LARGEST_WINDOW:
        call.refuse(f"a place is in more than {LARGEST_WINDOW} windows")
    kernel = call.kernel([gradient])
    at = kernel.iterate(call.result.sizes)
    total: Scalar | None = None
    for steps in itertools.product(*(range(w.most) for w in windows)):
        chosen = [w.last(p) - back for w, p, back in zip(windows, at[-rank:], steps, strict=True)]
        conditions = []
        for w, o, p, count in zip(windows, chosen, at[-rank:], gradient.sizes[-rank:], strict=True):
            conditions += [
                kernel.compare("ge", kernel.index(o), 0),
                kernel.compare("lt", kernel.index(o - count), 0),
                kernel.compare("lt", kernel.index(p - w.end(o)), 0),
            ]
        inside = reduce(kernel.bit_and, conditions)
        x = kernel.load(gradient, (*at[:-rank], *chosen), inside, 0)
        share = kernel.div(x, _divisor(kernel, windows, chosen, override, x))
        share = kernel.select(inside, share, kernel.lift(0, share.dtype))  # the divisor may be 0 outside
        total = share if total is None else kernel.add(total, share)
    assert total is not None
    kernel.store(0, at, total)
    return call.finish(kernel)


def _divisor(
    k: KernelBuilder, windows: Sequence[Windows], at: Sequence[Expr], override: Any, like: Scalar
) -> Scalar:
    """The divisor of the sum over the windows ``at``, in the dtype of ``like``."""
    if override is not None:
        return k.lift(override, like.dtype)
    counts = [w.count(k, o) for w, o in zip(windows, at, strict=True)]
    fixed = reduce(lambda a, b: a * b, [c for c in counts if isinstance(c, Expr)], const(1))
    if fixed.constant is not None:
        divisor = k.constant(fixed.constant, like.dtype)
    else:
        divisor = k.cast(k.index(fixed), like.dtype)
    for count in counts:
        if isinstance(count, Scalar):
            divisor = k.mul(divisor, k.cast(count, like.dtype))
    return divisor


def _held(k: KernelBuilder, windows: Windows, window: Expr, place: Expr) -> list[Scalar]:
    """The condition for reading ``place``, which lies so many places behind the beginning of ``window``."""
    conditions = []
    if isinstance(windows, Adaptive):
        conditions.append(k.compare("lt", k.index(place - windows.end(window)), 0))
    elif isinstance(windows, StridedWindows) and (windows.padding or windows.ceiling):
        conditions.append(k.compare("ge", k.index(place), 0))
        conditions.append(k.compare("lt", k.index(place - windows.extent), 0))
    return conditions


def _product(numbers: Sequence[int | None]) -> int:
    return reduce(lambda a, b: a * (b or 0), numbers, 1)


def _require_float(call: Call, source: Tensor) -> None:
    if not source.dtype.is_floating_point:
        call.refuse("a mean of integers has no dtype of its own")
