"""Fake quantisation and weight normalisation, which are decomposed: numbers, gradients, and what eager
refuses.
"""

import math

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu
from torch.nn.utils.parametrizations import weight_norm

aten = torch.ops.aten
LIMITS = -128, 127
#: Ties at a scale of 0.1 and of 0.25, and what lies outside the range.
TIES = [i * 0.125 for i in range(-12, 13)] + [0.05, 0.15, -0.05, 12.75, 12.85, -12.85, -13.2, 40.0, -40.0]
EXTREME = [math.nan, math.inf, -math.inf, 1e30, -1e30, 1e19, 1e10, -1e10, 1e-40, 0.0, -0.0]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def rows(dtype=torch.float32, extreme=True):
    return torch.tensor([TIES + EXTREME * extreme] * 3).to(dtype)


SCALES = torch.tensor([0.1, 0.25, 0.037])
ZEROS = torch.tensor([3, 0, -128], dtype=torch.int32)
ONE, OFF = torch.ones(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
CACHED = aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams


def forwards(x, scales, zeros):
    """Every op, with its mask; a new zero point makes other ties."""
    per_channel = aten.fake_quantize_per_channel_affine_cachemask
    return (
        aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, *LIMITS),
        aten.fake_quantize_per_tensor_affine_cachemask(x, 0.25, 0, *LIMITS),
        CACHED(x, scales[:1], zeros[:1], ONE, *LIMITS),
        CACHED(x, scales[1], zeros[1], OFF, *LIMITS),
        per_channel(x, scales, zeros, 0, *LIMITS),
        torch._fake_quantize_learnable_per_tensor_affine(x, scales[1:], zeros[1:] + 2.5, *LIMITS, 0.5),
        torch._fake_quantize_learnable_per_channel_affine(x, scales, zeros + 2.5, 0, *LIMITS, 0.5),
        per_channel(x[:, :0], scales, zeros, 0, *LIMITS),
        *(per_channel(x.t(), scales, zeros + 0.3, 1, *LIMITS) if x.dtype != torch.float64 else ()),
        *(per_channel(x, scales, zeros.half() / 2, 0, *LIMITS) if x.dtype != torch.float64 else ()),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_forward(dtype):
    """Equal bits; a graph holds all that eager has no error for."""
    compiled = Compiled(forwards)
    given = rows(dtype), SCALES, ZEROS
    got, want = (torch.utils._pytree.tree_leaves(f(*given)) for f in (compiled, forwards))
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.dtype == b.dtype and (a.stride() == b.stride() or not a.numel())
        assert torch.equal(a.nan_to_num(9.0), b.nan_to_num(9.0)), i
        assert torch.equal(a.signbit(), b.signbit()), i
    (graph,) = compiled.graphs
    assert graph.externs == 0 and not graph.fallbacks


def gradients(function, *given):
    given = [t.detach().clone().requires_grad_() if t.is_floating_point() else t for t in given]
    results = function(*given)
    grads = torch.autograd.grad(
        [(r * torch.arange(1.0, r.numel() + 1).view(r.shape).to(r.dtype)).sum() for r in results],
        [t for t in given if t.requires_grad], allow_unused=True,
    )  # fmt: skip
    return [r.detach() for r in results], grads


def test_gradients():
    def trained(x, scales, zeros):
        fixed = scales.detach(), zeros.detach()
        return (
            torch.fake_quantize_per_tensor_affine(x, 0.1, 3, *LIMITS),
            torch.fake_quantize_per_channel_affine(x, fixed[0], fixed[1].int(), 0, *LIMITS),
            torch._fake_quantize_learnable_per_tensor_affine(x, scales[:1], zeros[:1], *LIMITS, 0.5),
            torch._fake_quantize_learnable_per_channel_affine(x, scales, zeros, 0, *LIMITS, 0.7),
        )

    given = rows(extreme=False), SCALES, torch.tensor([2.5, -3.0, 126.8])
    compiled = Compiled(trained)
    for got, want in zip(gradients(compiled, *given), gradients(trained, *given), strict=True):
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-4)
    assert all(graph.externs == 0 and not graph.fallbacks for graph in compiled.graphs)


def test_zero_points_outside_the_range():
    """Eager raises; so does an assertion on the device, or torch where the number is in the program."""

    def per_channel(x, scales, zeros):
        return torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, *LIMITS) + 1

    compiled = Compiled(per_channel)
    assert compiled(rows(), SCALES, ZEROS).shape == rows().shape
    for zero in (-129, 128):
        with pytest.raises(RuntimeError, match="zero_point"):
            compiled(rows(), SCALES, torch.tensor([0, zero, 0], dtype=torch.int32))
    refused = Compiled(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 300, *LIMITS))
    with pytest.raises(RuntimeError, match="zero_point"):
        refused(rows())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_weight_norm(dtype):
    """Forward and backward, along the first and the last dim, are as near to float64 as eager is."""

    def normalised(v, g, last):
        return torch._weight_norm(v, g, 0), torch._weight_norm(v.transpose(0, 1), last, 2)

    torch.manual_seed(0)
    given = [torch.randn(sizes).to(dtype) for sizes in ((4, 5, 3), (4, 1, 1), (1, 1, 3))]
    compiled = Compiled(normalised)
    got, eager = gradients(compiled, *given), gradients(normalised, *given)
    exact = gradients(normalised, *(t.double() for t in given))
    for a, b, e in zip((*got[0], *got[1]), (*eager[0], *eager[1]), (*exact[0], *exact[1]), strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        limit = (b.double() - e).abs().max() * 1.1 + 4 * torch.finfo(dtype).eps * e.abs().max()
        assert (a.double() - e).abs().max() <= limit
    assert all(graph.externs == 0 and not graph.fallbacks for graph in compiled.graphs)


def test_in_a_layer():
    """Weights with a norm of their own, quantised by a layer's scales, and what is computed with them."""
    torch.manual_seed(0)
    layer, x = weight_norm(torch.nn.Linear(6, 4)), torch.randn(5, 6)

    def quantised(x):
        weight = torch.fake_quantize_per_tensor_affine(
            layer.weight, torch.tensor(0.05), torch.tensor(0), -8, 7
        )
        return torch.fake_quantize_per_tensor_affine(x @ weight.T + layer.bias, 0.1, 0, *LIMITS)

    compiled = Compiled(quantised)
    got, want = ([y := f(x), *torch.autograd.grad(y.square().sum(), list(layer.parameters()))] for f in (
        compiled, quantised))  # fmt: skip
    torch.testing.assert_close(got, want)
    assert not any(graph.fallbacks for graph in compiled.graphs)


def test_compiles():
    def both(x, scales, zeros, grad):
        made = aten.fake_quantize_per_channel_affine_cachemask(x, scales, zeros, 0, *LIMITS)
        learned = aten._fake_quantize_learnable_per_channel_affine_backward(
            grad, x, scales, scales, 0, *LIMITS, 1.0
        )
        return made, learned

    with made_up_gpu():
        compiled = Compiled(both)
        compiled(torch.randn(3, 512), SCALES, ZEROS, torch.randn(3, 512))
        assert compiled.graphs[0].launches_after and not compiled.graphs[0].fallbacks
