"""What is computed twice in a joint graph is computed once; what only looks equal is not merged."""

import subprocess
import sys

import pytest
import torch
from torch._functorch.compile_utils import rand_ops
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.joint.equal_nodes import merge_equal_nodes

aten = torch.ops.aten


def calls(function, *args):
    """The names of the ops of a function, traced and merged."""
    traced = make_fx(function, tracing_mode="fake")(*args)
    traced.graph.eliminate_dead_code()
    before = len(traced.graph.nodes)
    assert merge_equal_nodes(traced) == before - len(traced.graph.nodes)
    graph = traced.graph
    graph.lint()
    return [node.target.__name__ for node in graph.nodes if node.op == "call_function"]


X = torch.ones(4, 8)


def test_equal_calls_become_one_and_so_do_their_readers():
    def twice(x):
        return (x.sum([1], keepdim=True) + 1.0).exp() * (x.sum([1], keepdim=True) + 1.0).exp().cos()

    assert calls(twice, X) == ["sum.dim_IntList", "add.Tensor", "exp.default", "cos.default", "mul.Tensor"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.rand_like(x) - torch.rand_like(x),
        lambda x: aten.native_dropout(x, 0.5, True)[0] - aten.native_dropout(x, 0.5, True)[0],
        lambda x: aten.empty([2]).fill_(1) + aten.empty([2]),
        lambda x: [x + 1, x + 1],  # eager's results do not share storage
        lambda x: (x + 1).cos() - (x + 1.0).cos() - (x + True).cos(),
        lambda x: (x * 0.0).cos() - (x * -0.0).cos(),
        lambda x: x.sum([0]).sum() - x.sum([1]).sum(),
        lambda x: (x.sin().exp(), x.view(-1).add_(1), x.sin().cos())[::2],  # x is another one
    ],
    ids=["random", "dropout", "empty", "returned", "types", "zeros", "lists", "written"],
)
def test_what_is_not_merged(function):
    graph = make_fx(function, tracing_mode="fake")(X.clone()).graph
    graph.eliminate_dead_code()
    before = [n for n in graph.nodes if n.op == "call_function"]
    assert len(calls(function, X.clone())) == len(before)


def test_numbers_that_data_decide_keep_their_symbols():
    def read_twice(x):
        return x * x[0, 0].item() - x * x[0, 0].item()

    traced = make_fx(read_twice, tracing_mode="symbolic")(X)
    merge_equal_nodes(traced)
    assert len(traced.graph.find_nodes(op="call_function", target=aten.select.int)) == 2
    reads = traced.graph.find_nodes(op="call_function", target=aten._local_scalar_dense.default)
    assert len(reads) == 2
    assert all(read.meta["unbacked_bindings"] for read in reads)


def test_random_ops_of_torch_are_tagged():
    for packet in rand_ops:
        for name in packet.overloads():
            overload = getattr(packet, name)
            assert torch.Tag.nondeterministic_seeded in overload.tags or overload._schema.is_mutable, overload


def test_a_training_step_imports_none_of_inductors_lowerings():
    script = (
        "import sys, torch; from fuse_mlir.compiler.backend import fuse\n"
        "m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))\n"
        "torch.compile(m, backend=fuse)(torch.ones(2, 8)).sum().backward()\n"
        "sys.exit('torch._inductor.lowering' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
