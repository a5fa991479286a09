"""Masks of ReLUs are computed from what the gradient reads anyway: when, and that gradients stay right."""

import pytest
import torch
from compiling import Compiled, cloned
from torch.nn import functional as F

from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

aten = torch.ops.aten


def norm(x, scale, shift):
    return F.relu(F.batch_norm(x, None, None, scale, shift, training=True)) * 3


def product(x, scale, shift):
    return F.relu(x * scale[:, None, None] + shift[:, None, None])


def residual(x, scale, shift):
    return F.relu(F.batch_norm(x, None, None, scale, shift, training=True) + x.sin()) * 3


def doubled(x, scale, shift):
    return F.relu(x * 2 - 1) * scale[0] + shift[0]


def operands(dtype):
    torch.manual_seed(0)
    shapes = (4, 6, 5, 5), (6,), (6,)
    return [torch.randn(s).to(dtype).requires_grad_() for s in shapes]


def gradients(function, args):
    out = function(*args)
    (out.float() * (torch.arange(out.numel()) % 7).reshape(out.shape)).sum().backward()
    return {"out": out.detach()} | {f"gradient {i}": a.grad for i, a in enumerate(args)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("function", "fires"), [(norm, True), (product, True), (residual, False), (doubled, False)]
)
def test_masks(function, fires, dtype):
    masks = []

    def watch(graph):
        masks.extend(graph.find_nodes(op="call_function", target=aten.threshold_backward.default))

    compiled = Compiled(function, {"fx_pass": watch})
    with float64_reference():
        exact = gradients(function, cloned(operands(dtype), torch.float64))
    eager, found = gradients(function, operands(dtype)), gradients(compiled, operands(dtype))
    wrong = [r for r in judge_all(exact, eager, found, torch.finfo(dtype).eps) if not r.passed]
    assert not wrong, wrong
    [mask] = masks
    assert (mask.args[1].target is aten._to_copy.default or mask.args[1].target is aten.add.Tensor) == fires


def test_another_threshold_stays():
    masks = []

    def function(x, scale, shift):
        return F.threshold(F.batch_norm(x, None, None, scale, shift, training=True), 0.5, 0.0)

    def watch(graph):
        masks.extend(graph.find_nodes(op="call_function", target=aten.threshold_backward.default))

    gradients(Compiled(function, {"fx_pass": watch}), operands(torch.float32))
    assert all(m.args[2] == 0.5 for m in masks)
