"""Random products of few rows with weights that are packed in bytes: 2, 4 and 8 bits, in either order, with
zero points and scales of groups and rows, in both roundings, against float64.

``FUSE_MLIR_RANDOM=n`` draws ``n`` programs; each is a test of its own, so that workers share them.
"""

import random
from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from fresh_seeds import seeds
from torch import Tensor
from torch.nn import functional as F

OPTIONS = {"hardware": "h200", "interpret_level": "planned", "products": "generated"}


def drawn(seed: int) -> tuple[Callable[..., Tensor], list[Tensor], str]:
    """A product, its inputs (rows, bytes, scales, zero points, a bias), and how it is rounded."""
    torch.manual_seed(seed)
    pick = random.Random(seed).choice
    bits, rows, outputs = pick([2, 4, 4, 8]), pick([1, 1, 2, 3, 5, 8, 16]), pick([1024, 1027, 1100])
    dtype, groups, length = pick([torch.bfloat16, torch.float16]), pick([8, 12]), pick([16, 32, 48, 64])
    downwards, signed, after = pick([True, False]), bits == 8 and pick([True, False]), pick([True, False])
    scaled, moved = pick(["group", "group", "row", "none"]), pick(["group", "constant", "none"])

    def product(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor, bias: Tensor) -> Tensor:
        parts = [w >> at & 2**bits - 1 for at in range(0, 8, bits)] if bits < 8 else [w]
        numbers = torch.stack(parts[::-1] if downwards else parts, -1).to(x.dtype).view(outputs, groups, -1)
        if moved != "none":
            numbers = numbers - (zero[:, :, None].to(x.dtype) if moved == "group" else 2 ** (bits - 1))
        if scaled != "none":
            numbers = numbers * (scale if scaled == "group" else scale[:, :1])[:, :, None]
        result = F.linear(x, numbers.flatten(1))
        return F.silu(result + bias) if after else result

    w = torch.randint(0, 256, (outputs, groups * length), dtype=torch.uint8)
    x = torch.randn(rows, groups * length * 8 // bits).mul(0.25).to(dtype)
    scale, zero = torch.rand(outputs, groups) + 0.125, torch.randint(0, 2**bits, (outputs, groups)).byte()
    inputs = [x, w.view(torch.int8) if signed else w, scale.to(dtype), zero, torch.randn(outputs).to(dtype)]
    return product, inputs, pick(["float32", "float32", "eager"])


@pytest.mark.parametrize("seed", seeds(2))
def test_drawn(seed: int) -> None:
    product, inputs, rounding = drawn(seed)
    got = Compiled(product, {**OPTIONS, "rounding": rounding}, None)(*inputs)
    wanted = product(*(v.double() if v.is_floating_point() else v for v in inputs))
    wrong, eager = ((made.double() - wanted).norm() for made in (got, product(*inputs)))
    assert wrong <= 1.25 * eager + 2**-10 * wanted.norm()
