"""Whether gradients of attention compute scores again, as the joint graph is weighed for a GPU."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest import mock

import pytest
import torch
from attention_forms import scores
from compiling import Compiled
from torch import Tensor, fx

from fuse_mlir.compiler.cost.attention_gradients import SpelledGradients
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.driver import captured_compilation
from fuse_mlir.compiler.rewrites import stages
from fuse_mlir.compiler.rewrites.joint.admitted_scores import admitted_part

SHAPE = (1, 2, 512, 32)
#: Of a GPU: all forms are weighed, whatever the sizes of a test.
H200 = hardware_named("h200")


@pytest.fixture
def as_on_a_gpu() -> Iterator[None]:
    """CPU graphs are weighed for an H200; products stay the library's."""

    def switched_on(*args: object, **given: object) -> frozenset[stages.Switch]:
        return stages.switched_on(*args, **given) | {stages.Switch.GRADIENTS}  # type: ignore[arg-type]

    with (
        mock.patch.object(captured_compilation, "switched_on", switched_on),
        mock.patch.object(captured_compilation, "hardware_model_on", lambda *_: "h200"),
    ):
        yield


def positions(s: Tensor) -> Tensor:
    return torch.arange(s.shape[-2])[:, None] - torch.arange(s.shape[-1])


def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    distance = positions(s)
    return torch.where((distance >= 0) & (distance < 64), s, -math.inf).softmax(-1) @ v


def twisted(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    for _ in range(12):
        s = torch.sin(torch.cos(s))
    return s.softmax(-1) @ v


def penalised(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    return (s - v[0, :, :1, :1].detach() * positions(s) / 512).softmax(-1) @ v


def looked_up(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    return (s + v[0, 0, :, 0].detach()[positions(s).clamp(0, 7)]).softmax(-1) @ v


def few_keys(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = k[:, :, :128], v[:, :, :128]
    return torch.sigmoid(scores(q, k)) @ v


def said(function: Callable[..., Tensor]) -> list[tuple[str, str, dict[str, object]]]:
    """What the rewrite says of a training step, whose gradients are as near to float64 as eager's."""
    draw = torch.Generator().manual_seed(0)
    args, seeds = ([torch.randn(SHAPE, generator=draw).bfloat16() for _ in range(n)] for n in (3, 1))

    def gradients(f: Callable[..., Tensor], dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
        some = [x.to(dtype).requires_grad_() for x in args]
        return [*torch.autograd.grad(f(*some), some, seeds[0].to(dtype))]

    compiled = Compiled(function, {"cache": False, "attention": False})
    found, eager, exact = gradients(compiled), gradients(function), gradients(function, torch.float64)
    for mine, other, best in zip(found, eager, exact, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
    remarks = [r for g in compiled.graphs for r in g.remarks.items if r.pass_name == "attention-gradients"]
    return [(r.kind, r.rule, dict(r.numbers)) for r in remarks]


@pytest.mark.usefixtures("as_on_a_gpu", "fresh_dynamo")
@pytest.mark.parametrize("function", [window, penalised], ids=lambda f: f.__name__)
def test_what_is_faster_computes_scores_again(function: Callable[..., Tensor]) -> None:
    """Also distances that are multiplied by a slope, which each kernel computes."""
    [(kind, rule, numbers)] = said(function)
    assert (kind, rule) == ("passed", "rewritten")
    assert 0 < numbers["kernel_us"] < numbers["call_us"]


@pytest.mark.usefixtures("as_on_a_gpu", "fresh_dynamo")
@pytest.mark.parametrize("function", [twisted, looked_up, few_keys], ids=lambda f: f.__name__)
def test_left_to_the_library(function: Callable[..., Tensor]) -> None:
    """What takes long for each score, what is looked up for each, and too few keys."""
    [(kind, rule, numbers)] = said(function)
    assert (kind, rule) == ("missed", "slower")
    assert {"kernel_us", "call_us"} <= numbers.keys()


def test_a_little_longer_is_worth_the_memory() -> None:
    """A soft cap is weighed as it was measured: 874 us as calls, and kernels of about as much."""
    form = SpelledGradients(2 * 16 * 2048**2, 1.0, 128, "bf16", 14, 7, 67 << 20, True)
    assert 0.85 < form.calls_us(H200) / 874 < 1.15
    assert form.pays(H200)
    apart = replace(form, apart=True)
    assert form.kernels_us(H200) < apart.kernels_us(H200)
    assert 0.95 < apart.kernels_us(H200) / 815 < 1.05  # dv and dk as two kernels, tanh as one instruction
    assert not replace(apart, slots=22, more=9).pays(H200)


def traced(function: Callable[[Tensor], Tensor]) -> fx.Graph:
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(function, tracing_mode="fake")(torch.randn(2, 256, 256)).graph


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (lambda s: torch.where(positions(s) >= 0, s, -math.inf), 10 / 16),
        (lambda s: torch.where(positions(s) < 0, -math.inf, s), 10 / 16),
        (lambda s: s + torch.full((256, 256), -math.inf).triu(1), 10 / 16),
        (lambda s: s + s[0], 1.0),
        (lambda s: s * 2, 1.0),
    ],
)
def test_the_part_of_blocks_that_a_mask_admits(function: Callable[[Tensor], Tensor], part: float) -> None:
    graph = traced(function)
    [given] = graph.find_nodes(op="placeholder")
    inner = {n for n in graph.nodes if given in n.all_input_nodes}
    masks = {n for n in graph.nodes if n.op == "call_function" and n not in inner}
    assert admitted_part(inner, masks) == part
