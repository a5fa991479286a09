"""Masks whose keys are strided are made contiguous where a fused kernel of a GPU then takes them."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.captured.attention_mask_layout import lay_out_masks

B, H, T, D = 2, 3, 16, 8


def masked(mask, *, device="cuda", dtype=torch.bfloat16, keys=T, head=D, needs_gradient=False):
    """A graph of one attention whose operands have sizes only; mask: makes one from the device."""
    graph = torch.fx.Graph()
    with FakeTensorMode():
        values = {name: torch.empty(B, H, n, head, dtype=dtype, device=device) for name, n in _sizes(keys)}
        values["query"].requires_grad_(needs_gradient)
        values["attn_mask"] = mask(device)
    nodes = {name: graph.placeholder(name) for name in values}
    for name, node in nodes.items():
        node.meta["example_value"] = values[name]
    positional = tuple(nodes[name] for name in ("query", "key", "value"))
    out = graph.call_function(F.scaled_dot_product_attention, positional, {"attn_mask": nodes["attn_mask"]})
    with FakeTensorMode():
        out.meta["example_value"] = torch.empty(B, H, T, head, dtype=dtype, device=device)
    graph.output(out)
    return torch.fx.GraphModule({}, graph)


def _sizes(keys):
    return (("query", T), ("key", keys), ("value", keys))


def heads_last(device, dtype=torch.bfloat16, keys=T):
    return torch.empty(1, T, keys, H, dtype=dtype, device=device).permute(0, 3, 1, 2)


def methods(gm):
    return [node.target for node in gm.graph.nodes if node.op == "call_method"]


def test_a_mask_with_strided_keys_is_made_contiguous():
    gm = masked(heads_last)
    assert lay_out_masks(gm) == 1
    assert methods(gm) == ["contiguous", "contiguous"]  # of the mask, and of the result as eager has it
    q, k, v = (torch.randn(B, H, T, D, dtype=torch.float64) for _ in range(3))
    bias = torch.randn(1, T, T, H, dtype=torch.float64).permute(0, 3, 1, 2)
    want = torch.softmax(q @ k.transpose(-2, -1) / D**0.5 + bias, -1) @ v
    torch.testing.assert_close(gm(q, k, v, bias), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("mask", "how"),
    [
        (heads_last, {"device": "cpu"}),
        (lambda device: torch.empty(1, H, T, T, dtype=torch.bfloat16, device=device), {}),
        (lambda device: torch.empty(1, T, 1, H, dtype=torch.bfloat16, device=device).permute(0, 3, 1, 2), {}),
        (lambda device: heads_last(device, torch.float32), {}),
        (lambda device: heads_last(device, torch.float32), {"dtype": torch.float32}),
        (heads_last, {"head": 12}),
        (lambda device: heads_last(device, keys=64), {"keys": 64, "needs_gradient": True}),
    ],
    ids=["cpu", "contiguous", "one_key", "other_dtype", "ieee_float32", "head_of_12", "gradient_of_64_keys"],
)
def test_left_alone(mask, how):
    gm = masked(mask, **how)
    assert lay_out_masks(gm) == 0
    assert methods(gm) == []


def test_keys_are_centred_where_something_needs_a_gradient():
    gm = masked(heads_last, needs_gradient=True)
    assert lay_out_masks(gm) == 1
    assert methods(gm) == ["contiguous", "mean", "nan_to_num", "sub", "contiguous"]
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    q, k, v = (draw(B, H, T, D) for _ in range(3))
    given = [q, k + 3 * draw(D), v, draw(1, T, T, H).permute(0, 3, 1, 2)]
    found, want = [x.clone().requires_grad_() for x in given], [x.clone().requires_grad_() for x in given]
    out = gm(*found)
    exact = torch.softmax(want[0] @ want[1].transpose(-2, -1) / D**0.5 + want[3], -1) @ want[2]
    torch.testing.assert_close(out, exact, rtol=1e-12, atol=1e-12)
    by = draw(B, H, T, D)
    pairs = zip(torch.autograd.grad(out, found, by), torch.autograd.grad(exact, want, by), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


def test_merged_heads_need_no_copy():
    gm = masked(heads_last)
    graph, [attention] = gm.graph, [n for n in gm.graph.nodes if n.target is F.scaled_dot_product_attention]
    output = next(iter(graph.find_nodes(op="output")))
    with graph.inserting_before(output):
        merged = graph.call_method("reshape", (graph.call_method("transpose", (attention, 1, 2)), B, T, -1))
    output.args = (merged,)
    assert lay_out_masks(gm) == 1
    assert methods(gm) == ["contiguous", "transpose", "reshape"]


def test_64_keys_are_fine_without_a_gradient():
    assert lay_out_masks(masked(lambda device: heads_last(device, keys=64), keys=64)) == 1
    assert lay_out_masks(masked(heads_last, needs_gradient=True)) == 1


def test_a_bool_mask_and_one_that_autocast_casts():
    assert lay_out_masks(masked(lambda device: heads_last(device, torch.bool))) == 1
    torch.set_autocast_enabled("cuda", True)
    try:
        assert lay_out_masks(masked(lambda device: heads_last(device, torch.float32))) == 1
    finally:
        torch.set_autocast_enabled("cuda", False)


def test_deterministic_algorithms_leave_it_alone():
    torch.use_deterministic_algorithms(True)
    try:
        assert lay_out_masks(masked(heads_last)) == 0
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_graph_without_values_is_left_alone():
    gm = masked(heads_last)
    for node in gm.graph.nodes:
        node.meta.clear()
    assert lay_out_masks(gm) == 0
