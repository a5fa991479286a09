"""The suite `wild2`: each workload is judged, and compiled on a CPU it agrees with eager mode."""

import pytest
import torch
from bench_runs import CPU
from torch.utils import _pytree as pytree

from fuse_mlir.bench.backends import BACKENDS, CompileReport, compile_function
from fuse_mlir.bench.graph_check import GraphChecker
from fuse_mlir.bench.wild import WILD
from fuse_mlir.bench.wild2 import WILD2

QUICK = ("several_hashes", "moments_in_bytes", "padded_bags")


def named(word):
    [name] = [name for name in WILD2 if name.startswith(word)]
    return name


def judged(name):
    graph = WILD2[name]
    made = graph.new(graph.dtypes[0], CPU, small=True)
    return graph, made, GraphChecker(graph, made)


def agrees(name):
    """The verdict on the workload as it is compiled here."""
    torch._dynamo.reset()
    graph, made, checker = judged(name)
    report = CompileReport()
    function = compile_function(BACKENDS["fuse"], made.fn, report, dynamic=False, fullgraph=True)
    verdict = checker.check(graph.step(function))
    assert report.graphs
    return verdict


def subject(name):
    return name.rpartition("_")[0]


def test_there_are_eighty_that_wild_does_not_have():
    assert len(WILD2) >= 80
    assert not {subject(name) for name in WILD2} & {subject(name) for name in WILD}


@pytest.mark.slow
@pytest.mark.parametrize("name", WILD2)
def test_a_workload_is_judged(name):
    graph, made, checker = judged(name)
    step = graph.step(made.fn)
    assert checker.check(step).passed

    def changed(*args):
        found = step(*args)
        for tensor in pytree.tree_leaves(args if graph.mutates else found):
            if isinstance(tensor, torch.Tensor):
                tensor.copy_(tensor * 1.5 if tensor.is_floating_point() else 1 - tensor.int())
        return found

    assert not checker.check(changed).passed


@pytest.mark.parametrize("word", QUICK)
def test_a_few_compile_and_agree(word):
    verdict = agrees(named(word))
    assert verdict.passed, verdict.note


@pytest.mark.slow
@pytest.mark.parametrize("name", WILD2)
def test_every_one_compiles_and_agrees(name):
    verdict = agrees(name)
    assert verdict.passed, verdict.note
