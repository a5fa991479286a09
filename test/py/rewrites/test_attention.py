"""Attention that is spelled out becomes SDPA where that is right, and stays as it is elsewhere."""

import math
import operator

import pytest
import torch
from attention_forms import operands
from compiling import Compiled, check
from compiling import fused_attentions as fused
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from versions import TORCH

import fuse_mlir
from fuse_mlir.bench.accuracy import compare
from fuse_mlir.bench.models import CASES
from fuse_mlir.compiler.rewrites.captured.attention import Attention, fuse_attention, recognize

FUSED = "aten._scaled_dot_product"


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def plain(q, k, v):
    return (q @ k.transpose(-2, -1) / math.sqrt(8)).softmax(-1) @ v


def with_functions(q, k, v):
    return torch.matmul(torch.softmax(torch.mul(torch.matmul(q, k.mT), 0.3), dim=-1), v)


def unscaled(q, k, v):
    return F.softmax(torch.matmul(q, k.permute(0, 1, 3, 2)), dim=3) @ v


def scaled_from_the_left(q, k, v):
    return (0.5 * (q @ k.mT)).softmax(-1) @ v


def scaled_query(q, k, v):
    return ((q * 0.25) @ k.mT).softmax(-1) @ v


def idle_dropout(q, k, v):
    return F.dropout(F.dropout((q @ k.mT).softmax(-1), 0.0), 0.5, training=False) @ v


def widened(q, k, v):
    return F.softmax(q @ k.mT, dim=-1, dtype=torch.float32).to(q.dtype) @ v


def merged(q, k, v):
    return plain(q, k, v).transpose(1, 2).flatten(2)


def viewed(q, k, v):
    return plain(q, k, v).view(q.shape[0], -1)


def in_place(q, k, v):
    scores = q @ k.mT
    scores *= 0.5
    scores += torch.ones(5, 7).triu(1) * -3
    return scores.softmax(-1) @ v


FORMS = (
    plain,
    with_functions,
    unscaled,
    scaled_from_the_left,
    scaled_query,
    idle_dropout,
    widened,
    merged,
    viewed,
    in_place,
)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_fires(form):
    compiled = check(form, *operands(2, 3))
    assert fused(compiled) == 1


def test_bfloat16_with_softmax_in_float32():
    assert fused(check(widened, *operands(2, 3, dtype=torch.bfloat16))) == 1


def test_three_dims():
    assert (
        fused(check(lambda q, k, v: torch.bmm((torch.bmm(q, k.mT) * 0.2).softmax(2), v), *operands(6))) == 1
    )


def test_gradients():
    def loss(q, k, v):
        return merged(q, k, v).square().sum()

    q, k, v = operands(2, 3)
    expected = torch.autograd.grad(loss(*(given := [x.double().requires_grad_() for x in (q, k, v)])), given)
    compiled = Compiled(loss)
    found = torch.autograd.grad(compiled(*(given := [x.requires_grad_() for x in (q, k, v)])), given)
    assert fused(compiled) == 1
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


def test_dynamic_sizes():
    assert fused(check(merged, *operands(2, 3), dynamic=True)) == 1


MASKS = {
    "full": lambda: torch.randn(2, 3, 5, 7),
    "padding": lambda: torch.randn(2, 1, 1, 7),
    "square": lambda: torch.randn(5, 7),
    "keys": lambda: torch.randn(7),
    "heads": lambda: torch.randn(3, 5, 7),
}


@pytest.mark.parametrize("name", MASKS)
def test_added_mask(name):
    def form(q, k, v, mask):
        return (mask + (q @ k.mT) * 0.3).softmax(-1) @ v

    assert fused(check(form, *operands(2, 3), MASKS[name]())) == 1


def active_dropout(q, k, v):
    return F.dropout((q @ k.mT).softmax(-1), 1e-9, training=True) @ v


def other_dim(q, k, v):
    return (q @ k.mT).softmax(-2) @ v


def read_weights(q, k, v):
    weights = (q @ k.mT).softmax(-1)
    return weights @ v, weights


def read_scores(q, k, v):
    scores = q @ k.mT
    return scores.softmax(-1) @ v + scores.mean()


def two_masks(q, k, v):
    return (q @ k.mT + torch.ones(5, 7) + torch.ones(7)).softmax(-1) @ v


def scaled_mask(q, k, v):
    return ((q @ k.mT + torch.ones(5, 7).triu()) * 0.5).softmax(-1) @ v


def added_number(q, k, v):
    return (q @ k.mT + 1.0).softmax(-1) @ v


def negative_scale(q, k, v):
    return (q @ k.mT * -0.5).softmax(-1) @ v


def scale_by_tensor(q, k, v):
    return (q @ k.mT / torch.full((), 2.0)).softmax(-1) @ v


def broadcast_values(q, k, v):
    return (q @ k.mT).softmax(-1) @ v[:1]


def mask_of_queries(q, k, v):
    return (q @ k.mT + torch.ones(5, 1)).softmax(-1) @ v


