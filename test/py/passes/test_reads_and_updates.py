"""What is read of a tensor before it is overwritten, and what after: by name, place, width and order."""

import pytest
import torch
from compiling import check
from interpreted_gpu import interpreted_gpu
from torch import Tensor

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

LEVELS = ("graph", "planned")


@torch.library.custom_op("fuse_tests::triple_", mutates_args=("x",))
def triple_(x: Tensor) -> None:
    x.mul_(3)


def read_elsewhere(x, i, j, v):
    y = x[j] + v
    x[i] = v * 2
    return y


def selected(x, i, j, v):
    y = x.index_select(0, j) + v
    x.index_copy_(0, i, v * 2)
    return y


def read_there(x, i, j, v):
    y = x[i] + v
    x[i] = v * 2
    return y


def moved(x, i, j, v):
    x[i] = x[j]
    return x.sum(0)


def read_after(x, i, j, v):
    x[i] = v * 2
    return x[j] + v


#: Indices to write to and to read at; more rows than one program of tile code has.
SOME = torch.arange(0, 80, 2), torch.arange(40) + 1
NONE = torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [read_elsewhere, selected, read_there, moved, read_after])
def test_gathers_and_scatters_of_one_argument(function, level):
    for i, j in (SOME, NONE):
        check(function, torch.randn(80, 8), i, j, torch.randn(len(i), 8), interpret_level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_read_where_equal_indices_write(level):
    """The rows that are stored are equal where their places are: eager has one answer."""
    i, v = torch.tensor([3, 1, 3, 3]), torch.randn(4, 8)
    v[2] = v[3] = v[0]
    (graph,) = check(read_there, torch.randn(16, 8), i, i, v, interpret_level=level).graphs
    if level != "graph":
        assert graph.launches_after == 2, "one reads all rows before the other writes any"


def around_an_op(x, w):
    a = x @ w
    triple_(x)
    return x @ w - a


def cast_before_an_op(x, w):
    """What is read of the row is cheap to compute again, but not behind the op that changes it."""
    m = x.expand(64, 64) * 2
    a = m @ w
    triple_(x)
    return (m + w).exp() @ w, (m - w).cos() @ w, a


def test_what_a_custom_op_writes_to_is_not_what_it_was():
    check(around_an_op, torch.randn(8, 8), torch.randn(8, 8), interpret_level="planned")
    check(cast_before_an_op, torch.randn(1, 64), torch.randn(64, 64), interpret_level="planned")


def read_in_halves(x):
    y = x.view(torch.int16)[: len(x)].float() + x
    x.add_(1)
    return y


def test_reading_what_is_overwritten_in_another_width():
    """Point 2 n of the integers lies in element n, which another point overwrites."""
    check(read_in_halves, torch.randn(4096), interpret_level="planned")


def part_and_whole(x, w):
    y = x * 2
    return y[8:] @ w, y


def test_a_part_of_a_buffer_starts_at_its_offset():
    """Torch sees rows 8 to 15 first: the plan makes no buffer of these alone."""
    with interpreted_gpu():
        check(part_and_whole, torch.randn(16, 8), torch.randn(8, 8))
