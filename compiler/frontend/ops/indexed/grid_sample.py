"""``grid_sample`` of images and volumes, and its gradients.

A result reads the pixels around its point of the grid, each by one load whose guard says whether the pixel is
in the image.  The gradient of the image adds to those pixels by atomics.  The gradient of the grid is a sum
over the channels, which reads them again.
"""

import itertools
import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch

from ....base.dataclass import dataclass
from ....fx.table import lowers
from ....index import Expr, const, sym
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor
from ..reduce.windows import fold
from .sampled_points import ImageAxis, Implementation, Padding, cubic_slopes, cubic_weights
from .scatter import require_mode

#: Pixels whose gradients one thread computes.
_TOGETHER = 4
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS: tuple[Padding, ...] = ("zeros", "border", "reflection")


@dataclass(frozen=True)
class _Sampler:
    """A call: the image (N, C, ..), the grid (N, .., rank), whose last entry of a point is the first axis."""

    call: Call
    image: Tensor
    grid: Tensor
    mode: str
    padding: Padding
    align_corners: bool

    @property
    def rank(self) -> int:
        return self.image.rank - 2

    @property
    def implementation(self) -> Implementation:
        if self.call.builder.device != "cpu":
            return "gpu"
        return "cpu, 2-D" if self.rank == 2 else "cpu, 3-D"

    def axes(self, k: KernelBuilder, dtype: torch.dtype, gradient: bool = False) -> list[ImageAxis]:
        """The axes in the order of the image's dims.  ``gradient``: whether the kernel computes gradients."""
        implementation = self.implementation
        if self.mode == "bicubic" or (self.mode == "nearest" and implementation == "cpu, 2-D"):
            gradient = False  # pixels are found as they are for the result
        return [
            ImageAxis(k, extent, dtype, implementation, self.padding, self.align_corners, gradient)
            for extent in self.image.sizes[2:]
        ]

    def points(self, k: KernelBuilder, batch: Expr, places: Sequence[Expr]) -> list[Scalar]:
        """What the grid says of a point of the result, in the order of the image's dims."""
        last = range(self.rank - 1, -1, -1)
        return [k.load(self.grid, (batch, *places, const(i))) for i in last]


@dataclass(frozen=True)
class _Pixel:
    """A pixel that a point reads: its coordinates, whether it is in the image, and along each axis its weight
    (None: 1) and the derivative of the weight.
    """

    at: tuple[Scalar, ...]
    inside: Scalar
    weights: tuple[Scalar | None, ...]
    slopes: tuple[Scalar | None, ...]

    def load(self, k: KernelBuilder, image: Tensor, batch: Expr, channel: Expr) -> Scalar:
        return k.load(image, self.place(batch, channel), self.inside, 0, self.at)

    def place(self, batch: Expr, channel: Expr) -> tuple[Expr, ...]:
        return (batch, channel, *(sym(f"i{d}") for d in range(len(self.at))))

    def weighed(self, k: KernelBuilder, x: Scalar, derived: int | None = None) -> Scalar:
        """``x`` times the weights; times its derivative instead along the axis ``derived``."""
        for axis, (weight, slope) in enumerate(zip(self.weights, self.slopes, strict=True)):
            factor = slope if axis == derived else weight
            x = x if factor is None else k.mul(x, factor)
        return x


@dataclass(frozen=True)
class _Line:
    """The pixels that a point reads along one axis: ``begin`` pixels behind the whole place ``first``, and
    those that follow, with their weights (None: 1) and the derivatives of these.  ``scale``: the derivative
    of the place in what the grid says.
    """

    s: _Sampler
    axis: ImageAxis
    first: Scalar
    begin: float
    weights: list[Scalar | None]
    slopes: list[Scalar | None]
    scale: Scalar

    def pixel(self, step: Expr) -> tuple[Scalar, Scalar, Scalar | None, Scalar | None]:
        """Pixel number ``step``, whether it is in the image, its weight, and the weight's derivative."""
        k, number = self.axis.k, step.constant
        if number is not None:
            place = k.add(self.first, self.begin + number)
            weight, slope = self.weights[number], self.slopes[number]
        else:
            place = k.add(k.add(self.first, k.cast(k.index(step), self.axis.dtype)), self.begin)
            weight, slope = self._at(step, self.weights), self._at(step, self.slopes)
        if self.s.mode == "bicubic":
            place, _ = self.axis.padded(place)
        return (*self.axis.pixel(place), weight, slope)

    def _at(self, step: Expr, choices: Sequence[Scalar | None]) -> Scalar | None:
        k, chosen = self.axis.k, choices[0]
        for i, other in enumerate(choices[1:], 1):
            if chosen is not None and other is not None:
                chosen = k.select(k.compare("eq", k.index(step), i), other, chosen)
        return chosen


def _line(s: _Sampler, axis: ImageAxis, x: Scalar) -> _Line:
    k = axis.k
    if s.mode == "bicubic":
        place, scale = axis.scaled(x)
        first = k.math("floor", place)
        t = k.sub(place, first)
        return _Line(s, axis, first, -1.0, [*cubic_weights(k, t)], [*cubic_slopes(k, t)], scale)
    place, scale = axis.point(x)
    if s.mode == "nearest":
        return _Line(s, axis, k.math("roundeven", place), 0.0, [None], [None], scale)
    first = k.math("floor", place)
    t, one = k.sub(place, first), k.constant(1.0, axis.dtype)
    return _Line(s, axis, first, 0.0, [k.sub(one, t), t], [k.neg(one), one], scale)