def mask_that_broadcasts(q, k, v):
    return (q[:1] @ k[:1].mT + torch.ones(2, 1, 5, 7)).softmax(-1) @ v


def mask_that_keeps_weight(q, k, v):
    return (q @ k.mT).masked_fill(torch.ones(5, 7).triu() > 0, -1e4).softmax(-1) @ v


def mask_of_another_dtype(q, k, v):
    return (q @ k.mT + torch.ones(5, 7, dtype=torch.float64).float().double()).softmax(-1).float() @ v


def narrower_head(q, k, v):
    return (q @ k.mT).softmax(-1) @ v[..., :4]


def strided_rows(q, k, v):
    return (q[..., ::2] @ k[..., ::2].mT).softmax(-1) @ v[..., ::2]


def overwritten_operand(q, k, v):
    value = v + 1
    weights = (q @ k.mT).softmax(-1)
    value.mul_(2)
    return weights @ value


def overwritten_through_a_view(q, k, v):
    value = v + 1
    weights = (q @ k.mT).softmax(-1)
    value.transpose(0, 1)[0].mul_(2)
    return weights @ value


def overwritten_by_a_list(q, k, v):
    key, value = k + 1, v + 1
    scores = q @ key.mT
    torch._foreach_mul_([key, value], 2.0)
    return scores.softmax(-1) @ value


def overwritten_mask(q, k, v):
    mask = torch.zeros(5, 7)
    scores = q @ k.mT + mask
    mask.unbind(0)[1].sub_(1)
    return scores.softmax(-1) @ v + mask.sum()


def scores_in_a_buffer(q, k, v):
    scores = torch.ones(2, 3, 5, 7)
    scores += q @ k.mT
    return scores.softmax(-1) @ v, scores


def scores_in_a_view(q, k, v):
    both = torch.ones(2, 2, 3, 5, 7)
    scores = both[1]
    scores.add_(q @ k.mT)
    return scores.softmax(-1) @ v, both


def scores_in_a_mask_that_is_read(q, k, v):
    mask = torch.ones(2, 3, 5, 7)
    weights = mask.add_(q @ k.mT).softmax(-1)
    return weights @ v + mask.sum()


def overwritten_by_operator(q, k, v):
    key = k + 1
    scores = q @ key.mT
    key *= 0
    return scores.softmax(-1) @ v + key.sum()


NOT_FORMS = (
    other_dim, read_weights, read_scores, two_masks, scaled_mask, added_number, negative_scale,
    scale_by_tensor, broadcast_values, mask_of_queries, mask_that_broadcasts, mask_that_keeps_weight,
    mask_of_another_dtype, narrower_head, strided_rows, overwritten_operand, overwritten_by_operator,
    overwritten_through_a_view, overwritten_by_a_list, overwritten_mask, scores_in_a_buffer, scores_in_a_view,
    scores_in_a_mask_that_is_read,
)  # fmt: skip


@pytest.mark.parametrize("form", NOT_FORMS, ids=lambda form: form.__name__)
def test_does_not_fire(form):
    assert fused(check(form, *operands(2, 3))) == 0


@pytest.mark.parametrize("sizes", [{"s": 0}, {"t": 0}], ids=["no keys", "no queries"])
def test_nothing_to_attend(sizes):
    assert fused(check(plain, *operands(2, 3, **sizes))) == 0


@pytest.mark.parametrize("training", [False, True])
def test_inside_a_checkpoint(training):
    def form(q, k, v):
        return checkpoint(plain, q, k, v, use_reentrant=False)

    given = [x.requires_grad_(training) for x in operands(2, 3)]
    compiled = Compiled(form)
    found, want = compiled(*given), form(*given)
    torch.testing.assert_close(found, want)
    if training:
        for a, b in zip(
            *(torch.autograd.grad(out.square().sum(), given) for out in (found, want)), strict=True
        ):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    # Until 2.13 torch takes the op for random: both passes hand it to an op that keeps the state.
    with_state = training and TORCH < (2, 14)
    assert ("run_and_save_rng_state" in str(compiled.graphs[0].module)) == with_state
    assert fused(compiled) == (2 if training else 0)


def test_under_vmap():
    def form(q, k, v):
        seen = torch.vmap(lambda i: torch.arange(5) <= i)(torch.arange(5))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)

    assert fused(check(form, *operands(2, 3, s=5))) == 1


def test_scores_in_an_argument_are_written():
    def form(q, k, v, bias):
        bias += q @ k.mT
        return bias.softmax(-1) @ v

    assert fused(check(form, *operands(2, 3), torch.randn(2, 3, 5, 7))) == 0


def test_what_others_write_between_the_steps():
    def form(q, k, v):
        count = torch.zeros(3)
        scores = q @ k.mT
        count.add_(1)
        return scores.softmax(-1) @ v, count

    assert fused(check(form, *operands(2, 3))) == 1


def test_active_dropout_stays():
    compiled = Compiled(active_dropout)
    compiled(*operands(2, 3))
    assert fused(compiled) == 0


