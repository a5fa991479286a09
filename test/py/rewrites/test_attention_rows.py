"""Rows and keys that hold nothing finite: what is fused gives what eager gives, and so do its gradients."""

import math

import pytest
import torch
from attention_forms import added, filled, filled_with_least, no_mask
from compiling import Compiled
from compiling import fused_attentions as fused
from fresh_seeds import seeds
from random_masks import MaskProgram, difference
from torch import Tensor
from torch.nn import functional as F
from versions import TORCH

from fuse_mlir.compiler.rewrites.captured import attention

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

INF, NAN = math.inf, math.nan


def operands(dtype=torch.float32) -> list[Tensor]:
    return [torch.randn(2, 3, n, 8, dtype=dtype) for n in (5, 7, 7)]


def causal(q, k, v, mask):
    k, v = k[..., :5, :], v[..., :5, :]
    i = torch.arange(5)
    return (q @ k.mT).masked_fill(i > i[:, None], -INF).softmax(-1) @ v


def masks() -> dict[str, Tensor]:
    keys = torch.zeros(2, 1, 1, 7)
    keys[:, ..., 4:] = -INF
    closed = keys.clone()
    closed[1] = -INF
    rows = torch.zeros(5, 7)
    rows[:, 4:], rows[2] = -INF, -INF
    return {
        "keys": keys,
        "closed": closed,
        "rows": rows,
        "least": rows.clamp(min=torch.finfo(torch.float32).min),
    }


#: What is put in keys, queries or values: at a masked key (5), a key that is seen (1), everywhere.
ODD = {
    "finite": lambda q, k, v: None,
    "a masked key is NaN": lambda q, k, v: k[..., 5, :].fill_(NAN),
    "a masked key is inf": lambda q, k, v: k[..., 5, 0].fill_(INF),
    "masked keys are -inf": lambda q, k, v: k[..., 4:, :].fill_(-INF),
    "a masked value is NaN": lambda q, k, v: v[..., 5, :].fill_(NAN),
    "a masked value is inf": lambda q, k, v: v[..., 5, :].fill_(INF),
    "a seen key is NaN": lambda q, k, v: k[..., 1, :].fill_(NAN),
    "a score is inf": lambda q, k, v: k[..., 1, 0].fill_(INF),
    "a score is -inf": lambda q, k, v: k[..., 1, 0].fill_(-INF),
    "the first key is -inf": lambda q, k, v: k[..., 0, 0].fill_(-INF),
    "all keys are -inf": lambda q, k, v: k[..., 0].fill_(-INF),
    "a query is NaN": lambda q, k, v: q[..., 1, 0].fill_(NAN),
    "a query is inf": lambda q, k, v: (q[..., 1, 0].fill_(INF), k[..., :4, 0].abs_().neg_()),
    "a query is -inf": lambda q, k, v: q[..., 1, 0].fill_(-INF),
    "the cache is unused": lambda q, k, v: (k[..., 4:, :].fill_(NAN), v[..., 4:, :].fill_(0)),
}


