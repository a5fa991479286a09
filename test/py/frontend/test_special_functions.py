"""Functions that libdevice lacks, on vectors of every kind: numbers near float64, gradients, kernels."""

import math

import pytest
import torch
from compiling import Compiled
from import_one import run_one
from lowering import check, check_training, run
from made_up_gpu import made_up_gpu

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table

aten = torch.ops.aten
POSITIVE = torch.cat([torch.logspace(-8, 8, 33), torch.linspace(0.07, 12.3, 60)])
POINTS = torch.cat([POSITIVE, -torch.linspace(0.013, 12.37, 60)])

#: Name -> function, up to which point its terms are how large where it has zeros, and the units in the last
#: place: a derivative of high order is a high power of a cotangent.
FUNCTIONS = {
    "digamma": (torch.digamma, (5, 4.0), 16),
    "i0e": (torch.special.i0e, (0, 0.0), 16),
    "i1e": (torch.special.i1e, (0, 0.0), 16),
    "polygamma 2": (lambda x: torch.polygamma(2, x), (0, 1.0), 16),
    "polygamma 3": (lambda x: torch.polygamma(3, x), (0, 0.0), 16),
    "polygamma 6": (lambda x: torch.polygamma(6, x), (0, 1e3), 16),
    "polygamma 11": (lambda x: torch.polygamma(11, x), (0, 0.0), 32),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_near_float64(name):
    """Of the result, or of its terms where a function has zeros; with strides, of nothing, and 0-d."""
    function, terms, units = FUNCTIONS[name]
    points = POINTS[(POINTS.abs() > 0.01) & (POINTS < 1e3)] if "polygamma" in name else POINTS
    points = points[: len(points) // 6 * 6]
    for x in (points, points[::2], points.double(), points.view(-1, 3).t(), points[:0], points[7]):
        found, want = run(function, x), function(x.double())
        assert found.shape == x.shape and found.dtype == x.dtype
        scale = want.abs() + (x <= terms[0]) * terms[1]
        assert ((found.double() - want).abs() <= units * torch.finfo(x.dtype).eps * scale).all()


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_gradients(dynamic):
    def mixed(x, y):
        mantissa, exponent = torch.frexp(y)
        return torch.digamma(x) + torch.special.i0e(y) * torch.special.i1(x) + mantissa * exponent, (
            torch.special.i1e(y) + torch.polygamma(2, x)
        )

    x, y = torch.linspace(0.3, 8, 24).view(4, 6), torch.linspace(-3, 3, 24).view(4, 6)
    check_training(mixed, x, y, table=decomposition_table(), dynamic=dynamic)


def test_poles_of_trigamma():
    """Where eager divides by the square of a sine that is nearly 0, so do kernels."""
    x = torch.tensor([-1.0, -2.0, -20.0, -3.0, 0.0, -0.0, math.inf])
    torch.testing.assert_close(
        run_one(aten.polygamma.default, [1, x]), torch.polygamma(1, x), rtol=1e-5, atol=0
    )


def test_orders_that_torch_computes():
    x = torch.rand(5) + 1
    compiled = Compiled(lambda x: torch.polygamma(25, x) * 2)
    assert torch.equal(compiled(x), torch.polygamma(25, x) * 2)
    assert [f.target for f in compiled.graphs[0].fallbacks] == ["aten.polygamma.default"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_frexp(dtype):
    """Subnormal numbers, both zeros, infinities and NaN; and bfloat16, for which eager has no kernel."""
    limits = torch.finfo(dtype)
    plain = torch.tensor([1.0, -1.0, 0.75, 3.0, -20.0, 0.1, 1e-3, 0.0, -0.0, math.inf, -math.inf, math.nan])
    edges = [limits.max, limits.min, limits.tiny, limits.tiny / 2, -limits.tiny / 8, limits.smallest_normal]
    x = torch.cat([plain.to(dtype), torch.tensor(edges, dtype=torch.float64).to(dtype)])
    smallest = torch.tensor([1, 2, 3], dtype={2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize])
    for given in (torch.cat([x, smallest.view(dtype)]), x.view(2, 9).t(), x[:0], x[3]):
        for found, want in zip(run_one(aten.frexp.Tensor, [given]), torch.frexp(given), strict=True):
            assert found.dtype == want.dtype and found.stride() == want.stride()
            assert torch.equal(found.nan_to_num(7), want.nan_to_num(7))
            assert not dtype.is_floating_point or torch.equal(found.signbit(), want.signbit())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8], ids=str)
def test_common_divisors(dtype):
    """Neighbours in Fibonacci's sequence, which take the most divisions; broadcasting; both signs."""
    limits, numbers = torch.iinfo(dtype), [1, 1]
    while numbers[-1] + numbers[-2] <= limits.max:
        numbers.append(numbers[-1] + numbers[-2])
    x = torch.tensor([*numbers[-4:], 0, 12, 90, limits.max, limits.max - 1], dtype=dtype)
    if limits.min < 0:
        x = torch.cat([x, -x])
    check(
        lambda x: (torch.gcd(x[:, None], x), torch.lcm(x[:4, None], x[:9] % 7)),
        x,
        table=decomposition_table(),
    )


def test_chains_compile():
    """All of them in a row are GPU code: two launches, as the code of both is too long for one kernel."""

    def chain(x, y):
        x = torch.digamma(x) + torch.special.i0e(x) * torch.special.i1e(x) + torch.polygamma(3, x)
        mantissa, exponent = torch.frexp(x)
        return mantissa * exponent, torch.polygamma(1, x) + torch.polygamma(9, x), torch.lcm(y, y + 3)

    given = POINTS[:64], torch.arange(64, dtype=torch.int32)
    tiled, scalar = (Compiled(chain, {"interpret_level": level}) for level in ("tiled", "graph"))
    for a, b in zip(tiled(*given), scalar(*given), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    with made_up_gpu():
        compiled = Compiled(chain)
        compiled(*given)
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (2, 0, [])
    assert "code-size" in [r.rule for r in graph.remarks.items if r.pass_name == "combine-launches"]
