"""Gradients of attention whose keys, queries and values are alike are as exact as those of the steps."""

import math

import pytest
import torch
from attention_forms import added, filled, no_mask
from compiling import Compiled
from compiling import fused_attentions as fused
from fresh_seeds import seeds
from torch import Tensor

from fuse_mlir.bench.tolerance import judge_all

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

H, T, D = 4, 128, 32


def drawn(seed: int, *, shared: float, peak: float, dtype: torch.dtype) -> list[Tensor]:
    """q, k, v and the gradient of the result, [2, H, T, D]: drawn numbers, and ``shared`` times a vector for
    each that all rows have in common; queries times ``peak``.
    """
    draw = torch.Generator().manual_seed(seed)

    def rows(scale: float) -> Tensor:
        common = torch.randn(D, generator=draw)
        return (torch.randn(2, H, T, D, generator=draw) + scale * common).to(dtype)

    q, k, v, by = rows(shared), rows(shared), rows(shared), rows(0.0)
    return [q * peak, k, v, by]


def judged(form, given: list[Tensor], mask: Tensor | None, compiled: Compiled) -> list[str]:
    """Which gradients of q, k and v are farther from float64 than the rule of the bench allows."""
    found = []
    for call, dtype in ((form, torch.float64), (form, given[0].dtype), (compiled, given[0].dtype)):
        q, k, v = (x.to(dtype, copy=True).requires_grad_() for x in given[:3])
        out = call(q, k, v, mask if mask is None or mask.dtype == torch.bool else mask.to(dtype))
        by = given[3].to(dtype)
        gradients = torch.autograd.grad(out, (q, k, v), by)
        found.append(dict(zip(("grad:q", "grad:k", "grad:v"), gradients, strict=True)))
    rows = judge_all(*found, torch.finfo(given[0].dtype).eps)
    return [str(row) for row in rows if not row.passed]


def causal(q, k, v, mask):
    i = torch.arange(T)
    return (q @ k.mT * D**-0.5).masked_fill(i > i[:, None], -math.inf).softmax(-1) @ v


def by_distance(q, k, v, mask):
    """Unscaled, with a slope by distance."""
    i = torch.arange(T, dtype=q.dtype)
    near = torch.where(i > i[:, None], i[:, None] - i, i - i[:, None])
    return (q @ k.mT + 0.125 * near).softmax(-1) @ v


def padding() -> Tensor:
    mask = torch.zeros(2, 1, 1, T)
    mask[0, ..., T // 4 :] = -math.inf
    return mask


FORMS = {
    "no mask": (no_mask, None),
    "causal": (causal, None),
    "by distance": (by_distance, None),
    "keys hidden": (filled, padding()),
    "keys added": (added, padding()),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_as_exact_as_the_steps(name, dtype):
    form, mask = FORMS[name]
    compiled = Compiled(form)
    for seed in seeds(2):
        for shared, peak in ((0.0, 1.0), (1.0, 0.5), (3.0, 0.25)):
            given = drawn(seed, shared=shared, peak=peak, dtype=dtype)
            assert not judged(form, given, mask, compiled), f"shared {shared}, seed {seed}"
    assert fused(compiled) == 1


def of_projected_keys(q: Tensor, x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    """x: [2, T, D], w: [H * D, D], of which the keys are a product."""
    return no_mask(q, (x @ w.mT).unflatten(-1, (H, D)).transpose(1, 2), v, None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_weights_of_keys_are_as_exact_as_with_the_steps(dtype):
    """What inputs share multiplies the sum of the gradients of keys, which is 0 without rounding."""
    compiled = Compiled(of_projected_keys)
    for seed in seeds(2):
        q, _, v, by = drawn(seed, shared=3.0, peak=0.25, dtype=dtype)
        draw = torch.Generator().manual_seed(seed)
        x = torch.randn(2, T, D, generator=draw) + torch.randn(D, generator=draw)
        given = [q, x.to(dtype), (torch.randn(H * D, D, generator=draw) * D**-0.5).to(dtype), v]
        found = []
        for call, kind in ((of_projected_keys, torch.float64), (of_projected_keys, dtype), (compiled, dtype)):
            arguments = [t.to(kind, copy=True).requires_grad_() for t in given]
            gradients = torch.autograd.grad(call(*arguments), arguments, by.to(kind))
            found.append(dict(zip(("grad:q", "grad:x", "grad:w", "grad:v"), gradients, strict=True)))
        rows = judge_all(*found, torch.finfo(dtype).eps)
        assert not [str(row) for row in rows if not row.passed], f"seed {seed}"
    assert fused(compiled) == 1


def centred(compiled: Compiled) -> bool:
    """Whether a graph of the function takes a mean, as attention itself does not."""
    return any("mean" in str(graph.module) for graph in compiled.graphs)


def called(dtype: torch.dtype, *, gradients: bool) -> Compiled:
    compiled = Compiled(no_mask)
    q, k, v, _ = drawn(0, shared=1.0, peak=1.0, dtype=dtype)
    compiled(q.requires_grad_(gradients), k, v, None)
    assert fused(compiled) == 1
    return compiled


def test_keys_are_centred_where_gradients_of_16_bits_are_asked_for():
    assert centred(called(torch.bfloat16, gradients=True))


@pytest.mark.parametrize(("dtype", "gradients"), [(torch.bfloat16, False), (torch.float32, True)])
def test_keys_stay(dtype, gradients):
    assert not centred(called(dtype, gradients=gradients))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan], ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_a_key_that_is_not_finite_stays_alone(name, value):
    """The last key: rows that do not see it are as they were."""
    form, mask = FORMS[name]
    q, k, v, _ = drawn(0, shared=1.0, peak=0.5, dtype=torch.bfloat16)
    k[..., -1, 0] = value
    found = Compiled(form)(q.requires_grad_(), k, v, mask if mask is None else mask.to(q.dtype))
    want = form(*(x.double() for x in (q, k, v)), mask if mask is None else mask.double())
    finite = want.isfinite().all(-1)
    assert finite.any() == (name in ("causal", "keys hidden") or abs(value) == math.inf)
    torch.testing.assert_close(found.double()[finite], want[finite], rtol=2e-2, atol=2e-2)
