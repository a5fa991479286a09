"""Interpolation with ``antialias=True`` and its gradient: weighted sums over windows.

A result at ``o`` has the center ``(o + 0.5) * scale`` in the image.  Its window has the pixels where the
filter is not zero, and begins at a pixel that is computed in floating point as eager does, so that NaN and
infinities spread as far.  The weights of a window are divided by their sum, which a kernel of its own
computes along each axis.  The gradient of a pixel is a sum over the results whose windows have it: no atomics
are needed.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....base.dataclass import dataclass
from ....fx.table import lowers
from ....index import Expr, const, sym
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call, computes
from ...importer.values import Tensor
from ..reduce.windows import fold

Filter = Callable[[KernelBuilder, Scalar], Scalar]


def _triangle(k: KernelBuilder, x: Scalar) -> Scalar:
    x = k.abs(x)
    return k.select(k.compare("lt", x, 1.0), k.sub(1.0, x), 0.0)


def _cubic(k: KernelBuilder, x: Scalar) -> Scalar:
    a, x = -0.5, k.abs(x)
    near = k.add(k.mul(k.mul(k.sub(k.mul(x, a + 2), a + 3), x), x), 1.0)
    far = k.mul(k.sub(k.mul(k.add(k.mul(k.sub(x, 5.0), x), 8.0), x), 4.0), a)
    far = k.select(k.compare("lt", x, 2.0), far, 0.0)
    return k.select(k.compare("lt", x, 1.0), near, far)


def _lanczos(k: KernelBuilder, x: Scalar) -> Scalar:
    def sinc(x: Scalar) -> Scalar:
        zero, turned = k.compare("eq", x, 0.0), k.mul(x, math.pi)
        return k.select(zero, 1.0, k.div(k.math("sin", turned), k.select(zero, 1.0, turned)))

    inside = k.bit_and(k.compare("ge", x, -3.0), k.compare("lt", x, 3.0))
    return k.select(inside, k.mul(sinc(x), sinc(k.div(x, 3.0))), 0.0)


#: The filter of an op, and the pixels on each side of its center that it reaches at scale 1.
_FILTERS: dict[str, tuple[Filter, int]] = {
    "bilinear": (_triangle, 1), "bicubic": (_cubic, 2), "lanczos": (_lanczos, 3),
}  # fmt: skip


@dataclass(frozen=True)
class _ScaledAxis:
    """One axis of ``pixels`` and ``results``.  ``given``: how many results there are for each pixel; None
    where the sizes say so.  ``exact``: whether what decides on the first pixel is added in float64, as on a
    CPU.  ``copied``: whether as many results as pixels are copies of them, whatever the scale.
    """

    k: KernelBuilder
    kind: str
    dtype: torch.dtype
    pixels: Expr
    results: Expr
    align_corners: bool
    given: float | None
    exact: bool
    copied: bool

    @property
    def reach(self) -> int:
        """How far the filter reaches at scale 1."""
        return _FILTERS[self.kind][1]

    @property
    def longest(self) -> Expr:
        """At least as many pixels as a window has."""
        if self.copied and self.pixels == self.results:
            return const(1)
        if isinstance(self._ratio, float):
            return const(2 * math.ceil(self.reach * max(1.0, self._ratio)) + 1)
        pixels, results = self._ratio
        return ((pixels * self.reach).floordiv(results) + (self.reach + 1)) * 2 + 1

    @property
    def readers(self) -> Expr:
        """At least as many results as have a pixel in their windows, and two more on each side."""
        if self._ratio == 0.0:
            return self.results
        if isinstance(self._ratio, float):
            spread = const(math.ceil(2 * self.reach * max(1.0, 1.0 / self._ratio)) + 4)
            fewer = self.results.constant is not None and self.results.shift < spread.shift
            return self.results if fewer else spread
        pixels, results = self._ratio
        return (results * (2 * self.reach)).floordiv(pixels) + (2 * self.reach + 5)

    def window(self, result: Scalar) -> "_Window":
        """``result``: its number, an int64."""
        k, difference = self.k, self.pixels - self.results
        middle = k.add(k.cast(result, self.dtype), 0.5)
        copy = _Window(self, middle, result, k.add(result, 1))
        if self.copied and difference.constant == 0:
            return copy
        center = k.mul(middle, self._scale)
        first = k.maximum(self._whole(k.sub(center, self._support)), 0)
        end = k.minimum(self._whole(k.add(center, self._support)), k.index(self.pixels))
        if self.copied and difference.constant is None:
            same = k.compare("eq", k.index(difference), 0)
            center = k.select(same, copy.center, center)
            first, end = k.select(same, copy.first, first), k.select(same, copy.end, end)
        return _Window(self, center, first, end)

    def first_reader(self, pixel: Expr) -> Scalar:
        """A whole number in front of each result whose window has ``pixel``."""
        k = self.k
        if self.readers == self.results:
            return k.constant(0, torch.int64)
        center = k.add(k.cast(k.index(pixel), self.dtype), 0.5)
        number = k.sub(k.div(k.sub(center, self._support), self._scale), 0.5)
        return k.cast(k.sub(k.math("floor", number), 1.0), torch.int64)

    @property
    def stretch(self) -> Scalar:
        """How much longer than the filter a window is."""
        return self.k.maximum(self._scale, 1.0)

    @property
    def _ratio(self) -> float | tuple[Expr, Expr]:
        """Pixels for each result, or their numbers where one is not known."""
        if self.align_corners:
            if self.results.constant == 1 or self.pixels.constant == 1:
                return 0.0
            pair = self.pixels - 1, self.results - 1
        elif self.given is not None and self.given > 0:
            return 1.0 / self.given
        else:
            pair = self.pixels, self.results
        numbers = [n.constant for n in pair]
        return pair if None in numbers else pair[0].shift / pair[1].shift

    @property
    def _scale(self) -> Scalar:
        k, ratio = self.k, self._ratio
        if isinstance(ratio, float):
            return k.constant(ratio, self.dtype)
        return k.div(k.cast(k.index(ratio[0]), self.dtype), k.cast(k.index(ratio[1]), self.dtype))

    @property
    def _support(self) -> Scalar:
        return self.k.mul(self.stretch, float(self.reach))

    def _whole(self, x: Scalar) -> Scalar:
        """``x + 0.5`` without its fraction."""
        k = self.k
        return k.cast(k.add(k.cast(x, torch.float64) if self.exact else x, 0.5), torch.int64)


@dataclass(frozen=True)
class _Window:
    """The pixels of one result: from ``first`` to before ``end``."""

    axis: _ScaledAxis
    center: Scalar
    first: Scalar
    end: Scalar

    def weight(self, pixel: Scalar) -> tuple[Scalar, Scalar]:
        """(the filter at a pixel, whether the window has it)."""
        k, axis = self.axis.k, self.axis
        has = k.bit_and(k.compare("ge", pixel, self.first), k.compare("lt", pixel, self.end))
        x = k.add(k.sub(k.cast(pixel, axis.dtype), self.center), 0.5)
        return _FILTERS[axis.kind][0](k, k.mul(x, k.div(1.0, axis.stretch))), has


@dataclass(frozen=True)
class _Interpolation:
    """A call: ``pixels`` and ``results`` of its rows and columns, and a fake tensor of the results."""

    call: Call
    tensor: Tensor
    pixels: Sequence[Expr]
    results: Sequence[Expr]
    fake: torch.Tensor
    backward: bool

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return computes(self.tensor.dtype)

    def axis(self, k: KernelBuilder, number: int) -> _ScaledAxis:
        call = self.call
        kind = call.node.target._schema.name.split("_upsample_")[1].split("2d")[0]
        on_cpu = call.builder.device == "cpu"
        if self.tensor.dtype not in ((torch.float32, torch.float64) if on_cpu else _ON_A_GPU):
            call.refuse(f"eager has no weights in {self.tensor.dtype}")
        if kind == "lanczos" and not on_cpu:
            call.refuse("eager has this filter on a CPU alone")
        if on_cpu and not self.backward and self.results[1].constant == 1 and self.changes_rows:
            call.refuse("eager on a CPU reads one row for all results of one column")
        given = call[("scales_h", "scales_w")[number]]
        if not isinstance(given, float | int | None):
            call.refuse("the scale is known only when the program runs")
        sizes = self.pixels[number], self.results[number]
        copied = on_cpu and not self.backward
        return _ScaledAxis(k, kind, self.dtype, *sizes, bool(call["align_corners"]), given, on_cpu, copied)

    @property
    def changes_rows(self) -> bool:
        return self.results[0].constant != 1 and self.pixels[0] != self.results[0]

    def totals(self, number: int) -> Tensor:
        """The sum of the weights of each window along an axis; 1 where that is 0."""
        fake = self.fake.new_empty(self.fake.shape[number - 2 :][:1], dtype=self.dtype)
        k = self.call.kernel([], [self.call.fresh(fake)], name=f"{self.call.node.name}_weights")
        (at,) = k.iterate(k.outputs[0].sizes)
        axis = self.axis(k, number)
        window, (step,) = axis.window(k.index(at)), k.iterate([axis.longest])
        weight, has = window.weight(k.add(window.first, k.index(step)))
        total = _summed(k, k.select(has, weight, 0.0), [step])
        k.store(0, (at,), k.select(k.compare("eq", total, 0.0), 1.0, total))
        result = self.call.finish(k, [fake])
        assert isinstance(result, Tensor)
        return result


def _summed(k: KernelBuilder, x: Scalar, over: Sequence[Expr]) -> Scalar:
    return x if all(d.is_constant for d in over) else fold(k, "sum", x, over)


_ON_A_GPU = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@lowers(
    "aten._upsample_bilinear2d_aa.default",
    "aten._upsample_bicubic2d_aa.default",
    "aten._upsample_lanczos2d_aa.default",
)
def antialiased(call: Call) -> Any:
    x = call.tensor("self")
    s = _Interpolation(call, x, x.sizes[-2:], call.result.sizes[-2:], call.value, backward=False)
    totals = s.totals(0), s.totals(1)
    k = call.kernel([x, *totals])
    batch, channel, *at = k.iterate(call.result.sizes)
    over: list[Expr] = []
    indices, weights, held = [], [], []
    for number, o in enumerate(at):
        axis = s.axis(k, number)
        window = axis.window(k.index(o))
        over += k.iterate([axis.longest])
        indices.append(k.add(window.first, k.index(over[-1])))
        weight, has = window.weight(indices[-1])
        weights.append(weight)
        held.append(has)
    inside = k.bit_and(*held)
    term = k.load(x, (batch, channel, sym("i0"), sym("i1")), inside, 0, indices)
    term = k.select(inside, k.mul(k.mul(term, weights[0]), weights[1]), 0.0)
    total = k.mul(k.load(totals[0], (at[0],)), k.load(totals[1], (at[1],)))
    k.store(0, (batch, channel, *at), k.div(_summed(k, term, over), total))
    return call.finish(k)


@lowers(
    "aten._upsample_bilinear2d_aa_backward.default",
    "aten._upsample_bicubic2d_aa_backward.default",
    "aten._upsample_lanczos2d_aa_backward.default",
)
def antialiased_backward(call: Call) -> Any:
    g = call.tensor("grad_output")
    s = _Interpolation(call, g, call.result.sizes[-2:], g.sizes[-2:], g.fake, backward=True)
    totals = s.totals(0), s.totals(1)
    k = call.kernel([g, *totals])
    batch, channel, *at = k.iterate(call.result.sizes)
    over: list[Expr] = []
    indices, weights, held = [], [], []
    for number, pixel in enumerate(at):
        axis = s.axis(k, number)
        over += k.iterate([axis.readers])
        result = k.add(axis.first_reader(pixel), k.index(over[-1]))
        exists = k.bit_and(k.compare("ge", result, 0), k.compare("lt", result, k.index(axis.results)))
        weight, has = axis.window(result).weight(k.index(pixel))
        indices.append(result)
        weights.append(k.div(weight, k.load(totals[number], (sym("i0"),), exists, 1, [result])))
        held.append(k.bit_and(has, exists))
    inside = k.bit_and(*held)
    term = k.load(g, (batch, channel, sym("i0"), sym("i1")), inside, 0, indices)
    term = k.select(inside, k.mul(k.mul(term, weights[0]), weights[1]), 0.0)
    k.store(0, (batch, channel, *at), _summed(k, term, over))
    return call.finish(k)
