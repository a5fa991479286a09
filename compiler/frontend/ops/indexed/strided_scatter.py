"""A copy in which a view with any strides is overwritten: each element selects where it is read from.

The view's strides must nest, so that no element of the storage occurs twice in the view.  The offset of an
element is divided by them, the largest first; the element belongs to the view where the remainder is zero.
"""

from itertools import pairwise
from typing import Any

from ....fx.table import lowers
from ....index import Expr, const
from ...importer.call import Call
from ..shape.views import ANYWHERE, begins_anywhere


@lowers("aten.as_strided_scatter.default")
def as_strided_scatter(call: Call) -> Any:
    """The gradient of ``as_strided``.  torch's adaptive pooling of channels-last images to one pixel uses
    it.
    """
    target, source = call.tensor("self"), call.tensor("src")
    sizes, strides = _numbers(call, "size"), _numbers(call, "stride")
    begin = const(0)  # where the view begins, in elements from the target's first one
    if call["storage_offset"] is not None:
        if begins_anywhere(target):
            call.refuse(ANYWHERE)
        begin = call.expr(call["storage_offset"]) - target.origin - target.spec.offset
        if not call.symbols.defines(begin):
            call.refuse("where the target starts in its storage is not known")
    order = sorted((d for d, n in enumerate(sizes) if n > 1), key=lambda d: -strides[d])
    if any(strides[d] <= 0 for d in order):
        call.refuse("elements of the view overlap")
    if any(sizes[d] * strides[d] > strides[above] for above, d in pairwise(order)):
        call.refuse("elements of the view may overlap")
    result = call.result
    kernel = call.kernel([target, source])
    at = kernel.iterate(result.sizes)
    rest = -begin
    for coordinate, stride in zip(at, result.strides, strict=True):
        rest = rest + coordinate * stride
    place: list[Expr] = [const(0)] * len(sizes)
    inside = kernel.compare("ge", kernel.index(rest), 0)
    for d in order:
        place[d] = rest.floordiv(const(strides[d]))
        rest = rest - place[d] * strides[d]
        inside = kernel.bit_and(inside, kernel.compare("lt", kernel.index(place[d]), sizes[d]))
    inside = kernel.bit_and(inside, kernel.compare("eq", kernel.index(rest), 0))
    x = kernel.select(inside, kernel.load_raw(source, place, inside), kernel.load_raw(target, at))
    kernel.store(0, at, x)
    return call.finish(kernel)


def _numbers(call: Call, name: str) -> list[int]:
    numbers = list(call[name])
    if not all(type(n) is int for n in numbers):
        call.refuse("the view's layout is known only when the program runs")
    return numbers
