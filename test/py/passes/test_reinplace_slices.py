"""Slices of a tensor are written where it lies: no more memory is needed at once than in eager mode."""

import pytest
import torch
from compiling import check
from peaks import eager_peak, planned_peak

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

SIZE = 512
SUMS = 4096  #: bytes that a sum in two kernels may take beside


def slice_of_the_same(x, y):
    t = y @ y
    t[:160].copy_(t[160:320].sin())
    t[320:].mul_(2)
    return t


def filled_by_products(x, y):
    """The halves of an argument, which is read as a whole afterwards."""
    x[: SIZE // 2].copy_(y[: SIZE // 2] @ y)
    x[SIZE // 2 :].copy_(y[SIZE // 2 :] @ y)
    x[:, 64:128] = 3.0
    return x.sum()


def rows(x, y):
    """A row, every second row, and a block that overlaps both, of a result behind a view."""
    t = (y @ y).view(16, 32, SIZE).view(SIZE, SIZE)
    t[7].zero_()
    t[1::2] = y[1::2].cos()
    t[3:40, 128:] -= y[3:40, :-128]
    return t @ y


def old_value_read_later(x, y):
    t = y @ y
    u = t.clone()
    t[5:9] = 1.0
    return t @ y, u


def every_second_column(x, y):
    """A kernel of the whole tensor: its memory would be written twice."""
    x[:, ::2] = y[:, ::2].sin()
    x[:, 1::2] = y[:, 1::2].cos()
    return y * 2


def rows_of_shares(x, y):
    """A kernel that computes each row of the softmax once, and replaces it where it is chosen."""
    t = y.softmax(-1)
    t[::2].add_(x[::2])
    t[1::3].mul_(2)
    t[-100::5].copy_(t[-100::5].sin() + x[:20])
    return t


def blocks_of_prefix_sums(x, y):
    t = y.cumsum(1)
    t[1::2, ::2].mul_(2)
    t[::2] = t[::2] + x[: SIZE // 2]
    return t, t[1::2].sum(0)


def centred_rows(x, y):
    """A kernel of the means, and one that subtracts them where the softmax lies."""
    t = y.softmax(-1)
    t[::2].sub_(t[::2].mean(1, keepdim=True))
    return t


CASES = (
    slice_of_the_same,
    filled_by_products,
    rows,
    old_value_read_later,
    every_second_column,
    rows_of_shares,
    blocks_of_prefix_sums,
    centred_rows,
)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_no_more_memory_than_in_eager_mode(function):
    x, y = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE) / 16
    check(function, x, y, interpret_level="planned", hardware="h200")
    assert planned_peak(function, (x, y)) <= eager_peak(function, (x, y)) + SUMS


@pytest.mark.gpu
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_on_the_gpu(function):
    x, y = torch.randn(SIZE, SIZE, device="cuda"), torch.randn(SIZE, SIZE, device="cuda") / 16
    check(function, x, y, check_memory=True)
