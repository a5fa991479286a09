"""Ops that torch's decompositions make generated ones of, or would make wrong ones of."""

import math
from unittest import mock

import pytest
import torch
from compiling import Compiled
from lowering import check_training
from torch.nn import functional as F
from versions import TORCH

from fuse_mlir.compiler.frontend.autograd import cpu_attention
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table


def given(*sizes):
    torch.manual_seed(0)
    return torch.randn(sizes)


FUNCTIONS = {
    "fold": (lambda x: F.fold(x, (4, 5), 2), given(2, 12, 12)),
    "cross": (lambda x: torch.linalg.cross(x, x.flip(0), dim=-1), given(4, 3)),
    "max_unpool": (
        lambda x: F.max_unpool2d(x, torch.arange(8).view(1, 2, 2, 2) * 3 % 16, 2),
        given(1, 2, 2, 2),
    ),
    "reflection_pad3d": (lambda x: F.pad(x, (1, 1, 0, 2, 1, 0), mode="reflect"), given(1, 2, 3, 3, 3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_runs_as_itself(name):
    function, x = FUNCTIONS[name]
    check_training(function, x, table=decomposition_table())


@pytest.mark.xfail(
    TORCH < (2, 14),
    strict=True,
    reason="AOTAutograd traces torch's own function, which is wrong before 2.14, for aot_eager too",
)
def test_multilabel_margin_loss():
    """Target classes after the -1 that ends a row do not count, as torch's decomposition has it at first."""
    target = torch.tensor([[1, 2, -1, 0, 0, 0], [0, -1, 3, 3, 3, 3]])
    check_training(F.multilabel_margin_loss, given(2, 6), target, table=decomposition_table())


def test_attention_of_float64_on_a_cpu():
    """Where torch's fake kernel says that the sums are float32: in torch 2.11, and here everywhere."""
    op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    q, k, v = given(3, 2, 3, 5, 4).double().unbind()
    hidden = torch.zeros(5, 5).double()
    hidden[1], hidden[2, 3] = -math.inf, 2
    across = q.transpose(1, 2).contiguous().transpose(1, 2)
    calls = (
        (lambda q: op(q, k, v, is_causal=True, scale=0.3), across),
        (lambda q: op(q, k, v, attn_mask=hidden), q),
    )
    with mock.patch.object(cpu_attention, "_misstated", lambda: True):
        for call, query in calls:
            compiled, results = Compiled(call), []
            for f in (compiled, call):
                taken = query.clone().requires_grad_()
                result, sums = f(taken)
                results.append([result, sums, *torch.autograd.grad(result.sin().sum(), taken)])
            for found, expected in zip(*results, strict=True):
                torch.testing.assert_close(found, expected)
                assert found.stride() == expected.stride()
            assert not any("for_cpu.default" in str(graph.module) for graph in compiled.graphs)


def quantised_there_and_back(axis):
    from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers the ops)

    ops = torch.ops.quantized_decomposed
    limits = -128, 127, torch.int8

    def per_tensor(x, scales, zeros):
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.3, 3, *limits), 0.3, 3, *limits)

    def per_channel(x, scales, zeros):
        small = ops.quantize_per_channel(x, scales, zeros, axis, *limits)
        return small, ops.dequantize_per_channel(small, scales, zeros, axis, *limits)

    return per_tensor if axis is None else per_channel


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantised_ops_are_generated(axis):
    """Equal bits, ties and what lies out of range among them; and one kernel."""
    function = quantised_there_and_back(axis)
    x = torch.cat([torch.arange(-8, 8) * 0.15, torch.tensor([50.0, -50.0, 1e9, -0.0])]).repeat(5, 1)[:4]
    n = 4 if axis != 1 else x.shape[1]
    inputs = x, torch.linspace(0.1, 0.6, n), torch.arange(n) - 2
    compiled = Compiled(function)
    torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=0, atol=0)
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (1, 0, [])


def test_copies_of_lists():
    def function(xs, ys):
        torch._foreach_copy_(xs, ys)
        return xs[0] + 1

    xs, ys = [torch.zeros(4), torch.zeros(2, 2, dtype=torch.float64)], [given(4), given(2, 2)]
    compiled = Compiled(function)
    assert torch.equal(compiled(xs, ys), ys[0] + 1)
    assert torch.equal(xs[0], ys[0]) and torch.equal(xs[1], ys[1].double())
    assert not compiled.graphs[0].externs
