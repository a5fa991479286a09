"""Packed weights of odd widths, and of widths, scales and zero points that do not fit: the right numbers
without a read beyond a tensor, which the interpreter would refuse, or torch's error."""

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

#: What eager mode says of sizes that do not fit, and what Dynamo says of them.
UNFIT = "cannot be multiplied|same reduction dim|must match|invalid for input|broadcast"


def in_bytes(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """``w``: [outputs, k / 2], two numbers of 4 bits a byte; ``scale``, ``zero``: [outputs, groups]."""
    numbers = torch.stack([w & 15, w >> 4], -1).flatten(1).view(*scale.shape, -1)
    moved = numbers.to(x.dtype) - zero[:, :, None].to(x.dtype)
    return F.linear(x, (moved * scale[:, :, None]).flatten(1))


def in_words(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """``w``: [k / 8, outputs], as GPTQ packs them; ``scale``: [groups, outputs]; ``zero``: [groups, outputs /
    8].
    """
    at = torch.arange(0, 32, 4, dtype=torch.int32)
    held = (w[:, None] >> at[:, None] & 15).flatten(0, 1).view(scale.shape[0], -1, w.shape[1])
    less = (zero[:, :, None] >> at & 15).flatten(1)
    return x @ ((held - less[:, None]).to(x.dtype) * scale[:, None]).flatten(0, 1)


def bytes_given(outputs: int, width: int, groups: int, rows: int) -> list[Tensor]:
    torch.manual_seed(outputs + width)
    scale = torch.rand(outputs, groups) + 0.125
    w, zero = torch.randint(0, 256, (outputs, width)).byte(), torch.randint(0, 16, scale.shape).byte()
    return [torch.randn(rows, 2 * width).bfloat16(), w, scale.bfloat16(), zero]


def words_given(outputs: int, width: int, groups: int, rows: int) -> list[Tensor]:
    torch.manual_seed(outputs + width)
    scale = (torch.rand(groups, outputs) + 0.125).bfloat16()
    w, zero = (
        torch.randint(-(2**31), 2**31, shape).to(torch.int32)
        for shape in ((width, outputs), (groups, outputs // 8))
    )
    return [torch.randn(rows, 8 * width).bfloat16(), w, scale, zero]


@pytest.mark.parametrize("rows", [1, 8, 64])
@pytest.mark.parametrize(
    ("product", "given"),
    [
        (in_bytes, (bytes_given, 1027, 35, 1)),
        (in_bytes, (bytes_given, 1025, 147, 7)),
        (in_words, (words_given, 1032, 9, 1)),
        (in_words, (words_given, 1048, 25, 5)),
    ],
    ids=["a row of 35 bytes", "groups of 21 bytes", "9 words", "groups of 5 words"],
)
def test_odd_widths(product, given, rows: int) -> None:
    draw, *sizes = given
    inputs = draw(*sizes, rows)
    compiled = Compiled(product, {"hardware": "h200", "interpret_level": "planned", "products": "generated"})
    exact = product(*(v.double() if v.is_floating_point() else v for v in inputs))
    wrong, eager = ((made.double() - exact).norm() for made in (compiled(*inputs), product(*inputs)))
    assert wrong <= 1.25 * eager + 2**-10 * exact.norm()


@pytest.mark.parametrize("products", ["auto", "generated"])
@pytest.mark.parametrize(
    ("product", "inputs", "changed"),
    [
        (in_bytes, bytes_given(1024, 64, 4, 1), {0: torch.zeros(1, 127)}),
        (in_bytes, bytes_given(1024, 64, 4, 1), {1: torch.zeros(1024, 63, dtype=torch.uint8)}),
        (in_bytes, bytes_given(1024, 64, 4, 1), {2: torch.ones(1023, 4)}),
        (in_bytes, bytes_given(1024, 64, 4, 1), {3: torch.zeros(1024, 3, dtype=torch.uint8)}),
        (in_words, words_given(1024, 16, 4, 1), {1: torch.zeros(15, 1024, dtype=torch.int32)}),
        (in_words, words_given(1024, 16, 4, 1), {2: torch.ones(4, 1016)}),
        (in_words, words_given(1024, 16, 4, 1), {3: torch.zeros(4, 127, dtype=torch.int32)}),
    ],
    ids=["rows", "bytes", "scales", "zeros", "words", "scales of words", "zeros of words"],
)
def test_what_does_not_fit_is_torchs_error(product, inputs, changed, products: str) -> None:
    given = [changed.get(n, v) for n, v in enumerate(inputs)]
    given = [v.bfloat16() if v.is_floating_point() else v for v in given]
    for run in (product, Compiled(product, {"interpret_level": "planned", "products": products})):
        with pytest.raises(RuntimeError, match=UNFIT):
            run(*given)
