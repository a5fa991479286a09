"""Layouts that the compiler chooses inside a graph: what changes, what must not, and the numbers.

The CPU has no reason to choose any; ``layouts="free"`` asks for what a GPU gets.
"""

import pytest
import torch
from compiling import cloned
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer import importer  # noqa: F401  (enters the lowerings)
from fuse_mlir.compiler.rewrites.layouts import pad_products
from fuse_mlir.compiler.rewrites.layouts.choose import choose_layouts
from fuse_mlir.compiler.rewrites.layouts.relayout import Relayout, takes_any_strides

BF16 = torch.bfloat16
aten = torch.ops.aten


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_ops_that_take_operands_in_any_strides():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    takes = (aten.relu.default, aten.mul.Tensor, aten.copy_.default)
    for target in (*takes, aten.as_strided.default, aten.relu_.default, torch.relu):
        assert takes_any_strides(graph.call_function(target, (x, x))) == (target in takes), target


def test_equal_calls_share_what_the_meta_function_makes():
    """A view lies in the storage of its own operand, and numbers are told apart by their types."""

    def function(x):
        one, other = x.relu(), x.neg()
        return one, other, x.relu(), one.permute(3, 0, 1, 2), other.permute(3, 0, 1, 2), x.add(1), x.add(1.0)

    gm = make_fx(function, tracing_mode="fake")(torch.ones(2, 4, 3, 3, dtype=torch.int32))
    nodes = list(gm.graph.nodes)
    layouts = Relayout(gm)
    layouts.set_strides(nodes[0], (36, 1, 12, 4))
    layouts.spread()
    one, other, again, viewed, others_view, whole, real = (node.meta["val"] for node in nodes[1:8])
    assert one is again
    assert one.stride() == other.stride() == (36, 1, 12, 4)
    storages = [v.untyped_storage()._cdata for v in (one, other, viewed, others_view)]
    assert storages[:2] == storages[2:]
    assert storages[0] != storages[1]
    assert (whole.dtype, real.dtype) == (torch.int32, torch.float32)
    assert real.stride() == (36, 1, 12, 4)


@pytest.fixture
def small_products(monkeypatch):
    """Copies cost nothing: the sizes of a test are too small to win them back."""
    monkeypatch.setattr(pad_products, "_LAUNCH_BYTES", 0)
    monkeypatch.setattr(pad_products, "_OPERATIONS_PER_BYTE", 0)


def drawn(*shape, grad=True):
    return torch.randn(shape).to(BF16).requires_grad_(grad)


def observed(function, args):
    """Results and gradients, by name."""
    results = function(*args)
    results = results if isinstance(results, tuple) else (results,)
    loss = sum((r.float() * (torch.arange(r.numel()) % 7).reshape(r.shape)).sum() for r in results)
    if loss.requires_grad:
        loss.backward()
    found = {f"result {i}": r.detach() for i, r in enumerate(results)}
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    return found | {f"gradient {i}": a.grad for i, a in enumerate(tensors) if a.grad is not None}


def check(function, *args, **options):
    """Judges results and gradients against float64 and their strides against eager; the compiled graphs."""
    graphs = []
    compiled = torch.compile(
        function,
        backend=fuse_mlir.backend,
        fullgraph=True,
        options={"layouts": "free", "output_strides": "eager", "on_compiled": graphs.append, **options},
    )
    with float64_reference():
        reference = observed(function, cloned(args, torch.float64))
    eager, found = observed(function, cloned(args)), observed(compiled, cloned(args))
    rows = judge_all(reference, eager, found, torch.finfo(BF16).eps)
    wrong = [row for row in rows if not row.passed]
    assert rows and not wrong, "\n".join(f"{row.name}: {row.note or row}" for row in wrong)
    for name, value in eager.items():
        pairs = zip(value.shape, value.stride(), found[name].stride(), strict=True)
        assert all(n == 1 or s == t for n, s, t in pairs), f"strides of {name}"
    return graphs


def calls(graphs, name):
    """The launches that run an op of that name, or compute a node of it."""
    launches = (launch for graph in graphs for launch in graph.launches)
    return [launch for launch in launches if any(name in part for part in (launch.name, *launch.nodes))]


