"""``cdist`` and ``pdist``, their gradients, and what eager makes of missing and equal coordinates."""

import math

import pytest
import torch
from compiling import Compiled
from lowering import check, check_training, run
from made_up_gpu import made_up_gpu
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table

TABLE = decomposition_table()
ORDERS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf)


def given(*sizes):
    torch.manual_seed(0)
    return torch.randn(sizes)


@pytest.mark.parametrize("p", ORDERS)
def test_gradients(p):
    """Batches that broadcast, and points that are equal."""
    x, y = given(2, 1, 4, 3), given(3, 5, 3)
    y[0, 1] = x[0, 0, 2]

    def function(x, y, z):
        return torch.cdist(x, y, p), F.pdist(z, p), torch.cdist(z, z, p)

    check_training(function, x, y, y[0].clone(), table=TABLE, dynamic=p in (1.0, 2.0))


def test_small_shapes():
    shapes = (((0, 3), (4, 3)), ((2, 0), (3, 0)), ((1, 3), (1, 3)), ((0, 2, 3), (0, 4, 3)))
    for left, right in shapes:
        check(
            lambda x, y: (torch.cdist(x, y), torch.cdist(x, y, math.inf)),
            given(*left),
            given(*right),
            table=TABLE,
        )
    for shape in ((0, 3), (1, 3), (2, 0), (2, 3)):
        check(lambda x: F.pdist(x), given(*shape), table=TABLE)
    check(
        lambda x, y: torch.cdist(x, y, 1.5), given(4, 3).double().t(), given(4, 5).double().t(), table=TABLE
    )


@pytest.mark.parametrize("p", (0.0, 1.0, 3.0, math.inf))
def test_missing_and_infinite_coordinates(p):
    x = given(5, 4)
    x[0, 1], x[1, 2], x[3], x[4] = (
        math.nan,
        math.inf,
        x[2],
        torch.tensor([math.nan, 0.0, math.inf, -math.inf]),
    )

    def function(x):
        return torch.cdist(x, x * 1, p), F.pdist(x, p)

    def step(call):
        leaf = x.clone().requires_grad_()
        values = call(leaf)
        weights = [torch.arange(v.numel()).view(v.shape) + 1.0 for v in values]
        return *values, *torch.autograd.grad(values, leaf, weights)

    for found, want in zip(step(Compiled(function)), step(function), strict=True):
        torch.testing.assert_close(found, want, equal_nan=True)


def test_one_kernel_and_what_eager_refuses():
    compiled = Compiled(lambda x, y: torch.cdist(x, y, 1.0) * 2)
    compiled(given(4, 3), given(5, 3))
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs) == (1, 0)
    half = given(4, 3).half()
    with pytest.raises(NotImplementedError, match="cdist"):
        run(lambda x: torch.cdist(x, x), half, table=TABLE, extern=["aten._cdist_forward.default"])


def test_kernels_compile_for_a_gpu():
    pytest.importorskip("triton")
    x = given(4, 3).requires_grad_()
    with made_up_gpu() as launched:
        compiled = Compiled(lambda x: torch.cdist(x, x, 3.0).sum() + F.pdist(x, 1.5).sum())
        compiled(x).backward()
    assert len(launched) >= 2
