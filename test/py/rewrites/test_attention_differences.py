"""rewrites/attention/attention_differences.py: differential attention."""

from typing import Any

import pytest
import torch
from compiling import Compiled, check, fused_attentions, with_exact_gradients
from draws import drawn
from torch import Tensor

FORCED = {"products": "generated", "interpret_level": "tiled", "cache": False}


def factors() -> list[Tensor]:
    return [drawn(2, 4, 70, 32), drawn(2, 4, 90, 32, of=1), drawn(2, 4, 90, 16, of=2), drawn(4, 1, 1).abs()]


def halves(q: Tensor, k: Tensor) -> list[Tensor]:
    return [a @ b.mT * 0.25 for a, b in zip(q.chunk(2, -1), k.chunk(2, -1), strict=True)]


def differential(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    first, second = halves(q, k)
    return (first.softmax(-1) - c * second.softmax(-1)) @ v


def of_floats(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    first, second = (s.softmax(-1, dtype=torch.float32).type_as(v) for s in halves(q, k))
    return torch.matmul(first - second * 0.3, v)


def capped(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    first, second = (20 * torch.tanh(s / 20) for s in halves(q, k))
    return (torch.softmax(first, -1) - c * torch.softmax(second, -1)) @ v


def rules(compiled: Compiled, pass_name: str) -> list[str]:
    return [r.rule for g in compiled.graphs for r in g.remarks.items if r.pass_name == pass_name]


@pytest.mark.parametrize("function", [differential, of_floats])
def test_both_become_attention(function: Any) -> None:
    compiled = check(function, *factors())
    assert rules(compiled, "attention-differences") == ["rewritten"]
    assert fused_attentions(compiled) == 2


def test_both_become_kernels() -> None:
    compiled = check(capped, *factors(), **FORCED)
    assert rules(compiled, "derive-cascades") == ["cascade", "cascade"]
    assert [g.externs for g in compiled.graphs] == [0]


def test_gradients_are_those_of_one_product() -> None:
    args = [t.requires_grad_() for t in factors()]
    compiled = with_exact_gradients(differential, args, {})
    assert not rules(compiled, "attention-differences")


def read_elsewhere(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Any:
    first, second = halves(q, k)
    p = first.softmax(-1) - c * second.softmax(-1)
    return p @ v, p.sum(-1)


def of_each_key(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    first, second = halves(q, k)
    return (first.softmax(-1) - v[..., 0][:, :, None] * second.softmax(-1)) @ v


def written(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    first, second = halves(q, k)
    p = first.softmax(-1) - c * second.softmax(-1)
    c.add_(1)
    return p @ v


def of_other_dims(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    first, second = halves(q, k)
    return (first.softmax(-1) - c * second.softmax(-2)) @ v


@pytest.mark.parametrize("function", [read_elsewhere, of_each_key, written, of_other_dims])
def test_left_alone(function: Any) -> None:
    compiled = check(function, *factors())
    assert not rules(compiled, "attention-differences")
