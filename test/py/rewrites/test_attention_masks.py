"""Masks that the graph alone determines (``known_values``): which are recognised, and that the numbers stay
those of eager.
"""

import pytest
import torch
from compiling import check
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.captured.attention_masks import simplify_masks

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


def packed_positions_by_methods(positions_are_known: bool) -> torch.fx.GraphModule:
    """What torch 2.11 captures of comparisons: methods named after operators, not functions."""
    graph = torch.fx.Graph()

    def made(value, op, target, *args, **kwargs):
        node = graph.create_node(op, target, args, kwargs)
        node.meta["example_value"] = value
        return node

    def method(value, *args, **kwargs):
        return made(value, "call_method", *args, **kwargs)

    q, k, v = (made(x, "placeholder", name) for name, x in zip("qkv", operands(), strict=True))
    ramp, row = torch.arange(T), torch.arange(T)[None]
    if positions_are_known:
        i = made(ramp, "call_function", torch.arange, T)
        positions = method(row, "unsqueeze", i, 0)
    else:
        positions = made(row, "placeholder", "positions")
        i = made(ramp, "call_function", torch.arange, T)
    first = method(row[:, :1], "__getitem__", positions, (slice(None), slice(None, 1)))
    steps = made(row, "call_function", torch.diff, positions, prepend=method(row[:, :1], "__sub__", first, 1))
    packed = method(row, "cumsum", method(row > 0, "__ne__", steps, 1), -1)
    rows, columns = method(ramp[:, None], "unsqueeze", i, 1), method(row, "unsqueeze", i, 0)
    zero = made(ramp[:1], "call_function", torch.zeros, 1, dtype=torch.int64)
    of_row, of_column = (method(torch.zeros(T, T), "__getitem__", packed, (zero, x)) for x in (rows, columns))
    square = torch.ones(T, T, dtype=torch.bool)
    same, seen = method(square, "__eq__", of_row, of_column), method(square, "__le__", columns, rows)
    mask = method(square, "__and__", same, seen)
    graph.output(graph.call_function(F.scaled_dot_product_attention, (q, k, v), {"attn_mask": mask}))
    return torch.fx.GraphModule({}, graph)


def test_comparisons_captured_as_methods():
    gm = packed_positions_by_methods(positions_are_known=True)
    q, k, v = (x.double() for x in operands())
    want = gm(q, k, v)
    assert simplify_masks(gm) == 1
    assert attention_of(gm).kwargs["is_causal"] is True
    torch.testing.assert_close(gm(q, k, v), want, rtol=1e-12, atol=1e-12)


def test_positions_of_the_caller_are_left_alone():
    assert simplify_masks(packed_positions_by_methods(positions_are_known=False)) == 0


def bias_heads_last(q, weight):
    i = torch.arange(q.shape[-2])
    return F.embedding((i[None, :] - i[:, None]).abs(), weight).permute(2, 0, 1).unsqueeze(0)


def lowest_elsewhere(q, k, v, weight, seen):
    bias = torch.where(seen, bias_heads_last(q, weight), torch.finfo(q.dtype).min)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def bias_where_all_is_seen(q, k, v, weight):
    return lowest_elsewhere(q, k, v, weight, torch.ones(q.shape[0], 1, T, T, dtype=torch.bool))


def bias_where_a_batch_sees_the_same(q, k, v, weight):
    return lowest_elsewhere(q, k, v, weight, ramp_mask(q).expand(q.shape[0], 1, T, T))


def bias_where_rows_see_different_keys(q, k, v, weight):
    lengths = torch.arange(q.shape[0]) + 3
    seen = (torch.arange(T)[None, :] < lengths[:, None])[:, None, None, :].expand(q.shape[0], 1, T, T)
    return lowest_elsewhere(q, k, v, weight, seen)


def bias_of_each_batch(q, k, v, weight):
    seen = ramp_mask(q).expand(q.shape[0], 1, T, T)
    bias = torch.where(seen, bias_heads_last(q, weight) * q[:, :, :1, :1], -1e30)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


@pytest.mark.parametrize("function", [bias_where_all_is_seen, bias_where_a_batch_sees_the_same])
@pytest.mark.parametrize("training", [False, True])
def test_a_bias_under_a_known_mask_loses_its_batch(function, training):
    args = [*operands(), torch.randn(T, H)]
    gm, count = captured(function, args)
    assert count == 1
    mask = attention_of(gm).kwargs["attn_mask"]
    assert mask.meta["example_value"].shape == (1, H, T, T)
    if training:
        args[-1].requires_grad_()
    check(function, *args)


@pytest.mark.parametrize("function", [bias_where_rows_see_different_keys, bias_of_each_batch])
def test_a_bias_under_another_mask_keeps_its_batch(function):
    args = [*operands(), torch.randn(T, H)]
    assert captured(function, args)[1] == 0
    check(function, *args)


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
