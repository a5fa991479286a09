"""On a CUDA device: templates, with what is computed in their kernels."""

import pytest
import torch
from compiling import Compiled

from fuse_mlir.templates import TemplateConfigurations
from templates import PLUS_AND_TWICE, RMS, plus_and_twice_answer, registered, rms_answer, rms_template

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


def exact_rms(x, w, eps=1e-6):
    scale = (x.square().mean(1) + eps).rsqrt()
    return x * scale[:, None] * w, scale


def normed(x, r, w, norm):
    """A prologue, and an epilogue of each output."""
    y, scale = norm(x + r, w, 1e-6)
    return y.sigmoid() * 2, scale.log()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("spec", [{}, {"prologues": [], "epilogues": []}], ids=str)
def test_results(dynamic, spec):
    """Twice: the second call finds memory that the first one used."""
    with rms_template(**spec):
        compiled = Compiled(lambda x, r, w: normed(x, r, w, RMS), {"cache": False}, dynamic=dynamic)
        for rows in (5, 2000):
            inputs = [torch.randn(s, device="cuda") for s in ((rows, 100), (rows, 100), (100,))]
            expected = normed(*(t.double() for t in inputs), exact_rms)
            found = compiled(*inputs)
            torch.testing.assert_close(found, expected, check_dtype=False, rtol=1e-4, atol=1e-4)
    assert len(compiled.graphs) == (1 if dynamic else 2)
    assert all((g.launches_after == 1) == (not spec) for g in compiled.graphs)  # small launches are combined
    assert {g.externs for g in compiled.graphs} == {0}


def test_one_kernel_for_two_calls_and_both_outputs_of_one():
    def function(x, w):
        twice = RMS(RMS(x, w, 1e-6)[0], w, 1e-6)[0]
        return torch.mul(*PLUS_AND_TWICE([x, twice]))

    x, w = torch.randn(2000, 100, device="cuda"), torch.randn(100, device="cuda")
    with rms_template(), registered(PLUS_AND_TWICE, plus_and_twice_answer):
        found = Compiled(function, {"cache": False})(x, w)
    y = exact_rms(exact_rms(x.double(), w.double())[0], w.double())[0]
    torch.testing.assert_close(found, (y + 1) * y * 2, check_dtype=False, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dynamic", [False, True])
def test_configurations_are_measured_with_what_is_around(dynamic):
    """Twice: the second call runs the choice of the first."""

    def answer(call):
        kernels = [rms_answer(call, num_warps=warps) for warps in (1, 4, 8)]
        return TemplateConfigurations(kernels, [call["x"].shape[0]])

    with registered(RMS, answer, ("y", "scales")):
        compiled = Compiled(lambda x, r, w: normed(x, r, w, RMS), {"cache": False}, dynamic=dynamic)
        inputs = [torch.randn(s, device="cuda") for s in ((2000, 100), (2000, 100), (100,))]
        expected = normed(*(t.double() for t in inputs), exact_rms)
        for _ in range(2):
            torch.testing.assert_close(compiled(*inputs), expected, check_dtype=False, rtol=1e-4, atol=1e-4)
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs) == (1, 0) and "fuse.configs" in str(graph.module)
