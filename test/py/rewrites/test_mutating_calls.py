"""Custom ops that write to their arguments: in place where nobody sees the old contents, else into a copy."""

import operator
import random

import pytest
import torch
from compiling import Compiled, cloned
from made_up_gpu import made_up_gpu
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from fuse_mlir.compiler.rewrites.graph.mutating_calls import write_calls_in_place


@torch.library.custom_op("fuse_tests::add_twice_", mutates_args=("x",))
def add_twice_(x: Tensor, y: Tensor) -> None:
    x.add_(y * 2)


@torch.library.custom_op("fuse_tests::sums", mutates_args=("total",))
def sums(x: Tensor, total: Tensor) -> Tensor:
    total.copy_(x.sum(0))
    return x.sin()


@sums.register_fake
def _(x, total):
    return torch.empty_like(x)


@torch.library.custom_op("fuse_tests::double_all_", mutates_args=("xs",))
def double_all_(xs: list[Tensor], also: Tensor | None = None) -> None:
    for x in xs:
        x.mul_(2)


@torch.library.custom_op("fuse_tests::add_after_", mutates_args=("x",))
def add_after_(x: Tensor, y: Tensor) -> None:
    """Writes to ``x`` before it reads ``y``."""
    x.add_(1)
    x.add_(y)


@torch.library.custom_op("fuse_tests::scale_both_", mutates_args=("x", "y"))
def scale_both_(x: Tensor, y: Tensor) -> None:
    x.add_(1)
    y.mul_(3)


def argument(x, y):
    add_twice_(x, y)
    return x + 1


def argument_twice(x, y):
    add_twice_(x, y)
    add_twice_(x, y + 1)
    return x * y


def argument_between(x, y):
    """The contents between two calls have a reader after the second."""
    add_twice_(x, y)
    between = x.clone()
    add_twice_(x, y)
    return between + x


def old_contents(x, y):
    old = x * 2
    new = old.clone()
    add_twice_(new, y)
    return old + new


def value(x, y):
    made = x * 2
    add_twice_(made, y)
    return made.sum(), made


def value_read_later(x, y):
    made = x * 2
    kept = made.sin()
    add_twice_(made, y)
    return kept, made.cos()


def views(x, y):
    add_twice_(x[1], y[0])
    add_twice_(x[:, 2], y[:, 0])
    return x.t() + 1


def view_of_value(x, y):
    made = x + y
    add_twice_(made.t(), y)
    return made


def two_results(x, y):
    out = sums(x * 2, y[0])
    return out + y


def a_list(x, y):
    made = x + 1
    double_all_([x, made, y[0]])
    return x + made


def equal_values(x, y):
    """Two values that are merged into one before anything is written."""
    a, b = torch.zeros_like(x), torch.zeros_like(x)
    add_twice_(a, y)
    add_twice_(b, x)
    return a - b


def returned(x, y):
    made = x * 3
    view = made[0]
    add_twice_(made, y)
    return view, made


PROGRAMS = [
    argument, argument_twice, argument_between, old_contents, value, value_read_later, views, view_of_value,
    two_results, a_list, equal_values, returned,
]  # fmt: skip
X = torch.linspace(-2, 2, 16).reshape(4, 4)
Y = torch.linspace(1, 3, 16).reshape(4, 4)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_like_eager(program):
    eager, own = cloned([X, Y]), cloned([X, Y])
    want = program(*eager)
    with torch.no_grad():
        found = Compiled(program, {"interpret_level": "planned", "verify": "on"})(*own)
    torch.testing.assert_close((found, own), (want, eager))


def part_of_an_argument(x, y):
    add_twice_(x[1:, 1::2], y[1:, :2])
    return x + 1


def no_part_of_an_argument(x, y):
    add_twice_(x[4:], y[4:])
    return x + 1


