"""A wait for several tensors becomes a wait for each; ``helpers/two_processes.py`` runs them.

Torch has such waits from 2.15 on, so a library of the test's own stands in for them.
"""

import operator
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from fuse_mlir.compiler.fx.collectives import reads_until
from fuse_mlir.compiler.fx.in_flight import is_collective, is_wait
from fuse_mlir.compiler.rewrites.graph.collective_waits import wait_for_all
from fuse_mlir.compiler.rewrites.graph.separate_waits import separate_waits

c10d = torch.ops._c10d_functional


@pytest.fixture(autouse=True)
def waits_for_several() -> Iterator[None]:
    """The op, where this torch has none."""
    if hasattr(c10d, "wait_tensors"):
        yield
        return
    library = torch.library.Library("_c10d_functional", "FRAGMENT")
    library.define("wait_tensors(Tensor[] tensors) -> Tensor[]")
    yield
    library._destroy()
    c10d.__dict__.pop("wait_tensors", None)


def graph_of(*, whole: bool) -> fx.GraphModule:
    """Two sums over processes, one wait for both, and what reads it.  ``whole``: the list is a result."""
    value = FakeTensorMode().from_tensor(torch.ones(4))
    graph = fx.Graph()
    x = graph.placeholder("x")
    both = graph.call_function(c10d.all_reduce_coalesced.default, ([x, x], "sum", "0"))
    parts = [graph.call_function(operator.getitem, (both, n)) for n in (0, 1)]
    waits = graph.call_function(c10d.wait_tensors.default, (parts,))
    taken = [graph.call_function(operator.getitem, (waits, n)) for n in (1, 0)]
    result = graph.call_function(torch.ops.aten.add.Tensor, tuple(taken))
    for node in (x, *parts, *taken, result):
        node.meta["val"] = value
    both.meta["val"] = waits.meta["val"] = [value, value]
    graph.output((result, waits) if whole else (result,))
    return fx.GraphModule(torch.nn.Module(), graph)


def calls(gm: fx.GraphModule, target: Any) -> list[fx.Node]:
    return list(gm.graph.find_nodes(op="call_function", target=target))


@pytest.mark.parametrize("whole", [False, True])
def test_each_tensor_gets_a_wait(whole: bool) -> None:
    gm = graph_of(whole=whole)
    assert separate_waits(gm) == 1
    gm.graph.lint()
    first, second = calls(gm, c10d.wait_tensor.default)
    [start] = calls(gm, c10d.all_reduce_coalesced.default)
    [reader] = calls(gm, torch.ops.aten.add.Tensor)
    assert [w.args[0].args for w in (first, second)] == [(start, 0), (start, 1)]
    assert reader.args == (second, first) and not calls(gm, c10d.wait_tensors.default)
    output = gm.graph.output_node().args[0]
    assert output == ((reader, [first, second]) if whole else (reader,))
    assert reads_until(gm.graph) == {
        wait: [gm.graph.find_nodes(op="placeholder")[0]] for wait in (first, second)
    }


def test_left_alone() -> None:
    gm = graph_of(whole=False)
    separate_waits(gm)
    before = str(gm.graph)
    assert separate_waits(gm) == 0 == wait_for_all(gm) and str(gm.graph) == before


def test_a_wait_for_several_starts_nothing() -> None:
    [wait] = calls(graph_of(whole=False), c10d.wait_tensors.default)
    assert not is_collective(wait) and not is_wait(wait)