@pytest.mark.parametrize(
    ("form", "mask"),
    [
        *((form, mask) for form in (added, filled, filled_with_least) for mask in masks()),
        *((form, "keys") for form in (no_mask, causal)),  # neither reads the mask
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_special_numbers(form, mask):
    compiled = Compiled(form)
    for odd, put in ODD.items():
        torch.manual_seed(0)
        given = [*operands(), masks()[mask]]
        put(*given[:3])
        found, want = compiled(*given), form(*given)
        if form is filled_with_least and odd == "a query is inf" and mask in ("keys", "closed"):
            sees = mask == "keys" or torch.tensor([True, False])[:, None, None]
            assert (found[:, :, 1].isnan() == sees).all(), "eager gives the mean of hidden values"
            found, want = (x.nan_to_num().index_fill(2, torch.tensor(1), 0.0) for x in (found, want))
        torch.testing.assert_close(
            found, want, rtol=1e-4, atol=1e-5, equal_nan=True, msg=lambda m, odd=odd: f"{odd}: {m}"
        )
    stays = form in (filled, filled_with_least) and mask not in ("keys", "closed")
    assert fused(compiled) != stays
    assert len(compiled.graphs) == 1


def test_rows_without_keys_are_nan_in_the_mask(monkeypatch):
    """As on a GPU, where nothing is added to the result."""
    monkeypatch.setattr(attention, "loses_rows", lambda q: False)
    given = operands()
    compiled = Compiled(lambda *args: (added(*args[:4]), filled(*args[:4]), added(*args[:3], args[4])))
    found = compiled(*given, masks()["closed"], masks()["rows"])
    assert fused(compiled) == 3
    for a, form, mask in zip(found, (added, filled, added), ("closed", "closed", "rows"), strict=True):
        want = form(*given, masks()[mask])
        assert want.isnan().any()
        torch.testing.assert_close(a, want, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mask", masks())
@pytest.mark.parametrize("form", [added, filled], ids=lambda form: form.__name__)
def test_gradients_of_rows_without_keys(form, mask, dtype):
    given, bias = operands(dtype), masks()[mask]
    bias = bias.clamp(min=torch.finfo(dtype).min).to(dtype) if mask == "least" else bias.to(dtype)
    found, want = (
        torch.autograd.grad(f(*args, bias.to(args[0].dtype)).float().square().sum(), args)
        for f, args in (
            (Compiled(form), [x.clone().requires_grad_() for x in given]),
            (form, [x.double().requires_grad_() for x in given]),
        )
    )
    close = {"rtol": 5e-2, "atol": 5e-2} if dtype == torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-5}
    for a, b in zip(found, want, strict=True):
        torch.testing.assert_close(a.double(), b.double(), equal_nan=True, **close)


#: What is added to all keys of a row, or to some.
ADDED = (-INF, -1e30, -1e9, -1e4, -300.0, 1.5, 500.0, 1e9, INF, NAN)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_gradients_under_one_row_of_numbers(dtype):
    """A mask that is data is added to all queries alike: whatever its numbers are, in all of a row or not."""
    given, compiled = operands(dtype), Compiled(added)
    values = [x for x in (*ADDED, torch.finfo(dtype).min) if not torch.finfo(dtype).max < abs(x) < INF]
    for value in values:
        closed, part, bias = (torch.zeros(2, 1, 1, 7, dtype=dtype) for _ in range(3))
        closed[1], part[1, ..., 3:] = value, value
        bias[1] = value + torch.arange(7)
        for mask in (closed, part, bias):
            results = []
            for call, kind in ((compiled, dtype), (added, dtype), (added, torch.float64)):
                args = [x.to(kind).clone().requires_grad_() for x in given]
                out = call(*args, mask.to(kind)).double()
                results.append([out.detach(), *torch.autograd.grad(out.square().sum(), args)])
            close = {torch.bfloat16: 3e-2, torch.float16: 5e-3}.get(dtype, 2e-4)
            for found, *wanted in zip(*([x.double() for x in row] for row in results), strict=True):
                assert any(torch.allclose(found, want, close, close, equal_nan=True) for want in wanted), (
                    value
                )
    made_of_others = dtype == torch.float64 and TORCH < (2, 13)  # frontend/autograd/cpu_attention.py
    assert fused(compiled) == (0 if made_of_others else 1)


def test_the_gradient_under_rows_that_are_data_stays_as_written():
    given = [x.requires_grad_() for x in operands()]
    compiled = Compiled(added)
    compiled(*given, masks()["rows"]).nan_to_num().sum().backward()
    assert fused(compiled) == 0


@pytest.mark.parametrize(
    "odd", ["a masked key is NaN", "a masked key is inf", "a query is NaN", "a seen key is NaN"]
)
@pytest.mark.parametrize("form", [added, filled, filled_with_least], ids=lambda form: form.__name__)
def test_gradients_read_hidden_keys(form, odd):
    """A hidden key times 0 is NaN where it is not finite: so is the gradient of the query."""
    given, bias = operands(), masks()["closed"]
    ODD[odd](*given)
    compiled = Compiled(form)
    found, want = (
        torch.autograd.grad(f(*args, bias).nan_to_num().square().sum(), args)
        for f, args in ((compiled, given), (form, [x.clone() for x in given]))
        for args in [[x.requires_grad_() for x in args]]
    )
    assert fused(compiled) == 1
    for a, b in zip(found, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


def prefix(q, k, v):
    mask = torch.full((5, 5), -INF, dtype=q.dtype).triu(1)
    mask[:, :2].zero_()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def prefix_spelled_out(q, k, v):
    mask = torch.full((5, 5), -INF, dtype=q.dtype).triu(1)
    mask[:, :2].zero_()
    return (q @ k.mT + mask).softmax(-1) @ v


def padded(q, k, v):
    seen = torch.ones(5, 5, dtype=torch.bool)
    seen.t()[3:].fill_(False)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def into_a_bias(q, k, v):
    bias = torch.ones(2, 3, 5, 5, dtype=q.dtype)
    bias += q @ k.mT
    return bias.softmax(-1) @ v, bias


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("form", [prefix, prefix_spelled_out, padded, into_a_bias], ids=lambda f: f.__name__)
def test_masks_that_are_written_through_views(form, training):
    given = [torch.randn(2, 3, 5, 8, dtype=torch.float64) for _ in range(3)]
    if training:
        given = [x.requires_grad_() for x in given]
    results = []
    for call in (Compiled(form), form):
        outs = torch.utils._pytree.tree_leaves(call(*given))
        results.append([*outs, *(torch.autograd.grad(outs[0].square().sum(), given) if training else ())])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("seed", seeds(24))
def test_drawn(seed):
    program = MaskProgram.drawn(seed)
    told = difference(program)
    assert told is None, f"{program}: {told}"
