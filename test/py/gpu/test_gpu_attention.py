"""Attention on a CUDA device: what its kernels do with rows and keys that hold nothing finite, and keys that
are split."""

import math

import pytest
import torch
from attention_forms import added, filled, filled_with_least, no_mask
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

INF, NAN = math.inf, math.nan


def operands(dtype=torch.bfloat16) -> list[Tensor]:
    return [torch.randn(2, 4, 128, 64, device="cuda", dtype=dtype) for _ in range(3)]


def causal(q, k, v, mask):
    i = torch.arange(128, device=q.device)
    return (q @ k.mT * 0.125).masked_fill(i > i[:, None], -INF).softmax(-1) @ v


def masks(dtype=torch.bfloat16) -> dict[str, Tensor]:
    keys = torch.zeros(2, 1, 1, 128, device="cuda", dtype=dtype)
    keys[..., 100:] = -INF
    closed = keys.clone()
    closed[1] = -INF
    rows = torch.zeros(128, 128, device="cuda", dtype=dtype)
    rows[:, 100:], rows[2] = -INF, -INF
    return {
        "keys": keys,
        "closed": closed,
        "rows": rows,
        "closed least": closed.clamp(min=torch.finfo(dtype).min),
        "rows least": rows.clamp(min=torch.finfo(dtype).min),
    }


ODD = {
    "finite": lambda q, k, v: None,
    "a masked key is NaN": lambda q, k, v: k[..., 120, :].fill_(NAN),
    "a score is inf": lambda q, k, v: k[..., 1, 0].fill_(INF),
    "a query is NaN": lambda q, k, v: q[..., 1, 0].fill_(NAN),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("mask", ["keys", "closed", "rows", "closed least", "rows least"])
@pytest.mark.parametrize(
    "form", [no_mask, added, filled, filled_with_least, causal], ids=lambda form: form.__name__
)
def test_special_numbers(form, mask, odd):
    given = [*operands(), masks()[mask]]
    ODD[odd](*given[:3])
    found, want = Compiled(form)(*given), form(*given)
    torch.testing.assert_close(found, want, rtol=3e-2, atol=3e-2, equal_nan=True)


@pytest.mark.parametrize("mask", ["keys", "closed", "rows", "closed least", "rows least"])
@pytest.mark.parametrize("form", [added, filled, filled_with_least], ids=lambda form: form.__name__)
def test_gradients_of_rows_without_keys(form, mask):
    """No further from float64 than eager's are, and NaN where these are."""
    given, bias = [x.requires_grad_() for x in operands()], masks()[mask]
    exact = [x.detach().double().requires_grad_() for x in given]
    # the least number of 16 bits counts as that in float64, too
    wide = torch.where(bias == torch.finfo(bias.dtype).min, torch.finfo(torch.float64).min, bias.double())
    found, eager, want = (
        torch.autograd.grad(f(*args, b).double().square().sum(), args)
        for f, args, b in ((Compiled(form), given, bias), (form, given, bias), (form, exact, wide))
    )
    for mine, theirs, true in zip(found, eager, want, strict=True):
        assert torch.equal(mine.isnan(), theirs.isnan())
        ours, least, size = ((x.double() - y).nan_to_num().norm() for x, y in (
            (mine, true), (theirs, true), (true, torch.zeros_like(true))))  # fmt: skip
        assert ours <= 1.05 * least + 1e-3 * size + 1e-6


def grouped(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def spelled_out(q, k, v, mask):
    q = q.view(q.shape[0], k.shape[1], -1, q.shape[-1])
    return ((q @ k.mT) * 0.0884 + mask).softmax(-1) @ v


@pytest.mark.parametrize("boolean", [False, True])
@pytest.mark.parametrize("form", [grouped, spelled_out], ids=lambda form: form.__name__)
def test_split_keys(form, boolean):
    q = torch.randn(1, 32, 1, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, 8, 32768, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    seen = torch.arange(32768, device="cuda")[None, None, None] < 30000
    mask = (
        seen
        if boolean and form is grouped
        else torch.zeros_like(seen, dtype=q.dtype).masked_fill(~seen, -INF)
    )
    compiled = Compiled(form)
    found = compiled(q, k, v, mask)
    names = [launch.name for launch in compiled.graphs[0].launches]
    assert not any("attention" in name for name in names), names
    want = form(q.double(), k.double(), v.double(), mask if mask.dtype == torch.bool else mask.double())
    torch.testing.assert_close(found.double(), want, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("at", [0, 700, 1023])
def test_one_query_against_a_short_cache(at):
    """Of a decoding step: two kernels, and numbers as near to float64 as 16 bits are."""
    q = torch.randn(1, 32, 1, 64, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, 8, 1024, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def step(q, k, v, at):
        seen = (torch.arange(1024, device="cuda") <= at)[None, None, None]
        return grouped(q, k, v, seen)

    compiled, place = Compiled(step), torch.tensor([at], device="cuda")
    found = compiled(q, k, v, place)
    assert [launch.kind for launch in compiled.graphs[0].launches] == ["kernel", "kernel"]
    want = step(q.double(), k.double(), v.double(), place)
    assert (found.double() - want).norm() <= 4e-3 * want.norm()
