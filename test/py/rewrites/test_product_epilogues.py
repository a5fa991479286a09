"""The ReLUs that products compute in joint graphs: which, that the numbers stay, what is left alone."""

import pytest
import torch
from compiling import Compiled, check, with_exact_gradients
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.joint.product_epilogues import fuse_epilogues

aten = torch.ops.aten

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def operands(m=16, k=8, n=24, dtype=torch.bfloat16):
    return [torch.randn(shape).to(dtype) for shape in ((n,), (m, k), (k, n))]


def behind(activation, *, bias=True, views=True):
    """A function of bias, x [m, k] and w [k, n], and its name for a test."""

    def function(b, x, w):
        y = torch.addmm(b, x, w) if bias else torch.mm(x, w)
        y = y.view(2, y.shape[0] // 2, y.shape[1]) if views else y
        z = activation(y)
        return z.flatten(0, 1).t() if views and isinstance(z, torch.Tensor) else z

    return function


def fused(function, *args):
    gm = make_fx(function, tracing_mode="fake")(*args)
    return fuse_epilogues(gm), gm


def targets(gm):
    return [n.target for n in gm.graph.nodes if n.op == "call_function"]


def in_float32(x):
    return F.relu(x.float()).to(x.dtype)


def clamped(x):
    return x.clamp_min(0)


@pytest.mark.parametrize("activation", [F.relu, in_float32, clamped], ids=lambda f: f.__name__)
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
    def function(b, x, w):
        return torch.addmm(b, x, w).view(2, 8, 24).relu().clone().clone().view(16, 24).t()

    count, gm = fused(function, *operands())
    assert count == 1
    assert targets(gm) == [
        aten._addmm_activation.default,
        aten.view.default,
        aten.view.default,
        aten.t.default,
    ]


def test_a_copy_beside_another_reader_stays():
    def function(b, x, w):
        y = torch.addmm(b, x, w).relu()
        return y, y.clone()

    count, gm = fused(function, *operands())
    assert count == 1 and targets(gm).count(aten.clone.default) == 1
    check(function, *operands(), epilogues="library")


def test_training_keeps_the_relu_and_not_the_product():
    def function(x, up, down):
        y = F.dropout(torch.relu(x @ up), 0.0, training=True)
        return F.dropout(y @ down, 0.0, training=True)

    given = [torch.randn(s).bfloat16().requires_grad_() for s in ((2, 16, 32), (32, 64), (64, 32))]
    compiled = with_exact_gradients(function, given, {"epilogues": "library"})
    forward, backward = ([launch.name for launch in g.launches] for g in compiled.graphs)
    assert forward == ["full_default", "aten._addmm_activation.default", "aten.mm.default", "clone_1"]
    assert "threshold_backward" in backward and not any("relu" in name for name in backward)


def test_products_of_one_width_share_their_zeros():
    def function(b, x, w):
        return F.relu(torch.mm(x, w)), F.relu(torch.mm(x + 1, w)), F.relu(torch.mm(x, w[:, :8].contiguous()))

    count, gm = fused(function, *operands())
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


def read_in_float32(x):
    wide = x.float()
    return F.relu(wide).to(x.dtype), wide + 1


def clamped_on_both_sides(x):
    return x.clamp(0, 6)


def read_before(x):
    return F.relu(x), x + 1


def scaled(b, x, w):
    return F.relu(torch.addmm(b, x, w, alpha=2.0))


def read_as_a_matrix(b, x, w):
    y = torch.addmm(b, x, w)
    return F.relu(y.view(2, -1, y.shape[1])), y * 2


def biased_by_rows(b, x, w):
    return F.relu(torch.addmm(x[:, :1], x, w))


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
        (lambda b, x, w: F.relu(x), {}),
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