def chosen(function, *args):
    """The graph of a function after layouts were chosen."""
    gm = make_fx(
        lambda *args: (function(*args),), decomposition_table=decomposition_table(), tracing_mode="fake"
    )(*args)
    choose_layouts(gm)
    return gm


def values(gm, target):
    return [n.meta["val"] for n in gm.graph.nodes if n.target is target]


# --- matrix products --------------------------------------------------------------------------------------
def language_model(x, w, t):
    logits = F.linear(x, w)
    return logits, F.cross_entropy(logits.flatten(0, 1).float(), t.flatten())


def masked_language_model(x, w, b, t):
    logits = F.linear(x, w, b)
    return logits, F.cross_entropy(logits.flatten(0, 1), t.flatten())


@pytest.mark.parametrize("grad", [False, True])
def test_an_odd_vocabulary(small_products, grad):
    x, w, t = drawn(2, 8, 16, grad=grad), drawn(131, 16, grad=grad), torch.randint(131, (2, 8))
    graphs = check(language_model, x, w, t)
    assert calls(graphs, "constant_pad_nd")
    check(masked_language_model, x, w, drawn(131, grad=grad), t)


def test_sizes_of_the_products(small_products):
    gm = chosen(lambda x, w: torch.mm(x, w.t()), drawn(12, 16), drawn(131, 16))
    [product] = values(gm, aten.mm.default)
    assert product.shape == (12, 136)
    [result] = [n.args[0][0].meta["val"] for n in gm.graph.nodes if n.op == "output"]
    assert result.stride() == (131, 1)  # what leaves the graph lies as eager has it
    gm = chosen(lambda x, w: torch.mm(x.t(), w), drawn(16, 131), drawn(16, 8))
    assert [p.shape for p in values(gm, aten.mm.default)] == [(136, 8)]
    gm = chosen(lambda x, w: torch.mm(x, w), drawn(16, 131), drawn(131, 8))
    assert {x.shape for x in values(gm, aten.constant_pad_nd.default)} == {(16, 136), (136, 8)}


@pytest.mark.parametrize(
    "args",
    [
        (drawn(131, 16), drawn(16, 8)),  # rows may be as many as they like
        (drawn(8, 16), drawn(16, 24)),
        (drawn(8, 16).float(), drawn(16, 131).float()),
        (drawn(8, 1), drawn(1, 131)),
    ],
)
def test_products_that_stay(small_products, args):
    assert not values(chosen(torch.mm, *args), aten.constant_pad_nd.default)


def test_a_padded_product_may_be_a_kernel(small_products):
    """Layouts are chosen before a pass chooses who computes a product, which may still be a kernel."""

    def head(x, w, b):
        return (F.linear(x, w) + b).relu()

    graphs = check(
        head, *(drawn(*s, grad=False) for s in ((12, 16), (131, 16), (131,))), products="generated"
    )
    assert [(graph.externs, graph.fallbacks) for graph in graphs] == [(0, [])]
    assert calls(graphs, "constant_pad_nd")


def test_small_products_stay():
    assert not values(chosen(torch.mm, drawn(16, 131), drawn(131, 8)), aten.constant_pad_nd.default)


def test_two_products_share_a_padded_operand(small_products):
    gm = chosen(lambda x, y, w: (x @ w, y @ w), drawn(8, 16), drawn(24, 16), drawn(16, 131))
    assert len(values(gm, aten.constant_pad_nd.default)) == 1
    check(lambda x, y, w: (x @ w, y @ w), drawn(8, 16), drawn(24, 16), drawn(16, 131))


def test_a_computed_operand_is_padded_where_it_is_computed(small_products):
    graphs = check(lambda x, w: (x.exp() * 2) @ w, drawn(8, 131, grad=False), drawn(131, 16, grad=False))
    assert len(calls(graphs, "exp")) == 1
    assert len(calls(graphs, "kernel")) == 0 or "constant_pad_nd" in calls(graphs, "exp")[0]


