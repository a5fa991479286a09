"""Running sums in slices: which are cut, and that the numbers stay."""

import pytest
import torch
from compiling import Compiled
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.rewrites.chunks.running_sums import slice_length, slice_running_sums

H200 = hardware_named("h200")


def cut(function, *args):
    gm = make_fx(function, tracing_mode="fake")(*args)
    return slice_running_sums(gm), gm


@pytest.mark.parametrize(
    ("shape", "dim", "size", "length"),
    [
        ((32768, 64), 0, 8, 256),  # places of tokens at their experts
        ((1 << 20,), 0, 4, 1024),
        ((1 << 26,), 0, 4, 1 << 14),  # 4096 slices at most
        ((8, 1 << 16), 1, 4, 1024),
        ((50000, 3), 0, 4, 400),
        ((64, 1 << 16), 1, 4, None),  # 64 programs
        ((32768, 1024), 0, 8, None),
        ((16384,), 0, 4, None),  # one program holds it
        ((2048, 64), 0, 8, None),
        ((65537,), 0, 4, None),  # a prime
        ((0, 64), 0, 4, None),
        ((65536, 0), 0, 4, None),
    ],
)
def test_the_length_of_a_slice(shape, dim, size, length):
    assert slice_length(shape, dim, size, H200) == length


@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "result"),
    [
        ((1 << 15, 3), 0, torch.int32, None),
        ((1 << 15,), 0, torch.int32, torch.int32),
        ((1 << 15,), -1, torch.bool, None),
        ((2, 1 << 15, 3), 1, torch.float32, torch.float64),
        ((2, 1 << 15), 1, torch.int8, torch.int8),  # wraps
    ],
)
def test_integers_and_dtypes(shape, dim, dtype, result):
    def function(x):
        return x.cumsum(dim, dtype=result)

    x = torch.randint(-2, 3, shape).to(dtype)
    count, gm = cut(function, x)
    found, expected = gm(x), function(x)
    assert count == 1
    assert found.dtype == expected.dtype
    assert found.stride() == expected.stride()
    assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_floats_are_no_further_from_float64_than_eager(dtype):
    x = torch.randn(1 << 15, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    count, gm = cut(lambda x: x.cumsum(0), x)
    exact = x.double().cumsum(0)
    found, eager = gm(x), x.cumsum(0)
    assert count == 1
    assert found.dtype == dtype
    assert (found - exact).norm() <= 1.05 * (eager - exact).norm() + 1e-7 * exact.norm()


def test_special_numbers_stay_where_they_are():
    x = torch.ones(1 << 15)
    x[5000], x[9000], x[20000] = float("inf"), 1.0, float("-inf")
    count, gm = cut(lambda x: x.cumsum(0), x)
    assert count == 1
    torch.testing.assert_close(gm(x), x.cumsum(0), equal_nan=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.t().cumsum(1),  # does not lie along its sizes
        lambda x: x.cumprod(0),
        lambda x: x[:1024].cumsum(0),
        lambda x: torch.complex(x, x).cumsum(0),
    ],
)
def test_others_stay(function):
    assert cut(function, torch.randn(1 << 15, 3))[0] == 0


def test_sizes_that_are_symbols_stay():
    gm = make_fx(lambda x: x.cumsum(0), tracing_mode="symbolic")(torch.randn(1 << 15))
    assert slice_running_sums(gm) == 0


def test_the_places_of_tokens_are_computed_in_slices():
    """What computes the counts is no kernel of its own, and the answer is eager's."""

    def places(taken):
        each = torch.nn.functional.one_hot(taken, 4)
        return ((each.cumsum(0) - 1) * each).sum(-1)

    taken = torch.randint(0, 4, (1 << 13,))
    compiled = Compiled(places)
    assert torch.equal(compiled(taken), places(taken))
    assert compiled.graphs[0].launches_after == 4
    assert "running-sums" in compiled.graphs[0].remarks.render("text")


def test_gradients_run_backwards_in_slices():
    weight = torch.rand(1 << 15, dtype=torch.float64)

    def function(x):
        return (x.cumsum(0) * weight).sum()

    x = torch.rand(1 << 15, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(Compiled(function)(x), x)
    (expected,) = torch.autograd.grad(function(x), x)
    torch.testing.assert_close(found, expected)
