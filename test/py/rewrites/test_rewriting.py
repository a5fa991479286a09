"""Rewrites of FX graphs leave remarks, as passes do: what, how often, which nodes, which lines."""

from pathlib import Path

import pytest
import torch
from compiling import Compiled
from torch import fx
from torch.nn import functional as F

from fuse_mlir.compiler.base.remarks import Remark, Remarks
from fuse_mlir.compiler.rewrites.rewriting import Rewrite, Rewriting

HERE = str(Path(__file__))


def rewritten(compiled: Compiled) -> dict[str, list[Remark]]:
    """The remarks of rewrites, by the name of the graph that tells them."""
    return {
        graph.name: [r for r in graph.remarks.items if r.rule == "rewritten"] for graph in compiled.graphs
    }


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-1, -2) / 4.0
    return scores.softmax(-1) @ v


@pytest.mark.usefixtures("fresh_dynamo")
def test_spelled_out_attention_is_told_once_with_its_line() -> None:
    compiled = Compiled(attention)
    tensors = [torch.randn(2, 4, 8, 16, requires_grad=True) for _ in range(3)]
    compiled(*tensors).sum().backward()
    told = rewritten(compiled)
    assert told["backward"] == []
    [remark] = [r for r in told["forward"] if r.pass_name == "attention"]
    assert (remark.kind, remark.numbers) == ("passed", (("count", 1),))
    assert remark.message.startswith("spelled-out attention becomes one call of scaled_dot_product_attention")
    assert "scaled_dot_product_attention" in remark.ops
    assert remark.locations == (f"{HERE}:{attention.__code__.co_firstlineno + 2}",)


@pytest.mark.usefixtures("fresh_dynamo")
def test_rewrites_of_the_joint_graph_and_of_its_parts_are_told() -> None:
    def loss(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(F.max_pool2d(x, 2).flatten(1), target)

    compiled = Compiled(loss)
    compiled(torch.randn(4, 2, 8, 8, requires_grad=True), torch.randint(32, (4,))).backward()
    names = {r.pass_name for r in rewritten(compiled)["forward"]}
    assert {"gathers", "pool-offsets"} <= names


@pytest.mark.usefixtures("fresh_dynamo")
def test_what_is_not_rewritten_is_not_told() -> None:
    compiled = Compiled(lambda x: x.exp() + 1)
    compiled(torch.randn(4))
    assert rewritten(compiled) == {"inference": []}


def test_a_rewrite_in_place_names_the_nodes_that_read_something_else() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.relu, (x,))
    z = graph.call_function(torch.exp, (y,))
    graph.output(z)
    gm, remarks = fx.GraphModule(torch.nn.Module(), graph), Remarks()

    def reads_the_argument(gm: fx.GraphModule) -> int:
        z.args = (x,)
        return 1

    Rewriting(gm, remarks).run(Rewrite("reads", "exp reads the argument", reads_the_argument), gm)
    [remark] = remarks.items
    assert (remark.pass_name, remark.ops, remark.locations) == ("reads", ("exp",), ())
    assert (remark.message, remark.numbers) == ("exp reads the argument", (("count", 1),))


def test_a_rewrite_of_values_names_the_nodes_that_have_another_one() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.exp, (x,)))
    gm, remarks = fx.GraphModule(torch.nn.Module(), graph), Remarks()

    def another_value(gm: fx.GraphModule) -> int:
        x.meta["val"] = torch.ones(3)
        return 1

    rewriting = Rewriting(gm, remarks)
    rewriting.run(Rewrite("values", "x has another value", another_value), gm)
    rewriting.run(Rewrite("nothing", "nothing happened", lambda gm: 0), gm)
    [remark] = remarks.items
    assert remark.ops == ("x",)
