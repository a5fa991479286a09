"""Rows that were added into two tables of zeros go into one: when, in which order, and with which numbers."""

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.graph import scattered_sums
from fuse_mlir.compiler.rewrites.graph.scattered_sums import scatter_into_one_table

pytestmark = pytest.mark.usefixtures("any_size")

aten = torch.ops.aten
PLACES = torch.tensor([3, 0, 3, 5]), torch.tensor([5, 5, 1, 3])
ROWS = torch.arange(12.0).view(4, 3) / 7, torch.arange(12.0).view(4, 3).sin()


@pytest.fixture
def any_size(monkeypatch):
    """Tables of a test's size count as large."""
    monkeypatch.setattr(scattered_sums, "LEAST_BYTES", 0)


def put(table: Tensor, index: Tensor, rows: Tensor, accumulate: bool = True) -> Tensor:
    return aten.index_put(table, [index], rows, accumulate)


def add(table: Tensor, index: Tensor, rows: Tensor, **alpha: float) -> Tensor:
    return aten.index_add(table, 0, index, rows, **alpha)


def spread(table: Tensor, index: Tensor, rows: Tensor) -> Tensor:
    return aten.scatter_add(table, 0, index[:, None].expand_as(rows), rows)


def zeros(like: Tensor, rows: int = 6) -> Tensor:
    return aten.new_zeros(like, [rows, 3])


def rewritten(function, dtype: torch.dtype = torch.float32):
    """How often the rewrite fires on a function of two places and two tensors of rows, and its targets after;
    the graph must compute the same.
    """
    args = (*PLACES, *(rows.to(dtype) for rows in ROWS))
    gm = make_fx(function, tracing_mode="fake")(*args)
    count = scatter_into_one_table(gm)
    torch.testing.assert_close(gm(*args), function(*args))
    return count, [n.target.name() for n in gm.graph.nodes if n.op == "call_function"]


@pytest.mark.parametrize("first", [put, add, spread])
@pytest.mark.parametrize("second", [put, add, spread])
def test_fires(first, second):
    count, targets = rewritten(lambda i, j, x, y: first(zeros(x), i, x) + second(zeros(y), j, y))
    assert count == 1 and "aten::add.Tensor" not in targets and targets.count("aten::new_zeros") == 1


def test_three_tables_and_chains_become_one():
    def three(i, j, x, y):
        both = put(zeros(x, 9), i, x) + add(zeros(y, 9), j, y, alpha=2.0)
        return spread(add(zeros(x, 9), j, x), i, y) + both

    count, targets = rewritten(three)
    assert count == 2 and targets.count("aten::new_zeros") == 1 and "aten::add.Tensor" not in targets


def read_twice(i, j, x, y):
    left = put(zeros(x), i, x)
    return left + put(zeros(y), j, y), left * 2


LEFT_ALONE = {
    "large_numbers": lambda i, j, x, y: put(x.new_full([6, 3], 1e6), i, x) + put(zeros(y), j, y),
    "one_table": lambda i, j, x, y: put(zeros(x), i, x) + 1,
    "with_itself": lambda i, j, x, y: (lambda t: t + t)(put(zeros(x), i, x)),
    "overwritten": lambda i, j, x, y: put(zeros(x), i, x) + put(zeros(y), j, y, False),
    "a_difference": lambda i, j, x, y: torch.add(put(zeros(x), i, x), put(zeros(y), j, y), alpha=-1),
    "broadcast": lambda i, j, x, y: put(zeros(x), i, x) + put(y.new_zeros(6, 1), j, y[:, :1]),
    "strides": lambda i, j, x, y: put(zeros(x), i, x) + put(y.new_zeros(3, 6).t(), j, y),
    "read_twice": read_twice,
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_does_not_fire(name):
    assert rewritten(LEFT_ALONE[name])[0] == 0


@pytest.mark.parametrize(
    ("dtype", "deterministic", "count"),
    [
        (torch.float64, False, 1),
        (torch.int64, False, 1),
        (torch.bfloat16, False, 0),
        (torch.float32, True, 0),
    ],
)
def test_when(dtype, deterministic, count):
    torch.use_deterministic_algorithms(deterministic)
    try:
        assert rewritten(both, dtype)[0] == count
    finally:
        torch.use_deterministic_algorithms(False)


def both(i, j, x, y):
    return put(zeros(x), i, x) + put(zeros(y), j, y)


@pytest.mark.parametrize(("least", "count"), [(6 * 3 * 4, 1), (6 * 3 * 4 + 1, 0)])
def test_small_tables_are_left(monkeypatch, least, count):
    monkeypatch.setattr(scattered_sums, "LEAST_BYTES", least)
    assert rewritten(both)[0] == count


@pytest.mark.parametrize(("rows", "others", "count"), [(6, 40, 1), (40, 6, 1), (7, 7, 0)])
def test_many_rows_may_share_a_kernel(rows, others, count):
    def given(count: int) -> tuple[Tensor, Tensor]:
        return torch.arange(count) % 6, torch.ones(count, 3)

    (i, x), (j, y) = given(rows), given(others)
    gm = make_fx(both, tracing_mode="fake")(i, j, x, y)
    assert scatter_into_one_table(gm) == count


@pytest.mark.usefixtures("fresh_dynamo", "one_thread")
def test_the_gradient_of_two_look_ups_is_one_table():
    def offered(table: Tensor, bought: Tensor, items: Tensor) -> Tensor:
        return (table[bought].sum(1).sin() * torch.nn.functional.embedding(items, table)).square().sum()

    def gradient(function, table: Tensor) -> Tensor:
        table = table.detach().requires_grad_()
        return torch.autograd.grad(function(table, *places), table)[0]

    table, places = torch.randn(70_000, 4), (torch.randint(70_000, (8, 3)), torch.randint(70_000, (8,)))
    compiled = Compiled(offered, {"interpret_level": "planned"})
    exact = gradient(offered, table.double())
    torch.testing.assert_close(gradient(compiled, table).double(), exact, rtol=1e-5, atol=1e-6)
    cleared = [launch for launch in compiled.graphs[-1].launches if launch.estimate.bytes >= table.nbytes]
    assert [launch.estimate.bytes for launch in cleared] == [table.nbytes]
