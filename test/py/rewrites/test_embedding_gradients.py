"""Gradients of embeddings are added up in few rows: when, into what, and that no number changes."""

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.rewrites.graph import embedding_gradients
from fuse_mlir.compiler.rewrites.graph.embedding_gradients import compact_embedding_gradients

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread", "any_size")

BF16 = torch.bfloat16
aten = torch.ops.aten
TOKENS = torch.tensor([[3, 7, 3, 150], [0, 3, 150, 199]])


@pytest.fixture
def any_size(monkeypatch):
    """Tables of a test's size count as large."""
    monkeypatch.setattr(embedding_gradients, "LEAST_BYTES", 0)


def lookup(weight: Tensor, tokens: Tensor, padding: int | None = None) -> Tensor:
    return F.embedding(tokens, weight, padding).float().square()


def tied(weight: Tensor, tokens: Tensor) -> Tensor:
    return F.linear(F.embedding(tokens, weight).tanh(), weight).float().square()


def graph_of(gradient: Tensor, words: int) -> GraphModule:
    """The functional graph of an embedding's gradient."""

    def run(gradient: Tensor, tokens: Tensor) -> Tensor:
        return aten.embedding_dense_backward(gradient, tokens, words, -1, False)

    return make_fx(run, decomposition_table=decomposition_table(), tracing_mode="fake")(
        gradient, TOKENS % words
    )


def backward_graphs(function, weight, tokens, **options):
    """Gradients of a compiled function, and its graphs; the weight's gradient is the one result."""
    compiled = Compiled(function, {"layouts": "free", **options})
    weight = weight.detach().clone().requires_grad_()
    compiled(weight, tokens).sum().backward()
    return weight.grad, compiled.graphs


def reference(function, weight, tokens):
    weight = weight.detach().double().requires_grad_()
    function(weight, tokens).sum().backward()
    return weight.grad


@pytest.mark.parametrize("level", ["graph", "planned"])
@pytest.mark.parametrize("function", [lookup, tied])
@pytest.mark.parametrize("words", [200, 203])
def test_the_gradient_is_that_of_a_table_of_all_words(function, words, level):
    torch.manual_seed(0)
    weight = torch.randn(words, 8, dtype=BF16)
    found, graphs = backward_graphs(function, weight, TOKENS, interpret_level=level)
    exact = reference(function, weight, TOKENS)
    eager = weight.clone().requires_grad_()
    function(eager, TOKENS).sum().backward()
    assert (found.double() - exact).norm() <= 1.05 * (
        eager.grad.double() - exact
    ).norm() + 1e-6 * exact.norm()
    assert found.stride() == eager.grad.stride()
    backward = str(graphs[-1].module)
    assert f"tensor<{words}x8xf32>" not in backward and "tensor<8x8xf32>" in backward


def test_it_goes_into_the_product_that_it_is_added_to():
    weight = torch.randn(200, 8, dtype=BF16)
    _, graphs = backward_graphs(tied, weight, TOKENS)
    copies = [x for x in graphs[-1].launches if "index_put" in x.name and "copy" in x.name]
    assert all(x.estimate.bytes < weight.numel() for x in copies)


def test_padding_has_no_gradient():
    weight = torch.randn(200, 8, dtype=BF16)
    found, _ = backward_graphs(lambda w, t: lookup(w, t, 3), weight, TOKENS)
    assert not found[3].any() and found[7].any() and not found[4].any()


@pytest.mark.parametrize(
    ("words", "dtype", "deterministic", "count"),
    [(200, BF16, False, 1), (200, torch.float32, False, 0), (15, BF16, False, 0), (200, BF16, True, 0)],
)
def test_when(words, dtype, deterministic, count):
    gm = graph_of(torch.randn(2, 4, 8, dtype=dtype), words)
    torch.use_deterministic_algorithms(deterministic)
    try:
        assert compact_embedding_gradients(gm) == count
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(("least", "count"), [(2 * 200 * 8 * 4, 1), (2 * 200 * 8 * 4 + 1, 0)])
def test_a_small_table_is_left(monkeypatch, least, count):
    monkeypatch.setattr(embedding_gradients, "LEAST_BYTES", least)
    assert compact_embedding_gradients(graph_of(torch.randn(2, 4, 8, dtype=BF16), 200)) == count


def test_the_numbers_of_each_pass():
    weight = torch.randn(200, 8, dtype=BF16)
    backward_graphs(tied, weight, TOKENS, verify="numeric")
