"""Activations behind a product of 16-bit matrices, and functions that look like one: shared by tests, no test
itself.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

SLOPE = math.sqrt(2 / math.pi)


def operands(m: int = 16, k: int = 8, n: int = 24, dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
    """A bias [n], x [m, k] and w [k, n]."""
    return [torch.randn(shape).to(dtype) for shape in ((n,), (m, k), (k, n))]


def behind(
    activation: Callable[[Tensor], Any], *, bias: bool = True, views: bool = True
) -> Callable[[Tensor, Tensor, Tensor], Any]:
    """A function of `operands`: an activation of their product.

    bias: whether the product adds it.   views: whether the activation is of a view of the product in three
    dims, and the result a transposed view.
    """

    def function(b: Tensor, x: Tensor, w: Tensor) -> Any:
        y = torch.addmm(b, x, w) if bias else torch.mm(x, w)
        y = y.view(2, y.shape[0] // 2, y.shape[1]) if views else y
        z = activation(y)
        return z.flatten(0, 1).t() if views and isinstance(z, Tensor) else z

    return function


def tanh_gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def spelled_out(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 3.0))))


def spelled_out_by_products(x: Tensor) -> Tensor:
    return (torch.tanh((0.044715 * (x * x * x) + x) * SLOPE) + 1) * (x * 0.5)


def relu_in_float32(x: Tensor) -> Tensor:
    return F.relu(x.float()).to(x.dtype)


def tanh_gelu_in_float32(x: Tensor) -> Tensor:
    return tanh_gelu(x.float()).to(x.dtype)


def spelled_out_in_float32(x: Tensor) -> Tensor:
    return spelled_out(x.float()).to(x.dtype)


def fast(x: Tensor) -> Tensor:
    """As another library spells it."""
    return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


def distributed(x: Tensor) -> Tensor:
    return x / 2 - 0.5 * -torch.tanh(SLOPE * x + SLOPE * 0.044715 * x**2 * x) * x


def clamped(x: Tensor) -> Tensor:
    return x.clamp_min(0)


def copied_behind(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """Copies behind the activation that nobody needs."""
    return torch.addmm(b, x, w).view(2, 8, 24).relu().clone().clone().view(16, 24).t()


def copied_beside(b: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """A result and a copy of it."""
    y = torch.addmm(b, x, w).relu()
    return y, y.clone()


def three_products(b: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Without a bias; two of them are equally wide."""
    return F.relu(torch.mm(x, w)), F.relu(torch.mm(x + 1, w)), F.relu(torch.mm(x, w[:, :8].contiguous()))


def wrong_slope(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(0.8 * (x + 0.044715 * torch.pow(x, 3.0))))


def wrong_power(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 2.0))))


def of_two_values(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x + 1, 3.0))))


def half_more(x: Tensor) -> Tensor:
    return 0.5 * x * (1.5 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 3.0))))


def by_sigmoid(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def silu_spelled_out(x: Tensor) -> Tensor:
    return x / (1 + torch.exp(0.0 - x))


def sigmoid_spelled_out(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def times_zero(x: Tensor) -> Tensor:
    """0 times infinity is no 0, so this is no ReLU."""
    return torch.maximum(x, x * 0)


def minus_itself(x: Tensor) -> Tensor:
    return torch.maximum(x, x - x)


def clamped_on_both_sides(x: Tensor) -> Tensor:
    return x.clamp(0, 6)


def rounded_to_float16(x: Tensor) -> Tensor:
    return F.relu(x.half()).to(x.dtype)


def left_in_float32(x: Tensor) -> Tensor:
    return spelled_out(x.float())


def read_inside(x: Tensor) -> tuple[Tensor, Tensor]:
    bend = torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 3.0)))
    return 0.5 * x * (1.0 + bend), bend


def read_in_float32(x: Tensor) -> tuple[Tensor, Tensor]:
    wide = x.float()
    return F.relu(wide).to(x.dtype), wide + 1


def read_before(x: Tensor) -> tuple[Tensor, Tensor]:
    return F.relu(x), x + 1


def scaled(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return F.relu(torch.addmm(b, x, w, alpha=2.0))


def read_as_a_matrix(b: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    y = torch.addmm(b, x, w)
    return F.relu(y.view(2, -1, y.shape[1])), y * 2


def biased_by_rows(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return F.relu(torch.addmm(x[:, :1], x, w))


def without_product(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return F.relu(x)
