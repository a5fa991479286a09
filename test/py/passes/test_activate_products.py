"""Activations that matrix products compute: which are found, that the numbers stay, what is left alone."""

import math

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

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


def activated(compiled):
    """How many products compute an activation, by the module and by the remarks."""
    [graph] = compiled.graphs
    count = str(graph.module).count("aten._addmm_activation.default")
    assert count == said(compiled).count("activated")
    return count


def said(compiled):
    """The rules of the pass's remarks."""
    [graph] = compiled.graphs
    return [r.rule for r in graph.remarks.items if r.pass_name == "activate-products"]


def check_numbers(function, args):
    """The compiled function is as near to the exact result as eager mode; it, and what was compiled."""
    exact, eager = function(*(a.double() for a in args)), function(*args)
    compiled = Compiled(function, {"epilogues": "library", "verify": "numeric"})
    got = compiled(*args)
    assert got.dtype == eager.dtype and got.shape == exact.shape
    assert (got.double() - exact).norm() <= 1.05 * (eager.double() - exact).norm() + 1e-4 * exact.norm()
    return compiled


ACTIVATIONS = [F.relu, tanh_gelu, spelled_out, spelled_out_by_products]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("views", [True, False], ids=["views", "no_views"])
def test_a_product_computes_the_activation_behind_it(activation, bias, views):
    function, args = behind(activation, bias=bias, views=views), operands()
    compiled = check_numbers(function, args)
    assert activated(compiled) == 1
    kernels = [launch.name for launch in compiled.graphs[0].launches if "addmm" not in launch.name]
    assert kernels == ["zeros"] * (not bias)


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
    assert activated(check_numbers(behind(activation), operands())) == 1


def test_a_copy_behind_the_activation_is_none():
    def function(b, x, w):
        return torch.addmm(b, x, w).view(2, 8, 24).relu().clone().clone().view(16, 24).t()

    compiled = check(function, *operands(), epilogues="library")
    assert activated(compiled) == 1
    assert len(compiled.graphs[0].launches) == 1


def test_a_copy_beside_another_reader_stays():
    def function(b, x, w):
        y = torch.addmm(b, x, w).relu()
        return y, y.clone()

    compiled = check(function, *operands(), epilogues="library")
    assert activated(compiled) == 1
    assert len(compiled.graphs[0].launches) == 2


def test_products_of_one_width_share_their_zeros():
    def function(b, x, w):
        return F.relu(torch.mm(x, w)), F.relu(torch.mm(x + 1, w)), F.relu(torch.mm(x, w[:, :8].contiguous()))

    compiled = check(function, *operands(), epilogues="library")
    assert activated(compiled) == 3
    assert str(compiled.graphs[0].module).count("call @zeros") == 2


def test_training_keeps_what_gelu_reads():
    args = [a.requires_grad_() for a in operands()]
    compiled = Compiled(behind(tanh_gelu), {"epilogues": "library"})
    compiled(*args).sum().backward()
    assert all("_addmm_activation" not in str(graph.module) for graph in compiled.graphs)


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


def times_zero(x):
    """0 times infinity is no 0, so this is no ReLU."""
    return torch.maximum(x, x * 0)


def minus_itself(x):
    return torch.maximum(x, x - x)


def read_in_float32(x):
    wide = x.float()
    return F.relu(wide).to(x.dtype), wide + 1


def rounded_to_float16(x):
    return F.relu(x.half()).to(x.dtype)


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


#: Functions, what their operands are, and the rule of the remark that says why products stay, if any does.
STAYS = [
    *((behind(a), {}, []) for a in (F.gelu, F.silu, wrong_slope, wrong_power, of_two_values, read_inside)),
    *((behind(a), {}, []) for a in (by_sigmoid, silu_spelled_out, half_more, torch.tanh, torch.sigmoid)),
    *((behind(a), {}, []) for a in (read_in_float32, left_in_float32, clamped_on_both_sides, read_before)),
    *((behind(a), {}, []) for a in (sigmoid_spelled_out, rounded_to_float16, times_zero, minus_itself)),
    (behind(F.relu), {"k": 0}, ["sizes"]),
    (scaled, {}, ["factors"]),
    (read_as_a_matrix, {}, []),
    (biased_by_rows, {}, ["bias"]),
    (behind(F.relu), {"dtype": torch.float32}, ["element"]),
    (behind(F.relu), {"n": 20}, ["sizes"]),
    (behind(F.relu), {"k": 4}, ["sizes"]),
    (lambda b, x, w: F.relu(x), {}, []),
]


@pytest.mark.parametrize(("function", "args", "rules"), STAYS, ids=range(len(STAYS)))
def test_left_alone(function, args, rules):
    compiled = check(function, *operands(**args), epilogues="library", layouts="eager")
    assert activated(compiled) == 0
    assert said(compiled) == rules


def test_unknown_sizes_are_left_alone():
    assert activated(check(behind(F.relu), *operands(), epilogues="library", dynamic=True)) == 0


def test_it_is_off_where_nobody_asks_for_it():
    assert activated(check(behind(F.relu), *operands())) == 0
