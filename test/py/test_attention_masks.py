"""Masks that the graph alone determines: which are recognised, and that the numbers stay those of eager."""

import pytest
import torch
from compiling import check
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.attention_masks import simplify_masks

B, H, T, D = 2, 3, 8, 16


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def operands(t=T, s=T, b=B):
    return [torch.randn(b, H, n, D) for n in (t, s, s)]


def captured(function, args, dynamic=False):
    """The graph that Dynamo hands to a backend, and how many masks were simplified in it."""
    found = []

    def backend(gm, inputs):
        found.append((gm, simplify_masks(gm)))
        return gm

    torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)(*args)
    [(gm, count)] = found
    return gm, count


def attention_of(gm):
    [node] = [n for n in gm.graph.nodes if n.target is F.scaled_dot_product_attention]
    return node


def ramp_mask(q):
    i = torch.arange(q.shape[-2], device=q.device)
    return i[None, :] <= i[:, None]


def causal_of_ramps(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=ramp_mask(q))


def causal_of_packed_positions(q, k, v):
    positions = torch.arange(q.shape[-2], device=q.device).unsqueeze(0).expand(q.shape[0], -1)
    packed = (torch.diff(positions, prepend=positions[:, :1] - 1, dim=-1) != 1).cumsum(-1)
    batch = torch.arange(q.shape[0], device=q.device)[:, None, None, None]
    i = torch.arange(q.shape[-2], device=q.device)
    rows, columns = i[None, None, :, None], i[None, None, None, :]
    mask = i.new_ones((), dtype=torch.bool) & (packed[batch, rows] == packed[batch, columns])
    return F.scaled_dot_product_attention(q, k, v, mask & (columns <= rows), scale=0.3)


def causal_added(q, k, v):
    hidden = torch.full((T, T), float("-inf")).triu(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=hidden)


def causal_filled(q, k, v):
    least = torch.finfo(q.dtype).min
    mask = torch.zeros(T, T).masked_fill(ramp_mask(q).logical_not(), least)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[None, None])


def causal_by_names_of_devices(q, k, v):
    i = torch.arange(T, device=str(q.device)).to(device=q.device)
    mask = (i.to("cpu")[None, :] <= i[:, None]).to(q.device, torch.bool)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@pytest.mark.parametrize(
    "function",
    [causal_by_names_of_devices, causal_of_ramps, causal_of_packed_positions, causal_added, causal_filled],
)
def test_causal(function):
    gm, count = captured(function, operands())
    assert count == 1
    assert attention_of(gm).kwargs["is_causal"] is True
    assert attention_of(gm).kwargs["attn_mask"] is None
    check(function, *operands())


def test_a_mask_that_hides_nothing_is_none():
    def function(q, k, v):
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.5)

    gm, count = captured(function, operands(4, 8))
    assert count == 1
    assert attention_of(gm).kwargs["attn_mask"] is None
    assert attention_of(gm).kwargs["is_causal"] is False
    check(function, *operands(4, 8))


def test_one_mask_for_two_attentions():
    def function(q, k, v):
        mask = ramp_mask(q)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return F.scaled_dot_product_attention(out, k, v, attn_mask=mask)

    assert captured(function, operands())[1] == 2
    check(function, *operands())


def of_an_argument(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=ramp_mask(q) & (q[0, 0, 0, 0] < 9))


def one_off_the_diagonal(q, k, v):
    i = torch.arange(T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=i[None, :] <= i[:, None] + 1)


def a_window(q, k, v):
    i = torch.arange(T)
    mask = ramp_mask(q) & (i[None, :] + 4 > i[:, None])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def a_bias(q, k, v):
    i = torch.arange(T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=-(i[None, :] - i[:, None]).float() * 0.1)


def written_to(q, k, v):
    mask = ramp_mask(q)
    mask[:, 0] = True
    mask[0] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def random(q, k, v):
    mask = ramp_mask(q) & (torch.rand(T, T) < 2)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@pytest.mark.parametrize(
    "function", [of_an_argument, one_off_the_diagonal, a_window, a_bias, written_to, random]
)
def test_left_alone(function):
    assert captured(function, operands())[1] == 0


def test_more_keys_than_queries_are_left_alone():
    def function(q, k, v):
        mask = torch.ones(4, 8, dtype=torch.bool).tril()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    assert captured(function, operands(4, 8))[1] == 0


def test_unknown_sizes_are_left_alone():
    assert captured(causal_of_ramps, operands(), dynamic=True)[1] == 0
    check(causal_of_ramps, *operands(), dynamic=True)
