"""What a fused attention kernel is given, so that each row is what the spelled-out steps make of it.

Five things differ between the steps and the kernels of ``scaled_dot_product_attention``:

- Scores that are *filled in* are replaced, whatever they were.  A kernel *adds* its mask, and NaN + -inf is
  NaN.  So a filled mask becomes ``is_causal``, which replaces, or nothing, where the graph alone says that it
  is that; or, where one row of it serves all queries, the hidden keys are set to 0, and the number that is
  filled in is added to scores of 0.  Any other one is not fused.
- A row that sees no key is NaN where -inf is filled in or added, because softmax divides 0 by 0.  A kernel
  gives 0, or anything.  So where a mask may hide all keys of a row, it is NaN in that row.
- A kernel keeps the logarithm of each row's sum, added to its largest score.  Where that is -1e9, because the
  mask has no other number in the row, float32 loses the logarithm, and the gradient takes each weight for 1.
  So where a number is filled in that hides all keys of a row, they are not hidden: all scores are 0, and all
  weights are equal.  An added mask must be known where gradients are asked for, with a number near 0 in each
  row; or one row of it serves all queries, and its largest number is subtracted from it (``shift_keys``).
- torch's kernel for CPUs gives 0 for a row whose scores are all -inf, or all NaN without a mask.  There NaN
  is added to the row of the query, for the gradients, and to that of the result, where the query or all keys
  of a row hold something that is not finite.
- The gradients of a row's scores sum to 0.  In a kernel they sum to a rounding error, as it subtracts
  ``dout . out`` from each, with a result that was rounded to 16 bits.  What all keys have in common
  multiplies that sum in the gradient of the query.  So their mean is subtracted from the keys, which softmax
  ignores.  Autograd then subtracts the mean of their gradients, whose sum is 0 but for that error, which the
  gradient of the weights that make keys multiplies by what all tokens have in common.

A gradient reads hidden keys in eager mode: that of the query is a sum over all keys, each times 0 where it is
hidden, which is NaN where such a key is NaN.  ``_times_zero`` adds what those terms are.
"""

import operator
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Node

from ...base.dataclass import dataclass
from .attention_masks import mask_kind
from .known_values import KnownValues
from .matching import example

#: Makes a node: a function or the name of a method, and its arguments.
Emit = Callable[..., Node]


@dataclass(frozen=True)
class Filled:
    """Scores that are filled in.  value: what they are then.  where_true: whether the mask is true there."""

    value: float
    where_true: bool


@dataclass(frozen=True)
class FusedMask:
    """What becomes of the mask of spelled-out attention.

    kind: no mask, ``is_causal``, one that is added; or, where one row serves all queries, one that is
    ``shifted`` and added, and ``keys``, which are hidden.
    every_row: whether each row of an added mask is known to have a number that no kernel overflows at.
    """

    kind: Literal["none", "causal", "added", "shifted", "keys"]
    every_row: bool = True


#: A row's largest number in an added mask may be as large where gradients are asked for.
_LARGEST_OF_ROW = 128.0

#: Numbers that are less are added as this one: kernels multiply by log2(e), and the least float32 overflows.
#: No score is seen beside either.
_LEAST = -1e30

#: A sum of a score and a number beside which scores of twice that size are lost is that number.
_LARGEST_SCORE = 64.0

#: By what a query is divided whose scores are lost.
_TIMES = 2.0**40

#: A key that is hidden with such a number, or the least one of its dtype, has no weight beside one that is
#: seen.
_NO_WEIGHT = -1e9

#: From here on the number that is filled in need not be one of the query's dtype.
_ROUNDED = -1e4


def added_mask(mask: Node, known: KnownValues, *, differentiated: bool) -> FusedMask | str:
    """Of a mask that is added to the scores, or why there is none."""
    largest = _largest_of_rows(known.tensor(mask))
    if differentiated and not largest <= _LARGEST_OF_ROW:
        shape = example(mask)
        if shape is not None and (shape.dim() == 1 or shape.shape[-2] == 1):
            return FusedMask("shifted")
        return "a row may have large numbers only, which the gradient of a kernel loses the sum beside"
    return FusedMask("added", largest <= -_LEAST)


