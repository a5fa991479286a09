"""Activations that matrix products compute: which are found, that the numbers stay, what is left alone."""

import math

import pytest
import torch
from compiling import Compiled, check, with_exact_gradients
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.graph.product_epilogues import fuse_epilogues

aten = torch.ops.aten
SLOPE = math.sqrt(2 / math.pi)

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


def spelled_out(x):
    return 0.5 * x * (1.0 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 3.0))))


def spelled_out_by_products(x):
    return (torch.tanh((0.044715 * (x * x * x) + x) * SLOPE) + 1) * (x * 0.5)


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


ACTIVATIONS = [F.relu, tanh_gelu, spelled_out, spelled_out_by_products]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("views", [True, False], ids=["views", "no_views"])
def test_a_product_computes_the_activation_behind_it(activation, bias, views):
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
    launches = [len(check(function, *args, epilogues=e).graphs[0].launches) for e in ("library", "generated")]
    assert launches[0] == launches[1] - (1 if bias else 0)  # one more makes the zeros


def in_float32(x):
    return tanh_gelu(x.float()).to(x.dtype)


def relu_in_float32(x):
    return F.relu(x.float()).to(x.dtype)


def spelled_out_in_float32(x):
    return spelled_out(x.float()).to(x.dtype)


def fast(x):
    """As another library spells it."""
    return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


def distributed(x):
    return x / 2 - 0.5 * -torch.tanh(SLOPE * x + SLOPE * 0.044715 * x**2 * x) * x


def clamped(x):
    return x.clamp_min(0)


SPELLINGS = [in_float32, relu_in_float32, spelled_out_in_float32, fast, distributed, clamped]


@pytest.mark.parametrize("activation", SPELLINGS, ids=lambda f: f.__name__)
def test_an_activation_is_what_it_computes(activation):
    function, args = behind(activation), operands()
    count, gm = fused(function, *args)
    assert count == 1
    assert [t for t in targets(gm) if t not in (aten.view.default, aten.t.default)] == [
        aten._addmm_activation.default
    ]
    exact = function(*(a.double() for a in args))
    limit = (function(*args).double() - exact).norm()
    assert (gm(*args).double() - exact).norm() <= 1.05 * limit + 1e-2 * exact.norm()


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
    check(function, *operands(), epilogues="library")


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


def test_training_keeps_what_gelu_reads_but_not_what_relu_does():
    def step(activation):
        def function(b, x, w):
            out = behind(activation)(b, x, w)
            return out, *torch.autograd.grad(out.sum(), (b, x, w))

        return function

    args = [a.requires_grad_() for a in operands()]
    assert fused(step(F.relu), *args)[0] == 1
    assert fused(step(tanh_gelu), *args)[0] == 0
    assert fused(step(spelled_out), *args)[0] == 0
    compiled = Compiled(behind(F.relu), {"epilogues": "library"})
    got = torch.autograd.grad(compiled(*args).sum(), args)
    assert "_addmm_activation" in str(compiled.graphs[0].module)
    exact = [a.detach().double().requires_grad_() for a in args]
    want = torch.autograd.grad(behind(F.relu)(*exact).sum(), exact)
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g.double(), w, rtol=2e-2, atol=2e-2)


def wrong_slope(x):
    return 0.5 * x * (1.0 + torch.tanh(0.8 * (x + 0.044715 * torch.pow(x, 3.0))))


def wrong_power(x):
    return 0.5 * x * (1.0 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 2.0))))


def of_two_values(x):
    return 0.5 * x * (1.0 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x + 1, 3.0))))


def read_inside(x):
    bend = torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 3.0)))
    return 0.5 * x * (1.0 + bend), bend


def by_sigmoid(x):
    return x * torch.sigmoid(1.702 * x)


def silu_spelled_out(x):
    return x / (1 + torch.exp(0.0 - x))


def sigmoid_spelled_out(x):
    return 1 / (1 + torch.exp(-x))


def half_more(x):
    return 0.5 * x * (1.5 + torch.tanh(SLOPE * (x + 0.044715 * torch.pow(x, 3.0))))


def read_in_float32(x):
    wide = x.float()
    return F.relu(wide).to(x.dtype), wide + 1


def left_in_float32(x):
    return spelled_out(x.float())


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
        *((behind(a), {}) for a in (F.gelu, F.silu, wrong_slope, wrong_power, of_two_values, read_inside)),
        *((behind(a), {}) for a in (by_sigmoid, silu_spelled_out, half_more, torch.tanh, torch.sigmoid)),
        (behind(sigmoid_spelled_out), {}),
        *((behind(a), {}) for a in (read_in_float32, left_in_float32, clamped_on_both_sides)),
        (behind(read_before), {}),
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


def test_it_is_off_where_nobody_asks_for_it():
    compiled = check(behind(F.relu), *operands())
    assert "_addmm_activation" not in str(compiled.graphs[0].module)
    compiled = check(behind(F.relu), *operands(), epilogues="library")
    assert "_addmm_activation" in str(compiled.graphs[0].module)
