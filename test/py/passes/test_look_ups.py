"""What is read at loaded indices is computed there, where it is not computed more often than before."""

import pytest
import torch
from compiling import Compiled, check
from torch import Tensor

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def joined(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return torch.cat([a * 2, b], 0)[at]


def padded(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return F.pad(a.exp(), (1, 2, 3, 0))[at]


def of_columns(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return torch.cat([a, a.sin()], 1)[:, at]


def flattened(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return F.pad(a, (0, 2)).reshape(-1, 2)[at] + 1


def twice_looked_up(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return torch.cat([torch.cat([a, b], 0)[at], b * 3], 0)[at]


def by_pairs(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return torch.cat([a * 2, b], 0)[at, at // 2]


def too_often(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return torch.cat([a * 2, b], 0)[at.repeat(9)]


def asserted(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    """The first look-up checks indices that the second one does not visit."""
    return torch.cat([a[at], b], 0)[at]


def scattered(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    """Single elements of two tensors would be read instead of one."""
    return torch.cat([a * a.flip(0), b], 0)[:, at]


def few_columns(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    """Each index is visited, and asserted once, though not each element of its row."""
    rows = a[at]
    return rows[:, 0] * rows[:, 1] - rows[:, 5]


def few_rows(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    """No element is read of the first row, whose index has to lie inside all the same."""
    rows = a[at]
    return rows[1:, 0] * rows[1:, 1]


def no_columns(a: Tensor, b: Tensor, at: Tensor) -> Tensor:
    return a[at][:, 6:] * 2


CASES = (
    (joined, 1), (padded, 1), (of_columns, 1), (flattened, 1), (twice_looked_up, 2), (by_pairs, 1),
    (too_often, 2), (asserted, 2), (scattered, 2), (few_columns, 1), (few_rows, 2),
)  # fmt: skip


@pytest.mark.parametrize(("function", "kernels"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_a_producer_is_computed_where_it_is_looked_up(function, kernels):
    at = torch.tensor([5, 0, -1, 3, 3, -6])
    inside = at.clamp(-4, 3) if function in (asserted, few_columns, few_rows) else at
    args = (torch.randn(4, 6), torch.randn(3, 6), inside)
    (graph,) = check(function, *args, interpret_level="tiled").graphs
    assert graph.launches_after == kernels


@pytest.mark.parametrize("function", [joined, padded, asserted, few_columns, few_rows, no_columns])
def test_an_index_behind_the_end_is_an_error(function):
    with pytest.raises(Exception, match="index out of bounds"):
        Compiled(function)(torch.randn(4, 6), torch.randn(3, 6), torch.tensor([9, 0]))
