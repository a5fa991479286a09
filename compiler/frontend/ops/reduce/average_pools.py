"""Average pooling and its gradient: sums over windows in one to three dims.

A result reads the places of its window.  A gradient reads the windows that contain its place, so no atomic
add is needed.  Up to ``LARGEST_WINDOW`` places or windows are read by one load each; for more the kernel has
a reduction.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ....fx.table import lowers
from ....index import Expr, const
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor
from .windows import Windows, adaptive, all_of, inside, strided, summed


@lowers("aten.avg_pool2d.default")
def avg_pool2d(call: Call) -> Any:
    return _mean(call, strided(call, 2))


@lowers("aten.avg_pool3d.default")
def avg_pool3d(call: Call) -> Any:
    return _mean(call, strided(call, 3))


@lowers("aten.avg_pool2d_backward.default")
def avg_pool2d_backward(call: Call) -> Any:
    return _shares(call, strided(call, 2))


@lowers("aten.avg_pool3d_backward.default")
def avg_pool3d_backward(call: Call) -> Any:
    return _shares(call, strided(call, 3))


@lowers("aten._adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(call: Call) -> Any:
    return _mean(call, adaptive(call.tensor("self"), call.result.sizes, 2))


@lowers("aten._adaptive_avg_pool3d.default")
def adaptive_avg_pool3d(call: Call) -> Any:
    return _mean(call, adaptive(call.tensor("self"), call.result.sizes, 3))


@lowers("aten._adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool2d_backward(call: Call) -> Any:
    return _shares(call, adaptive(call.tensor("self"), call.tensor("grad_output").sizes, 2))


@lowers("aten._adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool3d_backward(call: Call) -> Any:
    return _shares(call, adaptive(call.tensor("self"), call.tensor("grad_output").sizes, 3))


def _mean(call: Call, windows: Sequence[Windows]) -> Any:
    """Each result is the sum over its window, divided by the window's divisor."""
    source, override = call.tensor("self"), call.arguments.get("divisor_override")
    _require_float(call, source)
    rank = len(windows)
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)

    def element(steps: Sequence[Expr]) -> Scalar:
        points = list(zip(windows, at[-rank:], steps, strict=True))
        places = [w.place(o, step) for w, o, step in points]
        held = [c for (w, o, _), p in zip(points, places, strict=True) for c in w.held(kernel, o, p)]
        return kernel.load(source, (*at[:-rank], *places), all_of(kernel, held), 0)

    total = kernel.add(summed(kernel, [w.longest for w in windows], element), 0.0)  # eager begins at 0.0
    kernel.store(0, at, kernel.div(total, _divisor(kernel, windows, at[-rank:], override, total)))
    return call.finish(kernel)


def _shares(call: Call, windows: Sequence[Windows]) -> Any:
    """The gradient of an image: for each place, the sum over the windows that contain it of their gradients,
    each divided by the window's divisor.
    """
    gradient, rank = call.tensor("grad_output"), len(windows)
    _require_float(call, gradient)
    override = call.arguments.get("divisor_override")
    kernel = call.kernel([gradient])
    at = kernel.iterate(call.result.sizes)

    def share(steps: Sequence[Expr]) -> Scalar:
        chosen = [w.last(p) - back for w, p, back in zip(windows, at[-rank:], steps, strict=True)]
        conditions = []
        for w, o, p, count in zip(windows, chosen, at[-rank:], gradient.sizes[-rank:], strict=True):
            conditions += [*inside(kernel, o, count), *w.reaches(kernel, o, p)]
        holds = all_of(kernel, conditions)
        x = kernel.load(gradient, (*at[:-rank], *chosen), holds, 0)
        part = kernel.div(x, _divisor(kernel, windows, chosen, override, x))
        return kernel.select(holds, part, kernel.lift(0, part.dtype))  # the divisor may be 0 outside

    kernel.store(0, at, kernel.add(summed(kernel, [w.most for w in windows], share), 0.0))
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


def _require_float(call: Call, source: Tensor) -> None:
    if not source.dtype.is_floating_point:
        call.refuse("a mean of integers has no dtype of its own")
