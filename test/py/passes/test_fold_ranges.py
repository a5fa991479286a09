"""Comparisons of computed indices are decided when compiling: the numbers stay, asserts that may fail too."""

import pytest
import torch
from compiling import Compiled, check
from torch import Tensor

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def crops(x: Tensor, left: Tensor, flips: Tensor) -> Tensor:
    """A window of each row at a place of its own, some of them mirrored."""
    columns = torch.arange(6).expand(len(x), 6)
    columns = left[:, None] + torch.where(flips[:, None], 5 - columns, columns)
    return x[torch.arange(len(x))[:, None], columns]


def triangle(x: Tensor) -> Tensor:
    i, j = torch.tril_indices(5, 5, -1)
    return x[:, i, j]


@pytest.mark.parametrize("dynamic", [False, True])
def test_crops(dynamic: bool) -> None:
    flips = torch.tensor([True, False, True, False])
    compiled = check(
        crops, torch.randn(4, 9), torch.tensor([0, 1, 3, -2]), flips, dynamic=dynamic, verify="numeric"
    )
    (graph,) = compiled.graphs
    assert [r.rule for r in graph.remarks.items if r.pass_name == "fold-ranges"] == ["folded"]
    with pytest.raises(Exception, match="index out of bounds for dimension 1"):
        Compiled(crops)(torch.randn(4, 8), torch.tensor([0, 1, 3, -2]), flips)


def test_pieces_that_are_never_read() -> None:
    """Both index tensors are pieces of one concatenation."""
    check(triangle, torch.randn(3, 5, 5))


def sampled(x: Tensor, grid: Tensor) -> Tensor:
    return torch.nn.functional.grid_sample(x, grid, align_corners=False)


def test_sampled_points_are_inside_where_they_are_chosen() -> None:
    """Points far outside, on both sides, and NaN; nothing is to be asserted."""
    grid = torch.randn(2, 5, 4, 2)
    grid[0, 0] = torch.tensor([-1.0, 1.0])
    grid[1, 1] = 3e9
    x = torch.randn(2, 3, 6, 7)
    (graph,) = check(sampled, x, grid).graphs
    assert "assert" not in str(graph.module)
    grid[1, 2] = float("nan")
    torch.testing.assert_close(Compiled(sampled)(x, grid), sampled(x, grid), equal_nan=True)