@pytest.mark.parametrize("verify", ["on", "numeric"])
@pytest.mark.parametrize("program", [part_of_an_argument, no_part_of_an_argument, views])
def test_the_argument_of_the_next_call_begins_elsewhere_in_its_storage(program, verify):
    """AOTAutograd says where a view begins from where the storage does, which no guard keeps."""
    compiled = Compiled(program, {"verify": verify})
    for offset in (3, 0, 5):
        mine, eager = (torch.arange(30.0)[offset : offset + 16].view(4, 4) for _ in range(2))
        with torch.no_grad():
            torch.testing.assert_close((compiled(mine, Y), mine), (program(eager, Y), eager))
    assert len(compiled.graphs) == 1


def part_between(x, y):
    """The contents between two calls have a reader after the second, and a copy would lie otherwise."""
    add_twice_(x[1:, 1::2], y[1:, :2])
    between = x.clone()
    add_twice_(x[1:, 1::2], y[1:, :2])
    return between + x


def test_the_numeric_check_has_what_is_around_an_argument():
    """A call that is left as it is finds its view by where the storage of the argument begins."""
    compiled = Compiled(part_between, {"verify": "numeric"})
    mine, eager = (torch.arange(50.0)[5:45].view(4, 10)[:, ::2] for _ in range(2))
    with torch.no_grad():
        torch.testing.assert_close((compiled(mine[:, :4], Y), mine), (part_between(eager[:, :4], Y), eager))
    assert "fuse.storage = array<i64: 5, 50>" in str(compiled.graphs[0].module)


def launches(program, **options):
    compiled = Compiled(program, options)
    compiled(*cloned([X, Y]))
    (graph,) = compiled.graphs
    return [(launch.kind, launch.name) for launch in graph.launches]


def same_argument(x, y):
    add_after_(x, x)
    return x * y


def same_value(x, y):
    made = x * y
    add_after_(made, made)
    return made + 1


def overlapping_views(x, y):
    made = x * y
    add_after_(made[1:], made[:-1])
    return made + 1


def both_written(x, y):
    made = x * y
    scale_both_(x, x)
    scale_both_(made, made)
    return made + x


@pytest.mark.parametrize("program", [same_argument, same_value, overlapping_views, both_written])
def test_what_is_read_through_another_argument_is_what_the_call_began_with(program):
    """``op(p, p)`` of an op that writes to one and reads the other: functionalization gives it two tensors,
    as the backend "aot_eager" does, so that no order of its reads and writes is seen.  Eager gives it one.
    """
    given, functional = cloned([X, Y]), cloned([X, Y])
    found = Compiled(program, {"interpret_level": "planned"})(*given)
    torch._dynamo.reset()
    expected = torch.compile(program, backend="aot_eager")(*functional)
    torch.testing.assert_close([found, *given], [expected, *functional], rtol=0, atol=0)
    if program is same_value:
        made = X * Y
        torch.testing.assert_close(found, (made + 1 + made) + 1, rtol=0, atol=0)  # eager: (made + 1) * 2 + 1


@pytest.mark.parametrize("program", [argument, value], ids=lambda p: p.__name__)
def test_in_place(program):
    """One kernel beside the op: no copy into the argument, and none in front of the call."""
    kinds = [kind for kind, _ in launches(program)]
    assert kinds.count("torch") == 1 and kinds.count("kernel") == (1 if program is argument else 2)
    assert ("torch", "fuse_tests.add_twice_.default") in launches(program)


def rewritten(program, *args):
    """How many calls the remark of the rewrite says."""
    compiled = Compiled(program)
    compiled(*args)
    [graph] = compiled.graphs
    return sum(dict(r.numbers)["count"] for r in graph.remarks.items if r.pass_name == "mutating-calls")


def test_calls_that_stay_functional():
    """Where a copy would not have the gaps between the rows of its original."""
    wide = torch.ones(4, 10)[:, ::2][:, :4]
    with torch.no_grad():
        assert rewritten(part_between, wide, Y) == 1  # the second call writes the argument
        assert rewritten(part_between, X.clone(), Y) == 2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_plans(program):
    """A plan calls the ops themselves; the made-up GPU runs them, and no kernel of ours."""
    with made_up_gpu(), torch.no_grad():
        Compiled(program)(*cloned([X, Y]))


