"""Parts of arguments that are written: the rest is neither read nor written, and keeps its value."""

import pytest
import torch
from compiling import check

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def rows(x, k):
    x[3:5] = k


def rows_read(x, k):
    x[3:5] = k
    return torch.sort(x)[0]


def scaled(x, k):
    x[:, 2:].mul_(2)
    return k + 1


def every_other(x, k):
    x.mT[..., ::2].zero_()


def negated_but_a_row(x, k):
    x[1:] = -x[1:]
    return x.sum(0)


def one_row(x, k):
    x[-1] = k[0]


def chosen_by_data(x, k):
    x.copy_(torch.where(x > 0, x, 2 * x))


#: (function, whether a store is narrowed)
CASES = (
    (rows, True), (rows_read, True), (scaled, True), (every_other, True), (negated_but_a_row, True),
    (one_row, True), (chosen_by_data, False),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("function", "narrowed"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_parts_of_an_argument(function, narrowed, dtype):
    args = torch.randn(6, 8, dtype=dtype), torch.randn(2, 8, dtype=dtype)
    compiled = check(function, *args, interpret_level="planned", verify="numeric")
    found = [r.rule for graph in compiled.graphs for r in graph.remarks.items]
    assert ("narrowed" in found) == narrowed


def test_sizes_that_are_unknown():
    def function(x, k):
        x[: k.shape[0]] = k

    compiled = check(function, torch.randn(6, 8), torch.randn(3, 8), dynamic=True)
    assert "narrowed" in [r.rule for graph in compiled.graphs for r in graph.remarks.items]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("function", [f for f, _ in CASES], ids=lambda f: f.__name__)
def test_on_the_gpu(function, dtype):
    args = (torch.randn(6, 8, device="cuda").to(dtype), torch.randn(2, 8, device="cuda").to(dtype))
    check(function, *args, check_memory=True)
