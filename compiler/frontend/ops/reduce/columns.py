"""The columns of images that a product multiplies: ``rewrites/layouts/stems.py`` says of which
convolutions.
"""

from typing import Any

from ....fx.table import lowers
from ....index import Facts, const, digits
from ....rewrites.layouts.stems import places
from ...importer.call import Call
from .windows import StridedWindows, all_of


@lowers("fuse_mlir.columns.default")
def columns(call: Call) -> Any:
    """``result[image, tap, place]`` is the number of the image that a tap of the window reads at a place, 0
    beyond the edges.  Taps are numbered by channel, then by the dims of the window; places in row-major
    order.
    """
    image = call.tensor("input")
    spans = [call[name] for name in ("window", "stride", "padding", "dilation")]
    counts = places(image.fake.shape[2:], *spans)
    windows = [
        StridedWindows(extent, const(taps), const(step), front, apart)
        for extent, taps, step, front, apart in zip(image.sizes[2:], *spans, strict=True)
    ]
    k = call.kernel([image])
    at = k.iterate(call.result.sizes)
    batch, tap, place = at
    facts = Facts.of(k.dims)
    channel, *taps = digits(tap, [image.sizes[1], *(w.size for w in windows)], facts)
    at_place = digits(place, [const(n) for n in counts], facts)
    points = [w.place(o, t) for w, o, t in zip(windows, at_place, taps, strict=True)]
    held = [c for w, o, p in zip(windows, at_place, points, strict=True) for c in w.held(k, o, p)]
    k.store(0, at, k.load(image, (batch, channel, *points), all_of(k, held), 0))
    return call.finish(k)


__all__ = ["columns"]
