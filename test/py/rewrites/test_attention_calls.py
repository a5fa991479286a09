"""rewrites/attention/attention_calls.py: calls of attention under a mask that are spelled out."""

from typing import Any

import pytest
import torch
from compiling import Compiled
from draws import drawn
from told import Told
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, symbolic_trace
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nn import functional as F

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.cost.attention import LoopedAttention, MaskedAttention
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.rewrites.attention import attention_calls
from fuse_mlir.compiler.rewrites.attention.attention_calls import spell_calls
from fuse_mlir.compiler.rewrites.attention.bias_tables import computed_of
from fuse_mlir.compiler.rewrites.rewriting import Weighed
from fuse_mlir.compiler.rewrites.stages import Switch, switched_on

H200 = hardware_named("h200")


@pytest.fixture(autouse=True)
def on_hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_calls, "hardware_of", lambda device: H200)


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def windowed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    i, j = mask[:80, None], mask
    return F.scaled_dot_product_attention(q, k, v, (i >= j) & (i - j < 20), enable_gqa=True)


def for_all_rows(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask[:, :, :1], enable_gqa=True)


def scaled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, scale=0.1, enable_gqa=True)


def causal(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def dropped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, 0.1, enable_gqa=True)


def distances(q: Tensor, k: Tensor) -> Tensor:
    return (torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])).abs()


