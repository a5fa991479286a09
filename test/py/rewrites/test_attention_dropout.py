"""Dropout of attention's probabilities: what the forward graph draws is what gradients are computed of.

Values that are the unit matrix show which probabilities are dropped.  With these, results and gradients are
compared with float64.
"""

from collections.abc import Callable

import pytest
import torch
from attention_forms import scores
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

FORCED = {"products": "generated", "attention": False, "interpret_level": "tiled", "cache": False}
SIZE, RATE = 40, 0.25


def spelled_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.dropout(scores(q, k).softmax(-1), RATE, True) @ v


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    i = torch.arange(SIZE, device=q.device)
    s = torch.where(i[:, None] >= i, scores(q, k).float(), -torch.inf)
    return F.dropout(s.softmax(-1), RATE).to(v.dtype) @ v


def called(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, dropout_p=RATE)


def operands(dtype: torch.dtype) -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, 2, SIZE, 16, generator=draw).to(torch.bfloat16) for _ in range(2))
    v = torch.eye(SIZE, dtype=torch.bfloat16).expand(2, 2, SIZE, SIZE).contiguous()
    return [x.to(dtype).requires_grad_() for x in (q, k, v)]


def gradients(result: Tensor, args: list[Tensor]) -> tuple[Tensor, ...]:
    given = torch.randn(result.shape, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    return torch.autograd.grad(result, args, given.to(result.dtype))


@pytest.mark.parametrize("function", [spelled_out, causal, called])
@pytest.mark.parametrize("options", [{}, FORCED])
def test_gradients_are_of_what_was_kept(function: Callable[..., Tensor], options: dict[str, object]) -> None:
    torch.manual_seed(0)
    compiled, args, exact = Compiled(function, options), operands(torch.bfloat16), operands(torch.float64)
    found = compiled(*args)
    kept = found.detach() != 0
    s = scores(*exact[:2])
    admitted = torch.ones(SIZE, SIZE).bool()
    if function is causal:
        admitted = admitted.tril()
    share = kept.double().sum() / (admitted.sum() * 4)
    assert abs(share - (1 - RATE)) < 0.03
    p = s.masked_fill(~admitted, -torch.inf).softmax(-1)
    best = (p * kept / (1 - RATE)) @ exact[2]
    pairs = zip((found, *gradients(found, args)), (best, *gradients(best, exact)), strict=True)
    assert all((a.double() - b).norm() <= 0.01 * b.norm() for a, b in pairs)
    assert not torch.equal(compiled(*args) != 0, kept)  # a call draws anew
