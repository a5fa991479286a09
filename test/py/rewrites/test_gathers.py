"""Gathers that move in front of pointwise ops: which do, and that the numbers are those of eager PyTorch."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.rewrites.graph.gathers import sink_gathers


def traced(function, *args):
    return make_fx(function, decomposition_table=decomposition_table(), tracing_mode="fake")(*args)


def targets(gm) -> list[str]:
    return [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]


def sunk(function, *args) -> int:
    """How many gathers move; the graph must compute the same after it."""
    gm = traced(function, *args)
    moved = sink_gathers(gm)
    torch.testing.assert_close(gm(*args), function(*args), rtol=0, atol=0)
    return moved


@pytest.mark.parametrize("element", [torch.float32, torch.bfloat16])
def test_cross_entropy_reads_one_logit_of_a_row(element):
    x, t = torch.randn(6, 10).to(element), torch.tensor([0, 9, 3, -100, 5, 1])
    gm = traced(lambda x, t: F.cross_entropy(x.float(), t), x, t)
    assert sink_gathers(gm) == (2 if element == torch.float32 else 3)
    [gather] = [n for n in gm.graph.nodes if n.target is torch.ops.aten.gather.default]
    assert gather.args[0].op == "placeholder"
    expected = F.cross_entropy(x.double(), t)
    torch.testing.assert_close(gm(x, t).double(), expected, rtol=1e-6, atol=1e-6)


def test_operands_that_are_the_same_along_the_dim_stay():
    x, m, i = torch.randn(4, 8), torch.randn(4, 1), torch.randint(8, (4, 3))
    assert sunk(lambda x, m, i: (x * m).gather(1, i), x, m, i) == 1
    assert sunk(lambda x, m, i: (m - x).gather(-1, i), x, m, i) == 1
    assert sunk(lambda x, m, i: (x + 2).gather(1, i), x, m, i) == 1


def test_functions_on_the_way_to_an_argument_move_too():
    """What a draft of words is accepted by: one probability of a row."""
    x, m, i = torch.randn(4, 8), torch.randn(4, 1), torch.randint(8, (4, 3))
    assert sunk(lambda x, m, i: (x - m).exp().gather(1, i), x, m, i) == 2
    assert sunk(lambda x, m, i: x.sigmoid().neg().gather(1, i) + m, x, m, i) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, v, i: (x * x).exp().gather(1, i),  # two reads for one, and nothing else is in memory
        lambda x, v, i: x.cumsum(1).exp().gather(1, i),
        lambda x, v, i: (x + v).gather(1, i),  # v varies along the dim
        lambda x, v, i: (x * x).gather(1, i),  # two reads for one
        lambda x, v, i: x.gather(1, i),
        lambda x, v, i: (x + 1).gather(1, i[:2]),  # rows left out
        lambda x, v, i: (x + 1).gather(1, torch.cat([i, i, i, i], 1)),  # more points than there are
    ],
)
def test_left_alone(function):
    x, v, i = torch.randn(4, 8), torch.randn(8), torch.randint(8, (4, 3))
    assert sunk(function, x, v, i) == 0


def test_a_broadcast_along_another_dim_stays_whole():
    x, v, i = torch.randn(4, 8), torch.randn(8), torch.randint(4, (2, 8))
    assert sunk(lambda x, v, i: (x - v).gather(0, i), x, v, i) == 1


def test_a_view_of_a_pointwise_result_moves_too():
    """As models do it: the logits become float32, then rows of all sequences."""
    x, t = torch.randn(2, 3, 8).bfloat16(), torch.randint(8, (6,))
    gm = traced(lambda x, t: F.cross_entropy(x.float().view(-1, 8), t), x, t)
    assert sink_gathers(gm) == 3
    [gather] = [n for n in gm.graph.nodes if n.target is torch.ops.aten.gather.default]
    assert gather.args[0].args[0].op == "placeholder"
    expected = F.cross_entropy(x.double().view(-1, 8), t)
    torch.testing.assert_close(gm(x, t).double(), expected, rtol=1e-6, atol=1e-6)
    i = torch.randint(8, (6, 1))
    assert sunk(lambda x, i: (x + x).view(6, 8).gather(1, i), torch.randn(2, 3, 8), i) == 0
    assert sunk(lambda x, i: x.view(6, 8).gather(1, i), torch.randn(2, 3, 8), i) == 0


def test_a_transposed_copy_of_a_pointwise_result_moves_too():
    """As in losses over both dims of a matrix: the copy would be stored for one element of each row."""
    x, t = torch.randn(6, 6).bfloat16(), torch.randint(6, (6,))
    gm = traced(lambda x, t: F.cross_entropy((x.float() * 14.0).t().contiguous(), t), x, t)
    assert sink_gathers(gm) == 5  # minus the sum's logarithm, minus the maximum, the copy, times 14, the cast
    [gather] = [n for n in gm.graph.nodes if n.target is torch.ops.aten.gather.default]
    assert gather.args[0].args[0].op == "placeholder"
    expected = F.cross_entropy((x.double() * 14.0).t(), t)
    torch.testing.assert_close(gm(x, t).double(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("view", [lambda x: x.t(), lambda x: x.transpose(0, 1), lambda x: x.permute(1, 0)])
def test_dims_that_are_exchanged(view):
    x, i = torch.randn(4, 8), torch.randint(4, (8, 3))
    assert sunk(lambda x, i: view(x * 2).gather(1, i), x, i) == 1
    assert sunk(lambda x, i: view(x).gather(1, i), x, i) == 0
    assert sunk(lambda x, i: view(x + x).gather(1, i), x, i) == 0
