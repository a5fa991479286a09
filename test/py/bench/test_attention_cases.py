"""The suite `attention`: each form is judged in eager mode, and a few agree as they are compiled on a CPU."""

import pytest
import torch
from bench_runs import CPU

from fuse_mlir.bench.backends import BACKENDS, CompileReport, compile_function
from fuse_mlir.bench.cases_attention import ATTENTION
from fuse_mlir.bench.graph_check import GraphChecker

#: The forms at one size; `flex_attention` is for compilers.
PLAIN = [name for name in ATTENTION if "2048" in name and not name.startswith("flex")]

QUICK = ("sinks_training", "differential_2", "documents_2")


def judged(name):
    graph = ATTENTION[name]
    made = graph.new(torch.bfloat16, CPU, small=True)
    return graph, made, GraphChecker(graph, made)


def test_ten_forms_are_timed_with_and_without_gradients():
    forms = {name.partition("_2x16")[0] for name in PLAIN if not name.startswith("sdpa")}
    assert len([form for form in forms if form.endswith("_training")]) == 10
    assert len([form for form in forms if not form.endswith("_training")]) == 10


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name.startswith(QUICK) else pytest.mark.slow) for name in PLAIN],
)
def test_a_form_is_judged(name):
    graph, made, checker = judged(name)
    step = graph.step(made.fn)
    assert checker.check(step).passed

    def scaled(*args):
        found = step(*args)
        return tuple(t * 1.5 for t in found) if isinstance(found, tuple) else found * 1.5

    assert not checker.check(scaled).passed


@pytest.mark.parametrize("name", ["flex_soft_cap_1x16x4096x64", "sinks_1x16x4096x64"])
def test_two_compile_and_agree(name):
    torch._dynamo.reset()
    graph, made, checker = judged(name)
    report = CompileReport()
    function = compile_function(BACKENDS["fuse"], made.fn, report, dynamic=False, fullgraph=True)
    verdict = checker.check(graph.step(function))
    assert verdict.passed, verdict.note
    assert report.graphs
