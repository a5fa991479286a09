"""What a fused attention kernel is given, so that each row is what the spelled-out steps make of it.

Four things differ between the steps and the kernels of ``scaled_dot_product_attention``:

- Scores that are *filled in* are replaced, whatever they were.  A kernel *adds* its mask, and NaN + -inf is
  NaN.  So a filled mask becomes ``is_causal``, which replaces, or nothing, where the graph alone says that it
  is that; or, where one row of it serves all queries and nothing is differentiated, the hidden keys are set
  to 0 and the mask is added.  Any other one is not fused.
- A row that sees no key is NaN, because softmax divides 0 by 0.  A kernel gives 0, or anything.  So where a
  mask may hide all keys of a row, NaN is added to the row of the query, for the gradients, and to that of
  the result: ``mask.amax(-1) * 0``, which is 0 for all other rows, and NaN too for a mask of +inf or NaN.
- A kernel keeps the logarithm of each row's sum, added to its largest score.  Where that is -1e9, because the
  mask has no other number in the row, float32 loses the logarithm, and the gradient takes each weight for 1.
  So where gradients are asked for, an added mask must be known, with a number near 0 in each row.
- torch's kernel for CPUs gives 0 for a row whose scores are all NaN or all -inf.  There what is not finite
  in the query, or in all keys of a row, is added in the same way.
"""

import operator
from collections.abc import Callable
from typing import Literal

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
class FusedMask:
    """What becomes of the mask of spelled-out attention.

    kind: no mask, ``is_causal``, one that is added, or ``keys``: hidden keys, the same for all queries.
    every_row: whether each row is known to see a key.
    """

    kind: Literal["none", "causal", "added", "keys"]
    every_row: bool = True


#: A row's largest number in an added mask may be as large where gradients are asked for.
_LARGEST_OF_ROW = 128.0


def added_mask(mask: Node, known: KnownValues, *, differentiated: bool) -> FusedMask | str:
    """Of a mask that is added to the scores, or why there is none."""
    largest = _largest_of_rows(known.tensor(mask))
    if differentiated and not largest <= _LARGEST_OF_ROW:
        return "a row may have large numbers only, which the gradient of a kernel loses the sum beside"
    return FusedMask("added", largest < float("inf"))


def filled_mask(
    mask: Node, hidden: bool, scores: Tensor, known: KnownValues, *, differentiated: bool
) -> FusedMask | str:
    """Of a bool mask where scores are filled in with -inf, or why there is none.

    hidden: whether the mask is true where they are.  scores: an example, ``[.., t, s]``.
    """
    value, shape = known.tensor(mask), example(mask)
    assert shape is not None, "its dtype was looked at"
    kind = mask_kind(_seen(value, hidden), tuple(scores.shape[-2:]))
    if kind:
        return FusedMask("causal" if kind == "causal" else "none")
    if shape.dim() > 1 and shape.shape[-2] != 1:
        return "masked scores are replaced, which no kernel does with a mask that is data"
    if differentiated:
        return "the gradient of the query reads masked keys"
    return FusedMask("keys", every_row=False)


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


def row_guard(
    emit: Emit, found: FusedMask, query: Node, key: Node, mask: Node | None, *, on_cpu: bool
) -> Node | None:
    """0 for each row, NaN for those that no kernel need make NaN, ``[.., t or 1, 1]``; None for no such row.

    query: ``[.., t, d]``.  key: ``[.., s, d]``.  mask: what is added to the scores, ``[.., t, s]``.
    """
    if not on_cpu:
        return None if found.every_row else emit("mul", emit("amax", mask, -1, True), 0.0)
    # 0 of what is finite, NaN of anything else
    odd_query, odd_key = (emit("mul", emit("detach", operand), 0.0) for operand in (query, key))
    odd_key = emit("amax", odd_key, -1)
    unseen = emit("masked_fill", odd_key, emit("isnan", odd_key), -float("inf"))
    if found.kind == "causal":
        largest = emit("unsqueeze", emit(operator.getitem, emit("cummax", unseen, -1), 0), -1)
    else:
        row = emit("unsqueeze", unseen, -2)
        largest = emit("amax", row if mask is None else emit("add", mask, row), -1, True)
    return emit("add", emit("mul", largest, 0.0), emit("amax", odd_query, -1, True))


__all__ = ["Emit", "FusedMask", "added_mask", "filled_mask", "row_guard"]
