"""Bytes, fake quantisation, special functions and complex numbers on a CUDA device."""

import math

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]
aten = torch.ops.aten
LIMITS = -128, 127


def compiled(function, *given, **close):
    """Asserts that a graph without fallbacks gives what eager gives on the device."""
    call = Compiled(function)
    for found, want in zip(call(*given), function(*given), strict=True):
        assert found.dtype == want.dtype
        torch.testing.assert_close(found, want, equal_nan=True, **close)
    assert not any(graph.fallbacks for graph in call.graphs)


def test_bytes():
    x = torch.randint(0, 256, (64, 256), dtype=torch.uint8, device="cuda")
    wide = (torch.int16, torch.int32, torch.int64, torch.int8)
    compiled(lambda x: [(x + 1).view(d) for d in wide], x)
    compiled(lambda x: [(x.view(torch.int64) ^ 5).view(d) for d in (*wide, torch.uint8)], x)
    halves = torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)
    compiled(lambda x: [(x * 2).view(torch.int32), (x * 2).view(torch.uint8)], halves)


def test_steps_of_the_smallest_numbers():
    """Below the smallest normal number floor is -1 and ceil 1, not 0."""
    tiny = torch.tensor([1e-40, -1e-40, 1e-45, -1e-45, 1.5, -0.0], device="cuda")
    compiled(lambda x: [x.floor(), x.ceil(), x.trunc(), x.round(), x.sign(), x.frac()], tiny, rtol=0, atol=0)
    compiled(lambda x: [(x > 0).float(), (x != 0).float(), x.bool(), x.logical_not()], tiny, rtol=0, atol=0)


def test_integers_are_rounded_as_often_as_in_eager():
    """Each number rounds to a tie of the narrower type, behind which a digit is lost."""
    ties = torch.tensor([2**k + 2 ** (k - d) + 1 for k in range(25, 62) for d in (8, 11, 24)], device="cuda")
    halves = (torch.bfloat16, torch.float32)

    def convert(i):
        return [i.double().float(), *(i.to(d) for d in halves), *(i.float().to(d) for d in halves)]

    compiled(convert, torch.cat([ties, -ties]), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_fake_quantisation(dtype):
    """Ties and what is out of range, where the zero point is added before the rounding and after it."""
    x = torch.tensor([[*(i * 0.125 for i in range(-24, 25)), 12.85, -13.2, 1e30, -1e10, math.inf, -math.inf]])
    x = x.expand(3, -1).contiguous().to("cuda", dtype)
    scales = torch.tensor([0.1, 0.25, 0.037], device="cuda")
    zeros = torch.tensor([3, 0, -127], device="cuda", dtype=torch.int32)

    def forward(x, scales, zeros):
        per_channel = aten.fake_quantize_per_channel_affine_cachemask
        return [
            *aten.fake_quantize_per_tensor_affine_cachemask(x, 0.25, 3, *LIMITS),
            *per_channel(x, scales, zeros, 0, *LIMITS),
            *per_channel(x, scales, zeros + 0.5, 0, *LIMITS),
            torch._fake_quantize_learnable_per_tensor_affine(x, scales[1:], zeros[1:] + 2.5, *LIMITS, 0.5),
        ]

    compiled(forward, x, scales, zeros, rtol=0, atol=0)

    def backward(x, scales, zeros, grad):
        return [
            *aten._fake_quantize_learnable_per_channel_affine_backward(
                grad, x, scales, zeros, 0, *LIMITS, 0.5
            ),
            *aten._fake_quantize_learnable_per_tensor_affine_backward(grad, x, scales, zeros, *LIMITS, 0.5),
        ]

    if dtype == torch.float32:
        compiled(backward, x[:, :51], scales, zeros.float(), torch.randn(3, 51, device="cuda"))


def test_special_functions():
    x = torch.cat([torch.logspace(-5, 5, 400), -torch.linspace(0.013, 9.3, 400)]).cuda()
    functions = [torch.digamma, torch.special.i0e, torch.special.i1e, lambda x: torch.polygamma(3, x)]
    call = Compiled(lambda x: [function(x) for function in functions])
    for found, function in zip(call(x), functions, strict=True):
        torch.testing.assert_close(found.double(), function(x.double()), rtol=1e-5, atol=1e-5)
    assert not call.graphs[0].fallbacks
    compiled(lambda x: [torch.polygamma(1, x)], x[:400], rtol=1e-5, atol=1e-5)


def test_parts_of_numbers():
    bits = torch.randint(-(2**31), 2**31, (4096,), device="cuda", dtype=torch.int64).to(torch.int32)
    bits[:8] = torch.arange(8, device="cuda")  # subnormal
    x = bits.view(torch.float32)
    compiled(lambda x: [part for part in torch.frexp(x)], x[x.isfinite()], rtol=0, atol=0)
    wide = bits.long()
    compiled(
        lambda x, y: [torch.gcd(x, y), torch.gcd(x.int(), 12 + y.int()), torch.lcm(x, y)], wide, wide.flip(0)
    )


def test_complex_numbers():
    z, w = (torch.randn(64, 32, dtype=torch.complex64, device="cuda") for _ in range(2))
    compiled(
        lambda z, w: [
            z.tanh() * w, z**w, z**2.5, F.silu(z), torch.lerp(z, w, 0.3), z.log1p(), w.std(), z.exp() / w,
            (z * w).view(torch.float32), z[:, :4].prod(1), torch.linalg.vector_norm(z, dim=1),
        ], z, w, rtol=1e-4, atol=1e-4,
    )  # fmt: skip


def test_gradients_of_extremes():
    """What two kernels compute may differ in the last bit: some place must equal its extreme all the same."""
    x, y = (torch.randn(4, 2048, 3, device="cuda", requires_grad=True) for _ in range(2))

    def nearest(x, y):
        far = (x[:, :, None] - y[:, None]).square().sum(-1)
        return far.amin(2).mean() + far.amin(1).mean()

    found = torch.autograd.grad(Compiled(nearest)(x, y), (x, y))
    torch.testing.assert_close(found, torch.autograd.grad(nearest(x, y), (x, y)), rtol=1e-4, atol=1e-7)
