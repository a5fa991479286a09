"""The rule ``slower``: a merge that computes something again is estimated as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from fusion_modules import Graph, Tensor

from fuse_mlir.compiler.analysis.fusion.form import Limits
from fuse_mlir.compiler.analysis.fusion.graph import GroupGraph
from fuse_mlir.compiler.analysis.fusion.rules import Candidate, judge
from fuse_mlir.compiler.analysis.fusion.score import pays
from fuse_mlir.compiler.cost.clock import microseconds
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.cost.work import Work
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

H200 = hardware_named("h200")


@contextmanager
def graph_of(g: Graph, *outputs: Tensor) -> Iterator[GroupGraph]:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(*outputs))  # lives while the graph does
        yield GroupGraph.of(module)


def candidates(graph: GroupGraph) -> list[Candidate]:
    return [Candidate(graph, a, b, Limits()) for a, b in pairwise(sorted(graph.summaries))]


def test_a_row_that_is_computed_for_each_row_is_spent_again():
    g = Graph()
    bias = g.pointwise("mul", g.input(4096), g.input(4096))
    with graph_of(g, g.pointwise("add", g.input(2048, 4096), bias)) as graph:
        [candidate] = candidates(graph)
        verdict = judge(candidate)
        assert verdict.refusal is None and verdict.slots == 2047 * 4096
        assert verdict.work >= 2 * 2048 * 4096  # a product and a sum for each point, and their loads


def test_nothing_is_estimated_where_nothing_runs_again():
    g = Graph()
    x = g.pointwise("mul", g.input(64, 4096), g.input(64, 4096))
    with graph_of(g, g.pointwise("add", x, g.input(64, 4096))) as graph:
        [candidate] = candidates(graph)
        assert judge(candidate)[1:] == (0, 0, None)


def test_one_kernel_pays_if_it_takes_no_longer_than_two():
    long = 100 * H200.launch
    assert pays(long, long, H200)
    assert not pays(long + 0.1, long, H200)  # a launch goes on behind a long kernel
    assert pays(2 * H200.launch, 1.5 * H200.launch, H200)
    assert not pays(3 * H200.launch, 1.5 * H200.launch, H200)


def test_moving_and_issuing_add_up():
    fused = H200.rates.streaming.fused
    moved = microseconds(Work(10**9), H200, fused)
    issued = microseconds(Work(slots=10**9), H200, fused)
    assert moved == pytest.approx(1e6 / H200.bandwidth)
    assert issued == pytest.approx(1e15 / H200.slots_per_second)
    assert microseconds(Work(10**9, slots=10**9), H200, fused) == moved + issued
