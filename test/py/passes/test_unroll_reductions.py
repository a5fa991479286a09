"""Sums of a few elements as pointwise work: the answers of whole compiled functions, and that they fuse."""

import pytest
import torch
from compiling import Compiled, check

SIZES = [(6, 2), (3, 2, 2), (5, 1), (4, 3)]


def launches(compiled) -> int:
    return sum(graph.launches_after for graph in compiled.graphs)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_reductions(name, size):
    x = torch.randn(size)
    dims = tuple(range(1, x.dim()))

    def reduce(x):
        if name == "prod":
            return x.flatten(1).prod(1) * 2
        return getattr(x * 3, name)(dims) + 1

    assert launches(check(reduce, x)) == 1


@pytest.mark.parametrize("name", ["sum", "amax", "amin"])
def test_nan_and_infinity_stay(name):
    x = torch.tensor([[1.0, float("nan")], [float("nan"), 2.0], [float("inf"), -1.0], [1.0, -float("inf")]])
    found = Compiled(lambda x: getattr(x, name)(1))(x)
    assert torch.equal(found.nan_to_num(7.0), getattr(x, name)(1).nan_to_num(7.0))


@pytest.mark.parametrize("name", ["any", "all"])
def test_truth(name):
    check(lambda x: getattr(x > 0, name)(1), torch.randn(7, 3))


def test_integers():
    check(lambda x: (x.sum(1), x.amax(1)), torch.randint(-9, 9, (7, 4)))
    check(lambda x: x.amax(1), torch.randint(0, 255, (7, 4), dtype=torch.uint8))


def test_bfloat16_is_summed_in_float32():
    check(lambda x: x.sum(1) * 2, torch.randn(9, 4, dtype=torch.bfloat16))


def test_guarded_reads_and_indices():
    check(lambda x: (torch.nn.functional.pad(x, (1, 0)) * torch.arange(4)).sum(1), torch.randn(5, 3))


def test_a_sum_over_groups_joins_its_reader():
    """Gradients of shared heads: the sum over a group of two, rotated and copied, is one kernel."""

    def form(x):
        shared = x.unflatten(1, (2, 2)).sum(2)
        low, high = shared.chunk(2, -1)
        return torch.cat((low - high, high + low), -1).transpose(1, 2).contiguous()

    assert launches(check(form, torch.randn(2, 4, 5, 8))) == 1


def test_dynamic_sizes():
    assert launches(check(lambda x: x.unflatten(0, (-1, 2)).sum(1) * 2, torch.randn(8, 6), dynamic=True)) == 1


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_scans_fuse_with_what_reads_other_points(name, length):
    """A scan that stays keeps the flipped reader in another kernel."""
    scan = getattr(torch, name)
    assert launches(check(lambda x: scan(x * 2, 1).flip(1) + 1, torch.randn(6, length))) == 1


def test_scans_of_integers_and_nan():
    check(lambda x: x.cumsum(1) - x.cumprod(1), torch.randint(-9, 9, (7, 3)))
    x = torch.tensor([[1.0, float("nan"), 2.0], [float("inf"), -float("inf"), 1.0], [0.0, float("inf"), 3.0]])
    found = Compiled(lambda x: x.cumsum(1))(x)
    assert torch.equal(found.nan_to_num(7.0), x.cumsum(1).nan_to_num(7.0))


def test_a_scan_of_a_scan():
    assert launches(check(lambda x: x.cumsum(1).cumsum(0), torch.randn(4, 3))) == 1


def test_the_gradient_of_a_short_product_is_one_kernel():
    """Autograd multiplies running products from both ends."""
    x = torch.randn(8, 2, requires_grad=True)
    found = Compiled(lambda x: (x * 2).prod(1).sin())
    found(x).sum().backward()
    exact = x.detach().double().requires_grad_()
    (exact * 2).prod(1).sin().sum().backward()
    torch.testing.assert_close(x.grad.double(), exact.grad, rtol=1e-6, atol=1e-6)
    assert [graph.launches_after for graph in found.graphs if graph.name == "backward"] == [1]
