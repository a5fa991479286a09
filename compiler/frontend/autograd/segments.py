"""Parts of a dim that follow each other: ``segment_reduce``, its gradient, and what ``bags.py`` folds.

Where places times segments times columns are few, each segment looks at all places and folds its own: one
kernel without an order.  Else each place is folded into its segment (``index_reduce``).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...fx.eager_dtypes import computed_in

_aten = torch.ops.aten
#: How many places all segments may look at together.
FEW = 1 << 22
_ROWS = "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
_NEGATIVE = "lengths contains negative value!"
_FOLDS: dict[str, Callable[..., Tensor]] = {
    "sum": lambda x, dim: x.sum(dim, dtype=x.dtype), "prod": lambda x, dim: x.prod(dim, dtype=x.dtype),
    "max": lambda x, dim: x.amax(dim), "min": lambda x, dim: x.amin(dim),
}  # fmt: skip
_ATOMIC = {"prod": "prod", "max": "amax", "min": "amin"}


@dataclass(frozen=True)
class Segments:
    """``starts``, ``ends``: [.., s] int64, where the segments begin and end among ``size`` places.  They
    follow each other and may be empty; places behind the last belong to none.
    """

    starts: Tensor
    ends: Tensor
    size: Any

    @property
    def count(self) -> Any:
        return self.starts.size(-1)

    def of_places(self) -> Tensor:
        """[.., size]: the segment of each place: of those that begin there, the last, which is the one that
        has elements.  -1 before the first.
        """
        at = torch.arange(self.size, device=self.starts.device)
        if self.starts.dim() > 1 or size_hint(self.size * self.count) <= FEW:
            return (self.starts.unsqueeze(-2) <= at.unsqueeze(-1)).sum(-1) - 1
        begin = self.starts.clamp(0, self.size)
        marks = _aten.index_put(at.new_zeros(self.size + 1), [begin], torch.ones_like(begin), True)
        return marks[: self.size].cumsum(0) - 1

    def contains(self) -> Tensor:
        """[.., s, size]: whether a place is in a segment."""
        at = torch.arange(self.size, device=self.starts.device)
        return (self.starts.unsqueeze(-1) <= at) & (at < self.ends.unsqueeze(-1))

    def fold(self, kind: str, x: Tensor, neutral: float) -> Tensor:
        """[.., s, *rest]: sum, prod, max or min of the places of each segment of [.., size, *rest]."""
        axis = self.starts.dim() - 1
        rest = x.dim() - axis - 1
        if self.size == 0:
            shape = (*x.shape[:axis], self.count, *x.shape[axis + 1 :])
            return torch.full(shape, neutral, dtype=x.dtype, device=x.device)
        if axis or size_hint(x.numel() * self.count) <= FEW:
            inside = self.contains().view(*self.starts.shape, self.size, *[1] * rest)
            return _FOLDS[kind](torch.where(inside, x.unsqueeze(axis), neutral), axis + 1)
        segment, inside = self._into()
        x = torch.where(inside.view(-1, *[1] * rest), x, neutral)
        into = torch.full((self.count, *x.shape[1:]), neutral, dtype=x.dtype, device=x.device)
        if kind == "sum":
            return _aten.index_put(into, [segment], x, True)
        return _aten.index_reduce(into, 0, segment, x, _ATOMIC[kind])

    def spread(self, x: Tensor, other: float) -> Tensor:
        """[.., size, *rest]: what [.., s, *rest] has for the segment of each place, ``other`` outside."""
        axis = self.starts.dim() - 1
        rest = x.dim() - axis - 1
        if self.count == 0:
            shape = (*x.shape[:axis], self.size, *x.shape[axis + 1 :])
            return torch.full(shape, other, dtype=x.dtype, device=x.device)
        segment, inside = self._into()
        if axis:
            index = segment.view(*segment.shape, *[1] * rest)
            found = x.gather(axis, index.expand(*segment.shape, *x.shape[axis + 1 :]))
        else:
            found = _aten._unsafe_index.Tensor(x, [segment])
        return torch.where(inside.view(*inside.shape, *[1] * rest), found, other)

    def _into(self) -> tuple[Tensor, Tensor]:
        """[.., size] each: the segment of a place, and whether there is one."""
        number = self.of_places()
        segment = number.clamp(min=0)
        at = torch.arange(self.size, device=self.starts.device)
        return segment, (number >= 0) & (at < self.ends.gather(-1, segment))


def size_hint(size: Any) -> int:
    """A size, or that of the first call."""
    if isinstance(size, int):
        return size
    return int(size.node.hint) if size.node.hint is not None else FEW + 1


def _segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """The reduction of each segment of dim ``axis``, which starts from ``initial``.  Without one, an empty
    segment has what changes nothing, and NaN as its mean.
    """
    segments = _given(data, lengths, offsets, axis)
    if segments is None or indices is not None or not data.is_floating_point():
        return NotImplemented
    if lengths is not None and not unsafe:
        _aten._assert_async.msg((lengths >= 0).all(), _NEGATIVE)
        _aten._assert_async.msg((lengths.sum(-1) == segments.size).all(), _ROWS)
    kind = "sum" if reduce == "mean" else reduce
    neutral = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}[kind]
    folded = segments.fold(kind, data.to(computed_in(data)), neutral)
    if initial is not None:
        join = {"sum": torch.add, "prod": torch.mul, "max": torch.maximum, "min": torch.minimum}[kind]
        folded = join(folded, torch.full_like(folded, initial))
    if reduce == "mean":
        count = _aligned(segments.ends - segments.starts, folded)
        empty = math.nan if initial is None else folded
        folded = torch.where(count > 0, folded / count, empty)
    return folded.to(data.dtype)


def _given(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int) -> Segments | None:
    """The segments that the arguments of a call say; None for none, or for what eager refuses."""
    given = lengths if lengths is not None else offsets
    axis = axis + data.dim() if axis < 0 else axis
    if given is None or given.dim() - 1 != axis or not data.dim():
        return None
    if lengths is not None:
        ends = lengths.to(torch.int64).cumsum(-1)
        return Segments(ends - lengths, ends, data.size(axis))
    assert offsets is not None
    bounds = offsets.to(torch.int64)
    return Segments(bounds[..., :-1], bounds[..., 1:], data.size(axis))


def _aligned(x: Tensor, like: Tensor) -> Tensor:
    return x.view(*x.shape, *[1] * (like.dim() - x.dim()))


def _segment_reduce_backward(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    initial: float | None = None,
) -> Any:
    """The gradient of ``data``.  Equal extremes share a gradient, but for one below 0, as in eager."""
    segments = _given(data, lengths, offsets, axis)
    if segments is None:
        return NotImplemented
    wide = computed_in(data)
    x, given = data.to(wide), segments.spread(grad.to(wide), 0.0)
    if reduce == "sum":
        return given.to(data.dtype)
    if reduce == "mean":
        count = _aligned(segments.ends - segments.starts, grad)
        return segments.spread(grad.to(wide) / count, 0.0).to(data.dtype)
    found = segments.spread(output.to(wide), 0.0)
    if reduce == "prod":
        return (given * _product_of_others(segments, x, found, initial)).to(data.dtype)
    equal = x.isnan() | (x == found)
    ties = segments.spread(segments.fold("sum", equal.to(torch.int64), 0), 1)
    shared = torch.where((given > 0) & (ties > 1), given / ties, given)
    return torch.where(equal, shared, 0).to(data.dtype)


def _product_of_others(segments: Segments, x: Tensor, product: Tensor, initial: float | None) -> Tensor:
    """For each element the product of the others in its segment."""
    zero, missing = x == 0, x.isnan()
    rest = segments.fold("prod", torch.where(zero | missing, 1.0, x), 1.0) * (
        1.0 if initial is None else initial
    )
    zeros, nans = (segments.fold("sum", m.to(torch.int64), 0) for m in (zero, missing))
    rest, others, lost = segments.spread(rest, 1.0), segments.spread(zeros, 0) - zero.to(torch.int64), nans
    lost = segments.spread(lost, 0) - missing.to(torch.int64)
    special = torch.where(others > 0, rest * 0, rest)
    special = torch.where(lost > 0, math.nan, special)
    return torch.where(zero | missing, special, product / x)


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "segment_reduce.default": _segment_reduce,
    "_segment_reduce_backward.default": _segment_reduce_backward,
}
