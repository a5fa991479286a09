"""Why were these not fused?  The answer names the rule and the lines of the user's function."""

import inspect
import re
from collections.abc import Callable

import pytest
import torch
from compiling import Compiled

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def rows_then_columns(x):
    mean = x.mean(1, keepdim=True)
    return (x - mean).exp().sum(0)


def total_then_every_point(x):
    total = (x * x).sum()
    return x / total


def product_and_activation(x):
    product = x @ x
    return torch.relu(product + 1)


def views_that_do_not_correspond(x):
    y = torch.sin(x)
    flat = y.reshape(-1)[:1000].view(10, 100) * 2
    return flat, y.t().reshape(-1) + 1


def one_result_two_reductions(x):
    y = torch.tanh(x)
    return y.sum(0), y.sum(1)


#: Function -> rule, and the lines of it (the ``def`` is 0) that the remark is about.
CASES = {
    rows_then_columns: ("slower", {1, 2}),
    total_then_every_point: ("too-long-row", {1, 2}),
    product_and_activation: ("extern", {1, 2}),
    views_that_do_not_correspond: ("index-mismatch", {2, 3}),
    one_result_two_reductions: ("slower", {2}),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_the_answer_is_a_rule_and_the_users_lines(function: Callable) -> None:
    rule, lines = CASES[function]
    compiled = Compiled(function)
    compiled(torch.randn(512, 512))
    [graph] = compiled.graphs
    first = inspect.getsourcelines(function)[1]
    missed = [r for r in graph.remarks.items if r.kind == "missed"]
    found = [
        (
            r.rule,
            {int(n) - first for n in re.findall(rf'"{re.escape(__file__)}":(\d+)', " ".join(r.locations))},
        )
        for r in missed
    ]
    assert (rule, lines) in found, graph.remarks.render("text")
    assert all(len(r.ops) == len(r.locations) == 2 and r.message for r in missed)


def test_casts_stand_in_the_way_of_nothing() -> None:
    def function(x):
        half = (x * 2).half()
        return half.float().softmax(-1), half.to(torch.int32) + 1

    compiled = Compiled(function)
    compiled(torch.randn(512, 512))
    [graph] = compiled.graphs
    assert graph.launches_after == 1 and all(r.kind != "missed" for r in graph.remarks.items)
