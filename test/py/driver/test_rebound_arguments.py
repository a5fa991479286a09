"""``x.data = y``: the caller's tensors have the memory, sizes and aliases that eager gives them."""

from collections.abc import Callable, Sequence

import pytest
import torch
from compiling import Compiled
from torch import Tensor, nn

import fuse_mlir
from fuse_mlir.compiler.driver.rebound_arguments import take_out_rebound

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def assigned(x, y):
    x.data = y * 2


def read_afterwards(x, y):
    x.data = y * 2
    return x + 1


def soft_update(x, y):
    x.data = x.data * 0.99 + y.data * 0.01


def swapped(x, y):
    x.data, y.data = y.data, x.data


def rotated(x, y, z):
    x.data, y.data, z.data = y.data, z.data, x.data


def given_an_argument(x, y):
    x.data = y


def in_a_loop(x, y):
    for _ in range(3):
        x.data = x.data * 0.5 + y
    return x * 2


def transposed(x, y):
    x.data = y.t() * 2
    return x.sum(0)


def of_other_sizes(x, y):
    x.data = (y * 2)[:2]
    return x + 1


def a_row(x, y):
    x.data = y[1]


def also_returned(x, y):
    value = y * 3
    x.data = value
    return value


def two_of_one_value(x, y):
    value = (y * 3).exp()
    x.data = value
    y.data = value
    return value.sum()


def beside_other_results(x, y, z):
    z.add_(1)
    x.data = z * y
    return y.sum(), x @ y, z[0]


FORMS = (
    assigned, read_afterwards, soft_update, swapped, rotated, given_an_argument, in_a_loop, transposed,
    of_other_sizes, a_row, also_returned, two_of_one_value, beside_other_results,
)  # fmt: skip


def state(given: Sequence[Tensor], result: object) -> list[Tensor]:
    results = [r for r in torch.utils._pytree.tree_leaves(result) if isinstance(r, Tensor)]
    return [*given, *results]


def sharing(tensors: Sequence[Tensor]) -> list[int]:
    """For each tensor the first with the same memory."""
    storages = [t.untyped_storage()._cdata for t in tensors]
    return [storages.index(s) for s in storages]


@pytest.mark.parametrize("output", ["plan", "fx"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_caller_sees_what_eager_does(form, dynamic, output):
    count = form.__code__.co_argcount
    eager = [torch.randn(4, 4) for _ in range(count)]
    given = [x.clone() for x in eager]
    compiled = Compiled(form, {"output": output}, dynamic=dynamic)
    for _ in range(2):
        if form is of_other_sizes or form is a_row:
            eager[0], given[0] = torch.zeros(4, 4), torch.zeros(4, 4)
        want, found = state(eager, form(*eager)), state(given, compiled(*given))
        for a, b in zip(found, want, strict=True):
            assert a.shape == b.shape and a.stride() == b.stride()
            torch.testing.assert_close(a, b)
        assert sharing(found) == sharing(want)


def test_later_calls_leave_the_memory_alone():
    compiled = Compiled(read_afterwards)
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    compiled(x, y)
    kept, want = x.detach(), x.clone()
    for _ in range(3):
        compiled(torch.randn(64, 64), torch.randn(64, 64))
    assert torch.equal(kept, want) and torch.equal(x, want)


def averaged(model: nn.Module, mean: nn.Module, x: Tensor) -> Tensor:
    out = model(x)
    for p, q in zip(mean.parameters(), model.parameters(), strict=True):
        p.data = p.data * 0.9 + q.data * 0.1
    return out


def averaged_first(model: nn.Module, mean: nn.Module, x: Tensor) -> Tensor:
    mean.weight.data = mean.weight.data * 0.9 + model.weight.data * 0.1
    return mean(x) + model(x)


def averaged_buffer(model: nn.Module, mean: nn.Module, x: Tensor) -> Tensor:
    mean.buffer.data = mean.buffer.data * 0.9 + model.weight.data.t() * 0.1
    return model(x)


def averaged_alone(model: nn.Module, mean: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        for p, q in zip(mean.parameters(), model.parameters(), strict=True):
            p.data = p.data * 0.9 + q.data * 0.1
    return x * model.bias


def trained(step: Callable[..., Tensor], backend: object) -> list[Tensor]:
    torch.manual_seed(0)
    model, mean = nn.Linear(4, 4), nn.Linear(4, 4)
    mean.register_buffer("buffer", torch.zeros(4, 4))
    x = torch.randn(3, 4, requires_grad=True)
    run = torch.compile(lambda x: step(model, mean, x), backend=backend) if backend else step
    for _ in range(3):
        out = run(x) if backend else run(model, mean, x)
        out.square().sum().backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(0.01 if p.grad is None else p.grad * 0.01)
    kept = [*model.parameters(), *mean.parameters(), mean.buffer, x]
    return [t.detach().clone() for t in kept] + [t.grad for t in kept if t.grad is not None]


@pytest.mark.parametrize(
    "step", [averaged, averaged_first, averaged_buffer, averaged_alone], ids=lambda step: step.__name__
)
def test_averages_of_parameters_in_training(step):
    for found, want in zip(trained(step, fuse_mlir.backend), trained(step, None), strict=True):
        torch.testing.assert_close(found, want)


def test_what_is_no_argument_stays_in_the_graph():
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    fresh = graph.call_function(torch.ops.aten.clone.default, (x,))
    graph.call_function(torch.ops.aten.set_.source_Tensor, (fresh, y))
    read = graph.call_function(torch.ops.aten.set_.source_Tensor, (x, y))
    graph.output((read,))
    assert take_out_rebound(torch.fx.GraphModule({}, graph)) == ()
