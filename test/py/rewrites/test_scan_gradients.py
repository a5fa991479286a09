"""Gradients of ``associative_scan``: scans backwards in time, against a loop over the steps in float64."""

from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from interpreted_gpu import interpreted_gpu
from torch import Tensor
from torch._higher_order_ops.associative_scan import associative_scan_op

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

#: Of the results of two runs, those of both.
Both = Callable[..., list[Tensor]]


def recurrence(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> list[Tensor]:
    return [a * b, x * b + y]


def sums(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> list[Tensor]:
    return [torch.add(a, b), y.mul(x)]


def extremes(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> list[Tensor]:
    return [torch.maximum(a, b), x + y]


def loss(scan: Callable[[list[Tensor]], list[Tensor]], which: int) -> Callable[..., Tensor]:
    def function(a: Tensor, x: Tensor) -> Tensor:
        made = scan([torch.sigmoid(a), x * 2])
        used = made if which == 2 else made[which : which + 1]
        return sum((each.tanh() * x).sum() for each in used)

    return function


def scanned(both: Both) -> Callable[[list[Tensor]], list[Tensor]]:
    return lambda xs: associative_scan_op(both, xs, ())


def one_by_one(both: Both) -> Callable[[list[Tensor]], list[Tensor]]:
    def scan(xs: list[Tensor]) -> list[Tensor]:
        steps = [[x[0] for x in xs]]
        for step in range(1, len(xs[0])):
            steps.append(both(*steps[-1], *(x[step] for x in xs)))
        return [torch.stack(each) for each in zip(*steps, strict=True)]

    return scan


def inputs(steps: int) -> list[Tensor]:
    make = torch.Generator().manual_seed(0)
    return [torch.randn(steps, 3, generator=make) for _ in range(2)]


def gradients(function: Callable[..., Tensor], args: list[Tensor]) -> tuple[Tensor, ...]:
    given = [a.detach().requires_grad_() for a in args]
    return torch.autograd.grad(function(*given), given, allow_unused=True)


@pytest.mark.parametrize(
    ("both", "steps", "which"), [(recurrence, 300, 1), (recurrence, 9, 2), (recurrence, 1, 0), (sums, 40, 2)]
)
def test_gradients_of_recurrences(both, steps, which):
    args = inputs(steps)
    with interpreted_gpu():
        compiled = Compiled(loss(scanned(both), which))
        found = gradients(compiled, args)
    exact = gradients(loss(one_by_one(both), which), [a.double() for a in args])
    for a, e in zip(found, exact, strict=True):
        assert (a - e).norm() <= 1e-5 * e.norm()
    assert any("scan-gradients" in graph.remarks.render("text") for graph in compiled.graphs)
    assert not any(f"{steps}x{steps}" in str(graph.module) for graph in compiled.graphs)


def test_other_functions_keep_torchs_gradient():
    args = inputs(6)
    compiled = Compiled(loss(scanned(extremes), 1))
    _, found = gradients(compiled, args)
    _, exact = gradients(loss(one_by_one(extremes), 1), args)
    torch.testing.assert_close(found, exact)
    assert "scan-gradients" not in compiled.graphs[0].remarks.render("text")


def test_without_gradients_nothing_changes():
    compiled = Compiled(loss(scanned(recurrence), 1))
    compiled(*inputs(5))
    assert "scan-gradients" not in compiled.graphs[0].remarks.render("text")
