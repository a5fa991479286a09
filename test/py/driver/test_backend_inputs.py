"""Inputs of every kind on the CPU: layouts, dtypes, mutation, aliases, special values."""

import math

import pytest
import torch
from compiling import Compiled, check

import fuse_mlir

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


# ---- inputs of every kind ----------------------------------------------------------------------------------


def matrix(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


INPUTS = {
    "0-d": lambda: matrix(()),
    "one element": lambda: matrix(1, 1),
    "empty": lambda: matrix(0, 6),
    "empty rows": lambda: matrix(6, 0),
    "transposed": lambda: matrix(6, 4).T,
    "channels last": lambda: matrix(2, 6, 3, 3).to(memory_format=torch.channels_last),
    "strided": lambda: matrix(8, 12)[::2, ::3],
    "expanded": lambda: matrix(1, 6).expand(4, 6),
    "overlapping": lambda: matrix(9).as_strided((4, 6), (1, 1)),
    "offset": lambda: matrix(5, 6)[1:],
    "odd offset": lambda: matrix(25)[1:].view(4, 6),
    "double": lambda: matrix(4, 6).double(),
    "half": lambda: matrix(4, 6).half(),
    "bfloat16": lambda: matrix(4, 6).bfloat16(),
}


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_inputs_of_every_layout(make):
    check(lambda x: (x.sin() * 2 + 1, x.square().sum(), (x - 1).relu()), make())


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_inputs_of_every_layout_with_dynamic_sizes(make):
    check(lambda x: (x.sin() * 2 + 1, x.square().sum(), (x - 1).relu()), make(), dynamic=True)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]
)
def test_integers_and_booleans(dtype):
    x = torch.arange(-12, 12).reshape(4, 6).to(dtype)
    check(lambda x: (x + x, x * 3 == x, torch.where(x > 1, x, 0), x.sum(), x.float() / 7), x)


def test_a_graph_without_inputs():
    check(lambda: torch.ones(3, 4) * 2 + torch.arange(4))


def test_a_graph_that_only_returns():
    x = torch.randn(3)
    assert torch.compile(lambda x: (x, 1), backend=fuse_mlir.backend)(x) == (x, 1)


def test_none_numbers_and_nesting_come_back():
    compiled = Compiled(lambda x: {"a": [x + 1, None], "b": (3, x * 2)})
    x = torch.randn(3)
    found = compiled(x)
    assert found["a"][1] is None and found["b"][0] == 3
    torch.testing.assert_close([found["a"][0], found["b"][1]], [x + 1, x * 2])


def test_scalar_arguments():
    compiled = Compiled(lambda x, n, s: x * n + s, dynamic=True)
    x = torch.randn(4)
    for n, s in ((2, 0.5), (3, -1.5), (7, 0.0)):
        torch.testing.assert_close(compiled(x, n, s), x * n + s)


def test_reductions_of_nothing():
    x = torch.empty(0, 4)
    check(lambda x: (x.sum(), x.sum(0), x.prod(1), x.exp(), x.any(), torch.cat([x, x]).sum(1)), x)


def test_outputs_keep_their_strides():
    check(lambda x: (x.T + 1, (x * 2).T, x.permute(1, 0).contiguous()), torch.randn(4, 6))


def _sine_to_cosine(graph):
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.sin.default):
        node.target = torch.ops.aten.cos.default


def test_a_wrong_answer_would_be_noticed():
    with pytest.raises(AssertionError, match="output"):
        check(torch.sin, matrix(4, 6), fx_pass=_sine_to_cosine)
    with pytest.raises(AssertionError, match="input:0"):
        check(torch.sin_, matrix(4, 6), fx_pass=_sine_to_cosine)


# ---- mutation and aliases ----------------------------------------------------------------------------------


def _row(x):
    x[1] = x[0] * 2
    return x.sum()


def _through_a_view(x):
    x.T[0].mul_(3)
    return x + 1


def _read_before_and_after(x):
    before = x * 2
    x.add_(1)
    return before, x * 2


def _nothing(x):
    x.zero_()


def _counter(x, y):
    y.add_(x)  # every point reads the counter that the next line overwrites
    x.add_(1)


def _swap(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)


def _shift_onto_itself(x):
    x[1:] = x[:-1].clone()
    return x


MUTATIONS = {
    "in place": (lambda x: x.add_(1), ((4, 6),)),
    "returned": (lambda x: (x.mul_(2), x + 1), ((4, 6),)),
    "row": (_row, ((4, 6),)),
    "through a view": (_through_a_view, ((4, 6),)),
    "read before and after": (_read_before_and_after, ((4, 6),)),
    "counter": (_counter, ((), (4, 6))),
    "swap": (_swap, ((4, 6), (4, 6))),
    "shift": (_shift_onto_itself, ((6, 4),)),
    "nothing returned": (_nothing, ((4, 6),)),
    "by a reduction": (lambda x: x.sub_(x.mean(0)), ((4, 6),)),
    "into another": (lambda x, y: y.copy_(x.T), ((4, 6), (6, 4))),
    "fill": (lambda x: x.fill_(3.5), ((4, 6),)),
    "index": (lambda x: x.index_add_(0, torch.tensor([0, 2, 0]), torch.ones(3, 6)), ((4, 6),)),
}


