"""Gradients of extremes: what they compare is read from memory on both sides, so that some place is equal."""

import pytest
import torch
from compiling import Compiled, cloned
from torch.utils.checkpoint import checkpoint

from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

aten = torch.ops.aten
NEW = pytest.mark.skipif(torch.__version__.startswith("2.11."), reason="eager has no gradient of aminmax")
EXTREMES = (
    aten.amax.default, aten.amin.default, aten.max.default, aten.min.default, aten.aminmax.default,
    aten.linalg_vector_norm.default, aten.scatter_reduce.two,
)  # fmt: skip


def far(x, y):
    return (x[:, None] - y).square().sum(-1)


def nearest(x, y):
    """Extremes along both dims of one tensor."""
    d = far(x, y)
    return d.amin(1).mean() + d.amin(0, keepdim=True).mean() + d.view(2, -1).amax(1).sum()


def largest(x, y):
    """Extremes of all elements, and a norm."""
    d = far(x, y)
    return d.max() - d.min() + torch.linalg.vector_norm(x.sin() * y[:5], float("inf"), dim=1).sum()


def both_ends(x, y):
    low, high = torch.aminmax(x.sin() * y[:5] + x, dim=1)
    return (high - low).square().sum()


def scattered(x, y):
    index = torch.tensor([1, 0, 1, 3, 0])[:, None].expand(5, 3)
    return torch.zeros(4, 3).scatter_reduce(0, index, x * y[:5] + x, "amax").square().sum()


def of_an_argument(x, y):
    return x.amax(1).sum() + y.view(-1).amin()


def checkpointed(x, y):
    return checkpoint(lambda x, y: far(x, y).amin(1).sum(), x, y, use_reentrant=False)


def read_forward(x, y):
    """The program itself reads the comparison: its result was not asked to be another one."""
    d = x.sin()
    return torch.where(d == d.detach().amax(1, keepdim=True), d * y[:5], y[:5]).sum()


def operands(dtype):
    torch.manual_seed(0)
    return [torch.randn(s).to(dtype).requires_grad_() for s in ((5, 3), (6, 3))]


def gradients(function, args):
    function(*args).backward()
    return {f"gradient {i}": a.grad for i, a in enumerate(args)}


def run(function, dtype=torch.float32):
    """The forward graph and the backward graph, after their gradients were compared with eager's."""
    graphs = []
    compiled = Compiled(function, {"fx_pass": graphs.append})
    with float64_reference():
        exact = gradients(function, cloned(operands(dtype), torch.float64))
    eager, found = gradients(function, operands(dtype)), gradients(compiled, operands(dtype))
    wrong = [r for r in judge_all(exact, eager, found, torch.finfo(dtype).eps) if not r.passed]
    assert not wrong, wrong
    return graphs


def extremes(graph):
    return [n for target in EXTREMES for n in graph.find_nodes(op="call_function", target=target)]


@pytest.mark.parametrize(
    ("function", "dtype", "count"),
    [
        (nearest, torch.float32, 3),
        (nearest, torch.bfloat16, 3),
        (largest, torch.float32, 3),
        (scattered, torch.float32, 1),
        pytest.param(both_ends, torch.float32, 1, marks=NEW),
    ],
)
def test_the_backward_graph_takes_it_again(function, dtype, count):
    forward, backward = run(function, dtype)
    assert len(extremes(forward)) == len(extremes(backward)) == count
    for extreme in extremes(backward):
        node = extreme.args[3 if extreme.target is aten.scatter_reduce.two else 0]
        while node.op == "call_function":
            assert node.target.is_view
            node = node.args[0]


@pytest.mark.parametrize(("dtype", "again"), [(torch.float32, True), (torch.bfloat16, False)])
def test_what_every_kernel_computes_alike_is_not_saved(dtype, again):
    """A slope rounds each number once, if nothing is rounded to 16 bits."""
    forward, backward = run(lambda x, y: torch.nn.functional.leaky_relu(far(x, y)).amax(1).sum(), dtype)
    assert [n.args[0].target is aten.leaky_relu.default for n in extremes(backward)] == [again]
    saved = {n.target for n in forward.output_node().args[0]}
    assert (aten.leaky_relu.default in saved) != again


@pytest.mark.parametrize("function", [of_an_argument, checkpointed, read_forward])
def test_left_alone(function):
    _, backward = run(function)
    assert len(extremes(backward)) == (function is checkpointed)
