"""Whole quotients and remainders of floats that vary between calls are Python's: torch runs their graphs."""

import math

import pytest
import torch
from compiling import Compiled
from torch.utils.checkpoint import checkpoint

import fuse_mlir
from fuse_mlir.compiler.base.errors import FloatQuotient

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

X = torch.arange(3, dtype=torch.float64)
QUOTIENTS = {
    "quotient": (lambda x, s: x + s // 0.1, (1.5, 1.0, -0.3, math.inf)),
    "divisor": (lambda x, s: x + 1.0 // s, (0.3, 0.1, 0.2)),
    "remainder": (lambda x, s: x + s % 0.1, (1.5, 1.0, -0.3, math.inf)),
    "of an int": (lambda x, s: x + s // 0.1, (3, 1, 7, 12)),
    "checkpointed": (
        lambda x, s: checkpoint(lambda x: x.sin() + s // 0.1, x, use_reentrant=False),
        (1.5, 1.0, -0.3),
    ),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_pythons_quotients(name):
    function, numbers = QUOTIENTS[name]
    compiled = torch.compile(function, backend=fuse_mlir.backend)
    for number in numbers:
        found, expected = compiled(X, number), function(X, number)
        assert torch.equal(found, expected) or expected.isnan().equal(found.isnan()), (
            number,
            found,
            expected,
        )


def test_gradients_and_zero():
    """Autograd records what torch runs, and a division by zero raises as Python's does."""
    compiled = torch.compile(lambda x, s: (x * (1.0 // s)).sum(), backend=fuse_mlir.backend)
    for number in (0.3, 0.1):
        x = X.clone().requires_grad_()
        compiled(x, number).backward()
        assert torch.equal(x.grad, torch.full_like(X, 1.0 // number))
    with pytest.raises(ZeroDivisionError):
        compiled(X.clone().requires_grad_(), 0.0)


def test_what_stays_compiled():
    """Quotients of ints, the first value, a constant of its graph, and other sums of floats that vary."""
    ints = Compiled(lambda x, n: x + n // 3 + n % 5, {"strict": True})
    for number in (7, 11, -4):
        assert torch.equal(ints(X, number), X + number // 3 + number % 5)
    once = Compiled(lambda x, s: x + s // 0.1, {"strict": True})
    assert torch.equal(once(X, 1.0), X + 9)
    sums = Compiled(lambda x, s: x * (s / 0.1 + 2.0), {"strict": True})
    for number in (1.0, 0.7, math.inf):
        torch.testing.assert_close(sums(X, number), X * (number / 0.1 + 2.0), equal_nan=True)
    assert not [f for c in (ints, once, sums) for g in c.graphs for f in g.fallbacks]


def test_strict():
    compiled = torch.compile(lambda x, s: x + s % 0.1, backend=fuse_mlir.backend, options={"strict": True})
    compiled(X, 1.5)
    with pytest.raises(Exception, match="mod is a whole quotient or a remainder of floats") as raised:
        compiled(X, 1.0)
    assert isinstance(raised.value.__cause__ or getattr(raised.value, "inner_exception", None), FloatQuotient)
