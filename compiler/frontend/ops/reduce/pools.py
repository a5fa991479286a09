"""Max pooling in two dims.  Each result reads its window; each gradient reads the windows of its pixel."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from ....base.dataclass import dataclass
from ....fx.table import lowers
from ....index import Expr, Facts, const
from ....rewrites.joint.pool_offsets import LARGEST_WINDOW
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor


@dataclass(frozen=True)
class _Window:
    """Windows along rows and columns: their extent, their distance, and the padding before the first."""

    size: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]

    @staticmethod
    def of(call: Call) -> "_Window":
        size = _pair(call, call["kernel_size"])
        stride = _pair(call, call["stride"]) if call["stride"] else size
        if _pair(call, call["dilation"]) != (1, 1):
            call.refuse("the window is dilated: its pixels are not neighbours")
        if size[0] * size[1] > LARGEST_WINDOW:
            call.refuse(f"a window has more than {LARGEST_WINDOW} pixels")
        return _Window(size, stride, _pair(call, call["padding"]))

    def pixels(self) -> Iterator[tuple[int, int]]:
        """Places in a window, row by row."""
        for i in range(self.size[0]):
            for j in range(self.size[1]):
                yield i, j


def _pair(call: Call, value: Any) -> tuple[int, int]:
    numbers = [value] if isinstance(value, int) else list(value)
    if not all(type(n) is int for n in numbers):
        call.refuse("a window's size is known only when the program runs")
    first, last = numbers[0], numbers[-1]
    return first, last


@lowers("aten.max_pool2d_with_indices.default")
def max_pool2d(call: Call) -> list[Tensor]:
    """The largest element of each window, and its place in the plane (row * width + column, int64).  Of equal
    elements it is the first; a NaN is larger than everything.
    """
    return _largest(call, in_window=False)


@lowers("fuse_mlir.max_pool2d_offsets.default")
def max_pool2d_offsets(call: Call) -> list[Tensor]:
    """As above, but with the place in the window (row * width of the window + column, int8)."""
    return _largest(call, in_window=True)


def _largest(call: Call, in_window: bool) -> list[Tensor]:
    source, window = call.tensor("self"), _Window.of(call)
    _require_float(call, source)
    values, places = call.value
    place_type = torch.int8 if in_window else torch.int64
    kernel = call.kernel([source], [call.fresh(values), call.fresh(places)])
    height, width = source.sizes[-2:]
    at = kernel.iterate(call.fresh(values).sizes)
    best: Scalar | None = None
    best_place = kernel.constant(0, place_type)
    found: Scalar | None = None
    for i, j in window.pixels():
        row = at[-2] * window.stride[0] + (i - window.padding[0])
        column = at[-1] * window.stride[1] + (j - window.padding[1])
        inside = _inside(kernel, row, height, column, width)
        x = kernel.load(source, (*at[:-2], row, column), inside, -math.inf)
        taken = inside
        if best is not None and found is not None:  # the first pixel is taken even if all are -inf
            larger = kernel.bit_or(kernel.compare("gt", x, best), kernel.is_nan(x))
            taken = kernel.bit_or(larger, kernel.bit_and(inside, kernel.bit_not(found)))
        best = x if best is None else kernel.maximum(best, x)  # not a select, as the places may be unused
        if in_window:
            place = kernel.constant(i * window.size[1] + j, place_type)
        else:
            place = kernel.index(row * width + column)
        best_place = kernel.select(taken, place, best_place)
        found = inside if found is None else kernel.bit_or(found, inside)
    assert best is not None
    kernel.store(0, at, best)
    kernel.store(1, at, best_place)
    results = call.finish(kernel)
    assert isinstance(results, list)
    return results


@lowers("aten.max_pool2d_with_indices_backward.default")
def max_pool2d_backward(call: Call) -> Any:
    """A pixel's gradient is the sum over the windows whose largest element it is.  No atomics are needed."""
    return _gradient(call, call.tensor("indices"), in_window=False)


@lowers("fuse_mlir.max_pool2d_offsets_backward.default")
def max_pool2d_offsets_backward(call: Call) -> Any:
    """As above, from the places in the windows."""
    return _gradient(call, call.tensor("offsets"), in_window=True)


def _gradient(call: Call, places: Tensor, in_window: bool) -> Any:
    gradient, window = call.tensor("grad_output"), _Window.of(call)
    _require_float(call, gradient)
    reach = [-(-size // stride) for size, stride in zip(window.size, window.stride, strict=True)]
    kernel = call.kernel([gradient, places])
    sizes = call.result.sizes
    at = kernel.iterate(sizes)
    total: Scalar | None = None
    for i in range(reach[0]):
        for j in range(reach[1]):
            row = (at[-2] + window.padding[0]).floordiv(const(window.stride[0])) - i
            column = (at[-1] + window.padding[1]).floordiv(const(window.stride[1])) - j
            inside = _inside(kernel, row, gradient.sizes[-2], column, gradient.sizes[-1])
            own = at[-2] * sizes[-1] + at[-1]
            if in_window:  # a place beyond the window's last column must not count as one of the next row
                down = at[-2] + window.padding[0] - row * window.stride[0]
                right = at[-1] + window.padding[1] - column * window.stride[1]
                own = down * window.size[1] + right
                within = kernel.compare("lt", kernel.index(right), window.size[1])
                inside = kernel.bit_and(inside, within)
            place = (*at[:-2], row, column)
            named = kernel.load_raw(places, place, inside, -1)
            if in_window:
                named = kernel.cast(named, torch.int64)
            named = kernel.compare("eq", named, kernel.index(own))
            x = kernel.load(gradient, place, inside, 0)
            x = kernel.select(kernel.bit_and(named, inside), x, kernel.lift(0, x.dtype))
            total = x if total is None else kernel.add(total, x)
    assert total is not None
    kernel.store(0, at, total)
    return call.finish(kernel)


def _inside(k: KernelBuilder, row: Expr, height: Expr, column: Expr, width: Expr) -> Scalar:
    """Whether a pixel lies in the image; comparisons that hold at every point are left out."""
    facts = Facts.of(k.dims)
    inside = k.true()
    for place, extent in ((row, height), (column, width)):
        least, most = facts.interval(place)[0], facts.interval(place - extent)[1]
        if least is None or least < 0:
            inside = k.bit_and(inside, k.compare("ge", k.index(place), 0))
        if most is None or most >= 0:
            inside = k.bit_and(inside, k.compare("lt", k.index(place - extent), 0))
    return inside


def _require_float(call: Call, source: Tensor) -> None:
    if not source.dtype.is_floating_point:
        call.refuse("there is no negative infinity among integers")
