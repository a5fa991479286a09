"""Sums of rows that hold one element: which are products, and that the numbers stay."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.graph.one_hot import sum_one_hots

aten = torch.ops.aten


def values(gm, target):
    return [n.meta["val"] for n in gm.graph.nodes if n.target is target]


def scaled_rows(index, scale, wide):
    rows = aten.scatter.value(torch.zeros_like(wide), 1, index, -1.0)
    product = rows * scale
    return product, product.sum(1, keepdim=True)


def summed(function, *args):
    gm = make_fx(function, tracing_mode="fake")(*args)
    return sum_one_hots(gm), gm


def test_a_row_with_one_element_is_not_summed():
    args = torch.tensor([[2], [0], [3]]), torch.randn(3, 1), torch.randn(3, 5)
    count, gm = summed(scaled_rows, *args)
    assert count == 1
    assert not values(gm, aten.sum.dim_IntList)
    for found, expected in zip(gm(*args), scaled_rows(*args), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_in_another_dtype():
    def function(index, scale, wide):
        rows = aten.scatter.value(torch.zeros_like(wide), 1, index, -1.0)
        return (rows * scale).float().sum(1, keepdim=True)

    args = torch.tensor([[2], [0]]), torch.randn(2, 1).bfloat16(), torch.randn(2, 5).bfloat16()
    count, gm = summed(function, *args)
    assert count == 1
    torch.testing.assert_close(gm(*args), function(*args), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("function", "index"),
    [
        (scaled_rows, [[2, 1], [0, 4], [3, 3]]),
        (lambda i, s, w: (w.scatter(1, i, 2.0) * s).sum(1, keepdim=True), [[2], [0], [3]]),
        (lambda i, s, w: (torch.zeros_like(w).scatter(1, i, 2.0) * w).sum(1, keepdim=True), [[2], [0], [3]]),
        (lambda i, s, w: (torch.zeros_like(w).scatter(1, i, 2.0) * s).sum(0, keepdim=True), [[2], [0], [3]]),
        (lambda i, s, w: (w.new_zeros(3, 5).scatter(1, i, 2.0) * s).sum(None, True), [[2], [0], [3]]),
    ],
)
def test_other_sums_stay(function, index):
    assert summed(function, torch.tensor(index), torch.randn(3, 1), torch.randn(3, 5))[0] == 0
