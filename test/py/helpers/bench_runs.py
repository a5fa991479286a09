"""What the tests of the benchmark share: small graphs, made-up times, a run of the command."""

import json

import torch

from fuse_mlir.bench import run
from fuse_mlir.bench.backends import BACKENDS, CompileReport, compile_function
from fuse_mlir.bench.cases import GRAPHS
from fuse_mlir.bench.cases_further import FURTHER
from fuse_mlir.bench.graph_check import GraphChecker
from fuse_mlir.bench.suites import CONTRACTIONS
from fuse_mlir.bench.timing import Timing

CPU = torch.device("cpu")
#: Of graphs with products, one for each builder: the small sizes of the others are alike.
MULTIPLIED = {graph.build: graph for graph in CONTRACTIONS.values()}
ALL = {**GRAPHS, **FURTHER, **{graph.name: graph for graph in MULTIPLIED.values()}}
DROPOUT = [name for name, graph in GRAPHS.items() if graph.dropout is not None]


def small(name, dtype=torch.float32):
    graph = ALL[name]
    return graph, graph.new(dtype, CPU, small=True)


def timed(p10, p50, p90, **fields):
    return Timing(p10, p50, p90, 10, 1.0, 1.0, 1.0, **fields)


def bench(tmp_path, *arguments):
    """(exit status, what was written) of one run on the CPU."""
    out = tmp_path / "out.json"
    status = run.main(["--device", "cpu", "--small", "--samples", "3", "--out", str(out), *arguments])
    return status, json.loads(out.read_text())


def assert_judged(graph):
    """A case passes in eager mode, and half as much again does not."""
    made, checker = _checked(graph)
    step = graph.step(made.fn)
    assert checker.check(step).passed

    def scaled(*args):
        found = step(*args)
        return tuple(t * 1.5 for t in found) if isinstance(found, tuple) else found * 1.5

    assert not checker.check(scaled).passed


def assert_compiles(graph):
    """A case is compiled whole, and passes."""
    torch._dynamo.reset()
    made, checker = _checked(graph)
    report = CompileReport()
    function = compile_function(BACKENDS["fuse"], made.fn, report, dynamic=False, fullgraph=True)
    verdict = checker.check(graph.step(function))
    assert verdict.passed, verdict.note
    assert report.graphs


def _checked(graph):
    made = graph.new(torch.bfloat16, CPU, small=True)
    return made, GraphChecker(graph, made)
