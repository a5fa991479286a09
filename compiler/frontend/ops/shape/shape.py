"""Fresh tensors whose elements are those of other tensors at other places.  Each is one kernel.  Guards
select where an element comes from one of several tensors, or from none.
"""

from collections.abc import Sequence
from typing import Any

from ....fx.table import lowers
from ....index import Expr, const, contiguous_strides
from ...importer.arithmetic import Comparison, Scalar
from ...importer.builder import Destination, KernelBuilder
from ...importer.call import Call
from ...importer.values import Number, Tensor

#: A kernel of ``cat`` reads at most so many tensors.  More tensors take more kernels, each of which writes a
#: part of the result.
WIDEST_CAT = 16


@lowers("aten.cat.default")
def cat(call: Call) -> Any:
    """A load for each tensor, with the guard that the point lies in it.  Tensors of shape (0,) do not
    count.
    """
    parts = [t for t in call["tensors"] if t.sizes != (const(0),)]
    dim = call["dim"] % max(len(call.result.sizes), 1)
    parts = [t for t in parts if t.sizes[dim].constant != 0]
    destination: Destination = call.result
    start = const(0)
    for first in range(0, len(parts), WIDEST_CAT):
        some = parts[first : first + WIDEST_CAT]
        destination, start = _joined(call, some, dim, start, destination)
    return destination


def _joined(
    call: Call, parts: Sequence[Tensor], dim: int, start: Expr, destination: Destination
) -> tuple[Tensor, Expr]:
    """Writes ``parts`` into ``destination`` from ``start`` on; returns where they end."""
    kernel = call.kernel(parts, [destination])
    extent = const(0)
    for part in parts:
        extent = extent + part.sizes[dim]
    sizes = list(call.result.sizes)
    sizes[dim] = extent
    at = kernel.iterate(sizes)
    values, ends = [], []
    begin = const(0)
    for part in parts:
        end = begin + part.sizes[dim]
        guard = _between(kernel, at[dim], begin, end, extent)
        place = const(0) if part.sizes[dim].constant == 1 else at[dim] - begin
        x = kernel.load_raw(part, (*at[:dim], place, *at[dim + 1 :]), guard)
        values.append(kernel.cast(x, call.value.dtype))
        ends.append(end)
        begin = end
    x = values[-1]
    for value, end in reversed(list(zip(values[:-1], ends[:-1], strict=True))):
        x = kernel.select(_below(kernel, at[dim], end), value, x)
    kernel.store(0, (*at[:dim], at[dim] + start, *at[dim + 1 :]), x)
    return call.finish(kernel, [call.value]), start + extent  # type: ignore[return-value]


def _below(k: KernelBuilder, coordinate: Expr, end: Expr) -> Scalar:
    return k.compare("lt", k.index(coordinate - end), 0)


def _between(k: KernelBuilder, coordinate: Expr, begin: Expr, end: Expr, extent: Expr) -> Scalar | None:
    """The guard begin <= coordinate < end; None where it holds for all of 0 <= coordinate < extent."""
    low = None if begin.constant == 0 else k.compare("ge", k.index(coordinate - begin), 0)
    high = None if end == extent else _below(k, coordinate, end)
    return low if high is None else high if low is None else k.bit_and(low, high)


@lowers("aten.constant_pad_nd.default")
def constant_pad(call: Call) -> Any:
    """``pad`` lists (left, right) from the last dim on; negative ones crop.  Outside the source, the guarded
    load gives the pad value.
    """
    source, pad, value = call.tensor("self"), call["pad"], call["value"]
    if isinstance(value, (Number, Expr)):
        call.refuse("the value is known only when the program runs")
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)
    place = list(at)
    guard: Scalar | None = None
    for number in range(len(pad) // 2):
        dim = source.rank - 1 - number
        left, right = (call.expr(p) for p in pad[2 * number : 2 * number + 2])
        size = source.sizes[dim]
        moved = at[dim] - left
        place[dim] = const(0) if size.constant == 1 else moved
        sides: tuple[tuple[Expr, Comparison, Expr], ...] = ((left, "ge", moved), (right, "lt", moved - size))
        for side, how, distance in sides:
            if side.constant is not None and side.constant <= 0:
                continue
            holds = kernel.compare(how, kernel.index(distance), 0)
            guard = holds if guard is None else kernel.bit_and(guard, holds)
    kernel.store(0, at, kernel.load_raw(source, place, guard, value))
    return call.finish(kernel)


def _moved(call: Call, source: Tensor, place: Any) -> Any:
    """A copy whose element at a point is the source's element at ``place(point)``."""
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)
    coordinates = [const(0) if s.constant == 1 else c for s, c in zip(source.sizes, place(at), strict=True)]
    kernel.store(0, at, kernel.load_raw(source, coordinates))
    return call.finish(kernel)


@lowers("aten.flip.default")
def flip(call: Call) -> Any:
    source = call.tensor("self")
    dims = {d % source.rank for d in call["dims"]} if source.rank else set()
    return _moved(
        call, source, lambda at: [source.sizes[d] - 1 - c if d in dims else c for d, c in enumerate(at)]
    )


@lowers("aten.roll.default")
def roll(call: Call) -> Any:
    """If no dims are given, the elements move in row-major order."""
    source, shifts, dims = call.tensor("self"), call["shifts"], call["dims"]
    if not source.rank:
        return _moved(call, source, lambda at: at)
    if not dims:
        return _moved(call, source, lambda at: _rolled_flat(source.sizes, at, call.expr(shifts[0])))
    total: dict[int, Expr] = {}
    for dim, shift in zip(dims, shifts, strict=True):
        total[dim % source.rank] = total.get(dim % source.rank, const(0)) + call.expr(shift)
    return _moved(
        call,
        source,
        lambda at: [(c - total[d]).mod(source.sizes[d]) if d in total else c for d, c in enumerate(at)],
    )


def _rolled_flat(sizes: tuple[Expr, ...], at: Sequence[Expr], shift: Expr) -> list[Expr]:
    steps = contiguous_strides(sizes)
    linear = const(0)
    for coordinate, step in zip(at, steps, strict=True):
        linear = linear + coordinate * step
    linear = (linear - shift).mod(steps[0] * sizes[0])
    return [linear.floordiv(step).mod(size) for step, size in zip(steps, sizes, strict=True)]


@lowers("aten.repeat.default")
def repeat(call: Call) -> Any:
    source = call.tensor("self")
    extra = len(call.result.sizes) - source.rank
    times = [call.expr(r) for r in call["repeats"]][extra:]

    def place(at: Sequence[Expr]) -> list[Expr]:
        own = zip(at[extra:], source.sizes, times, strict=True)
        return [c if n.constant == 1 else c.mod(size) for c, size, n in own]

    return _moved(call, source, place)
