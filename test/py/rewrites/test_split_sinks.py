"""Attention with sinks that are concatenated to its scores, and gradients: neither pass copies scores."""

import math
from collections.abc import Callable

import pytest
import torch
from attention_forms import scores
from compiling import Compiled
from torch import Tensor

from fuse_mlir.compiler.analysis.contraction.looped import LoopedBlocks
from fuse_mlir.compiler.analysis.tiling import held_rules

FORCED = {"products": "generated", "attention": False, "interpret_level": "tiled", "cache": False}
ROWS, HEADS, HEAD = 40, 2, 16


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))


def operands() -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)
    sizes = ((1, HEADS, ROWS, HEAD),) * 3
    return [torch.randn(*s, generator=draw).bfloat16() for s in (*sizes, (HEADS,))]


def seen(s: Tensor) -> Tensor:
    distance = torch.arange(s.shape[-2])[:, None] - torch.arange(s.shape[-1])
    return (distance >= 0) & (distance < 20)


def behind(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor) -> Tensor:
    s = scores(q, k)
    s = torch.where(seen(s), s, -math.inf)
    beside = sinks[:, None, None].expand(*s.shape[:-1], 1)
    return torch.cat((s, beside), -1).softmax(-1)[..., :-1] @ v


def in_front(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor) -> Tensor:
    s = scores(q, k).float()
    beside = sinks[:, None, None].expand(*s.shape[:-1], 1)
    return torch.cat((beside, s), -1).softmax(-1)[..., 1:].to(v.dtype) @ v


def of_empty_rows(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor) -> Tensor:
    s = scores(q, k)
    s = torch.where(seen(s) & (torch.arange(ROWS)[:, None] % 3 > 0), s, -math.inf)
    beside = sinks[:, None, None].expand(*s.shape[:-1], 1)
    return torch.cat((s, beside), -1).softmax(-1)[..., :-1] @ v


def gradients(function: Callable[..., Tensor], args: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    args = [x.detach().to(dtype).requires_grad_() for x in args]
    result = function(*args)
    seeds = torch.randn(result.shape, generator=torch.Generator().manual_seed(1)).bfloat16().to(dtype)
    return [result.detach(), *torch.autograd.grad(result, args, seeds)]


def rules(compiled: Compiled, name: str) -> list[str]:
    return [r.rule for g in compiled.graphs for r in g.remarks.items if r.pass_name == name]


@pytest.mark.usefixtures("fresh_dynamo")
@pytest.mark.parametrize("function", [behind, in_front, of_empty_rows], ids=lambda f: f.__name__)
def test_kernels_have_neither_scores_nor_a_copy(function: Callable[..., Tensor]) -> None:
    """The gradients of the sinks are right, too, which are sums over rows."""
    args, compiled = operands(), Compiled(function, FORCED)
    found = gradients(compiled, args, torch.bfloat16)
    assert rules(compiled, "split-sinks") == ["rewritten"]
    assert rules(compiled, "derive-cascades") == ["cascade"] * 4
    exact, eager = (gradients(function, args, dtype) for dtype in (torch.float64, torch.bfloat16))
    for mine, best, other in zip(found[:-1], exact[:-1], eager[:-1], strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
    torch.testing.assert_close(found[-1].double(), exact[-1], rtol=2**-8, atol=2**-8)  # two numbers, rounded


def with_the_rest(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor) -> Tensor:
    """What the sinks take is read by a product."""
    s = scores(q, k)
    beside = sinks[:, None, None].expand(*s.shape[:-1], 1)
    p = torch.cat((s, beside), -1).softmax(-1)
    return p @ torch.cat((v, v[..., :1, :]), -2)


def of_another_slice(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor) -> Tensor:
    s = scores(q, k)
    beside = sinks[:, None, None].expand(*s.shape[:-1], 1)
    return torch.cat((s, beside), -1).softmax(-1)[..., 1:] @ v


def along_rows(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor) -> Tensor:
    s = scores(q, k)
    beside = sinks[:, None, None].expand(*s.shape[:-2], 1, s.shape[-1])
    return torch.cat((s, beside), -2).softmax(-1)[..., :-1, :] @ v


@pytest.mark.usefixtures("fresh_dynamo")
@pytest.mark.parametrize("function", [with_the_rest, of_another_slice, along_rows], ids=lambda f: f.__name__)
def test_left_alone(function: Callable[..., Tensor]) -> None:
    args, compiled = operands(), Compiled(function, FORCED)
    found = gradients(compiled, args, torch.bfloat16)
    assert rules(compiled, "split-sinks") == []
    exact, eager = (gradients(function, args, dtype) for dtype in (torch.float64, torch.bfloat16))
    for mine, best, other in zip(found, exact, eager, strict=True):
        assert (mine.double() - best).norm() <= 1.2 * (other.double() - best).norm()
