"""Results whose rows keep the padding of a product: ``options={"output_strides": "padded"}``, the default.

The CPU has no reason to pad any; ``layouts="free"`` asks for what a GPU gets.
"""

from types import SimpleNamespace

import pytest
import torch
from compiling import cloned
from torch._functorch._aot_autograd.schemas import OutputType
from torch._guards import TracingContext, tracing
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all
from fuse_mlir.compiler.fx.saved_strides import ALL_KEPT, KeptStrides, kept_strides
from fuse_mlir.compiler.rewrites.layouts import pad_products
from fuse_mlir.compiler.rewrites.layouts.relayout import has_padded_rows

BF16 = torch.bfloat16

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "small_products")


@pytest.fixture
def small_products(monkeypatch):
    """Copies cost nothing: the sizes of a test are too small to win them back."""
    monkeypatch.setattr(pad_products, "_LAUNCH_BYTES", 0)
    monkeypatch.setattr(pad_products, "_OPERATIONS_PER_BYTE", 0)


def drawn(*shape, grad=False):
    return torch.randn(shape).to(BF16).requires_grad_(grad)


def compiled(function, graphs=None, **options):
    found = [] if graphs is None else graphs
    chosen = {"layouts": "free", "on_compiled": found.append, **options}
    return torch.compile(function, backend=fuse_mlir.backend, fullgraph=True, options=chosen)


def results_of(function, args, tangent=lambda r: torch.ones_like(r)):
    """Results and gradients, by name; ``tangent`` makes the gradient of each floating result."""
    results = function(*args)
    results = results if isinstance(results, tuple) else (results,)
    given = [r for r in results if r.requires_grad]
    if given:
        torch.autograd.backward(given, [tangent(r) for r in given])
    found = {f"result {i}": r.detach() for i, r in enumerate(results)}
    return found | {f"gradient {i}": a.grad for i, a in enumerate(args) if a.grad is not None}


def check(function, *args, tangent=lambda r: torch.ones_like(r), graphs=None, **options):
    """Judges a function against float64; its results and gradients."""
    with float64_reference():
        reference = results_of(function, cloned(args, torch.float64), tangent)
    eager = results_of(function, cloned(args), tangent)
    found = results_of(compiled(function, graphs, **options), cloned(args), tangent)
    wrong = [row for row in judge_all(reference, eager, found, torch.finfo(BF16).eps) if not row.passed]
    assert not wrong, "\n".join(f"{row.name}: {row.note or row}" for row in wrong)
    return found


def copies(graphs):
    """Launches that copy logits, as eager's strides ask for."""
    return [launch for graph in graphs for launch in graph.launches if "clone" in " ".join(launch.nodes)]


def language_model(x, w):
    return F.linear(x, w)


@pytest.mark.parametrize("grad", [False, True])
def test_logits_keep_the_padding(grad):
    graphs = []
    logits = check(language_model, drawn(2, 8, 16, grad=grad), drawn(131, 16, grad=grad), graphs=graphs)[
        "result 0"
    ]
    assert logits.shape == (2, 8, 131) and logits.stride() == (8 * 136, 136, 1)
    assert logits.view(-1, 131).shape == (16, 131) and logits[:, -1].stride() == (8 * 136, 1)
    [remark] = [r for graph in graphs for r in graph.remarks.items if r.rule == "padded-rows"]
    assert (
        dict(remark.numbers) == {"row": 131, "stride": 136}
        and "test_output_strides.py" in remark.locations[0]
    )


@pytest.mark.parametrize("options", [{"output_strides": "eager"}, {"layouts": "eager"}])
def test_without(options):
    graphs = []
    found = check(language_model, drawn(2, 8, 16), drawn(131, 16), graphs=graphs, **options)
    assert found["result 0"].is_contiguous()
    assert not [r for graph in graphs for r in graph.remarks.items if r.rule == "padded-rows"]


@pytest.mark.parametrize("laid_out", ["contiguous", "padded", "transposed", "broadcast"])
def test_tangents_of_any_strides(laid_out):
    def tangent(result):
        numbers = (torch.arange(result.numel()) % 7).to(result.dtype).view(result.shape)
        if laid_out == "padded":
            return F.pad(numbers, [0, 5])[..., : result.shape[-1]]
        if laid_out == "transposed":
            return numbers.transpose(0, -1).contiguous().transpose(0, -1)
        return (
            numbers if laid_out == "contiguous" else torch.ones((), dtype=result.dtype).expand(result.shape)
        )

    found = check(language_model, drawn(2, 8, 16, grad=True), drawn(131, 16, grad=True), tangent=tangent)
    assert not found["result 0"].is_contiguous()


def test_a_result_that_the_backward_graph_reads():
    def softmaxed(x, w):
        logits = F.linear(x, w)
        return logits, logits.float().softmax(-1).square().sum()

    found = check(softmaxed, drawn(2, 8, 16, grad=True), drawn(131, 16, grad=True))
    assert found["result 0"].stride() == (8 * 136, 136, 1)