@pytest.mark.parametrize(("dims", "padded"), [([0], True), ([0, 1], False), ([1], False), (None, False)])
def test_columns_of_a_padded_operand_are_added_up_where_it_is_computed(small_products, dims, padded):
    def function(x, w):
        gradient = x.exp() * 2
        return gradient @ w, gradient.sum(dims)

    args = drawn(8, 131, grad=False), drawn(131, 16, grad=False)
    sums = values(chosen(function, *args), aten.sum.dim_IntList)
    assert [136 in x.shape for x in sums] == [padded]
    check(function, *args)


# --- convolutions -----------------------------------------------------------------------------------------
def residual_block(x, w1, w2, w3, scale, shift):
    y = F.relu(F.batch_norm(F.conv2d(x, w1, padding=1), None, None, scale, shift, training=True))
    y = F.conv2d(F.max_pool2d(y, 3, 2, 1), w2)
    z = F.conv2d(y, w3, shift, padding=1, stride=2)
    return z + F.interpolate(y, scale_factor=0.5) * 2, z.mean((2, 3))


@pytest.mark.parametrize("grad", [False, True])
def test_a_residual_block(grad):
    weights = (drawn(8, 6, 3, 3, grad=grad), drawn(8, 8, 1, 1, grad=grad), drawn(8, 8, 3, 3, grad=grad))
    check(residual_block, drawn(2, 6, 16, 16, grad=grad), *weights, drawn(8, grad=grad), drawn(8, grad=grad))


def test_images_stay_channels_last_between_convolutions():
    def function(x, v, w, b):
        y = F.relu(F.conv2d(x, v, b, padding=1))
        return F.conv2d(y.view(2, 8, 6, 6), w, padding=1).flatten(1)

    x, v, w, b = drawn(2, 3, 6, 6), drawn(8, 3, 3, 3), drawn(8, 8, 3, 3), drawn(8)
    gm = chosen(function, x, v, w, b)
    images = values(gm, aten.convolution.default)
    assert len(images) == 2
    assert all(image.is_contiguous(memory_format=torch.channels_last) for image in images)
    clones = [n for n in gm.graph.nodes if n.target is aten.clone.default]
    assert len(clones) == 4  # the image, two weights, and the last result: its view needs eager's layout
    assert all(n.args[2] is None for n in gm.graph.nodes if n.target is aten.convolution.default)
    check(function, x, v, w, b)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_gradient_of_a_bias_is_a_sum_of_ours(transposed):
    convolve = F.conv_transpose2d if transposed else F.conv2d

    def function(x, w, b):
        return convolve(x, w, b, padding=1).relu()

    x, w, b = drawn(2, 4, 6, 6), drawn(4, 4, 3, 3), drawn(4)
    rest = ([4], [1, 1], [1, 1], [1, 1], transposed, [0, 0], 1)
    for mask, left in (([True, True, True], 1), ([False, False, True], 0)):

        def backward(*images):
            found = aten.convolution_backward.default(*images, *rest, mask)  # noqa: B023
            return [g for g in found if g is not None]

        images = drawn(2, 4, 6, 6, grad=False), x.detach(), w.detach()
        gm = make_fx(backward, tracing_mode="fake")(*images)
        choose_layouts(gm)
        [made] = [n for n in gm.graph.nodes if n.target is aten.convolution_backward.default] or [None]
        assert (made is not None) == left and len(values(gm, aten.sum.dim_IntList)) == 1
        assert made is None or made.args[10] == [True, True, False]
    check(function, x, w, b)


def test_the_gradient_of_a_float64_bias_is_left_to_torch():
    gm = make_fx(aten.convolution_backward.default, tracing_mode="fake")(
        *(
            torch.randn(2, 4, 6, 6).double(),
            torch.randn(2, 4, 6, 6).double(),
            torch.randn(4, 4, 3, 3).double(),
        ),
        *([4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True]),
    )
    choose_layouts(gm)
    assert not values(gm, aten.sum.dim_IntList)


