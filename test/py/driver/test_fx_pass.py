"""A user's pass over the FX graph that breaks it is named, with what is wrong, whatever it broke."""

import operator

import pytest
import torch
from compiling import Compiled


def first(graph: torch.fx.Graph, op: str) -> torch.fx.Node:
    return graph.find_nodes(op=op)[0]


def without_output(graph: torch.fx.Graph) -> None:
    graph.erase_node(graph.output_node())


def without_argument(graph: torch.fx.Graph) -> None:
    graph.output_node().args = ((None,),)
    for node in reversed([n for n in graph.nodes if n.op != "output"]):
        graph.erase_node(node)


def with_another_result(graph: torch.fx.Graph) -> None:
    output = graph.output_node()
    output.args = ((*output.args[0], output.args[0][0]),)


def with_no_list_of_results(graph: torch.fx.Graph) -> None:
    output = graph.output_node()
    output.args = (output.args[0][0],)


def with_two_outputs(graph: torch.fx.Graph) -> None:
    graph.output(graph.output_node().args[0])


def with_a_use_before_its_definition(graph: torch.fx.Graph) -> None:
    graph.find_nodes(op="call_function", target=torch.ops.aten.sin.default)[0].append(
        first(graph, "placeholder")
    )


def with_a_node_of_another_graph(graph: torch.fx.Graph) -> None:
    graph.output_node().args = ((torch.fx.Graph().placeholder("x"),),)


PASSES = (
    without_output,
    without_argument,
    with_another_result,
    with_no_list_of_results,
    with_two_outputs,
    with_a_use_before_its_definition,
    with_a_node_of_another_graph,
)


@pytest.mark.parametrize("fx_pass", PASSES, ids=lambda p: p.__name__)
def test_a_pass_that_breaks_the_graph_is_named(fresh_dynamo, fx_pass):
    compiled = Compiled(lambda x: x.sin(), {"fx_pass": fx_pass})
    with pytest.raises(Exception, match=rf"the fx_pass {fx_pass.__name__} broke \w+: .") as caught:
        compiled(torch.ones(4))
    assert "StopIteration" not in str(caught.value)


def test_an_error_of_the_pass_is_its_own(fresh_dynamo):
    def fx_pass(graph):
        operator.index("no number")

    with pytest.raises(Exception, match="cannot be interpreted as an integer"):
        Compiled(lambda x: x.sin(), {"fx_pass": fx_pass})(torch.ones(4))