def test_the_result_may_be_written_to():
    w = drawn(131, 16, grad=True)
    for function in (language_model, compiled(language_model)):
        logits = function(drawn(2, 8, 16), w)
        expected = logits.detach() * 2
        logits.mul_(2)
        assert torch.equal(logits.detach(), expected)
        logits.sum().backward()


def test_computed_results_have_eagers_strides():
    found = check(lambda x, w: torch.tanh(x @ w / 3) * 3, drawn(8, 16), drawn(16, 131))
    assert found["result 0"].is_contiguous()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (y := x @ w, y[:, :7]),  # torch makes the slice again from the first
        lambda x, w: (x @ w).t(),
        lambda x, w: ((y := x @ w).t(), y[2:]),
    ],
    ids=["base and view", "view", "two views"],
)
@pytest.mark.parametrize("grad", [False, True])
def test_views_of_results(function, grad):
    args = drawn(8, 16, grad=grad), drawn(16, 131, grad=grad)
    found = check(function, *args)
    eager = results_of(function, cloned(args))
    strides = [(name, value.stride()) for name, value in eager.items()]
    assert grad is False or strides == [(name, found[name].stride()) for name, _ in strides]


def test_new_values_of_arguments():
    def updated(x, w, y):
        y.copy_(x @ w)
        return y.sum()

    x, w, y = drawn(8, 16), drawn(16, 131), drawn(8, 131)
    compiled(updated)(x, w, y)
    assert y.is_contiguous() and torch.allclose(y, x @ w, rtol=1e-2, atol=1e-2)


def test_a_second_graph_reads_the_padded_rows():
    """Dynamo guards on the strides that the first graph gave."""

    def two(x, w):
        logits = F.linear(x, w)
        torch._dynamo.graph_break()
        return logits.float().softmax(-1)

    x, w = drawn(2, 8, 16), drawn(131, 16)
    graphs = []
    options = {"layouts": "free", "on_compiled": graphs.append}
    found = torch.compile(two, backend=fuse_mlir.backend, options=options)(x, w)
    assert len(graphs) == 2
    torch.testing.assert_close(found, two(x, w), rtol=2e-2, atol=2e-2)


def test_dynamic_sizes():
    for dynamic in (None, True):
        torch._dynamo.reset()
        function = torch.compile(
            language_model, backend=fuse_mlir.backend, dynamic=dynamic, options={"layouts": "free"}
        )
        w = drawn(131, 16)
        for rows in (8, 11, 5):
            x = drawn(2, rows, 16)
            torch.testing.assert_close(function(x, w), language_model(x, w), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("sizes", "strides", "padded"),
    [
        ((2, 3, 5), (24, 8, 1), True),
        ((1, 3, 5), (7, 8, 1), True),
        ((3, 5), (8, 1), True),
        ((2, 3, 5), (15, 5, 1), False),  # no gap
        ((2, 3, 5), (32, 8, 1), False),  # a gap behind more than rows
        ((2, 3, 5), (8, 16, 1), False),
        ((3, 5), (1, 3), False),
        ((3, 5), (0, 1), False),
        ((5,), (1,), False),
    ],
)
def test_what_padded_rows_are(sizes, strides, padded):
    value = torch.empty_strided(sizes, strides, device="meta")
    assert has_padded_rows(value, torch.empty(sizes, device="meta")) is padded


#: What AOTAutograd does to results beside handing them out, by the field of its metadata that says so.
DONE_TO_RESULTS = {
    "num_intermediate_bases": 1,
    "subclass_fw_graph_out_meta": [object()],
    "tokens": {"print": object()},
    "is_rng_op_functionalized": True,
}


@pytest.mark.parametrize("field", [None, *DONE_TO_RESULTS])
def test_rows_move_apart_only_in_what_is_handed_out_as_it_is(field):
    """Results of a graph are new values of an input, what the caller gets, and what backward reads."""
    kinds = (OutputType.non_alias, OutputType.alias_of_input, OutputType.unsafe_view_alias)
    plain = {
        **dict.fromkeys(DONE_TO_RESULTS),
        "output_info": [SimpleNamespace(output_type=kind) for kind in kinds],
        "num_mutated_inp_runtime_indices": 1,
        "num_forward": 4,
    }
    context = TracingContext(None)
    context.fw_metadata = SimpleNamespace(**plain | ({field: DONE_TO_RESULTS[field]} if field else {}))
    with tracing(context):
        assert kept_strides("forward", padded=True) == KeptStrides(4, () if field else (1, 3))
        assert kept_strides("inference", padded=True) == KeptStrides(None, () if field else (1, 3))
        assert kept_strides("forward", padded=False) == KeptStrides(4)
        assert kept_strides("backward", padded=True) == ALL_KEPT
    assert kept_strides("forward", padded=True) == ALL_KEPT
