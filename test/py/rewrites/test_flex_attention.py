"""rewrites/graph/flex_attention.py: Inductor compiles ``flex_attention``.

Inductor takes 15 seconds for one on a CPU.  So only the test that is marked slow calls it; in the others its
code is the graph that it was given.
"""

import logging

import pytest
import torch
from compiling import Compiled
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import flex_attention

from fuse_mlir.compiler.fx.inductor_graph import InductorGraph, run_inductor_graph
from fuse_mlir.compiler.rewrites.graph import flex_attention as rewrite

Q, K, V = torch.randn(3, 2, 4, 128, 16, generator=torch.Generator().manual_seed(0))
BIAS = torch.linspace(-1, 1, 128)
LOWEST = -float("inf")
INDUCTOR = {"flex_attention": "inductor"}


def attend(q, k, v, bias):
    return flex_attention(
        2 * q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s + bias[j] * h, LOWEST)
    )


def exactly(q, k, v, bias):
    q, k, v = (t.double() for t in (q, k, v))
    size = q.shape[2]
    added = bias.double() * torch.arange(4).view(4, 1, 1) + torch.full((size, size), -torch.inf).triu(1)
    return (q @ k.mT / 2 + added).softmax(-1) @ v


def close(found, *given):
    torch.testing.assert_close(found.double(), exactly(*given), atol=1e-5, rtol=1e-5)


@pytest.fixture
def asked(monkeypatch):
    """The graphs that Inductor is asked for, and how often its code ran: each time it is called, a 1."""
    graphs, calls = [], []

    def compiled(gm, values):
        graphs.append((gm, values))

        def code(given):
            calls.append(1)
            return gm(*given)

        return code

    monkeypatch.setattr(rewrite, "_inductor", compiled)
    return graphs, calls


def remarks_of(compiled):
    return [r for graph in compiled.graphs for r in graph.remarks.items if r.pass_name == "flex-attention"]


def test_inductor_gets_the_op_alone(asked):
    compiled = Compiled(attend, INDUCTOR)
    close(compiled(Q, K, V, BIAS), Q, K, V, BIAS)
    (graphs, calls), [remark] = asked, remarks_of(compiled)
    [(gm, values)] = graphs
    names = [n.target.name() for n in gm.graph.nodes if isinstance(n.target, torch._ops.HigherOrderOperator)]
    assert names == ["flex_attention"] and calls == [1]
    assert [tuple(v.shape) for v in values[:3]] == [tuple(Q.shape)] * 3
    assert "test_flex_attention.py" in remark.locations[0]
    assert "higher_order.run_inductor_graph" in str(compiled.graphs[0].module)


def test_sizes_that_are_symbols(asked):
    compiled = Compiled(attend, INDUCTOR, dynamic=True)
    for size in (256, 384):
        q, k, v = torch.randn(3, 2, 4, size, 16)
        close(compiled(q, k, v, BIAS.repeat(size // 128)), q, k, v, BIAS.repeat(size // 128))
    graphs, calls = asked
    assert len(graphs) == 1 and len(calls) == 2


def test_where_the_op_itself_runs(asked):
    """``verify="numeric"`` runs the program in float64, which the code is not for, and then the code."""
    close(Compiled(attend, {**INDUCTOR, "verify": "numeric"})(Q, K, V, BIAS), Q, K, V, BIAS)
    ran = []
    plain = make_fx(lambda x: (x + 1,))(torch.zeros(2))
    graph = InductorGraph(plain, lambda given: (ran.append(1) or given[0] + 1,), torch.zeros(2))
    for given, by_code in (
        (torch.zeros(2), True),
        (torch.nn.Parameter(torch.zeros(2)), True),
        (torch.zeros(2, dtype=torch.float64), False),
        (torch.zeros(2, device="meta"), False),
    ):
        ran.clear()
        [found] = graph(given)
        assert (found.dtype, found.device) == (given.dtype, given.device) and bool(ran) == by_code
    traced = make_fx(lambda x: run_inductor_graph(graph, x)[0])(torch.zeros(2))
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"] == [torch.ops.aten.add.Tensor]


def test_left_alone(asked, monkeypatch, caplog):
    assert not remarks_of(_ran(Compiled(attend)))
    assert not remarks_of(_ran(Compiled(attend, {"flex_attention": "eager"})))
    assert asked[0] == []

    def fails(gm, values):
        raise RuntimeError("no compiler\nand more lines")

    monkeypatch.setattr(rewrite, "_inductor", fails)
    with caplog.at_level(logging.WARNING):
        [remark] = remarks_of(_ran(Compiled(attend, INDUCTOR)))
    reason = "torch runs it, as Inductor does not compile it: no compiler"
    assert caplog.messages == [f"flex_attention: {reason}"]
    assert (remark.kind, remark.rule) == ("missed", "stays")
    assert remark.message == f"flex_attention stays: {reason}"


def _ran(compiled):
    close(compiled(Q, K, V, BIAS), Q, K, V, BIAS)
    return compiled


def test_gradients_of_captured_tensors_are_results_by_themselves(asked, monkeypatch):
    """torch's op gives them as a tuple beside the other gradients, of which Inductor makes no code."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    compiled = Compiled(attend, INDUCTOR)

    def gradients(function, dtype):
        args = [t.to(dtype).requires_grad_() for t in (Q, K, V, BIAS)]
        return torch.autograd.grad(function(*args).square().sum(), args)

    for found, exact in zip(gradients(compiled, Q.dtype), gradients(exactly, torch.float64), strict=True):
        torch.testing.assert_close(found.double(), exact, atol=1e-4, rtol=1e-4)
    (_, _), (backward, _) = asked[0]
    [results] = backward.graph.find_nodes(op="output")
    assert [type(n.meta["val"]) for n in results.args[0]] == [FakeTensor] * 4
    assert [r.kind for r in remarks_of(compiled)] == ["passed", "passed"]


@pytest.mark.slow
def test_inductor_itself():
    compiled = Compiled(attend, INDUCTOR)
    close(compiled(Q, K, V, BIAS), Q, K, V, BIAS)
    assert remarks_of(compiled)
