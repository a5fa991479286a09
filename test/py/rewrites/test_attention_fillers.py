"""Attention whose hidden scores are filled in: fused where the number takes, or leaves, no weight."""

import math
import re

import pytest
import torch
from attention_forms import operands
from compiling import Compiled, check
from compiling import fused_attentions as fused
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

FILLERS = {"inf": -math.inf, "lowest": torch.finfo(torch.float32).min, "-1e9": -1e9, "-1e4": -1e4, "1.5": 1.5}


def filled(q, k, v, mask, value, keep):
    scores = q @ k.mT
    scores = torch.where(mask, scores, value) if keep else scores.masked_fill(mask, value)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("shape", [(2, 1, 1, 7), (1, 7), (7,), (2, 1, 5, 7), (5, 7)], ids=str)
def test_filled_mask(shape, keep):
    """Keys that are hidden from all queries alike are fused, whatever their scores become; other masks that
    are data are not.
    """

    def form(q, k, v, mask):
        return tuple(filled(q, k, v, mask, value, keep) for value in FILLERS.values())

    mask = torch.rand(*shape) < 0.5
    mask[..., 0] = keep
    if len(shape) > 2:
        mask[0] = not keep  # rows without keys: NaN, or all of them weigh the same
    compiled, args = Compiled(form), [*operands(2, 3), mask]
    for a, b in zip(compiled(*args), form(*args), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
    assert fused(compiled) == (len(FILLERS) if len(shape) == 1 or shape[-2] == 1 else 0)


@pytest.mark.parametrize("name", FILLERS)
def test_filled_causal_mask(name):
    """It is causal where what is filled in leaves no weight beside any score."""
    value = FILLERS[name]

    def form(q, k, v, keep=name == "lowest"):
        i = torch.arange(5)
        hidden = i[None, :] > i[:, None]
        return filled(q, k, v, ~hidden if keep else hidden, value, keep)

    compiled = check(form, *operands(2, 3, s=5))
    assert fused(compiled) == (value <= -1e9)
    module = str(compiled.graphs[0].module)
    causal = re.search(r"fuse.args = \[.*, true\].*aten._scaled_dot_product", module)
    assert bool(causal) == fused(compiled), "is_causal is the last argument"


def test_what_is_filled_in_must_be_a_number_of_the_mask():
    """1e30, which takes all weight, NaN, and -0.3 beside float32 scores of 16-bit operands."""
    mask = torch.arange(7) > 4

    def form(q, k, v, value):
        return F.softmax((q @ k.mT).float().masked_fill(mask, value), -1).to(q.dtype) @ v

    for value, dtype, count in (
        (1e30, torch.float32, 0),
        (math.nan, torch.float32, 0),
        (math.inf, torch.float32, 0),
        (-0.3, torch.bfloat16, 0),
        (-0.5, torch.bfloat16, 1),
        (-1e9, torch.bfloat16, 1),
        (-1e9, torch.float16, 0),
    ):
        compiled = Compiled(lambda q, k, v, value=value: form(q, k, v, value))
        args = operands(2, 3, dtype=dtype)
        found, want = compiled(*args), form(*args, value)
        torch.testing.assert_close(found, want, rtol=2e-2, atol=2e-2, equal_nan=True)
        assert fused(compiled) == count, value


def test_filled_window_stays():
    def form(q, k, v):
        i = torch.arange(5)
        return filled(q, k, v, i[None, :] > i[:, None] + 1, -math.inf, False)

    assert fused(check(form, *operands(2, 3, s=5))) == 0


def test_filled_keys_of_training():
    """Rows without keys have equal weights, or are NaN, and gradients of hidden scores are 0."""
    mask = torch.stack([torch.arange(7) > 4, torch.ones(7, dtype=torch.bool)])[:, None, None]
    given, values = operands(2, 3), list(FILLERS.values())

    def form(q, k, v, mask):
        return tuple(filled(*(x[n] for x in (q, k, v)), mask, value, False) for n, value in enumerate(values))

    compiled, given = Compiled(form), [torch.stack([x] * len(values)) for x in given]
    found, want = (
        torch.autograd.grad(sum(out.square().sum() for out in f(*args, mask)), args)
        for f, args in (
            (compiled, [x.clone().requires_grad_() for x in given]),
            (form, [x.double().requires_grad_() for x in given]),
        )
    )
    assert fused(compiled) == len(values)
    for a, b in zip(found, want, strict=True):
        assert a[0, 1].isnan().all() == b[0, 1].isnan().all(), "NaN in eager, too"
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5, equal_nan=True)
