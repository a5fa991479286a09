"""Keys that are split: where that is estimated to be faster, and what the products over parts compute."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.nn import functional as F

from fuse_mlir.compiler.cost.attention import MaskedAttention
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.fx.new_node import new_node
from fuse_mlir.compiler.rewrites.captured.attention_splits import (
    KeySplit,
    masked_attention,
    split_attention,
    split_keys,
)

H100 = hardware_named("h100")
DECODING = MaskedAttention(batch=1, heads=32, key_heads=8, queries=1, keys=32768, width=128, itemsize=2)


def test_the_estimates_are_what_was_measured():
    assert DECODING.call_us(H100) == pytest.approx(633, rel=0.1)
    assert DECODING.split_us(H100) == pytest.approx(90, rel=0.15)


SIZES = (
    (DECODING, 64),
    (MaskedAttention(1, 32, 32, 1, 32768, 128, 2), 128),  # one row: columns of values are summed
    (MaskedAttention(1, 32, 32, 1, 8192, 128, 2), 16),  # parts would be too short for that
    (MaskedAttention(1, 32, 32, 2, 32768, 128, 2), 16),
    (MaskedAttention(1, 32, 8, 4, 32768, 128, 2), 64),
    (MaskedAttention(1, 8, 8, 4, 4096, 128, 2), 32),
    (MaskedAttention(16, 32, 8, 1, 8192, 128, 2), 1),  # enough programs
    (MaskedAttention(1, 32, 8, 1, 512, 128, 2), 1),  # few keys: launches cost more
    (MaskedAttention(1, 32, 8, 64, 32768, 128, 2), 1),  # 256 rows fill tiles
    (MaskedAttention(1, 32, 8, 1, 32767, 128, 2), 1),  # no equal parts
    (MaskedAttention(1, 16, 16, 2048, 2048, 64, 2), 1),
)


@pytest.mark.parametrize(("sizes", "parts"), SIZES, ids=str)
def test_what_is_split(sizes, parts):
    assert sizes.parts(H100) == parts


def split_module(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, parts: int, scale: float) -> GraphModule:
    sizes = masked_attention(q, k, v, mask, grouped=True)
    assert isinstance(sizes, MaskedAttention), sizes
    graph = Graph()
    given = [graph.placeholder(name) for name in ("q", "k", "v", "mask")]
    by = KeySplit(sizes, parts, scale, torch.float32, "cpu")
    graph.output(split_attention(partial(new_node, graph, like=given[0]), by, *given, mask))
    return GraphModule({}, graph)


MASKS = ((2, 6, 3, 16), (2, 1, 1, 16), (1, 6, 1, 16), (3, 16), (6, 1, 16), (1, 16))


@pytest.mark.parametrize("boolean", [False, True])
@pytest.mark.parametrize("shape", MASKS, ids=str)
@pytest.mark.parametrize("key_heads", [2, 6])
def test_products_over_parts(key_heads, shape, boolean):
    sixteen = [
        torch.empty(2, h, n, 8, dtype=torch.bfloat16) for h, n in ((6, 3), (key_heads, 16), (key_heads, 16))
    ]
    q, k, v = (torch.randn(x.shape) for x in sixteen)
    mask = torch.rand(shape) < 0.6
    mask[..., 3] = True
    mask = mask if boolean else torch.randn(shape).masked_fill(~mask, -torch.inf)
    told = mask if boolean else mask.bfloat16()
    module = split_module(*sixteen, told, parts=4, scale=0.2)
    want = F.scaled_dot_product_attention(
        *(x.double() for x in (q, k, v)), mask if boolean else mask.double(), scale=0.2, enable_gqa=True
    )
    torch.testing.assert_close(module(q, k, v, mask).double(), want, rtol=1e-4, atol=1e-5)


def test_rows_without_keys_and_numbers_that_are_not_finite():
    shapes = [torch.empty(1, 2, n, 8, dtype=torch.bfloat16) for n in (3, 16, 16)]
    q, k, v = (torch.randn(x.shape) for x in shapes)
    mask = torch.arange(16).expand(3, 16) < 5
    mask = mask & (torch.arange(3) != 1)[:, None]
    module = split_module(*shapes, mask, parts=4, scale=1.0)
    k[:, :, 5:] = torch.nan
    found = module(q, k, v, mask)
    assert found[:, :, 1].eq(0).all()
    want = F.scaled_dot_product_attention(q[:, :, ::2], k[:, :, :5], v[:, :, :5], scale=1.0)
    torch.testing.assert_close(found[:, :, ::2], want)
    k[:, 0, 2] = torch.nan
    assert module(q, k, v, mask)[:, 0, 0].isnan().all()


def decoding(device="cuda", dtype=torch.bfloat16, keys=32768, heads=8, **how) -> GraphModule:
    """One query of 32 heads, of sizes only."""
    graph = Graph()
    with FakeTensorMode():
        made = partial(torch.empty, device=device, dtype=dtype)
        values = {"q": made(1, 32, 1, 128), "k": made(1, heads, keys, 128), "v": made(1, heads, keys, 128)}
        values["mask"] = torch.empty(1, 1, 1, keys, device=device, dtype=torch.bool)
        given = {name: graph.placeholder(name) for name in values}
        for name, node in given.items():
            node.meta["example_value"] = values[name]
        q, k, v, mask = given.values()
        arguments = {"attn_mask": mask, "enable_gqa": heads != 32, **how}
        out = graph.call_function(F.scaled_dot_product_attention, (q, k, v), arguments)
        out.meta["example_value"] = made(1, 32, 1, 128)
        graph.output(out)
    return GraphModule({}, graph)


def test_fires():
    gm = decoding()
    assert split_keys(gm) == 1
    assert not any(node.target is F.scaled_dot_product_attention for node in gm.graph.nodes)
    products = [node for node in gm.graph.nodes if node.target is torch.bmm]
    assert [node.kwargs for node in products] == [{"out_dtype": torch.float32}] * 2


@pytest.mark.parametrize(
    "how",
    [
        {"device": "cpu"},
        {"dtype": torch.float32},
        {"keys": 512},
        {"attn_mask": None},
        {"attn_mask": None, "is_causal": True},
        {"dropout_p": 0.1},
        {"heads": 8, "enable_gqa": False},
    ],
    ids=str,
)
def test_does_not_fire(how):
    assert split_keys(decoding(**how)) == 0


@pytest.mark.parametrize(
    ("shape", "fits"), [((1, 6, 1, 16), True), ((1, 1, 1, 16), True), ((1, 16), True), ((1, 2, 1, 16), False)]
)
def test_a_mask_has_all_heads_or_one(shape, fits):
    q, k, mask = (torch.empty(s, dtype=torch.bfloat16) for s in ((1, 6, 1, 8), (1, 2, 16, 8), shape))
    found = masked_attention(q, k, k, mask, grouped=True)
    assert (
        isinstance(found, MaskedAttention) if fits else found == "the mask is broadcast over groups of heads"
    )


def test_autocast_and_deterministic_algorithms(monkeypatch):
    torch.use_deterministic_algorithms(True)
    try:
        assert split_keys(decoding()) == 0
    finally:
        torch.use_deterministic_algorithms(False)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    assert split_keys(decoding()) == 0
