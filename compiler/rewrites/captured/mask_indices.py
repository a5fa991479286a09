"""Indices with a mask among them: what else they are, and one mask of all that they select together."""

from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ...base.dataclass import dataclass
from .matching import example


@dataclass(frozen=True)
class MaskIndex:
    """``x[..]`` as ``x[basic][.., *tensors, ..]``, where the tensors, one of which is a mask, are side by
    side from dim ``first`` on and up to ``end``, and all other dims are whole.

    basic:  numbers, slices, None; None where these change nothing.
    viewed: an example of ``x[basic]``.
    """

    basic: tuple[Any, ...] | None
    viewed: Tensor
    first: int
    end: int
    tensors: tuple[Node, ...]

    @staticmethod
    def of(x: Tensor, parts: list[Any]) -> "MaskIndex | None":
        """parts: as in brackets.  None for other indices, or where a bound of a slice is no number."""
        tensors = [part for part in parts if isinstance(part, Node)]
        values = [v for part in tensors if (v := example(part)) is not None and v.device == x.device]
        if not tensors or len(values) < len(tensors):
            return None
        if not all(_is_basic(part) for part in parts if not isinstance(part, Node)):
            return None
        ranks = [v.dim() if v.dtype == torch.bool else 1 for v in values]
        named = sum(part is not None and part is not Ellipsis for part in parts) - len(tensors) + sum(ranks)
        if named > x.dim() or sum(part is Ellipsis for part in parts) > 1:
            return None
        rest = [slice(None)] * (x.dim() - named)
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts = [*parts[:at], *rest, *parts[at + 1 :]]
        basic: list[Any] = []
        firsts, left = [], iter(ranks)
        for part in parts:
            if isinstance(part, Node):
                rank = next(left)
                firsts.append((_dims(basic), rank))
                basic += [slice(None)] * rank
            else:
                basic.append(part)
        ends = [first + rank for first, rank in firsts]
        if any(first != end for (first, _), end in zip(firsts[1:], ends, strict=False)):
            return None
        plain = all(part == slice(None) for part in basic)
        viewed = x if plain else x[tuple(basic)]
        masks = [(v, first) for v, (first, rank) in zip(values, firsts, strict=True) if v.dtype == torch.bool]
        if not all(
            same_size(a, b) for m, at in masks for a, b in zip(m.shape, viewed.shape[at:], strict=False)
        ):
            return None
        return MaskIndex(None if plain else tuple(basic), viewed, firsts[0][0], ends[-1], tuple(tensors))

    def joins(self) -> bool:
        """Whether ``joined`` knows what the tensors select: a mask, alone or beside another one, or beside
        one index for each element that it selects, or for all of them.
        """
        values = [example(tensor) for tensor in self.tensors]
        masks = sum(v is not None and v.dtype == torch.bool and v.dim() > 0 for v in values)
        others = [v for v in values if v is not None and v.dtype != torch.bool]
        known = all(
            v.dtype == torch.int64 and v.dim() == 1 and type(v.shape[0]) is int and v.shape[0] for v in others
        )
        return masks >= 1 and len(values) == masks + len(others) <= 2 and known

    @property
    def is_ordered(self) -> bool:
        """Whether each element that the mask selects is in a row of its own, in the order of the mask."""
        others = [v for t in self.tensors if (v := example(t)) is not None and v.dtype != torch.bool]
        return len(self.tensors) == 1 or (len(others) == 1 and others[0].shape[0] == 1)


def same_size(a: Any, b: Any) -> bool:
    """Whether two sizes are equal; of a size that depends on data, only where that is known."""
    sizes = [n for n in (a, b) if isinstance(n, torch.SymInt)]
    if any(free_unbacked_symbols(n) for n in sizes):
        return len(sizes) == 2 and bool(a.node.expr == b.node.expr)
    return bool(a == b)


def _is_basic(part: Any) -> bool:
    if isinstance(part, slice):
        return all(n is None or type(n) is int for n in (part.start, part.stop, part.step))
    return part is None or part is Ellipsis or type(part) is int


def _dims(basic: list[Any]) -> int:
    """How many dims of a view such indices give."""
    return sum(type(part) is not int for part in basic)


# --- what the rewritten graph calls -------------------------------------------------------------------------


def joined(x: Tensor, first: int, one: Tensor, other: Tensor) -> Tensor:
    """The mask of ``x[.., one, other, ..]`` over dims from ``first`` on.  Torch pairs what both select: the
    n-th with the n-th, or one with all.
    """
    if one.dtype != torch.bool:
        turned = joined(x.movedim(first, first + other.dim()), first, other, one)
        return turned.movedim(-1, 0)
    size = x.size(first + one.dim())
    places = torch.arange(size, device=x.device)
    if other.dtype == torch.bool:
        return _pairs(one, other)
    chosen = places[other]  # as an index: from the end if negative, and within the dim
    if chosen.size(0) == 1:
        return one.unsqueeze(-1) & (places == chosen)
    count, rank = _counted(one)
    _fits((count == chosen.size(0)) | (count == 1))
    own = chosen[rank.clamp(0, chosen.size(0) - 1)].unsqueeze(-1) == places
    every = (places.unsqueeze(-1) == chosen).any(-1)
    return one.unsqueeze(-1) & torch.where(count == 1, every, own)


def _pairs(one: Tensor, other: Tensor) -> Tensor:
    (count, rank), (others, ranks) = _counted(one), _counted(other)
    _fits((count == others) | (count == 1) | (others == 1))
    lead = [1] * other.dim()
    rank, both = rank.view(*one.shape, *lead), one.view(*one.shape, *lead) & other
    return both & ((rank == ranks) | (count == 1) | (others == 1))


def _counted(mask: Tensor) -> tuple[Tensor, Tensor]:
    """How many elements a mask selects, and of each which of them it is."""
    flat = mask.reshape(-1).to(torch.int64)
    return flat.sum(), (flat.cumsum(0) - 1).view(mask.shape)


def _fits(condition: Tensor) -> None:
    told = "shape mismatch: indexing tensors could not be broadcast together"
    torch.ops.aten._assert_async.msg(condition, told)


__all__ = ["MaskIndex", "joined", "same_size"]
