"""nested_compile_region: a region is a module inside the module, compiled once and called."""

import pytest
import torch
from nesting import check
from torch.compiler import nested_compile_region

X = torch.arange(32.0).reshape(8, 4).sin()
W = torch.arange(16.0).reshape(4, 4).cos()


@nested_compile_region
def block(x, w):
    return (x.sin() @ w).relu() + 1


def three(x, w):
    return block(block(x, w), w) + block(x * 2, w)


@pytest.mark.products("auto")  # a product is a call
def test_compiled_once_called_thrice():
    (graph,) = check(three, (X, W), where="launch plan").graphs
    text = str(graph.module)
    assert text.count("\n  module @") == 1 and text.count("fuse.graph") == 3
    names = [launch.name for launch in graph.launches]
    assert len([n for n in names if n == "repeated_subgraph0.sin"]) == 3
    assert graph.source.count("def graph_") == 1 and graph.source.count("graph_repeated_subgraph0([") == 3


def test_dynamic_sizes():
    check(three, (X, W), (X[:5], W), dynamic=True, where="launch plan")


def test_training():
    compiled = check(three, (X, W), train=True, where="launch plan")
    assert [g.name for g in compiled.graphs] == ["forward", "backward"]


def test_a_module_with_parameters():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)

        @nested_compile_region
        def forward(self, x):
            return x + self.inner(x).tanh()

    torch.manual_seed(0)
    narrow = torch.nn.Sequential(*(Layer() for _ in range(3)))
    wide = torch.nn.Sequential(*(Layer() for _ in range(3))).double()
    wide.load_state_dict(narrow.state_dict())

    def function(x):
        return (narrow if x.dtype == torch.float32 else wide)(x)

    (graph,) = check(function, (X,), where="launch plan").graphs
    assert str(graph.module).count("\n  module @") == 1


def test_a_region_in_a_branch():
    def function(x, w):
        return torch.cond(x.sum() > 0, lambda x: block(x, w) * 2, lambda x: block(x.cos(), w), (x,))

    check(function, (X, W), (X - 1, W), where="launch plan")


def test_a_region_that_returns_what_it_gets():
    """Its result is storage of its own: what follows may write into either."""

    @nested_compile_region
    def pair(x):
        y = x + 1
        return y, y * 2

    def function(x):
        a, b = pair(x.exp())
        return a.sin() + b, a * 2

    check(function, (X,), where="launch plan")
