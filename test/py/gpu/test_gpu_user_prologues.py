"""On a CUDA device: tensors that users' Triton kernels compute where they load them."""

import pytest
import torch
from compiling import Compiled
from prologue_models import APART, FUSED

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]
RESULTS = {function: (exactly, shapes) for function, (exactly, _, *shapes) in (FUSED | APART).items()}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", RESULTS, ids=lambda f: f.__name__)
def test_results(function, dynamic):
    """Twice: the second call finds memory that the first one used."""
    exactly, shapes = RESULTS[function]
    compiled = Compiled(function, {"cache": False}, dynamic=dynamic)
    for _ in range(2):
        inputs = [torch.randn(shape, device="cuda") for shape in shapes]
        expected = exactly(*(x.double() for x in inputs))
        found = compiled(*inputs)
        torch.testing.assert_close(found, expected, check_dtype=False, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", FUSED, ids=lambda f: f.__name__)
def test_launches(function):
    _, kernels, *shapes = FUSED[function]
    compiled = Compiled(function, {"cache": False})
    compiled(*(torch.randn(shape, device="cuda") for shape in shapes))
    assert compiled.graphs[0].launches_after <= kernels  # launches may be combined on a device
    assert any(
        r.pass_name == "fuse-user-prologues" and r.kind == "passed" for r in compiled.graphs[0].remarks.items
    )