def test_mask_with_a_gradient_stays():
    bias = torch.randn(5, 7, requires_grad=True)
    compiled = Compiled(lambda q, k, v, bias: (q @ k.mT + bias).softmax(-1) @ v)
    compiled(*operands(2, 3), bias).sum().backward()
    assert fused(compiled) == 0
    assert bias.grad is not None


def test_autocast_between_the_steps():
    def form(q, k, v):
        with torch.autocast("cpu", torch.bfloat16):
            weights = (q @ k.mT).softmax(-1)
        return weights.bfloat16() @ v

    compiled = Compiled(form)
    compiled(*operands(2, 3, dtype=torch.bfloat16))
    assert fused(compiled) == 0


def test_autocast_around_the_steps():
    def form(q, k, v):
        with torch.autocast("cpu", torch.bfloat16):
            return (q @ k.mT).softmax(-1) @ v

    for dtype, count in ((torch.bfloat16, 1), (torch.float32, 0)):
        compiled = Compiled(form)
        found = compiled(*(given := operands(2, 3, dtype=dtype)))
        assert fused(compiled) == count
        torch.testing.assert_close(found, form(*given), rtol=2e-2, atol=2e-2)


def test_option_turns_it_off():
    assert fused(check(plain, *operands(2, 3), attention=False)) == 0


def test_deterministic_mode_turns_it_off():
    torch.use_deterministic_algorithms(True)
    try:
        assert fused(check(plain, *operands(2, 3))) == 0
    finally:
        torch.use_deterministic_algorithms(False)


def test_two_in_one_graph():
    def twice(q, k, v):
        return plain(merged(q, k, v).view(2, 5, 3, 8).transpose(1, 2), k, v)

    assert fused(check(twice, *operands(2, 3))) == 2


def test_a_graph_without_values_is_left_alone():
    graph = torch.fx.Graph()
    q, k, v = (graph.placeholder(name) for name in "qkv")
    scores = graph.call_function(torch.matmul, (q, graph.call_method("transpose", (k, -2, -1))))
    out = graph.call_function(operator.matmul, (graph.call_function(torch.softmax, (scores, -1)), v))
    graph.output(out)
    assert fuse_attention(torch.fx.GraphModule({}, graph)) == 0


def last_product(dtype: torch.dtype, head: int, width: int) -> torch.fx.Node:
    """The second product of an attention on a GPU, with values of `width` numbers; no memory."""
    graph = torch.fx.Graph()
    with FakeTensorMode():
        sizes = (head, head, width)
        values = [torch.empty(2, 3, 16, size, dtype=dtype, device="cuda") for size in sizes]
        q, k, v = (graph.placeholder(name) for name in "qkv")
        for node, value in zip((q, k, v), values, strict=True):
            node.meta["example_value"] = value
        transposed = graph.call_method("transpose", (k, -2, -1))
        scores = graph.call_function(torch.matmul, (q, transposed))
        weights = graph.call_function(torch.softmax, (scores, -1))
        out = graph.call_function(torch.matmul, (weights, v))
        transposed.meta["example_value"] = values[1].transpose(-2, -1)
        scores.meta["example_value"] = weights.meta["example_value"] = torch.empty(
            2, 3, 16, 16, dtype=dtype, device="cuda"
        )
        out.meta["example_value"] = torch.empty_like(values[2])
    graph.output(out)
    return out


GPU = (
    (torch.bfloat16, 64, 64, "ieee", None),
    (torch.bfloat16, 64, 128, "ieee", None),
    (torch.bfloat16, 128, 64, "ieee", None),
    (torch.float16, 256, 256, "ieee", None),
    (torch.float32, 64, 64, "tf32", None),
    (torch.float32, 64, 64, "ieee", "TF32"),
    (torch.float32, 64, 64, "bfx9", "TF32"),
    (torch.float64, 64, 64, "ieee", "no kernel for torch.float64"),
    (torch.bfloat16, 12, 12, "ieee", "head size of 12"),
    (torch.bfloat16, 264, 264, "ieee", "head size of 264"),
    (torch.bfloat16, 64, 12, "ieee", "head size of 12"),
    (torch.bfloat16, 192, 128, "ieee", "the head sizes differ"),
)


@pytest.mark.parametrize(("dtype", "head", "width", "precision", "reason"), GPU)
def test_what_a_gpu_has_a_kernel_for(dtype, head, width, precision, reason):
    if precision == "bfx9" and TORCH < (2, 15):
        pytest.skip(f"torch {torch.__version__} has no precision bfx9")
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = precision
    try:
        found = recognize(last_product(dtype, head, width))
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    assert isinstance(found, Attention) if reason is None else reason in found


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["bert_layer", "gpt2_block_explicit"])
def test_models(name, dtype, training):
    graphs: list = []
    report = compare(
        CASES[name], fuse_mlir.backend, dtype=dtype, training=training, options={"on_compiled": graphs.append}
    )
    assert report.passed, report.explain()
    assert any(FUSED in str(graph.module) for graph in graphs)
