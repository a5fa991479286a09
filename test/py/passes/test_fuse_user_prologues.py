"""Tensors that users' Triton kernels compute where they load them: on the interpreter, beside float64."""

import pytest
import torch
from compiling import Compiled, cloned
from prologue_models import APART, FUSED, bools, both_factors, half, softmax_of_sum, two_of_one
from user_kernels import triton_without_a_gpu

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.fixture(autouse=True)
def captured():
    with triton_without_a_gpu(), torch.no_grad():
        yield


def run(function, exactly, shapes, dynamic=False, **options):
    """The one graph of ``function``, whose results are those of ``exactly`` in float64."""
    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in shapes]
    expected = exactly(*cloned(inputs, torch.float64))
    compiled = Compiled(function, options, dynamic=dynamic)
    torch.testing.assert_close(compiled(*inputs), expected, check_dtype=False, rtol=2e-5, atol=2e-5)
    return compiled.graphs[0]


def rules(graph, kind):
    items = graph.remarks.items
    return [r.rule for r in items if r.pass_name == "fuse-user-prologues" and r.kind == kind]


@pytest.mark.parametrize("function", FUSED, ids=lambda f: f.__name__)
def test_computed_at_the_load(function):
    exactly, kernels, *shapes = FUSED[function]
    graph = run(function, exactly, shapes)
    assert graph.launches_after == kernels and graph.externs == 0
    assert set(rules(graph, "passed")) == {"fused"} and not rules(graph, "missed")


@pytest.mark.parametrize("level", ["tiled", "planned"])
def test_every_level_computes_it(level):
    exactly, _, *shapes = FUSED[both_factors]
    run(both_factors, exactly, shapes, interpret_level=level)


@pytest.mark.parametrize("function", [softmax_of_sum, bools, half], ids=lambda f: f.__name__)
def test_sizes_are_symbols(function):
    exactly, kernels, *shapes = FUSED[function]
    graph = run(function, exactly, shapes, dynamic=True, verify="numeric")
    assert graph.launches_after == kernels and 'fuse.sym = "s' in str(graph.module)


def test_kernels_may_stay_as_they_are_written():
    exactly, _, *shapes = FUSED[two_of_one]
    graph = run(two_of_one, exactly, shapes, user_kernels="apart")
    assert graph.launches_after == 2 and not rules(graph, "passed") and not rules(graph, "missed")


@pytest.mark.parametrize("function", APART, ids=lambda f: f.__name__)
def test_stays_in_front(function):
    exactly, rule, *shapes = APART[function]
    graph = run(function, exactly, shapes)
    assert rule in rules(graph, "missed") and not rules(graph, "passed")
