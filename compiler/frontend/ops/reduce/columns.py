"""The columns of images that a product multiplies: ``rewrites/layouts/stems.py`` says of which
convolutions.
"""

from typing import Any

from ....fx.table import lowers
from ....index import Facts, const, digits
from ...importer.call import Call
from .windows import StridedWindows, all_of


@lowers("fuse_mlir.columns.default")
def columns(call: Call) -> Any:
    """``result[image, tap, place]`` is the number of the image that a tap of the window reads at a place, 0
    beyond the edges.  Taps are numbered by channel, then by the dims of the window; places in row-major
    order.
    """
    image = call.tensor("input")
    windows = [
        StridedWindows(extent, const(taps), const(step), front, apart)
        for extent, taps, step, front, apart in zip(
            image.sizes[2:], call["window"], call["stride"], call["padding"], call["dilation"], strict=True
        )
    ]
    sizes = _places(call.arguments, image.fake.shape[2:])
    k = call.kernel([image])
    at = k.iterate(call.result.sizes)
    batch, tap, place = at
    facts = Facts.of(k.dims)
    channel, *taps = digits(tap, [image.sizes[1], *(w.size for w in windows)], facts)
    places = digits(place, [const(n) for n in sizes], facts)
    points = [w.place(o, t) for w, o, t in zip(windows, places, taps, strict=True)]
    held = [c for w, o, p in zip(windows, places, points, strict=True) for c in w.held(k, o, p)]
    k.store(0, at, k.load(image, (batch, channel, *points), all_of(k, held), 0))
    return call.finish(k)


def _places(arguments: Any, extents: Any) -> list[int]:
    spans = zip(
        extents, *(arguments[n] for n in ("window", "stride", "padding", "dilation")), strict=True
    )
    return [(n + 2 * p - d * (taps - 1) - 1) // s + 1 for n, taps, s, p, d in spans]


__all__ = ["columns"]