def test_training():
    """What a forward graph saves or hands out is no place to write to."""

    def program(x, y):
        made = x * y
        add_twice_(made.detach(), y.detach())
        return (made * x.sin()).sum()

    grads = []
    for call in (program, Compiled(program)):
        x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
        grads.append(torch.autograd.grad(call(x, y), (x, y)))
    torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("rows", [3, 5])
def test_sizes_that_change(rows):
    x, y = torch.randn(rows, 4), torch.randn(rows, 4)
    compiled = Compiled(old_contents, dynamic=True)
    torch.testing.assert_close(compiled(x, y), old_contents(x, y))


def drawn(seed):
    """A program of up to ten steps over (4, 4) tensors; every third of them writes to what is there."""
    draw = random.Random(seed)
    storages, plan = [0, 1], []  # of each value, the first value that lies there
    for _ in range(draw.randint(3, 10)):
        step = draw.choice(("sin", "mul", "zeros", "view", "write", "write", "write row", "sums", "clone"))
        a, b = draw.randrange(len(storages)), draw.randrange(len(storages))
        writes = step.startswith("write")
        if writes and storages[a] == storages[b]:
            continue
        plan.append((step, a, b, draw.random() < 0.5))
        if not writes:
            storages.append(storages[a] if step == "view" else len(storages))
    results = draw.sample(range(len(storages)), 2)

    def program(x, y):
        values = [x, y]
        for step, first, second, flag in plan:
            a, b = values[first], values[second]
            if step == "write":
                add_twice_(a, b)
            elif step == "write row":
                add_twice_(a[1], b[0])
            elif step == "view":
                values.append(a.t() if flag else a[:, :])
            elif step == "sums":
                values.append(sums(a, torch.zeros(4)))
            else:
                made = {"sin": a.sin() + 1, "mul": a * b, "zeros": torch.zeros_like(x), "clone": a.clone()}
                values.append(made[step])
        return tuple(values[r].clone() if storages[r] < 2 else values[r] for r in results)

    return program


@pytest.mark.parametrize("seed", range(16))
def test_drawn_programs(seed):
    program = drawn(seed)
    eager, own = cloned([X, Y]), cloned([X, Y])
    want = program(*eager)
    with torch.no_grad():
        found = Compiled(program, {"interpret_level": "planned"})(*own)
    torch.testing.assert_close((tuple(found), own), (want, eager), rtol=1e-4, atol=1e-4)


def test_what_says_how_to_copy_is_no_operand():
    """Torch 2.15 names the whole tensor that a written view is part of."""
    value = FakeTensorMode().from_tensor(torch.ones(8))
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    whole = graph.call_function(torch.ops.aten.sin.default, (x,))
    part = graph.call_function(torch.ops.aten.slice.Tensor, (whole, 0, 0, 8))
    launch = graph.call_function(
        torch.ops.higher_order.triton_kernel_wrapper_functional,
        kwargs={
            "kernel_idx": 0,
            "constant_args_idx": 0,
            "grid": [(1, 1, 1)],
            "tma_descriptor_metadata": {},
            "kwargs": {"x": x, "y": part},
            "tensors_to_clone": ["y"],
            "tensor_bases": {"y": whole},
        },
    )
    new = graph.call_function(operator.getitem, (launch, "y"))
    for node in graph.nodes:
        node.meta["val"] = {"y": value} if node is launch else value
    graph.output((new,))
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    assert write_calls_in_place(gm) == 1
    [made] = graph.find_nodes(
        op="call_function", target=torch.ops.higher_order.triton_kernel_wrapper_mutation
    )
    assert not {"tensors_to_clone", "tensor_bases"} & made.kwargs.keys()
    assert made.kwargs["kwargs"] == {"x": x, "y": part} and graph.output_node().args[0] == (part,)
