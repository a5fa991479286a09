"""Max pooling in two and three dims.  Each result reads its window; each gradient reads the windows of its
place.  Up to ``LARGEST_WINDOW`` places or windows are read by one load each; for more the kernel has
reductions.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch

from ....fx.table import lowers
from ....index import Expr
from ....mlir import ir
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor
from .reductions import hollow, is_filled
from .windows import StridedWindows, Windows, adaptive, all_of, fold, inside, strided, summed, unrolled


@lowers("aten.max_pool2d_with_indices.default")
def max_pool2d(call: Call) -> list[Tensor]:
    """The largest element of each window, and its place in the plane (row * width + column, int64).  Of equal
    elements it is the first.  A NaN is larger than everything, and the last one counts.
    """
    return _largest(call, strided(call, 2))


@lowers("aten.max_pool3d_with_indices.default")
def max_pool3d(call: Call) -> list[Tensor]:
    return _largest(call, strided(call, 3))


@lowers("aten.adaptive_max_pool2d.default")
def adaptive_max_pool2d(call: Call) -> list[Tensor]:
    return _largest(call, adaptive(call.tensor("self"), call.fresh(call.value[0]).sizes, 2))


@lowers("aten.adaptive_max_pool3d.default")
def adaptive_max_pool3d(call: Call) -> list[Tensor]:
    return _largest(call, adaptive(call.tensor("self"), call.fresh(call.value[0]).sizes, 3))


@lowers("fuse_mlir.max_pool2d_offsets.default")
def max_pool2d_offsets(call: Call) -> list[Tensor]:
    """As ``max_pool2d``, but with the place in the window (row * width of the window + column, int8)."""
    return _largest(call, strided(call, 2), in_window=True)


def _largest(call: Call, windows: Sequence[Windows], in_window: bool = False) -> list[Tensor]:
    if not is_filled(call):
        return hollow(call)
    source, rank = call.tensor("self"), len(windows)
    _require_float(call, source)
    k = call.kernel([source], [call.fresh(fake) for fake in call.value])
    at = k.iterate(call.fresh(call.value[0]).sizes)
    chosen = at[-rank:]
    extents = [w.longest if in_window else w.extent for w in windows]

    def element(steps: Sequence[Expr]) -> tuple[Scalar, Scalar]:
        """An element of the window, and its place."""
        points = list(zip(windows, chosen, steps, strict=True))
        places = [w.place(o, step) for w, o, step in points]
        held = [c for (w, o, _), p in zip(points, places, strict=True) for c in w.held(k, o, p)]
        x = k.load(source, (*at[:-rank], *places), all_of(k, held), -math.inf)
        return x, k.index(_flat(steps if in_window else places, extents))

    # What the place is if no element is larger than negative infinity: that of the first one.
    first = _first(k, windows, chosen, extents, in_window)
    steps = unrolled([w.longest for w in windows])
    if steps is None:
        over = k.iterate([w.longest for w in windows])
        best, place = _folded(k, *element(over), over, first)
    else:
        best, place = k.constant(-math.inf, k.widen(k.constant(0, source.dtype)).dtype), first
        for number, step in enumerate(steps):
            x, here = element(step)
            larger = k.bit_or(k.compare("gt", x, best), k.is_nan(x))
            best = k.maximum(best, x) if number else x  # not a select, as the places may be unused
            place = k.select(larger, here, place)
    k.store(0, at, best)
    k.store(1, at, place)
    results = call.finish(k)
    assert isinstance(results, list)
    return results


def _folded(
    k: KernelBuilder, x: Scalar, place: Scalar, over: Sequence[Expr], first: Scalar
) -> tuple[Scalar, Scalar]:
    """The largest ``x`` and its place: the first one's, the last NaN's, or ``first`` of infinite ones."""
    names = k.builder.strings([str(o) for o in over if not o.is_constant])
    best = fold(k, "max", x, over)
    _, where = ir.Operation.create(
        "fuse.argreduce",
        results=[x.value.type, place.value.type],
        operands=[x.value, place.value],
        attributes={"kind": k.builder.string("argmax"), "over": names},
        loc=k.location,
        ip=k.point,
    ).results
    of_nan = fold(k, "max", k.select(k.is_nan(x), place, -1), over)
    where = k.select(k.is_nan(best), of_nan, Scalar(where, place.dtype))
    return best, k.select(k.compare("eq", best, -math.inf), first, where)


def _first(
    k: KernelBuilder,
    windows: Sequence[Windows],
    chosen: Sequence[Expr],
    extents: Sequence[Expr],
    in_window: bool,
) -> Scalar:
    """The place of the first element of a window that is none of the padding."""
    total: Scalar | None = None
    for w, o, extent in zip(windows, chosen, extents, strict=True):
        skipped = w.skipped(k, o)
        if isinstance(skipped, Expr):
            place = k.index(skipped if in_window else w.place(o, skipped))
        elif in_window:
            place = skipped
        else:
            apart = w.dilation if isinstance(w, StridedWindows) else 1
            place = k.add(k.mul(skipped, apart), k.index(w.begin(o)))
        total = place if total is None else k.add(k.mul(total, k.index(extent)), place)
    assert total is not None
    return total


def _flat(places: Sequence[Expr], extents: Sequence[Expr]) -> Expr:
    """The row-major number of a place."""
    total = places[0]
    for place, extent in zip(places[1:], extents[1:], strict=True):
        total = total * extent + place
    return total


@lowers("aten.max_pool2d_with_indices_backward.default")
def max_pool2d_backward(call: Call) -> Any:
    """The gradient of a place is the sum over the windows whose largest element it is.  No atomics are
    needed.
    """
    return _gradient(call, strided(call, 2), call.tensor("indices"))


@lowers("aten.max_pool3d_with_indices_backward.default")
def max_pool3d_backward(call: Call) -> Any:
    return _gradient(call, strided(call, 3), call.tensor("indices"))


@lowers("aten.adaptive_max_pool2d_backward.default")
def adaptive_max_pool2d_backward(call: Call) -> Any:
    windows = adaptive(call.tensor("self"), call.tensor("grad_output").sizes, 2)
    return _gradient(call, windows, call.tensor("indices"))


@lowers("aten.adaptive_max_pool3d_backward.default")
def adaptive_max_pool3d_backward(call: Call) -> Any:
    windows = adaptive(call.tensor("self"), call.tensor("grad_output").sizes, 3)
    return _gradient(call, windows, call.tensor("indices"))


@lowers("fuse_mlir.max_pool2d_offsets_backward.default")
def max_pool2d_offsets_backward(call: Call) -> Any:
    """As ``max_pool2d_backward``, from the places in the windows."""
    return _gradient(call, strided(call, 2, call.result.sizes), call.tensor("offsets"), in_window=True)


def _gradient(call: Call, windows: Sequence[Windows], places: Tensor, in_window: bool = False) -> Any:
    gradient, rank = call.tensor("grad_output"), len(windows)
    _require_float(call, gradient)
    k = call.kernel([gradient, places])
    at = k.iterate(call.result.sizes)
    own = at[-rank:]

    def share(steps: Sequence[Expr]) -> Scalar:
        chosen = [w.last(p) - back for w, p, back in zip(windows, own, steps, strict=True)]
        counts = gradient.sizes[-rank:]
        held = [c for o, n in zip(chosen, counts, strict=True) for c in inside(k, o, n)]
        if in_window:  # a place beyond the window's last column must not count as one of the next row
            moved = [p - w.begin(o) for w, o, p in zip(windows, chosen, own, strict=True)]
            held += [c for w, m in zip(windows[1:], moved[1:], strict=True) for c in inside(k, m, w.longest)]
            number = _flat(moved, [w.longest for w in windows])
        else:
            number = _flat(own, [w.extent for w in windows])
        holds, place = all_of(k, held), (*at[:-rank], *chosen)
        named = k.cast(k.load_raw(places, place, holds, -1), torch.int64)
        named = k.compare("eq", named, k.index(number))
        x = k.load(gradient, place, holds, 0)
        return k.select(k.bit_and(named, holds), x, k.lift(0, x.dtype))

    k.store(0, at, summed(k, [w.most for w in windows], share))
    return call.finish(k)


def _require_float(call: Call, source: Tensor) -> None:
    if not source.dtype.is_floating_point:
        call.refuse("there is no negative infinity among integers")
