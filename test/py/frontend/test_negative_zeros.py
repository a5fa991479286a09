"""Sums of negative zeros are 0.0, as in eager mode, however few they are; and products that are not read."""

import math

import pytest
import torch
from compiling import Compiled

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

SUMS = {
    "sum": lambda x: x.sum(),
    "rows": lambda x: x.sum(0),
    "columns": lambda x: x.sum(1, keepdim=True),
    "mean": lambda x: x.mean(0),
    "mean of rows": lambda x: x.mean(1),
    "cumsum": lambda x: x.cumsum(0),
    "cumsum of rows": lambda x: x.cumsum(1),
    "nansum": lambda x: x.nansum(1),
    "of a computed value": lambda x: (x * 2).sum(0),
    "to size": lambda x: x.sum_to_size(1, x.shape[1]),
}


@pytest.mark.parametrize("level", ["graph", "planned"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_sums(dtype, level):
    shapes = (3, 40), (2, 3), (40, 3)
    args = [torch.full(shape, -0.0, dtype=dtype) for shape in shapes]
    args.append(torch.tensor([[-0.0, 0.0], [-0.0, -0.0]], dtype=dtype))
    args.append(torch.empty(3, 0, dtype=dtype))
    args.append(torch.full((3, 1), -0.0, dtype=dtype))

    def function(*given):
        return [f(x) for x in given for f in SUMS.values()]

    wanted, found = function(*args), Compiled(function, {"interpret_level": level})(*args)
    names = [f"{name} of {tuple(x.shape)}" for x in args for name in SUMS]
    for name, a, b in zip(names, found, wanted, strict=True):
        assert bool((a.signbit() == b.signbit() | b.isnan()).all() or b.isnan().any()), name
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_products_that_are_not_read():
    """With ``alpha=0`` or ``beta=0`` a library does not read the product, or the summand."""
    matrix, other = torch.full((3, 5), math.inf), torch.full((5, 4), math.nan)
    batch, batches = matrix.expand(2, 3, 5).contiguous(), other.expand(2, 5, 4).contiguous()
    vector, whole = torch.randn(5), torch.randn(3, 4)

    def function(nan, whole, x):
        results = []
        for alpha, beta in ((0, 0), (0, 1), (0, 2), (0.0, 1.0)):
            scales = {"alpha": alpha, "beta": beta}
            results += [
                torch.addmv(x, matrix, vector, **scales),
                torch.addmv(x[0], matrix, vector, **scales),
                torch.addmm(whole, matrix, other, **scales),
                torch.addbmm(whole, batch, batches, **scales),
                torch.baddbmm(whole[None], batch, batches, **scales),
            ]
        finite = torch.ones(3, 5)
        results += [
            torch.addmv(nan[:, 0], finite, vector, beta=0),
            torch.addmm(nan, finite, torch.ones(5, 4), beta=0),
            torch.addr(nan, x, torch.ones(4), beta=0),
        ]
        return results

    given = torch.full((3, 4), math.nan), whole, torch.randn(3)
    torch.testing.assert_close(Compiled(function)(*given), function(*given), equal_nan=True)
