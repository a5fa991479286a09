"""What no module can hold: graphs that torch runs, and arguments that a graph only passes on."""

import logging

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu
from torch import nn
from torch.fx import Graph, GraphModule
from versions import TORCH

from fuse_mlir.compiler.fx.saved_strides import result_strides
from fuse_mlir.compiler.runtime.as_torch import run_as_torch

X = torch.linspace(-3, 3, 12).reshape(3, 4)
QUANTISED = pytest.mark.skipif(TORCH < (2, 13), reason="Dynamo of torch 2.11 has no fake quantised tensors")


def to_meta(x):
    return x.to("meta") * 2, x + 1


def quantised(x):
    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize() * 2


def test_tensors_on_meta():
    hollow, found = Compiled(to_meta)(X)
    assert (hollow.device.type, hollow.shape) == ("meta", X.shape) and torch.equal(found, X + 1)
    assert Compiled(torch.sin)(X.to("meta")).device.type == "meta"


@QUANTISED
@pytest.mark.filterwarnings("ignore:.*quantized tensor creation functions.*")
def test_quantised_tensors(caplog):
    caplog.set_level(logging.WARNING, "fuse_mlir")
    compiled = Compiled(quantised)
    assert torch.equal(compiled(X), quantised(X))
    (graph,) = compiled.graphs
    (fallback,) = graph.fallbacks
    assert "quantise" in fallback.reason and fallback.reason in caplog.text
    assert str(graph.module).startswith("module")


@QUANTISED
@pytest.mark.filterwarnings("ignore:.*quantized tensor creation functions.*")
def test_strict_refuses():
    with pytest.raises(Exception, match="has elements of a quantised type"):
        Compiled(quantised, {"strict": True})(X)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_sparse_gradients(on_gpu):
    words = torch.tensor([1, 2, 2])
    table = nn.Embedding(6, 3, sparse=True)
    eager = torch.autograd.grad(table(words).sum(), table.weight)[0]
    if on_gpu:
        with made_up_gpu():
            torch.autograd.grad(Compiled(table)(words).sum(), table.weight)
        return
    (found,) = torch.autograd.grad(Compiled(table)(words).sum(), table.weight)
    assert found.layout is torch.sparse_coo and torch.equal(found.to_dense(), eager.to_dense())


def test_jagged_tensors():
    """The size of the jagged dim is an argument, and no number."""
    values = [X[:2], X]
    eager = torch.nested.nested_tensor(values, layout=torch.jagged)
    found = Compiled(lambda t: t.sin() * 2)(eager)
    assert torch.equal(found.values(), eager.values().sin() * 2) and torch.equal(
        found.offsets(), eager.offsets()
    )
    assert found.shape[1] == eager.shape[1]  # the offsets are the same object


def test_results_lie_as_the_metadata_says():
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.ops.aten.add.Tensor, (x, 1))
    y.meta["val"] = torch.empty_strided((3, 4), (1, 3))
    graph.output((y, None))
    arguments, gm = [X], GraphModule({}, graph)
    found, nothing = run_as_torch(gm, result_strides(gm))(arguments)
    assert found.stride() == (1, 3) and torch.equal(found, X + 1) and nothing is None and not arguments
