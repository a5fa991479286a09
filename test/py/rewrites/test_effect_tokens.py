"""Ops with effects run in order, whether or not anybody reads what they return."""

import pytest
import torch
from compiling import Compiled
from versions import TORCH

from fuse_mlir.compiler.rewrites.graph.effect_tokens import drop_tokens

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

matrix = torch.eye(4) * 3 + torch.arange(16.0).view(4, 4) / 16


@pytest.mark.parametrize(
    "function",
    [
        torch.linalg.inv,
        lambda a: torch.linalg.solve(a, a.t()).sin(),
        lambda a: torch.linalg.cholesky(a @ a.t()) + torch.linalg.inv(a),
    ],
)
def test_training(function):
    """The graphs take no token, so strides and results are where AOTAutograd looks for them."""
    given = [matrix.clone().requires_grad_() for _ in range(2)]
    compiled = Compiled(function)
    results = [call(a) for call, a in zip((compiled, function), given, strict=True)]
    torch.testing.assert_close(*results)
    for result in results:
        (result * torch.arange(16.0).view(4, 4)).sum().backward()
    torch.testing.assert_close(given[0].grad, given[1].grad)
    assert [graph.name for graph in compiled.graphs] == ["forward", "backward"]


def test_tokens_go():
    compiled = Compiled(torch.linalg.inv)
    compiled(matrix)
    [graph] = compiled.graphs
    remarks = [r for r in graph.remarks.items if r.pass_name == "effect-tokens"]
    assert len(remarks) == (TORCH >= (2, 13)), "torch 2.11 gives this op no token"
    for remark in remarks:
        assert remark.numbers == (("count", 1),) and "_linalg_check_errors_default" in remark.ops[0]
    assert "_linalg_check_errors" in str(graph.module)
    assert "with_effects" not in str(graph.module)


def test_effects_of_higher_order_ops_keep_theirs():
    graph = torch.fx.Graph()
    token = graph.call_function(torch.ops.prims._make_token.default)
    run = torch.ops.higher_order.invoke_subgraph
    both = graph.call_function(torch.ops.higher_order.with_effects, (token, run, None, "region"))
    graph.output((both,))
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    assert drop_tokens(gm) == 0
    assert [n.target for n in gm.graph.nodes][1:2] == [torch.ops.higher_order.with_effects]


def test_errors_are_raised():
    compiled = Compiled(torch.linalg.inv)
    torch.testing.assert_close(compiled(matrix), torch.linalg.inv(matrix))
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        compiled(torch.zeros(4, 4))


def test_order():
    """A custom op with an effect and several results, one without."""
    seen = []
    with torch.library._scoped_library("effect_tokens", "DEF") as library:
        library.define("note(Tensor x, int number) -> Tensor")
        library.define("pair(Tensor x) -> (Tensor, Tensor)")
        library.impl("note", lambda x, n: (seen.append(n), x + n)[1], "CPU")
        library.impl("pair", lambda x: (seen.append("pair"), x + 1, x + 2)[1:], "CPU")
        torch.library.register_fake("effect_tokens::note", lambda x, n: x + n, lib=library)
        torch.library.register_fake("effect_tokens::pair", lambda x: (x + 1, x + 2), lib=library)
        ops = torch.ops.effect_tokens
        for op in (ops.note.default, ops.pair.default):
            torch.library._register_effectful_op(op, torch.library.EffectType.ORDERED)

        def function(x):
            ops.note(x, 1)
            first, second = ops.pair(x.sin())
            return ops.note(first * second, 2) + first

        x = torch.ones(3)
        found, eager = Compiled(function)(x), function(x)
    torch.testing.assert_close(found, eager)
    assert seen == [1, "pair", 2] * 2
