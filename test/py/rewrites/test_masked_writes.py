"""A write where a mask holds: nothing counts what it selects, and gradients are traced."""

import operator

import pytest
import torch
from compiling import Compiled, check
from torch._dynamo import config

from fuse_mlir.compiler.runtime.errors import DeviceAssertError


def given(*sizes):
    torch.manual_seed(0)
    return torch.randn(sizes)


MASK = torch.tensor([[True, False, True], [False, False, False], [True, True, False], [False, True, True]])


def assigned(x, mask, values):
    y = x * 2
    y[mask] = values
    return y.sin()


def put(x, mask, values):
    return x.index_put((mask,), values), torch.index_put(x, (mask,), values, accumulate=True)


def in_place(x, mask, values):
    y = x * 2
    return y.index_put_((mask,), values, accumulate=True) * 2, y


def in_columns(x, mask, values):
    y = x * 2
    y[:, mask[:, 0]] = values
    return y


#: name -> (function, x, mask, values): a row for all, or one for each that is selected.
WRITES = {
    "one row": (assigned, given(4, 3, 2), MASK, given(2)),
    "one row of a matrix": (assigned, given(4, 5), MASK[:, 0], given(1, 5)),
    "a number": (assigned, given(4, 3), MASK, torch.tensor(2.5)),
    "each": (assigned, given(4, 3), MASK, given(6)),
    "rows": (assigned, given(4, 3, 2), MASK, given(6, 2)),
    "columns that broadcast": (assigned, given(4, 5), MASK[:, 0], given(2, 1)),
    "one dim too many": (assigned, given(4, 5), MASK[:, 0], given(1, 2, 5)),
    "put": (put, given(4, 3, 2), MASK, given(6, 2)),
    "in place": (in_place, given(4, 3), MASK, given(6)),
    "columns": (in_columns, given(3, 4, 2), MASK, given(3, 2, 2)),
    "a column": (in_columns, given(3, 4, 2), MASK, given(3, 1, 2)),
    "nothing": (assigned, given(4, 3), torch.zeros(4, 3, dtype=torch.bool), given(0)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_and_gradients(name):
    """One graph each, forward and backward, of which nothing runs in torch."""
    function, x, mask, values = WRITES[name]
    compiled = Compiled(function, dynamic=name == "rows")

    mask = mask.clone()  # what was dynamic once stays so

    def step(call):
        leaves = [t.clone().requires_grad_() for t in (x, values)]
        results = call(leaves[0], mask, leaves[1])
        results = results if isinstance(results, tuple) else (results,)
        weights = [torch.arange(r.numel()).view(r.shape) + 1.0 for r in results]
        return *results, *torch.autograd.grad(results, leaves, weights)

    for found, want in zip(step(compiled), step(function), strict=True):
        torch.testing.assert_close(found, want)
    assert len(compiled.graphs) == 2
    assert [graph.fallbacks for graph in compiled.graphs] == [[], []]


def test_an_argument_is_written():
    def simple(x, mask, values):
        x[mask] = values

    compiled = check(simple, given(4, 3).t().contiguous().t(), MASK, given(6))
    assert not compiled.graphs[0].fallbacks


def test_a_wrong_number_of_values():
    for values in (given(5), given(7)):
        with pytest.raises(DeviceAssertError, match="shape mismatch"):
            Compiled(assigned)(given(4, 3), MASK.clone(), values)


def pairs(x, rows, columns, at, one, values):
    """A mask beside a mask, lists of indices, numbers and slices."""
    y = [x.clone() for _ in range(9)]
    y[0][rows, columns] = 1.0
    y[1][rows, at] = values[0]
    y[2][at, columns] = values[:1]
    y[3][rows, one] = values
    y[4][one, columns] = 2.0
    y[5].index_put_((rows, one), values, accumulate=True)
    y[6][rows, 1:] = x[0, 1:].sin()
    y[7][..., -1][rows] = values
    y[8][1:3, columns] = 3
    return y


@pytest.mark.parametrize("counts", [(3, 3), (3, 1), (1, 2), (3, 2)], ids=str)
def test_beside_other_indices(counts):
    """Pairs of as many, one beside several, and numbers that do not fit."""
    count, others = counts
    rows, columns = torch.arange(5) % 2 == 0, torch.arange(4) > 3 - others
    rows = rows & (torch.arange(5) < 2 * count)
    args = (given(5, 4), rows, columns, torch.tensor([3, -4, 1])[:others], torch.tensor([-1]))
    args = (*args, given(count))
    compiled = Compiled(pairs, {"interpret_level": "planned"})
    if counts == (3, 2):
        with pytest.raises((IndexError, DeviceAssertError)):
            compiled(*args)
        return
    for found, want in zip(compiled(*args), pairs(*args), strict=True):
        assert torch.equal(found, want)
    assert not compiled.graphs[0].fallbacks


def test_an_index_beside_a_mask_is_within_its_dim():
    def write(x, mask, at):
        x[mask, at] = 1.0
        return x

    with pytest.raises(IndexError):
        Compiled(write)(given(4, 3), MASK[:, 0], torch.tensor([3]))


def apart(x, mask, values):
    y = x.view(2, 2, 3).clone()
    y[mask[:2, 0], :, mask[0]] = values[:1]
    return y


OTHERS = {
    "three": lambda x, m, v: x.view(2, 2, 3).index_put((m[:2, 0], m[:2, 0], m[0]), v[:1]),
    "apart": apart,
    "values for pairs": lambda x, m, v: x.index_put((m[:, 0], torch.tensor([0, 2])), v[:2]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_not_for_other_indices(name):
    mask = torch.tensor(
        [[True, False, False], [False, False, False], [True, False, False], [False, False, False]]
    )
    compiled = Compiled(OTHERS[name])
    args = given(4, 3), mask, given(6)
    assert torch.equal(compiled(*args), OTHERS[name](*args))
    assert [f.target for f in compiled.graphs[0].fallbacks] == ["aten.index_put.default"]


@pytest.mark.parametrize("op", (operator.iadd, operator.isub, operator.imul))
def test_arithmetic_on_what_is_selected(op):
    """Nothing looks for the places: no size depends on the data."""

    def function(x, mask, row):
        y = x * 2
        y[mask] = op(y[mask], row) * 3
        y[mask] = op(y[mask], 2.0)
        return y

    x, row = given(4, 3, 2), given(2)
    with config.patch(capture_dynamic_output_shape_ops=True):
        compiled = Compiled(function)
        torch.testing.assert_close(compiled(x, MASK.clone(), row), function(x, MASK, row))
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (1, 0, [])


def test_what_is_selected_of_another_tensor_or_changed_between():
    """What was read before another write stays what it was."""

    def function(x, mask):
        y = x * 2
        selected = y[mask]
        y.mul_(5)
        y[mask] = selected + 1
        return y

    with config.patch(capture_dynamic_output_shape_ops=True):
        compiled = Compiled(function)
        torch.testing.assert_close(compiled(given(4, 3), MASK), function(given(4, 3), MASK))


@pytest.mark.parametrize("op", (operator.iadd, operator.itruediv))
def test_gradients_of_arithmetic_on_what_is_selected(op):
    """What is not selected gets no NaN of an infinite slope."""

    def function(x, mask, row):
        y = x * 2
        y[mask] = 1.0 + op(y[mask], row)
        return y

    x = given(4, 3, 2)
    x[1] = 0.0
    with config.patch(capture_dynamic_output_shape_ops=True):
        compiled = Compiled(function)
        for row in (given(2), torch.tensor([0.0, 2.0])):
            found, want = (x.clone().requires_grad_() for _ in range(2))
            for call, leaf in ((compiled, found), (function, want)):
                call(leaf, MASK.clone(), row).sum().backward()
            torch.testing.assert_close(found.grad, want.grad)
    linear = op is operator.iadd
    assert (not any(graph.externs for graph in compiled.graphs)) == linear
