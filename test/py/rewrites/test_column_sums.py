"""Sums along the columns of a product are taken apart: which become sums of less."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.chunks.column_sums import taken_apart

aten = torch.ops.aten
ROWS, COLUMNS = 24, 40


def one_place(logits: Tensor, index: Tensor, number: Tensor) -> Tensor:
    return aten.scatter(torch.zeros_like(logits), 1, index, number)


def beside_one_place(logits: Tensor, index: Tensor, number: Tensor) -> Tensor:
    return (logits - one_place(logits, index, number)).sum(1)


def of_one_place(logits: Tensor, index: Tensor, number: Tensor) -> Tensor:
    return one_place(logits, index, number).sum(1, keepdim=True)


def of_a_constant(logits: Tensor, index: Tensor, number: Tensor) -> Tensor:
    return (logits + one_place(logits, index, 2.0)).sum(1)


@pytest.mark.parametrize("function", [beside_one_place, of_one_place, of_a_constant])
def test_what_is_0_elsewhere_is_not_added_up(function: Callable[..., Tensor]) -> None:
    def program(x: Tensor, w: Tensor, index: Tensor, number: Tensor) -> Tensor:
        return function(x @ w, index, number)

    draw = torch.Generator().manual_seed(0)
    args = [
        torch.randn(ROWS, 8, generator=draw),
        torch.randn(8, COLUMNS, generator=draw),
        torch.randint(COLUMNS, (ROWS, 1), generator=draw),
        torch.randn(ROWS, 1, generator=draw),
    ]
    gm = make_fx(program, tracing_mode="fake")(*args)
    [product] = gm.graph.find_nodes(op="call_function", target=aten.mm.default)
    taken_apart(gm.graph, product)
    gm.recompile()
    assert "scatter" not in gm.code
    exact = program(*(a.double() if a.is_floating_point() else a for a in args))
    torch.testing.assert_close(gm(*args).double(), exact, rtol=1e-5, atol=1e-5)
