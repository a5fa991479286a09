"""Attention with a learned mask runs in a fused kernel, forward and backward: the rewrite, on sizes alone
(the kernel needs a GPU: `test_gpu.py` compares its numbers)."""

import operator

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.attention_bias import attend_with_learned_masks

KERNEL = torch.ops.aten._scaled_dot_product_efficient_attention.default
Q = (2, 3, 32, 64)


def captured(
    mask_shape=(1, 3, 32, 32), *, dtype=torch.bfloat16, device="cuda", learned=True, q=Q, k=Q, **given
):
    """A graph of one attention as Dynamo captures it."""
    graph = Graph()
    with FakeTensorMode():
        shapes = {"q": q, "k": k, "v": k, "mask": mask_shape}
        values = {
            name: torch.empty(shape, dtype=dtype, device=device, requires_grad=learned or name != "mask")
            for name, shape in shapes.items()
        }
        out = torch.empty(q, dtype=dtype, device=device)
    nodes = [graph.placeholder(name) for name in values]
    for node, value in zip(nodes, values.values(), strict=True):
        node.meta["example_value"] = value
    attention = graph.call_function(
        F.scaled_dot_product_attention, tuple(nodes[:3]), {"attn_mask": nodes[3], **given}
    )
    attention.meta["example_value"] = out
    graph.output(attention)
    return GraphModule({}, graph)


def test_a_learned_mask_takes_the_kernel_that_has_its_gradient():
    gm = captured(scale=1.0)
    assert attend_with_learned_masks(gm) == 1
    [made] = [n for n in gm.graph.nodes if n.target is KERNEL]
    assert made.args[4:] == (True, 0.0, False) and made.kwargs == {"scale": 1.0}
    shapes = (Q, Q, Q, (1, 3, 32, 32))
    values = [torch.empty(s, dtype=torch.bfloat16, device="meta", requires_grad=True) for s in shapes]
    out = gm(*values)
    gradients = torch.autograd.grad(out, values, torch.empty_like(out))
    assert out.is_contiguous()
    assert [g.shape for g in gradients] == [v.shape for v in values]


def test_layers_share_the_mask_that_they_share():
    gm = captured()
    graph, [attention] = gm.graph, [n for n in gm.graph.nodes if n.target is F.scaled_dot_product_attention]
    with graph.inserting_after(attention):
        second = graph.node_copy(attention)
    second.args = (attention, *second.args[1:])
    next(iter(graph.find_nodes(op="output"))).args = (second,)
    assert attend_with_learned_masks(gm) == 2
    assert len([n for n in graph.nodes if n.target == "expand"]) == 1


def test_merged_heads_need_no_copy():
    gm = captured()
    graph, [attention] = gm.graph, [n for n in gm.graph.nodes if n.target is F.scaled_dot_product_attention]
    output = next(iter(graph.find_nodes(op="output")))
    with graph.inserting_before(output):
        merged = graph.call_method("reshape", (graph.call_method("transpose", (attention, 1, 2)), 2, 32, -1))
    output.args = (merged,)
    assert attend_with_learned_masks(gm) == 1
    assert [n for n in graph.nodes if n.target is operator.getitem]
    assert len([n for n in graph.nodes if n.target == "contiguous"]) == 1  # of the mask


@pytest.mark.parametrize(
    "given",
    [
        {"learned": False},
        {"device": "cpu"},
        {"dtype": torch.float64},
        {"dropout_p": 0.1},
        {"is_causal": True},
        {"enable_gqa": True},
        {"mask_shape": (1, 3, 32, 1)},
        {"mask_shape": (3, 1, 3, 32, 32)},
        {"q": (2, 3, 32, 12), "k": (2, 3, 32, 12)},
        {"k": (2, 3, 40, 64), "mask_shape": (1, 3, 32, 40)},
    ],
    ids=str,
)
def test_what_the_kernel_does_not_do_stays(given):
    gm = captured(**given)
    assert attend_with_learned_masks(gm) == 0
    assert [n for n in gm.graph.nodes if n.target is F.scaled_dot_product_attention]


def test_switches_of_torch_are_obeyed():
    gm = captured()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert attend_with_learned_masks(gm) == 0
    torch.use_deterministic_algorithms(True)
    try:
        assert attend_with_learned_masks(gm) == 0
    finally:
        torch.use_deterministic_algorithms(False)
    assert attend_with_learned_masks(gm) == 1
