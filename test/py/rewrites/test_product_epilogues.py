"""The ReLUs that products compute in joint graphs: which, that the numbers stay, what is left alone."""

import pytest
import torch
from activations import (
    behind,
    biased_by_rows,
    clamped,
    clamped_on_both_sides,
    copied_behind,
    copied_beside,
    operands,
    read_as_a_matrix,
    read_before,
    read_in_float32,
    relu_in_float32,
    scaled,
    three_products,
    without_product,
)
from compiling import Compiled, check, with_exact_gradients
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.joint.product_epilogues import fuse_epilogues

aten = torch.ops.aten

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def fused(function, *args):
    gm = make_fx(function, tracing_mode="fake")(*args)
    return fuse_epilogues(gm), gm


def targets(gm):
    return [n.target for n in gm.graph.nodes if n.op == "call_function"]


@pytest.mark.parametrize("activation", [F.relu, relu_in_float32, clamped], ids=lambda f: f.__name__)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("views", [True, False], ids=["views", "no_views"])
def test_a_product_computes_the_relu_behind_it(activation, bias, views):
    function, args = behind(activation, bias=bias, views=views), operands()
    count, gm = fused(function, *args)
    assert count == 1
    expected = [aten._addmm_activation.default] + [
        aten.view.default,
        aten.view.default,
        aten.t.default,
    ] * views
    assert [t for t in targets(gm) if t is not aten.full.default] == expected
    assert targets(gm).count(aten.full.default) == (not bias)
    exact = function(*(a.double() for a in args))
    got, limit = gm(*args), (function(*args).double() - exact).norm()
    assert got.dtype == torch.bfloat16 and got.shape == exact.shape
    assert (got.double() - exact).norm() <= 1.05 * limit


def test_a_copy_behind_the_activation_is_none():
    count, gm = fused(copied_behind, *operands())
    assert count == 1
    assert targets(gm) == [
        aten._addmm_activation.default,
        aten.view.default,
        aten.view.default,
        aten.t.default,
    ]


def test_a_copy_beside_another_reader_stays():
    count, gm = fused(copied_beside, *operands())
    assert count == 1 and targets(gm).count(aten.clone.default) == 1
    check(copied_beside, *operands(), epilogues="library")


@pytest.mark.products("auto")  # a product is a call
def test_training_keeps_the_relu_and_not_the_product():
    def function(x, up, down):
        y = F.dropout(torch.relu(x @ up), 0.0, training=True)
        return F.dropout(y @ down, 0.0, training=True)

    given = [torch.randn(s).bfloat16().requires_grad_() for s in ((2, 16, 32), (32, 64), (64, 32))]
    compiled = with_exact_gradients(function, given, {"epilogues": "library"})
    forward, backward = ([launch.name for launch in g.launches] for g in compiled.graphs)
    assert forward == ["full_default", "aten._addmm_activation.default", "aten.mm.default"]
    assert "threshold_backward" in backward and not any("relu" in name for name in backward)


def test_products_of_one_width_share_their_zeros():
    count, gm = fused(three_products, *operands())
    assert count == 3
    assert targets(gm).count(aten.full.default) == 2


def test_training_saves_the_relu_and_its_gradient_is_right():
    args = [a.requires_grad_() for a in operands()]
    compiled = Compiled(behind(F.relu), {"epilogues": "library"})
    got = torch.autograd.grad(compiled(*args).sum(), args)
    assert "_addmm_activation" in str(compiled.graphs[0].module)
    exact = [a.detach().double().requires_grad_() for a in args]
    want = torch.autograd.grad(behind(F.relu)(*exact).sum(), exact)
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g.double(), w, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        *((behind(a), {}) for a in (F.gelu, torch.tanh, read_in_float32, clamped_on_both_sides, read_before)),
        (scaled, {}),
        (read_as_a_matrix, {}),
        (biased_by_rows, {}),
        (behind(F.relu), {"dtype": torch.float32}),
        (behind(F.relu), {"n": 20}),
        (behind(F.relu), {"k": 4}),
        (without_product, {}),
    ],
)
def test_left_alone(function, args):
    args = operands(**args)
    count, gm = fused(function, *args)
    assert count == 0
    assert aten._addmm_activation.default not in targets(gm)


def test_unknown_sizes_are_left_alone():
    gm = make_fx(behind(F.relu), tracing_mode="symbolic")(*operands())
    assert fuse_epilogues(gm) == 0
