"""What eager's kernels for the CPU do otherwise than others: roundings, signs of zeros, strides."""

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F
from versions import TORCH

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def of_numbers(x: Tensor, y: Tensor) -> list[Tensor]:
    results = []
    for alpha in (0.3, -1.5, 2, 0):
        results += [
            *(torch.add(x, y, alpha=alpha), torch.sub(x, y, alpha=alpha), torch.rsub(x, y, alpha=alpha)),
            *(torch.add(x, 0.7, alpha=alpha), torch.sub(x, 0.7, alpha=alpha)),
            *(
                (x.clone().add_(y, alpha=alpha),) if TORCH >= (2, 13) else ()
            ),  # Dynamo multiplied apart before
            torch.lerp(x, y, alpha),
            torch.addcmul(x, x, y, value=alpha),
        ]
    return [
        *results,
        *(x + 0.3, x - 0.3, 0.3 - x, x * 0.3, x / 0.3, 0.3 / x, 0.3 // x, x // 0.3, torch.mul(0.3, x)),
        *(torch.xlogy(y.abs(), x.abs()), torch.xlogy(x, 0.3), torch.xlogy(0.3, y.abs())),
        *(torch.special.xlog1py(y, x.abs()), torch.special.xlog1py(x, 0.3), torch.special.xlog1py(0.3, y)),
        torch.div(x, y, rounding_mode="trunc"),
        torch.div(x, 0.3, rounding_mode="trunc"),
        torch.div(y * 64, x, rounding_mode="trunc"),
        torch.ldexp(x, y.abs() * 4),
        F.logsigmoid(x),
    ]


def products(x: Tensor, v: Tensor, w: Tensor) -> list[Tensor]:
    pairs = ((1, 1), (0.3, 0.7), (0, -1.5), (1, 300))
    return [torch.addr(x, v, w, beta=beta, alpha=alpha) for beta, alpha in pairs]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_numbers_of_16_bits(dtype):
    """Kernels that take 32 numbers at once round a product before it is added where there are fewer."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(2, 1024, generator=generator) * 3).to(dtype)
    for count in (24, 1024):
        torch._dynamo.reset()
        given = x[:count].clone(), y[:count].clone()
        found = Compiled(of_numbers, {"rounding": "eager"})(*given)
        torch.testing.assert_close(found, of_numbers(*given), rtol=0, atol=0, equal_nan=True)
    given = x[:512].view(16, 32).clone(), x[:16].clone(), y[:32].clone()
    found = Compiled(products, {"rounding": "eager"})(*given)
    torch.testing.assert_close(found, products(*given), rtol=0, atol=0)


def rounded_in_between(x: Tensor, y: Tensor) -> list[Tensor]:
    """What eager's kernels for the CPU compute in steps of 16 bits; x: between 0 and 1."""
    return [
        *(torch.logit(x), torch.logit(x, 0.1), torch.special.entr(x), torch.rsqrt(x), y[:6].prod(0)),
        *(y.log_softmax(-1), F.batch_norm(y, None, None, training=True), F.mse_loss(x, y)),
        *(F.mse_loss(x, y, reduction="none"), torch.addmv(y[:, 0], x, y[0], alpha=0.3)),
    ]


@pytest.mark.parametrize("rounding", ["eager", "float32"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_results_of_16_bits_are_no_further_from_float64(dtype, rounding):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(32, 24, generator=generator) * 0.9 + 0.05).to(dtype)
    y = torch.randn(32, 24, generator=generator).to(dtype)
    found, eager = Compiled(rounded_in_between, {"rounding": rounding})(x, y), rounded_in_between(x, y)
    wanted = rounded_in_between(x.double(), y.double())
    for ours, theirs, exact in zip(found, eager, wanted, strict=True):
        assert (ours.double() - exact).norm() <= 1.01 * (theirs.double() - exact).norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_zeros(dtype):
    """Means of windows begin at 0.0; what is shrunk has its sign."""

    def function(x: Tensor, image: Tensor) -> list[Tensor]:
        pools = [
            *(F.avg_pool2d(image, 2), F.avg_pool2d(image, 3, 2, 1, count_include_pad=False)),
            *(F.adaptive_avg_pool2d(image, 3), F.adaptive_avg_pool2d(image, 1), F.avg_pool1d(image[0], 5)),
        ]
        return [*pools, F.softshrink(x), F.softshrink(x, 0.0), F.hardshrink(x)]

    x = torch.tensor([-0.0, 0.0, 0.3, -0.3, 1, float("nan")], dtype=dtype)
    given = x, torch.full((1, 2, 6, 6), -0.0, dtype=dtype)
    for found, wanted in zip(Compiled(function)(*given), function(*given), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(found.nan_to_num().signbit(), wanted.nan_to_num().signbit())


IMAGES = {
    "channels last": torch.randn(2, 4, 5, 6).to(memory_format=torch.channels_last),
    "one channel": torch.randn(2, 1, 5, 6).to(memory_format=torch.channels_last),
    "volume": torch.randn(2, 4, 3, 5, 6).to(memory_format=torch.channels_last_3d),
    "some channels": torch.randn(2, 8, 5, 6).to(memory_format=torch.channels_last)[:, 2:6],
    "turned": torch.randn(3, 4, 2).mT,
}


@pytest.mark.parametrize("name", IMAGES)
def test_strides(name):
    def function(x: Tensor) -> list[Tensor]:
        rolled = [x.roll(1, 0), x.roll((1, -2, 0), (0, 1, 2)), x.roll(3), x.roll(7, 1), x.bool().roll(2, 1)]
        results = [*rolled, x.put(torch.tensor([1, 7]), torch.ones(2)), F.logsigmoid(x)]
        if x.shape[1] % 2 == 0:
            results.append(torch.channel_shuffle(x, 2))
        return [*results, *(r.as_strided((3, 4), (4, 1), 2) for r in results)]

    x = IMAGES[name]
    for found, wanted in zip(Compiled(function)(x), function(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
        pairs = zip(found.shape, found.stride(), wanted.stride(), strict=True)
        assert all(a == b for n, a, b in pairs if n > 1), (found.stride(), wanted.stride())