def filled_mask(
    mask: Node, filled: Filled, scores: Tensor, dtype: torch.dtype, known: KnownValues
) -> FusedMask | str:
    """Of a bool mask where scores are filled in, or why there is none.

    scores: an example, ``[.., t, s]``.  dtype: of the query.
    """
    known_mask, shape = known.tensor(mask), example(mask)
    assert shape is not None, "its dtype was looked at"
    kind = mask_kind(_seen(known_mask, filled.where_true), tuple(scores.shape[-2:]))
    if kind == "open":
        return FusedMask("none")
    if kind == "causal" and filled.value <= max(_NO_WEIGHT, torch.finfo(dtype).min):
        return FusedMask("causal")
    if shape.dim() > 1 and shape.shape[-2] != 1:
        return "masked scores are replaced, which no kernel does with a mask that is data"
    if filled.value == -float("inf"):
        return FusedMask("keys")
    return _unfit(filled.value, scores.dtype, dtype) or FusedMask("keys")


def _unfit(value: float, scores: torch.dtype, dtype: torch.dtype) -> str | None:
    """Why a finite number that is filled in is no number of a mask, or None."""
    if not abs(value) <= torch.finfo(dtype).max or value > _LARGEST_OF_ROW:
        return f"{value} is filled in, which a mask cannot hold"
    eager, added = (_rounded(value, kind) for kind in (scores, dtype))
    return None if eager == added or value <= _ROUNDED else f"{value} is no number of {dtype}"


@unset_fake_temporarily()
def _rounded(value: float, dtype: torch.dtype) -> float:
    return float(torch.tensor(value, dtype=torch.float64).to(dtype))


@unset_fake_temporarily()
def _seen(value: Tensor | None, hidden: bool) -> Tensor | None:
    return value if value is None or not hidden else ~value


@unset_fake_temporarily()
def _largest_of_rows(value: Tensor | None) -> float:
    """The most that the largest number of a row is away from 0; infinite where nothing is known."""
    if value is None or value.numel() == 0 or not value.is_floating_point():
        return float("inf")
    largest = float(value.amax(-1).abs().amax())
    return float("inf") if largest != largest else largest


def add_checked(emit: Emit, mask: Node, dtype: torch.dtype) -> Node:
    """A mask that is added, with NaN in each row without a number: of -inf, or with a NaN or +inf."""
    odd = emit("mul", emit("amax", mask, -1, True), 0.0)
    if torch.finfo(dtype).min < _LEAST:
        mask = emit(torch.where, emit("eq", mask, -float("inf")), mask, emit("clamp", mask, min=_LEAST))
    return emit("add", mask, odd)


def shift_keys(emit: Emit, query: Node, key: Node, mask: Node, dtype: torch.dtype) -> tuple[Node, Node, Node]:
    """The query, the keys and a mask to add, whose largest number is near 0, where gradients are asked for.

    query: ``[.., t, d]``.  key: ``[.., s, d]``.  mask: ``[.., 1, s]``.  dtype: of all of them.  A key that
    holds anything that is not finite is in no maximum: no score of it is finite.

    Softmax ignores what is subtracted from a whole row.  But beside -1e9 the sum in eager mode loses the
    score, and all weights are equal.  So the query is made tiny there.  Gradients are those of the scores:
    that of the query passes unchanged, and that of the keys, which has the tiny query as a factor, is
    multiplied by what makes it the query again.
    """
    top = emit("amax", emit("masked_fill", mask, _odd_keys(emit, key), -float("inf")), -1, True)
    size = emit("abs", top)
    mask = emit(torch.where, emit("gt", size, _LARGEST_OF_ROW), emit("sub", mask, top), mask)
    alone = _LARGEST_SCORE / torch.finfo(torch.promote_types(dtype, torch.float32)).eps
    if torch.finfo(dtype).max < alone:
        return query, key, mask
    lost = emit("ge", size, alone)
    tiny = emit("detach", emit(torch.where, lost, emit("mul", query, 1 / _TIMES), query))
    asked = emit("add", tiny, emit("sub", query, emit("detach", query)))
    nothing = emit("nan_to_num", emit("sub", key, emit("detach", key)))
    more = emit("masked_fill", emit("mul", nothing, _TIMES), emit("logical_not", lost), 0.0)
    return asked, emit("add", key, more), mask


