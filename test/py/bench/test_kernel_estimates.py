"""Kinds of generated kernels, beside whose times estimates are written down."""

import pytest
import torch
from compiling import check

from fuse_mlir.bench.kernel_estimates import GRAPHS, kind_of

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

KINDS = {
    "pointwise": (lambda x, i: x * 2, 1),
    "reduces": (lambda x, i: x.sum(1), 1),
    "looks rows up": (lambda x, i: x[i] * 2, 1),
    "adds at places": (lambda x, i: torch.zeros_like(x).index_add(0, i, x), 2),
    "scans": (lambda x, i: x.cumsum(1), 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_a_kernel(kind):
    function, launches = KINDS[kind]
    given = torch.randn(64, 64), torch.randint(0, 64, (64,))
    (graph,) = check(function, *given, interpret_level="planned", hardware="h200").graphs
    assert graph.launches_after == launches
    kernels = [op.operation for op in graph.module.body.operations if op.operation.name == "tt.func"]
    assert kind_of(kernels[-1]) == kind or kind in map(kind_of, kernels)


def test_both_suites_are_there():
    assert len(GRAPHS) > 200
