"""On a CUDA device: what reads a user's Triton kernel is computed where that stores it."""

import pytest
import torch
from compiling import Compiled
from user_epilogues import CASES, inputs_of, one_after_the_other, require_close, rms_norm_quantised

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("model", CASES, ids=lambda f: f.__name__)
def test_results(model, dynamic):
    """Twice: the second call finds memory that the first one used."""
    compiled = Compiled(model, dynamic=dynamic)
    for _ in range(2):
        inputs = inputs_of(model, "cuda")
        require_close(model, compiled(*inputs), inputs)
    if not dynamic:
        own = 2 if model is one_after_the_other else 1  # launches of users' kernels
        assert (compiled.graphs[0].launches_after == own) == (CASES[model][0] is None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits_are_rounded_before_they_are_read(dtype):
    """As in eager: what is quantised are the rounded rows, so results differ by one step at most."""
    x, w, scale = (v.to(dtype) for v in inputs_of(rms_norm_quantised, "cuda"))
    with torch.no_grad():
        compiled = Compiled(rms_norm_quantised, {"rounding": "eager"})
        found, expected = compiled(x, w, scale), rms_norm_quantised(x, w, scale)
    assert compiled.graphs[0].launches_after == 1
    torch.testing.assert_close(found.float(), expected.float(), rtol=2**-3, atol=2**-9)