@pytest.mark.parametrize("dtype", [torch.float64, BF16])
def test_convolutions_that_stay(dtype):
    x, w = torch.randn(2, 3, 8, dtype=dtype), torch.randn(5, 3, 3, dtype=dtype)
    assert not values(chosen(F.conv1d, x, w), aten.clone.default)
    if dtype == torch.float64:
        image, weight = torch.randn(2, 3, 8, 8, dtype=dtype), torch.randn(4, 3, 3, 3, dtype=dtype)
        assert not values(chosen(F.conv2d, image, weight), aten.clone.default)


def test_groups_of_several_channels_stay():
    x, w = drawn(2, 8, 6, 6), drawn(8, 4, 3, 3)
    assert not values(chosen(lambda x, w: F.conv2d(x, w, groups=2), x, w), aten.clone.default)
    check(lambda x, w: F.conv2d(x, w, groups=2), x, w)


@pytest.mark.parametrize("dtype", [torch.float32, BF16])
def test_a_depthwise_convolution_moves_where_it_has_16_bits(dtype):
    """cuDNN would compute one of float32 in TF32, where torch's own kernel is exact and faster."""
    x, w = drawn(2, 8, 9, 9).to(dtype), drawn(8, 1, 8, 8).to(dtype)  # no stencil: too many products
    [result] = values(chosen(lambda x, w: F.conv2d(x, w, groups=8), x, w), aten.convolution.default)
    assert result.is_contiguous(memory_format=torch.channels_last) == (dtype == BF16)


def test_eager_layouts_are_kept_on_request():
    def function(x, w):
        return F.conv2d(F.conv2d(x, w, padding=1), w)

    graphs = check(function, drawn(1, 4, 6, 6), drawn(4, 4, 3, 3), layouts="eager")
    assert not calls(graphs, "clone")


# --- patches ----------------------------------------------------------------------------------------------
def patch_embedding(x, w, b):
    return F.layer_norm(F.conv2d(x, w, b, stride=w.shape[-1]).flatten(2).transpose(1, 2), (8,))


@pytest.mark.products("auto")  # by a call
@pytest.mark.parametrize("grad", [False, True])
def test_patches_are_multiplied(grad):
    args = drawn(2, 3, 16, 16, grad=grad), drawn(8, 3, 4, 4, grad=grad), drawn(8, grad=grad)
    graphs = check(patch_embedding, *args)
    assert not calls(graphs, "convolution")
    assert calls(graphs, "aten.addmm")


def test_patches_of_a_channels_last_image():
    def function(x, d, w):
        y = F.conv2d(x, d, padding=1, groups=6).permute(0, 2, 3, 1)
        return F.conv2d(F.layer_norm(y, (6,)).permute(0, 3, 1, 2) + x, w, stride=2)

    graphs = check(function, drawn(2, 6, 8, 8), drawn(6, 1, 3, 3), drawn(8, 6, 2, 2))
    assert calls(graphs, "stencil")
    assert len(calls(graphs, "convolution")) == 1  # the backward pass of the one that overlaps


def test_the_gradient_of_an_image_of_patches_is_channels_last():
    def gradient(g, x, w):
        image, weight, bias = aten.convolution_backward(
            g, x, w, [8], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]
        )
        return image.exp().sum((0, 2, 3)), weight, bias

    gm = chosen(gradient, drawn(2, 8, 4, 4), drawn(2, 6, 8, 8), drawn(8, 6, 2, 2))
    [image] = values(gm, aten.exp.default)
    assert image.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("size", "options"),
    [
        (16, {"stride": 2}),  # they overlap
        (16, {"stride": 4, "padding": 4}),
        (18, {"stride": 4}),  # pixels are left over
        (16, {"stride": 4, "dilation": 2}),
        (16, {"stride": 4, "groups": 3}),
    ],
)
def test_other_convolutions_are_not_multiplied(size, options):
    w = drawn(6, 3 // options.get("groups", 1), 4, 4)
    gm = chosen(lambda x, w: F.conv2d(x, w, **options), drawn(2, 3, size, size), w)
    stencil = torch.ops.fuse_mlir.stencil.default
    assert len(values(gm, aten.convolution.default) + values(gm, stencil)) == 1
    assert not values(gm, aten.mm.default)