def hide_keys(
    emit: Emit, query: Node, key: Node, hidden: Node, value: float, q: Tensor, *, differentiated: bool
) -> tuple[Node, Node, Node]:
    """The query, the keys and a mask to add where keys are hidden from all queries alike.

    query: ``[.., t, d]``, as the example ``q``.  key: ``[.., s, d]``.  hidden: bool, ``[.., 1, s]``.  value:
    what the scores of hidden keys are.
    """
    column = emit("transpose", hidden, -2, -1)
    alone = emit("all", hidden, -1, True)  # a row without keys
    lost = alone
    if differentiated:  # no score of a finite number
        lost = emit("all", emit("logical_or", hidden, _odd_keys(emit, key)), -1, True)
    zero = emit(torch.zeros, (), dtype=q.dtype, device=q.device)
    if value == -float("inf"):
        mask = emit(torch.masked_fill, emit(torch.masked_fill, zero, hidden, value), lost, float("nan"))
    else:
        besides = emit("logical_and", hidden, emit("logical_not", lost))
        mask = emit(torch.masked_fill, zero, besides, max(value, _LEAST))
    kept = emit("masked_fill", key, column, 0.0)
    if value > -float("inf") or differentiated:  # it may hold NaN
        asked = emit("masked_fill", query, alone, 0.0)
    else:
        asked = query
    if differentiated:
        seen = emit("logical_not", column)
        asked = emit("add", asked, _times_zero(emit, query, emit("masked_fill", key, seen, 0.0)))
        kept = centre_keys(emit, emit("add", kept, _times_zero(emit, key, query)), q, hidden)
    return asked, kept, mask


def _times_zero(emit: Emit, of: Node, rows: Node) -> Node:
    """0, whose gradient adds a sum of ``rows`` times 0 to that of ``of``: NaN where they are not finite.

    of: ``[.., m, d]``.  rows: ``[.., n, d]``.
    """
    odd = emit("sum", emit("mul", emit("detach", rows), 0.0), -2, True)
    product = emit("mul", of, odd)
    return emit("masked_fill", product, emit("new_ones", product, (), dtype=torch.bool), 0.0)


def _odd_keys(emit: Emit, key: Node) -> Node:
    """Whether keys ``[.., s, d]`` hold anything that is not finite, ``[.., 1, s]``."""
    return emit("unsqueeze", emit("isnan", emit("amax", emit("mul", emit("detach", key), 0.0), -1)), -2)


def centre_keys(emit: Emit, key: Node, q: Tensor, hidden: Node | None = None) -> Node:
    """Keys ``[.., s, d]`` less their mean, where gradients are asked for and kernels round products of ``q``.

    hidden: bool, ``[.., 1, s]``: keys that are 0 and hidden from all queries, which are in no mean.  A column
    that holds anything that is not finite stays as it is.
    """
    if q.dtype.itemsize > 2 and q.device.type == "cpu":
        return key
    mean = emit("mean", key, -2, True)
    if hidden is not None:
        seen = emit("type_as", emit("transpose", emit("logical_not", hidden), -2, -1), mean)
        mean = emit("div", mean, emit("mean", seen, -2, True))
    return emit("sub", key, emit("nan_to_num", mean, 0.0, 0.0, 0.0))


def row_guard(emit: Emit, found: FusedMask, query: Node, key: Node, mask: Node | None) -> Node:
    """0 for each row, NaN for those that torch's kernel for CPUs may give 0 instead, ``[.., t or 1, 1]``.

    query: ``[.., t, d]``.  key: ``[.., s, d]``.  mask: what is added to the scores, ``[.., t, s]``.
    """
    odd_query = emit("mul", emit("detach", query), 0.0)
    odd = emit("squeeze", _odd_keys(emit, key), -2)
    unseen = emit("masked_fill", emit("new_zeros", query, ()), odd, -float("inf"))
    if found.kind == "causal":
        largest = emit("unsqueeze", emit(operator.getitem, emit("cummax", unseen, -1), 0), -1)
    else:
        row = emit("unsqueeze", unseen, -2)
        largest = emit("amax", row if mask is None else emit("add", mask, row), -1, True)
    return emit("add", emit("mul", largest, 0.0), emit("amax", odd_query, -1, True))


__all__ = [
    "Emit",
    "Filled",
    "FusedMask",
    "add_checked",
    "added_mask",
    "centre_keys",
    "filled_mask",
    "hide_keys",
    "row_guard",
    "shift_keys",
]
