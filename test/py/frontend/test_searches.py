"""``searchsorted`` and ``bucketize``: bisection in registers gives eager's places, ties and NaN too."""

import math

import pytest
import torch
from compiling import Compiled, check

DTYPES = (torch.float32, torch.bfloat16, torch.int32)


def equal(function, *args):
    """Asserts that places are those of eager; the arguments may hold NaN."""
    compiled = Compiled(function)
    for found, place in zip(compiled(*args), function(*args), strict=True):
        assert found.dtype == place.dtype and torch.equal(found, place)
    return compiled


def both_sides(values, table):
    return torch.bucketize(values, table), torch.searchsorted(table, values, side="right", out_int32=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_ends_and_missing_numbers(dtype):
    """Tables of every length about a power of two, at once."""
    torch.manual_seed(0)
    tables = [(torch.randn(n) * 8).to(dtype).sort().values for n in (0, 1, 2, 3, 7, 8, 9)]
    values = torch.cat((tables[-1], (torch.randn(11) * 8).to(dtype)))
    if dtype.is_floating_point:
        values[-3:] = torch.tensor([math.nan, math.inf, -math.inf])
    equal(lambda v, *tables: [place for t in tables for place in both_sides(v, t)], values, *tables)


def test_a_table_out_of_order_is_walked_as_eager_walks_it():
    table = torch.tensor([1.0, math.nan, 3.0, 2.0, math.nan, 0.0, 5.0])
    equal(both_sides, torch.randn(60) * 4, table)


def test_each_row_has_a_table():
    table, values = torch.randn(4, 3, 17).sort().values, torch.randn(4, 3, 5)
    check(lambda v, t: (torch.searchsorted(t, v), torch.searchsorted(t, v, right=True)), values, table)
    check(lambda v, t: torch.searchsorted(t, v), values[:, :1, :1], table[:, :1])
    check(lambda v, t: torch.searchsorted(t, v), values[0, 0, 0], table[0, 0])


def test_it_fuses_with_what_is_around_it():
    """A code book: scaled, searched and looked up by one kernel; no call remains."""
    book = torch.linspace(-1, 1, 16)

    def nearest(x, book, middle):
        return book[torch.bucketize(x * 0.5, middle)] * 2

    [graph] = check(nearest, torch.randn(33), book, (book[1:] + book[:-1]) / 2).graphs
    assert (graph.launches_after, graph.externs) == (1, 0)


def test_what_torch_searches():
    """A sorter, one number, a table of unknown length or too long a one."""
    table = torch.randn(9)
    check(lambda v, t: torch.searchsorted(t, v, sorter=t.argsort()), torch.randn(6), table)
    [graph] = check(lambda v, t: torch.bucketize(0.3, t.sort().values) + v, torch.zeros(2), table).graphs
    assert graph.externs == 2
    [graph] = check(lambda v, t: torch.bucketize(v, t) * 2, torch.randn(6), torch.arange(65537.0)).graphs
    assert graph.externs == 1
    compiled = check(lambda v, t: torch.bucketize(v, t), torch.randn(6), table.sort().values, dynamic=True)
    assert compiled.graphs[0].externs == 1
