"""Probabilities of logarithms where a total has one more term: a sink has one, a total below 0 has none."""

from collections.abc import Callable

import pytest
import torch
from attention_forms import scores
from compiling import Compiled
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.compiler.rewrites.joint.log_sums import of_logarithms, softmax_of

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def parts(x: Tensor, *others: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The maximum of each row, the exponentials of what lies below it, and their sum."""
    top = torch.amax(x, [-1], True)
    for other in others:
        top = torch.maximum(top, other)
    power = torch.exp(x - top)
    return top, power, torch.sum(power, [-1], True)


def with_a_sink(x: Tensor, sink: Tensor) -> Tensor:
    top, power, total = parts(x, sink)
    return power / (total + torch.exp(sink - top))


def with_one_more(x: Tensor, sink: Tensor) -> Tensor:
    _, power, total = parts(x)
    return power / (total + torch.exp(sink))


def less_a_number(x: Tensor, sink: Tensor) -> Tensor:
    _, power, total = parts(x)
    return power / (total + sink)


def below_another_maximum(x: Tensor, sink: Tensor) -> Tensor:
    """All exponentials are 0 where the other number is large, and so is their sum."""
    _, power, total = parts(x, sink)
    return power / total


def with_another_sink(x: Tensor, sink: Tensor) -> Tensor:
    top, power, total = parts(x, sink)
    return power / (total + torch.exp(sink * 2 - top))


def traced(function: Callable[..., Tensor]) -> torch.fx.GraphModule:
    return make_fx(function, tracing_mode="fake")(torch.randn(6, 6), torch.randn(6, 1))


@pytest.mark.parametrize("function", [with_a_sink, with_one_more])
def test_fires(function):
    gm = traced(function)
    found = softmax_of(set(gm.graph.nodes))
    assert found is not None
    of_logarithms(found)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    assert "aten.div" not in gm.code and "aten.log" in gm.code
    x, sink = torch.randn(6, 6, dtype=torch.float64), torch.randn(6, 1, dtype=torch.float64)
    torch.testing.assert_close(gm(x, sink), function(x, sink))


@pytest.mark.parametrize("function", [less_a_number, below_another_maximum, with_another_sink])
def test_does_not_fire(function):
    assert softmax_of(set(traced(function).graph.nodes)) is None


@pytest.mark.parametrize("less", [-100.0, -1.5, 2.0])
def test_gradients_where_a_total_is_below_0(less):
    """Its probabilities are finite in eager mode, whatever is added to the sum."""
    bias = torch.full((1, 2, 1, 1), less)

    def shifted(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k).float()
        power = torch.exp(s - s.amax(-1, keepdim=True).detach())
        return (power / (power.sum(-1, keepdim=True) + bias).detach()).to(v.dtype) @ v

    drawn = [torch.randn(1, 2, 40, n).bfloat16() for n in (16, 16, 24)]

    def gradients(function: Callable[..., Tensor], dtype: torch.dtype) -> list[Tensor]:
        args = [x.to(dtype, copy=True).requires_grad_() for x in drawn]
        result = function(*args)
        return [result.detach(), *torch.autograd.grad(result.square().sum(), args)]

    options = {"products": "generated", "attention": False, "interpret_level": "tiled", "cache": False}
    compiled = Compiled(shifted, options)
    found, eager = (gradients(f, torch.bfloat16) for f in (compiled, shifted))
    with float64_reference():
        exact = gradients(shifted, torch.float64)
    rules = [r.rule for g in compiled.graphs for r in g.remarks.items if r.pass_name == "attention-gradients"]
    assert rules == ["rewritten"]
    for mine, other, best in zip(found, eager, exact, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