def by_distance(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    """As T5 adds numbers that it learned for ranges of distances."""
    far = 16 + distances(q, k).float().log().long()
    bias = F.embedding(torch.where(distances(q, k) < 16, distances(q, k), far), table)
    mask = bias.permute(2, 0, 1)[None] + torch.where(distances(q, k) > 20, -torch.inf, 0.0)
    return F.scaled_dot_product_attention(q, k, v, mask.to(q.dtype), enable_gqa=True)


def by_document(q: Tensor, k: Tensor, v: Tensor, documents: Tensor) -> Tensor:
    """What is looked up is of rows and of keys."""
    rows, keys = documents[torch.arange(q.shape[2])], documents[torch.arange(k.shape[2])]
    return F.scaled_dot_product_attention(q, k, v, rows[:, None] == keys, enable_gqa=True)


def broadcast(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k[:1], v[:1], mask, enable_gqa=True)


def captured(
    function: Any = masked,
    rows: int = 80,
    keys: int = 2048,
    head: int = 64,
    device: str = "cuda",
    dtype: torch.dtype = torch.bfloat16,
    of_mask: torch.dtype = torch.bool,
    gradients: bool = False,
    mask: tuple[int, ...] = (),
    symbolic: bool = False,
    said: tuple[tuple[int, ...], torch.dtype] | None = None,
) -> GraphModule:
    """``said``: sizes and dtype of the mask's example, whatever the op takes."""
    gm = symbolic_trace(function)
    shapes = ShapeEnv() if symbolic else None
    with FakeTensorMode(shape_env=shapes) as mode:
        q = torch.empty(2, 8, rows, head, dtype=dtype, requires_grad=gradients)
        k, v = (torch.empty(2, 2, keys, head, dtype=dtype) for _ in range(2))
        told = Told(gm)
        told.device = device
        given = [q, k, v, torch.empty(mask or (2, 1, rows, keys), dtype=of_mask)]
        told.run(*given)
    if said is not None:
        with mode:
            example = torch.empty(said[0], dtype=said[1], device=device)
        gm.graph.find_nodes(op="placeholder")[3].meta["example_value"] = example
    if symbolic:
        size = mode.from_tensor(torch.empty(keys), symbolic_context=None)
        for node in gm.graph.find_nodes(op="placeholder"):
            with mode:
                value = node.meta["example_value"]
                node.meta["example_value"] = value.new_empty(size.shape[0], *value.shape[1:])
    return gm


@pytest.mark.parametrize("function", [masked, scaled])
@pytest.mark.parametrize("of_mask", [torch.bool, torch.bfloat16, torch.float32])
def test_it_computes_what_the_call_does(function: Any, of_mask: torch.dtype) -> None:
    """Of a row that sees no key, too."""
    gm = captured(function, of_mask=of_mask)
    assert spell_calls(gm) == 1
    q, k, v = drawn(2, 8, 80, 64), drawn(2, 2, 2048, 64, of=1), drawn(2, 2, 2048, 64, of=2)
    mask = torch.rand(2, 1, 80, 2048) < 0.5
    mask[:, :, 7] = False
    if of_mask != torch.bool:
        mask = torch.where(mask, torch.randn(2, 1, 80, 2048), -torch.inf).to(of_mask)
    exact = function(*(t.double() for t in (q, k, v)), mask if mask.dtype == torch.bool else mask.double())
    found = gm(q, k, v, mask)
    assert (found.dtype, found.shape) == (torch.bfloat16, exact.shape)
    assert (found[:, :, 7] == 0).all()
    assert (found.double() - exact).norm() <= 5e-3 * exact.norm()


def test_masks_that_are_computed_or_for_all_rows_are_of_heads_of_any_width() -> None:
    assert spell_calls(captured(windowed, head=128, mask=(2048,), of_mask=torch.int64)) == 1
    assert spell_calls(captured(for_all_rows, head=128)) == 1


@pytest.mark.parametrize("keys", [512, 2048])
def test_a_mask_that_is_looked_up_for_each_score_is_made_once(keys: int) -> None:
    """Layers share it; and a kernel would compute the ranges for each score."""
    counted = spell_calls(captured(by_distance, keys=keys, mask=(32, 8), of_mask=torch.bfloat16))
    assert isinstance(counted, Weighed)
    assert int(counted) == 0
    assert [text.partition(",")[0] for _, text in counted.kept] == ["its mask is looked up in a table"]
    assert spell_calls(captured(by_document, keys=keys, mask=(2048,), of_mask=torch.int64)) == 1


def test_what_a_mask_is_computed_of_is_visited_once() -> None:
    graph = torch.fx.Graph()
    mask = graph.placeholder("mask")
    for _ in range(12):
        mask = graph.call_function(torch.add, (graph.call_function(torch.neg, (mask,)), mask))
    assert len(list(computed_of(mask, lambda node: node.all_input_nodes))) == 25


@pytest.mark.parametrize("of_mask", [torch.bool, torch.bfloat16])
@pytest.mark.parametrize(("head", "keys"), [(64, 256), (128, 512), (128, 1024)])
def test_masks_of_few_keys(of_mask: torch.dtype, head: int, keys: int) -> None:
    """As an encoder's of 512 tokens: also a mask of bools in memory, for heads of 128 numbers."""
    assert spell_calls(captured(rows=keys, keys=keys, head=head, of_mask=of_mask)) == 1


@pytest.mark.parametrize(
    "how",
    [
        {"rows": 1},
        {"rows": 4},
        {"rows": 1, "of_mask": torch.bfloat16},
        {"rows": 1, "mask": (1, 8, 1, 2048)},
        {"rows": 1, "dtype": torch.float16, "of_mask": torch.float16, "head": 128},
        {"rows": 1, "keys": 1000},
    ],
)
def test_a_few_queries(how: dict[str, Any]) -> None:
    """As in decoding: two kernels are estimated to take less time than the call."""
    gm = captured(**how)
    assert spell_calls(gm) == 1
    assert not any(n.target is F.scaled_dot_product_attention for n in gm.graph.nodes)


@pytest.mark.parametrize(
    ("sizes", "fires"),
    [
        (MaskedAttention(1, 32, 8, 1, 1024, 64, 2), True),
        (MaskedAttention(1, 32, 8, 1, 32768, 128, 2), True),
        (MaskedAttention(1, 32, 8, 4, 4096, 128, 2), True),
        (MaskedAttention(16, 32, 8, 1, 8192, 128, 2), False),  # the call has programs enough
        (MaskedAttention(1, 32, 8, 1, 256, 64, 2), False),  # few keys: a second launch costs more
        (MaskedAttention(1, 4, 1, 1, 32768, 128, 2), True),
        (MaskedAttention(1, 32, 32, 1, 8192, 128, 2), False),  # no queries share keys
        (MaskedAttention(1, 1, 1, 4, 32768, 128, 2), False),  # no batch of heads
        (MaskedAttention(1, 32, 1, 4, 32768, 128, 2), False),  # more rows than a block has
    ],
    ids=str,
)
def test_which_few_queries(sizes: MaskedAttention, fires: bool) -> None:
    assert (attention_calls._refusal_of_few(sizes, H200) is None) == fires


@pytest.mark.parametrize(
    "how",
    [
        {"function": causal},
        {"function": dropped},
        {"function": dropped, "keys": 512},
        {"gradients": True, "keys": 512},
        {"head": 128, "keys": 1536},
        {"rows": 1, "keys": 256},
        {"rows": 1, "gradients": True},
        {"rows": 1, "of_mask": torch.float32},
        {"rows": 40},
        {"keys": 100},
        {"head": 256},
        {"head": 128},
        {"device": "cpu"},
        {"dtype": torch.float32, "of_mask": torch.float32},
        {"gradients": True},
    ],
)
def test_left_alone(how: dict[str, Any]) -> None:
    gm = captured(**how)
    assert spell_calls(gm) == 0
    assert any(n.target is F.scaled_dot_product_attention for n in gm.graph.nodes)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"keys": 100}, ["80 rows and 100 keys were not measured"]),
        ({"keys": 255}, ["80 rows and 255 keys were not measured"]),
        ({"head": 128}, ["it takes 0.97 times as long as the kernel"]),
        ({"gradients": True}, ["gradients are asked for"]),
        ({"function": dropped}, ["it has no mask, or a dropout"]),
        ({"said": ((2048,), torch.bool)}, ["operands are not 4-D, or the mask has one dim"]),
        ({"said": ((80, 2048), torch.float16)}, ["operands differ in their dtype"]),
        ({"function": broadcast}, ["operands are broadcast"]),
        ({"dtype": torch.float32}, ["its operands are not of 16 bits on a GPU"]),
        ({"rows": 1, "keys": 256}, ["it takes 3.8 us, and a kernel would take 5.9"]),
        ({"rows": 1, "of_mask": torch.float32}, ["the mask has another dtype or device"]),
        ({"symbolic": True}, ["sizes are unknown"]),
        ({"function": causal}, []),
        ({"device": "cpu"}, []),
    ],
)
def test_a_call_under_a_mask_says_why_it_stays(how: dict[str, Any], reason: list[str]) -> None:
    """Where a kernel could be, on a GPU."""
    counted = spell_calls(captured(**how))
    assert isinstance(counted, Weighed)
    assert [text for _, text in counted.kept] == reason


def test_other_gpus_and_options_keep_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = LoopedAttention(2048, 2048, (128, 128))
    assert sizes.unmeasured(H200) is None
    assert sizes.unmeasured(hardware_named("a100")) == "it was measured on other GPUs"
    for given in ({"rounding": "eager"}, {"products": "library"}, {"attention": False}):
        assert Switch.CASCADES not in switched_on(Options(**given), kind="inference", on_gpu=True)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: True)
    counted = spell_calls(captured())
    assert isinstance(counted, Weighed)
    assert (int(counted), [text for _, text in counted.kept]) == (0, ["it runs under autocast"])


def test_a_mask_that_does_not_broadcast_is_an_error() -> None:
    args = [
        drawn(2, 8, 80, 16),
        drawn(2, 2, 300, 16, of=1),
        drawn(2, 2, 300, 16, of=2),
        torch.ones(3, 80, 300).bool(),
    ]
    with pytest.raises(Exception, match=r"(?i)expand|broadcast|match"):
        Compiled(masked)(*args)
