"""Which product ``derive-cascades`` takes for the scores, where values are made by products, too."""

import math

import pytest
import torch
from attention_forms import scores
from compiling import check
from derived_cascades import FORCED, refusals
from draws import drawn
from torch import Tensor

KEYS, HEADS = 90, 4


def decoding(x: Tensor, w: Tensor, keys: Tensor, values: Tensor, at: Tensor) -> Tensor:
    """A token writes its key and value, which are projected, into caches that it then reads."""
    q, k, v = ((x @ part).view(2, HEADS, 1, -1) for part in w)
    keys, values = keys.index_copy(2, at, k), values.index_copy(2, at, v)
    seen = torch.arange(keys.shape[2]) <= at
    return scores(q, keys).masked_fill(~seen, -math.inf).softmax(-1) @ values


@pytest.mark.parametrize("at", [0, 70, KEYS - 1])
def test_values_of_which_one_row_is_projected(at: int) -> None:
    """These have more elements than the scores, and a product is what one of their rows is made of."""
    caches = (drawn(2, HEADS, KEYS, 40, of=n) for n in (2, 3))
    args = drawn(2, 48), drawn(3, 48, HEADS * 40, of=1), *caches, torch.tensor([at])
    [graph] = check(decoding, *args, **FORCED).graphs
    assert "cascade" in [rule for rule, _ in refusals(graph)]


def cut(q: Tensor, k: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """Scores of more keys than are summed, and values that are projected."""
    v = (x @ w).view(*k.shape[:2], KEYS, -1)
    return scores(q, k)[..., 3 : KEYS + 3].softmax(-1) @ v


def test_scores_of_which_some_are_summed() -> None:
    """Scores are the product of which less is summed, and not what as many values are projected by."""
    q, k = (drawn(2, HEADS, rows, 40, of=n) for n, rows in enumerate((120, 100)))
    args = q, k, drawn(2 * HEADS * KEYS, 24, of=3), drawn(24, 32, of=4)
    [graph] = check(cut, *args, **FORCED).graphs
    [(rule, message)] = refusals(graph)
    assert (rule, "bmm_kernel reduces, and its readers need it at other points" in message) == ("form", True)
