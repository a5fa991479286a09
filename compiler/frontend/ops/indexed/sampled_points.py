"""Where a point of a grid lies in an image, along one axis: what ``grid_sample`` reads around it.

A grid has numbers from -1 to 1, from one border of the image to the other.  Eager's three implementations
differ in roundings and in what becomes of NaN and of infinities; each is reproduced:

| | scaling | reflection | NaN at the border | not finite, outside |
|---|---|---|---|---|
| a GPU | ((x + 1) * n - 1) / 2 | fmod | the first pixel | counts as outside |
| a CPU, 2-D | (x + 1) * (n / 2) - 0.5 | divided and rounded to zero | the first pixel | weighs NaN |
| a CPU, 3-D | ((x + 1) * n - 1) / 2 | fmod | the last pixel | counts as outside |
"""

from typing import Literal

import torch

from ....base.dataclass import dataclass
from ....index import Expr
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder

Implementation = Literal["gpu", "cpu, 2-D", "cpu, 3-D"]
Padding = Literal["zeros", "border", "reflection"]

#: What a GPU's implementation takes for a place that no integer holds: it is outside of every image.
_OUTSIDE = -100.0
_LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True)
class ImageAxis:
    """One axis of an image.  ``extent``: its pixels.  ``gradient``: whether a NaN stays one at the border, as
    it does where eager computes gradients.
    """

    k: KernelBuilder
    extent: Expr
    dtype: torch.dtype
    implementation: Implementation
    padding: Padding
    align_corners: bool
    gradient: bool = False

    def scaled(self, x: Scalar) -> tuple[Scalar, Scalar]:
        """(``x`` from -1 to 1 in pixels, the derivative)."""
        k, n = self.k, self._size
        slope = k.div(k.sub(n, 1.0) if self.align_corners else n, 2.0)
        moved = k.add(x, 1.0)
        if self.implementation == "cpu, 2-D":
            place = k.mul(moved, slope)
            return (place if self.align_corners else k.sub(place, 0.5)), slope
        if self.align_corners:
            return k.mul(k.div(moved, 2.0), k.sub(n, 1.0)), slope
        return k.div(k.sub(k.mul(moved, n), 1.0), 2.0), slope

    def padded(self, place: Scalar) -> tuple[Scalar, Scalar | None]:
        """(``place`` moved into the image as the padding says, the derivative: 0, 1 or -1)."""
        if self.padding == "zeros":
            return place, None
        slope: Scalar | None = None
        if self.padding == "reflection":
            place, slope = self._reflected(place)
        place, inside = self._clipped(place)
        return place, inside if slope is None else self.k.mul(slope, inside)

    def point(self, x: Scalar) -> tuple[Scalar, Scalar]:
        """(the place in pixels that interpolation weighs by, its derivative)."""
        place, scale = self.scaled(x)
        place, slope = self.padded(place)
        if self.implementation != "cpu, 2-D":
            k = self.k
            place = k.select(k.compare("lt", k.abs(place), float(_LARGEST_INT32)), place, _OUTSIDE)
        return place, scale if slope is None else self.k.mul(scale, slope)

    def pixel(self, place: Scalar) -> tuple[Scalar, Scalar]:
        """(the number of the pixel at a whole ``place``, whether there is one)."""
        k = self.k
        inside = k.bit_and(k.compare("ge", place, 0.0), k.compare("lt", place, self._size))
        place = k.select(inside, place, 0.0)
        if self.extent.constant is not None and self.extent.constant <= _LARGEST_INT32:
            return k.cast(k.cast(place, torch.int32), torch.int64), inside
        return k.cast(place, torch.int64), inside

    @property
    def _size(self) -> Scalar:
        constant = self.extent.constant
        if constant is not None:
            return self.k.constant(constant, self.dtype)
        return self.k.cast(self.k.index(self.extent), self.dtype)

    def _clipped(self, place: Scalar) -> tuple[Scalar, Scalar]:
        """(``place`` in the image, 1 where it was inside; the borders are not)."""
        k, last = self.k, self.k.sub(self._size, 1.0)
        outside = k.bit_or(k.compare("le", place, 0.0), k.compare("ge", place, last))
        slope = k.select(outside, k.constant(0.0, self.dtype), 1.0)
        if self.gradient:
            return k.minimum(k.maximum(place, 0.0), last), slope
        if self.implementation == "cpu, 3-D":
            return k.binary("fmin", k.maximum(place, 0.0), last), slope
        return k.binary("fmin", k.binary("fmax", place, 0.0), last), slope

    def _reflected(self, place: Scalar) -> tuple[Scalar, Scalar]:
        """(``place`` between the borders that it is reflected at, 1 or -1)."""
        k, n = self.k, self._size
        low = 0.0 if self.align_corners else -0.5
        span = k.sub(n, 1.0) if self.align_corners else n
        moved = k.sub(place, low)
        distance = k.abs(moved)
        if self.implementation == "cpu, 2-D":
            twice = k.mul(span, 2.0)
            flips = k.math("trunc", k.div(distance, twice))
            extra = k.sub(distance, k.mul(flips, twice))
            back = k.sub(twice, extra)
            turned = k.compare("gt", extra, back)
        else:
            extra = k.fmod(distance, span)
            back = k.sub(span, extra)
            flips = k.cast(k.math("floor", k.div(distance, span)), torch.int32)
            turned = k.compare("ne", k.bit_and(flips, 1), 0)
        result = k.add(k.select(turned, back, extra), low)
        negative = k.bit_xor(turned, k.compare("lt", moved, 0.0))
        slope = k.select(negative, k.constant(-1.0, self.dtype), 1.0)
        if not self.align_corners or (self.extent.constant or 0) > 1:
            return result, slope
        alone = k.compare("le", n, 1.0)  # between the centers of one pixel is nothing
        return k.select(alone, 0.0, result), k.select(alone, 0.0, slope)


def cubic_weights(k: KernelBuilder, t: Scalar) -> list[Scalar]:
    """The weights of the four pixels around a point that lies ``t`` behind the second one."""
    a = -0.75

    def near(x: Scalar) -> Scalar:
        return k.add(k.mul(k.mul(k.sub(k.mul(x, a + 2), a + 3), x), x), 1.0)

    def far(x: Scalar) -> Scalar:
        return k.sub(k.mul(k.add(k.mul(k.sub(k.mul(x, a), 5 * a), x), 8 * a), x), 4 * a)

    return [far(k.add(t, 1.0)), near(t), near(k.sub(1.0, t)), far(k.sub(2.0, t))]


def cubic_slopes(k: KernelBuilder, t: Scalar) -> list[Scalar]:
    """The derivatives of ``cubic_weights`` in ``t``."""
    a = -0.75

    def near(x: Scalar) -> Scalar:
        return k.mul(k.sub(k.mul(x, 3 * (a + 2)), 2 * (a + 3)), x)

    def far(x: Scalar) -> Scalar:
        return k.add(k.mul(k.sub(k.mul(x, 3 * a), 10 * a), x), 8 * a)

    right = [near(k.sub(1.0, t)), far(k.sub(2.0, t))]
    return [far(k.add(t, 1.0)), near(t), *(k.neg(x) for x in right)]


__all__ = ["ImageAxis", "Implementation", "Padding", "cubic_slopes", "cubic_weights"]
