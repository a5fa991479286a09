"""Users' Triton kernels that read each other's results: random programs, beside torch's ops in float64.

``FUSE_MLIR_RANDOM=n`` draws ``n`` programs; each is a test of its own, so that workers share them.
"""

import pytest
import torch
from compiling import Compiled
from fresh_seeds import seeds
from random_user_kernels import add, draw, product, rows
from user_kernels import triton_without_a_gpu

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


@pytest.fixture(autouse=True)
def captured():
    with triton_without_a_gpu(), torch.no_grad():
        yield


def check(function, exactly, given, level="scheduled"):
    expected = exactly(*(g.double() for g in given))
    found = Compiled(function, {"interpret_level": level, "cache": False})(*given)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other.double(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("seed", seeds(16))
def test_drawn(seed):
    program = draw(seed)
    check(program.function(exact=False), program.function(exact=True), program.given())


def shared_producer(x):
    h = x.sin()
    return (add(h, add(h, x)),)


def chained_sums(x):
    h = x * 2
    a = add(h, x)
    b = add(h, a)
    return (add(h + 1, b), add(a, h))


def gated(h, w1, w3, s):
    h = h * s
    return (torch.nn.functional.silu(product(h, w1)) * product(h, w3),)


def rows_of_rows(x):
    h = x.exp()
    return (rows(add(h, rows(h))),)


def as_torch(function):
    """The same function of the kernels' equals."""
    from random_user_kernels import KERNELS

    scope = function.__globals__ | {name: pair[1] for name, pair in KERNELS.items()}
    return type(function)(function.__code__, scope)


@pytest.mark.parametrize("level", ["scheduled", "planned"])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (shared_producer, [(6, 20)]),
        (chained_sums, [(3, 40)]),
        (gated, [(5, 24), (17, 24), (17, 24), (24,)]),
        (rows_of_rows, [(4, 30)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_one_producer_of_two_kernels_of_which_one_reads_the_other(function, shapes, level):
    torch.manual_seed(0)
    check(function, as_torch(function), [torch.randn(shape) for shape in shapes], level)
