"""A collective gets a wait where the graph has none; ``fx/test_ordered_collectives.py`` runs them."""

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from fuse_mlir.compiler.rewrites.graph.collective_waits import wait_for_all

c10d = torch.ops._c10d_functional


def graph_of(*, waits: bool) -> fx.GraphModule:
    """A sum over processes, and what reads it."""
    value = FakeTensorMode().from_tensor(torch.ones(4))
    graph = fx.Graph()
    nodes = [graph.placeholder("x")]
    nodes.append(graph.call_function(c10d.all_reduce.default, (nodes[-1], "sum", "0")))
    if waits:
        nodes.append(graph.call_function(c10d.wait_tensor.default, (nodes[-1],)))
    nodes.append(graph.call_function(torch.ops.aten.sin.default, (nodes[-1],)))
    for node in nodes:
        node.meta["val"] = value
    graph.output((nodes[-1],))
    return fx.GraphModule(torch.nn.Module(), graph)


def test_a_collective_gets_a_wait() -> None:
    gm = graph_of(waits=False)
    assert wait_for_all(gm) == 1
    [wait] = gm.graph.find_nodes(op="call_function", target=c10d.wait_tensor.default)
    [start] = gm.graph.find_nodes(op="call_function", target=c10d.all_reduce.default)
    [reader] = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.sin.default)
    assert (wait.args, reader.args) == ((start,), (wait,))


def test_left_alone() -> None:
    gm = graph_of(waits=True)
    assert wait_for_all(gm) == 0
    assert len(gm.graph.find_nodes(op="call_function", target=c10d.wait_tensor.default)) == 1