@pytest.mark.parametrize(("function", "shapes"), MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_mutation_of_inputs(function, shapes, dynamic):
    check(function, *(matrix(shape) for shape in shapes), dynamic=dynamic, interpret_level="planned")


@pytest.mark.parametrize(
    "view", [lambda x: x[1:3], lambda x: x.T, lambda x: x[::2, 1:]], ids=["rows", "T", "step"]
)
def test_mutation_of_an_input_that_is_a_view(view):
    check(lambda x: (x.mul_(2), x.sum()), view(matrix(4, 6)))


def test_two_inputs_that_share_a_storage():
    base = matrix(4, 6)

    def f(x, y):
        x.add_(1)
        return y * 2

    check(f, base[:3], base[1:])


ALIASES = {
    "input": lambda x: (x, x + 1),
    "view of input": lambda x: (x.view(-1), x + 1),
    "slice of input": lambda x: x[1:, ::2],
    "twice": lambda x: (lambda y: (y, y))(x * 2),
    "view of output": lambda x: (lambda y: (y, y.T, y[1:]))(x * 2),
    "mutated and aliased": lambda x: (x.add_(1), x.view(-1)),
    "detached": lambda x: (x.detach(), x * 2),
}


@pytest.mark.parametrize("function", ALIASES.values(), ids=ALIASES)
def test_outputs_alias_what_they_alias_in_eager(function):
    check(function, matrix(4, 6))


def test_gradients_through_aliases_and_mutation():
    def f(x):
        y = x * 2
        y[1:].mul_(3)
        return y.T, y.sum()

    leaves = [matrix(4, 6).requires_grad_() for _ in range(2)]
    for call, leaf in zip((f, Compiled(f)), leaves, strict=True):
        a, b = call(leaf)
        (a.sin().sum() + b).backward()
    torch.testing.assert_close(leaves[1].grad, leaves[0].grad)


# ---- special values ----------------------------------------------------------------------------------------

SPECIAL = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, -3e38])


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether all elements are equal, zeros with their sign; every NaN equals every other."""
    same = (a == b) & (a.signbit() == b.signbit()) | (a.isnan() & b.isnan())
    return a.shape == b.shape and bool(same.all())


#: Of two zeros either may be the larger one, as among torch's own devices.
EXTREMES = {
    "relu": torch.relu,
    "maximum": lambda x: torch.maximum(x[:, None], x[None]),
    "minimum": lambda x: torch.minimum(x[:, None], x[None]),
    "clamp": lambda x: x.clamp(-1, 1),
    "amax": lambda x: x.expand(3, -1).amax(1),
    "amin": lambda x: x[1:].expand(3, -1).amin(1),
}
EXACT = {
    "abs": torch.abs,
    "neg": torch.neg,
    "add": lambda x: x[:, None] + x[None],
    "mul": lambda x: x[:, None] * x[None],
    "div": lambda x: x[:, None] / x[None],
    "compare": lambda x: (x[:, None] < x[None]).float() + 2 * (x[:, None] == x[None]).float(),
    "where": lambda x: torch.where(x > 0, x, -x),
    "sum": lambda x: x.sum(),
    "sign": torch.sign,
    "floor": lambda x: x.clamp(-9.5, 9.5).floor(),
    "isnan": lambda x: x.isnan().float() + x.isinf().float(),
    "nan_to_num": lambda x: x.nan_to_num(0.0),
}


@pytest.mark.parametrize("function", EXACT.values(), ids=EXACT)
def test_special_values(function):
    """Of tile code: `test_pointwise_numerics.py` has scalar code."""
    assert same_bits(Compiled(function, {"interpret_level": "planned"})(SPECIAL), function(SPECIAL))


@pytest.mark.parametrize("function", EXTREMES.values(), ids=EXTREMES)
def test_special_values_of_extremes(function):
    found = Compiled(function, {"interpret_level": "planned"})(SPECIAL)
    assert same_bits(found + 0.0, function(SPECIAL) + 0.0)  # -0.0 + 0.0 is 0.0


@pytest.mark.parametrize("function", [torch.argmax, torch.argmin], ids=["argmax", "argmin"])
@pytest.mark.parametrize(
    "values", [SPECIAL, SPECIAL[1:], torch.tensor([2.0, 2.0, 1.0, 1.0])], ids=["nan", "inf", "ties"]
)
def test_the_first_of_equals_wins_and_nan_over_all(function, values):
    x = torch.stack([values, values.flip(0)])
    found = Compiled(lambda x: function(x, 1))(x)
    assert found.tolist() == function(x, 1).tolist()


def test_softmax_of_masked_rows():
    x = torch.tensor([[1.0, -math.inf, 2.0], [-math.inf] * 3, [math.inf, 1.0, 2.0], [88.0, 89.0, 1e4]])
    assert same_bits(Compiled(lambda x: x.softmax(-1).isnan())(x).float(), x.softmax(-1).isnan().float())
    torch.testing.assert_close(Compiled(lambda x: x.softmax(-1))(x), x.softmax(-1), equal_nan=True)


# ---- found by random programs ------------------------------------------------------------------------------

FOUND = {
    "equal results are two tensors": (lambda x: (x.clone(), x.clone(), x.exp(), x.exp()), (4, 6)),
    "additions at one place stay as many": (
        lambda x: x.index_add(0, torch.arange(3) % 1, x.narrow(0, 0, 1).expand(3, 6)),
        (1, 6),
    ),
    "additions of a constant stay as many": (
        lambda x: x.index_add(0, torch.arange(3) % 1, torch.ones(3, 6)),
        (1, 6),
    ),
    "a reduced value may be constant": (lambda x: x + (torch.arange(5) % 1 + 1).sum(), (4, 6)),
    "empty in place": (lambda x: x.fill_(1), (8, 5, 1, 0)),
    "reshape of nothing": (lambda x: x.T.reshape(-1) + 1, (0, 8)),
    "scatter by constant indices": (lambda x: x.index_put((torch.tensor([1, 0]),), x[:2].flip(0)), (4, 6)),
}


@pytest.mark.parametrize(("function", "shape"), FOUND.values(), ids=FOUND)
def test_found_by_random_programs(function, shape):
    check(function, matrix(*shape), interpret_level="planned", verify="numeric")


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "layout",
    [((2,), (1,), 0), ((4,), (1,), 1), ((2, 3), (8, 2)), ((2,), (3,), 7), ((0,), (1,), 0)],
    ids=["before", "before and in", "behind", "in and behind", "nothing"],
)
def test_as_strided_reads_what_is_outside_of_a_part_of_a_storage(layout, dynamic):
    part = torch.arange(20.0)[3:9]
    check(lambda x: torch.as_strided(x, *layout) * 2, part, dynamic=dynamic)
    check(lambda x: torch.as_strided(x, *layout), part[1:2], dynamic=dynamic)
    check(lambda x: torch.as_strided((x + 1)[2:5], (2,), (2,), 0) * 2, part, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_numeric_check_has_what_is_outside_of_a_part_of_a_storage(dynamic):
    part = torch.arange(30.0)[5:11]
    compiled = check(lambda x: x.as_strided((3,), (2,), 8) * 2, part, dynamic=dynamic, verify="numeric")
    assert "fuse.storage = array<i64: 5, 30>" in str(compiled.graphs[0].module)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_offset_counts_from_where_the_storage_of_this_call_begins(dynamic):
    """No guard of Dynamo is on where in its storage an argument begins."""

    def function(x, v):
        overwritten = torch.as_strided_scatter(x, v, (2,), (2,), 4)
        return x.as_strided((3,), (1,), 2) * 2, x[1:].as_strided((2,), (1,), 3) + 1, overwritten + 1

    compiled = Compiled(function, dynamic=dynamic)
    for offset in (0, 4, 1):
        args = torch.arange(20.0)[offset : offset + 8], torch.tensor([50.0, 60.0])
        assert all(map(torch.equal, compiled(*args), function(*args))), offset
    assert len(compiled.graphs) == 1


DIVISIONS = {
    "floor": lambda x, y: x // y,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "remainder": lambda x, y: x % y,
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("divide", DIVISIONS.values(), ids=DIVISIONS)
def test_integers_divided_by_zero(divide):
    """On the CPU eager raises for integers, not for floats, and not where there is nothing to divide."""
    x, y = torch.arange(6).reshape(2, 3), torch.tensor([3, -2, 0])
    for graph, args in ((divide, (x, y)), (lambda x: divide(x, 0), (x,)), (lambda y: divide(5, y), (y,))):
        if graph is divide or divide is not torch.fmod:
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                graph(*args)
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                Compiled(graph)(*args)
    check(divide, x, y + 7)
    check(divide, x[:, :0], y[2:])
    check(lambda x, y: divide(x, y).nan_to_num(), x.double(), y)


def halves(x):
    return x + x[: x.shape[0] // 2]


def rest_of_half(x):
    return torch.minimum(x, x.narrow(0, 0, x.shape[0] - x.shape[0] // 2)).sum(0)


@pytest.mark.parametrize("function", [halves, rest_of_half])
def test_a_dynamic_size_that_a_guard_makes_one_is_broadcast(function):
    """Half of two rows is one row: torch guards on that and broadcasts it; its size stays a quotient."""
    check(function, torch.randn(2, 3), dynamic=True)
