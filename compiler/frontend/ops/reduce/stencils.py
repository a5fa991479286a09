"""Convolutions of few products for each place, as kernels: ``rewrites/layouts/stencils.py`` says which."""

import itertools
from collections.abc import Sequence
from functools import reduce
from typing import Any

from ....fx.table import lowers
from ....index import Expr, const
from ...importer.arithmetic import Scalar
from ...importer.call import Call
from .windows import StridedWindows, all_of


@lowers("fuse_mlir.stencil.default")
def stencil(call: Call) -> Any:
    """Each place of the result is the sum over the channels of its group and over all taps, in their order,
    of the image, which is zero beyond its edges, times the weight; the bias is added last.  The sum is
    float32.
    """
    image, weight = call.tensor("input"), call.tensor("weight")
    bias = call["bias"]
    inputs = [image, weight, *([] if bias is None else [call.tensor("bias")])]
    windows = [
        StridedWindows(extent, taps, const(step), front, apart)
        for extent, taps, step, front, apart in zip(
            image.sizes[2:], weight.sizes[2:], call["stride"], call["padding"], call["dilation"], strict=True
        )
    ]
    k = call.kernel(inputs)
    at = k.iterate(call.result.sizes)
    batch, channel, *places = at
    first = _first_channel(channel, weight.sizes, call["groups"])

    def term(steps: Sequence[Expr]) -> Scalar:
        inner, *taps = steps
        points = [w.place(o, tap) for w, o, tap in zip(windows, places, taps, strict=True)]
        held = [c for w, o, p in zip(windows, places, points, strict=True) for c in w.held(k, o, p)]
        x = k.load(image, (batch, first + inner, *points), all_of(k, held), 0)
        return k.mul(x, k.load(weight, (channel, inner, *taps)))

    counts = [n.constant or 0 for n in weight.sizes[1:]]
    total = reduce(k.add, map(term, itertools.product(*([const(i) for i in range(n)] for n in counts))))
    if bias is not None:
        total = k.add(total, k.load(call.tensor("bias"), (channel,)))
    k.store(0, at, total)
    return call.finish(k)


def _first_channel(channel: Expr, sizes: Sequence[Expr], groups: int) -> Expr:
    """The first channel of the image that a channel of the result reads."""
    made, inner = sizes[0].constant or 0, sizes[1]
    if groups == 1:
        return const(0)
    each = made // groups
    return (channel if each == 1 else channel.floordiv(const(each))) * inner


__all__ = ["stencil"]
