"""``torch._inductor.config.fallback_random``: random numbers are those of eager mode."""

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def draw(x: Tensor, sized: Tensor) -> list[Tensor]:
    y = x.clone()
    return [
        *(torch.rand(3, 4) + 1, torch.randn(5), torch.randint(9, (6,)), torch.randperm(7)),
        *(torch.rand_like(x), torch.randn_like(x) * 2, torch.randint_like(x, 7), torch.normal(x, 2.0)),
        *(y.uniform_(-1, 1) * 2, y.normal_() + 1, y.exponential_(), y.cauchy_().sin(), y.geometric_(0.3)),
        *(torch.bernoulli(sized), F.dropout(x, 0.3), F.rrelu(x, training=True), y.log_normal_()),
        torch.multinomial(sized, 2),
        torch.cond(x.sum() > 1e9, lambda x: x.sin(), lambda x: x + torch.rand_like(x), (x,)),
    ]


def test_draws_are_those_of_eager_mode():
    x, sized = torch.randn(4, 5), torch.rand(3, 4)
    with inductor_config.patch(fallback_random=True):
        compiled = Compiled(draw, {"strict": True})
        torch.manual_seed(3)
        found = [compiled(x, sized) for _ in range(2)]
    torch.manual_seed(3)
    torch.testing.assert_close(found, [draw(x, sized) for _ in range(2)])


def test_gradients_and_checkpoints_draw_once():
    def function(x: Tensor) -> Tensor:
        def part(x: Tensor) -> Tensor:
            return (F.dropout(x, 0.4) * torch.rand_like(x)).sin()

        return torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False) + F.rrelu(x, training=True)

    found = []
    x = torch.randn(6, 7, requires_grad=True)
    with inductor_config.patch(fallback_random=True):
        for f in (Compiled(function), function):
            torch.manual_seed(5)
            result = f(x)
            found.append([result, *torch.autograd.grad(result.sum(), x)])
    torch.testing.assert_close(*found)


def test_a_budget_of_memory_is_kept():
    """``torch._functorch.config.activation_memory_budget``: torch's partitioner keeps it."""

    def layers(x: Tensor, *weights: Tensor) -> Tensor:
        for w in weights:
            x = (x @ w).relu().sin()
        return x.sum()

    def saved(budget: float) -> tuple[int, tuple[Tensor, ...]]:
        kept: list[Tensor] = []
        torch._dynamo.reset()
        with functorch_config.patch(activation_memory_budget=budget):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
                result = Compiled(layers)(*given)
            return len(kept), torch.autograd.grad(result, given)

    given = [torch.randn(16, 16, requires_grad=True) for _ in range(4)]
    (most, gradients), (some, _), (least, recomputed) = (saved(budget) for budget in (1.0, 0.5, 0.0))
    assert most > some > least >= len(given)
    torch.testing.assert_close(gradients, recomputed)
