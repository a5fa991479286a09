"""Softmaxes over scores and a few numbers beside them: what is rewritten gives what was asked for."""

import math
from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.captured.softmax_sinks import spell_sinks

Function = Callable[[Tensor, Tensor], Tensor]


def behind(x: Tensor, s: Tensor) -> Tensor:
    return torch.cat([x, s], dim=-1).softmax(dim=-1)[..., :-2]


def in_front(x: Tensor, s: Tensor) -> Tensor:
    return torch.softmax(torch.cat((s, x), 2), 2)[:, :, 2:]


def less_the_maximum(x: Tensor, s: Tensor) -> Tensor:
    both = torch.cat([x, s], dim=-1)
    both = both - both.max(dim=-1, keepdim=True).values
    return F.softmax(both, dim=-1, dtype=torch.float32)[..., : x.shape[-1]]


def beside_the_scores(x: Tensor, s: Tensor) -> Tensor:
    return torch.cat([x, s], -1).softmax(-1)[..., -2:]


def all_of_it(x: Tensor, s: Tensor) -> Tensor:
    return torch.cat([x, s], -1).softmax(-1)


def another_dim(x: Tensor, s: Tensor) -> Tensor:
    return torch.cat([x, s], -1).softmax(1)[..., :-2]


def read_twice(x: Tensor, s: Tensor) -> Tensor:
    both = torch.cat([x, s], -1)
    return both.softmax(-1)[..., :-2] + both[..., :1]


def shifted(x: Tensor, s: Tensor) -> Tensor:
    return torch.cat([x, s], -1).softmax(-1)[..., 1:-1]


def operands(dtype: torch.dtype = torch.bfloat16) -> tuple[Tensor, Tensor]:
    """Rows with scores or numbers beside them that are -inf, inf or NaN."""
    drawn = torch.Generator().manual_seed(0)
    x, s = (torch.randn(2, 7, n, generator=drawn) for n in (19, 2))
    x[0, 1], x[0, 2, 3:], s[0, 2], s[0, 3, 1] = -math.inf, -math.inf, -math.inf, math.inf
    x[1, 1], s[1, 1], x[1, 2, 4], s[1, 3, 0], x[1, 4, 2] = -math.inf, -math.inf, math.inf, math.nan, math.nan
    return x.to(dtype), s.to(dtype)


def rewritten(function: Function, *args: Tensor) -> tuple[Compiled, bool]:
    compiled = Compiled(function, {"cache": False})
    compiled(*args)
    return compiled, spell_sinks.name in {r.pass_name for r in compiled.graphs[0].remarks.items}


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (behind, torch.bfloat16),
        (in_front, torch.float64),
        (less_the_maximum, torch.bfloat16),
        (beside_the_scores, torch.float16),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_scores_are_not_copied(function: Function, dtype: torch.dtype) -> None:
    args = operands(dtype)
    compiled, fired = rewritten(function, *args)
    assert fired
    exact = function(*(a.double() for a in args)).double()
    tolerance = 1e-12 if dtype == torch.float64 else 0.005
    torch.testing.assert_close(
        compiled(*args).double(), exact, equal_nan=True, rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("function", [all_of_it, another_dim, read_twice, shifted], ids=lambda f: f.__name__)
def test_left_alone(function: Function) -> None:
    assert not rewritten(function, *operands())[1]


def test_training_and_another_dtype_are_left_alone() -> None:
    x, s = operands()
    assert not rewritten(behind, x.clone().requires_grad_(), s)[1]
    assert not rewritten(behind, x, s.float())[1]