def _lines(s: _Sampler, k: KernelBuilder, points: Sequence[Scalar], gradient: bool = False) -> list[_Line]:
    axes = s.axes(k, points[0].dtype, gradient)
    return [_line(s, axis, x) for axis, x in zip(axes, points, strict=True)]


def _pixels(lines: Sequence[_Line], steps: Sequence[Expr] | None = None) -> list[_Pixel]:
    """All pixels that a point reads; or the one at ``steps``, one for each axis."""
    counted = itertools.product(*(map(const, range(len(line.weights))) for line in lines))
    pixels = []
    for chosen in counted if steps is None else [steps]:
        found = [line.pixel(step) for line, step in zip(lines, chosen, strict=True)]
        at, inside, weights, slopes = zip(*found, strict=True)
        pixels.append(_Pixel(at, reduce(lines[0].axis.k.bit_and, inside), weights, slopes))
    return pixels


def _steps(k: KernelBuilder, lines: Sequence[_Line]) -> tuple[Expr, ...] | None:
    """A dim for the pixels along each axis if they are many: a thread's gradients of all of them would not
    fit into its registers.
    """
    counts = [const(len(line.weights)) for line in lines]
    return k.iterate(counts) if math.prod(len(line.weights) for line in lines) > _TOGETHER else None


def _of(call: Call, image: str) -> _Sampler:
    mode = _MODES[call.arguments.get("interpolation_mode", 0)]
    padding = _PADDINGS[call.arguments.get("padding_mode", 0)]
    align = bool(call.arguments.get("align_corners", True))
    return _Sampler(call, call.tensor(image), call.tensor("grid"), mode, padding, align)


@lowers("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(call: Call) -> Any:
    return _sampled(_of(call, "input"))


@lowers("aten.cudnn_grid_sampler.default")
def cudnn_grid_sampler(call: Call) -> Any:
    """Bilinear, with zeros around an image whose corners are aligned."""
    return _sampled(_of(call, "self"))


def _sampled(s: _Sampler) -> Any:
    k = s.call.kernel([s.image, s.grid])
    batch, channel, *places = k.iterate(s.call.result.sizes)
    lines = _lines(s, k, s.points(k, batch, places))
    terms = [p.weighed(k, p.load(k, s.image, batch, channel)) for p in _pixels(lines)]
    k.store(0, (batch, channel, *places), reduce(k.add, terms))
    return s.call.finish(k)


@lowers("aten.grid_sampler_2d_backward.default", "aten.grid_sampler_3d_backward.default")
def grid_sampler_backward(call: Call) -> Any:
    return _gradients(_of(call, "input"), call["output_mask"][0])


@lowers("aten.cudnn_grid_sampler_backward.default")
def cudnn_grid_sampler_backward(call: Call) -> Any:
    return _gradients(_of(call, "self"), True)


def _gradients(s: _Sampler, of_image: bool) -> Any:
    image, grid = s.call.value
    return [_image_gradient(s, image) if of_image else None, _grid_gradient(s, grid)]


def _image_gradient(s: _Sampler, fake: torch.Tensor) -> Tensor:
    """Each pixel that a point reads gets the point's gradient times its weight."""
    gradient = s.call.tensor("grad_output")
    require_mode(s.call, s.image, "add")
    zeros = _filled(s, fake)
    if any(n.constant == 0 for n in (*gradient.sizes, *s.image.sizes)):
        return zeros
    k = s.call.kernel([gradient, s.grid], [zeros], name=f"{s.call.node.name}_image")
    batch, channel, *places = k.iterate(gradient.sizes)
    x = k.load(gradient, (batch, channel, *places))
    lines = _lines(s, k, s.points(k, batch, places), gradient=True)
    for p in _pixels(lines, _steps(k, lines)):
        k.store(0, p.place(batch, channel), p.weighed(k, x), p.inside, "add", p.at)
    result = s.call.finish(k, [fake])
    assert isinstance(result, Tensor)
    return result


def _grid_gradient(s: _Sampler, fake: torch.Tensor) -> Tensor:
    """The sum over the channels of the gradient times the derivative of what is read; 0 for the nearest
    pixel.
    """
    gradient = s.call.tensor("grad_output")
    if s.mode == "nearest" or any(n.constant == 0 for n in (*gradient.sizes, *s.image.sizes)):
        return _filled(s, fake)
    k = s.call.kernel([gradient, s.image, s.grid], [s.call.fresh(fake)], name=f"{s.call.node.name}_grid")
    batch, *places, _ = k.iterate((*s.call.fresh(fake).sizes[:-1], const(1)))
    (channel,) = k.iterate(s.image.sizes[1:2])
    lines = _lines(s, k, s.points(k, batch, places), gradient=True)
    steps = _steps(k, lines)
    over = [d for d in (channel, *(steps or ())) if not d.is_constant]
    pixels = _pixels(lines, steps)
    values = [p.load(k, s.image, batch, channel) for p in pixels]
    x = k.load(gradient, (batch, channel, *places))
    for axis, line in enumerate(lines):
        read = reduce(k.add, (p.weighed(k, v, axis) for p, v in zip(pixels, values, strict=True)))
        total = fold(k, "sum", k.mul(read, x), over) if over else k.mul(read, x)
        k.store(0, (batch, *places, const(s.rank - 1 - axis)), k.mul(total, line.scale))
    result = s.call.finish(k, [fake])
    assert isinstance(result, Tensor)
    return result


def _filled(s: _Sampler, fake: torch.Tensor) -> Tensor:
    """Zeros."""
    spec = s.call.fresh(fake)
    k = s.call.kernel([], [spec], name=f"{s.call.node.name}_zeros")
    k.store(0, k.iterate(spec.sizes), 0)
    result = s.call.finish(k, [fake])
    assert isinstance(result, Tensor)
    return result
