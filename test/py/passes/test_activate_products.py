"""Activations that matrix products compute: which are found, that the numbers stay, what is left alone."""

import pytest
import torch
from activations import (
    behind,
    biased_by_rows,
    by_sigmoid,
    clamped,
    clamped_on_both_sides,
    copied_behind,
    copied_beside,
    distributed,
    fast,
    half_more,
    left_in_float32,
    minus_itself,
    of_two_values,
    operands,
    read_as_a_matrix,
    read_before,
    read_in_float32,
    read_inside,
    relu_in_float32,
    rounded_to_float16,
    scaled,
    sigmoid_spelled_out,
    silu_spelled_out,
    spelled_out,
    spelled_out_by_products,
    spelled_out_in_float32,
    tanh_gelu,
    tanh_gelu_in_float32,
    three_products,
    times_zero,
    without_product,
    wrong_power,
    wrong_slope,
)
from compiling import Compiled, check
from torch.nn import functional as F

#: The tests are about calls of the library.
pytestmark = [pytest.mark.usefixtures("fresh_dynamo"), pytest.mark.products("auto")]


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


SPELLINGS = [tanh_gelu_in_float32, relu_in_float32, spelled_out_in_float32, fast, distributed, clamped]


@pytest.mark.parametrize("activation", SPELLINGS, ids=lambda f: f.__name__)
def test_an_activation_is_what_it_computes(activation):
    assert activated(check_numbers(behind(activation), operands())) == 1


def test_a_copy_behind_the_activation_is_none():
    compiled = check(copied_behind, *operands(), epilogues="library")
    assert activated(compiled) == 1
    assert len(compiled.graphs[0].launches) == 1


def test_a_copy_beside_another_reader_stays():
    compiled = check(copied_beside, *operands(), epilogues="library")
    assert activated(compiled) == 1
    assert len(compiled.graphs[0].launches) == 2


def test_products_of_one_width_share_their_zeros():
    compiled = check(three_products, *operands(), epilogues="library")
    assert activated(compiled) == 3
    assert str(compiled.graphs[0].module).count("call @zeros") == 2


def test_training_keeps_what_gelu_reads():
    args = [a.requires_grad_() for a in operands()]
    compiled = Compiled(behind(tanh_gelu), {"epilogues": "library"})
    compiled(*args).sum().backward()
    assert all("_addmm_activation" not in str(graph.module) for graph in compiled.graphs)


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
    (without_product, {}, []),
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
