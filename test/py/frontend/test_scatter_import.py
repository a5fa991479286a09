"""Writes at loaded indices and at known places: imported, verified, run, compared with eager."""

import math

import pytest
import torch
from compiling import Compiled
from compiling import check as check_compiled
from import_one import check_way
from lowering import check, check_training, kernels, lower, run, trace

from fuse_mlir.compiler.backend import fuse
from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, RaceError

aten = torch.ops.aten
TABLE = decomposition_table()
X = torch.arange(2 * 3 * 4, dtype=torch.float32).reshape(2, 3, 4)
I, TWICE = torch.tensor([2, 0]), torch.tensor([1, -2, 1])

#: name -> (indices with None, shape of the values, accumulate)
PUTS = {
    "rows": ([torch.tensor([1, -2])], (2, 3, 4), False),
    "middle": ([None, I], (2, 2, 4), False),
    "broadcast values": ([None, I], (4,), False),
    "one value": ([None, None, I], (), False),
    "apart": ([torch.tensor([0, 1]), None, torch.tensor([-1, 2])], (2, 3), False),
    "matrix": ([None, torch.tensor([[0], [2]]), torch.tensor([[1, 3]])], (2, 2, 2), False),
    "add": ([None, TWICE], (2, 3, 4), True),
    "add one": ([None, TWICE, TWICE], (), True),
    "no index": ([torch.empty(0, dtype=torch.int64)], (0, 3, 4), False),
}


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("name", PUTS)
def test_index_put(name, dynamic):
    indices, shape, accumulate = PUTS[name]
    values = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape) * 10 + 0.5

    def function(x, values, *tensors):
        left = list(tensors)
        return aten.index_put.default(
            x, [None if i is None else left.pop(0) for i in indices], values, accumulate
        )

    given = [i for i in indices if i is not None]
    check(function, X, values, *given, dynamic=dynamic)
    check(function, X.transpose(0, 2).contiguous().transpose(0, 2), values, *given, dynamic=dynamic)


@pytest.mark.parametrize("dtype", (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64))
def test_accumulation_dtypes(dtype):
    check(
        lambda x, i, v: x.index_put([i], v, accumulate=True),
        X.to(dtype)[0],
        torch.tensor([0, 2, 0, 0]),
        torch.ones(4, 4, dtype=dtype),
    )


@pytest.mark.parametrize("dtype", (torch.int8, torch.bool, torch.int16))
def test_no_such_atomic(dtype):
    args = X.to(dtype)[0], torch.tensor([0, 2, 0]), torch.ones(3, 4, dtype=dtype)
    with pytest.raises(UnsupportedOp, match="no atomic add"):
        lower(trace(lambda x, i, v: x.index_put([i], v, accumulate=True), args))
    check(lambda x, i, v: x.index_put([i], v, accumulate=True), *args, extern=["aten.index_put.default"])


def test_two_kernels():
    """A copy, then the scatter, whose destination is the copy."""
    imported = lower(trace(lambda x, i: x.index_put([i], torch.tensor(1.0)), [X, torch.tensor([0])]))
    assert kernels(imported)[-2:] == ["index_put_copy", "index_put"]


SCATTERS = {
    "src": lambda x, i, s: x.scatter(1, i, s),
    "value": lambda x, i, s: x.scatter(1, i, 7.5),
    "last dim": lambda x, i, s: x.scatter(-1, i, s),
    "add": lambda x, i, s: x.scatter_add(1, i, s),
    "reduce add": lambda x, i, s: aten.scatter.reduce(x, 1, i, s, reduce="add"),
    "value add": lambda x, i, s: aten.scatter.value_reduce(x, 1, i, 0.5, reduce="add"),
    "sum": lambda x, i, s: x.scatter_reduce(1, i, s, "sum"),
    "amax": lambda x, i, s: x.scatter_reduce(1, i, s, "amax"),
    "amin": lambda x, i, s: x.scatter_reduce(1, i, s, "amin"),
}


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("name", SCATTERS)
def test_scatter(name, dynamic):
    index = (
        torch.tensor([[[2, 0, 1, 1], [0, 1, 0, 2]]])
        if name != "last dim"
        else torch.tensor([[[2, 0], [1, 3]]])
    )
    source = torch.arange(24, 48, dtype=torch.float32).reshape(2, 3, 4) - 30
    check(SCATTERS[name], X, index, source, dynamic=dynamic)
    check(SCATTERS[name], X.transpose(0, 1).contiguous().transpose(0, 1), index, source, dynamic=dynamic)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int64))
@pytest.mark.parametrize("dynamic", (False, True))
def test_index_add(dtype, dynamic):
    x, index = X.to(dtype), torch.tensor([2, 0, 2, 2])
    for alpha in (1, 3):
        check(
            lambda x, i, s, a=alpha: x.index_add(1, i, s, alpha=a),
            x,
            index,
            x[:, [0, 1, 2, 0]],
            dynamic=dynamic,
        )
    check(
        lambda x, i, s: x.index_add(0, i, s),
        x.transpose(0, 1),
        index,
        x[0, [0, 1, 2, 0], None, :].expand(4, 2, 4),
    )
    check(lambda x, i, s: x.index_add(0, i, s), x[0, 0, 0], torch.tensor([0]), x[0, 0, 1:2].reshape(()))
    check(lambda x, i, s: x.index_add(0, i, s), x[0, 0], torch.tensor(1), x[0, 0, 2:3])


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.bool, torch.int64))
@pytest.mark.parametrize("dynamic", (False, True))
def test_index_copy(dtype, dynamic):
    def copied(x, i, s):
        return x.index_copy(-2, i, s)

    x, index = X.to(dtype), torch.tensor([2, 0])
    check(copied, x, index, x[:, [1, 1]], dynamic=dynamic)
    check(copied, x.transpose(0, 1), index[1:], x.transpose(0, 1)[:, 1:], dynamic=dynamic)
    check(copied, x, index[:0], x[:, :0])
    check(lambda x, i, s: x.index_copy(0, i, s), x[0, 0, 0], torch.tensor([0]), x[0, 0, 1:2].reshape(()))
    check(lambda x, i, s: x.index_copy(0, i, s), x[0, 0], torch.tensor(1), x[0, 0, 2])
    check(lambda x, i, s: x.index_copy(0, i, s), x[0, 0], torch.tensor(1), x[0, 0, 2:3])


#: One element on each line of a constant: name -> (function of the index, the number of kernels).
CONSTANTS = {
    "one hot": (lambda i, s: torch.zeros(2, 5).scatter(1, i, 1.0), 1),
    "first dim": (lambda i, s: torch.full((5, 1), 3).scatter(0, i[:1], -2), 1),
    "from a tensor": (lambda i, s: torch.ones_like(s).scatter(-1, i, s), 1),
    "rounded": (lambda i, s: torch.full((2, 5), 0.1, dtype=torch.bfloat16).scatter(1, i, 0.3), 1),
    "two a line": (lambda i, s: torch.zeros(2, 5).scatter(1, torch.cat([i, i], 1), 1.0), 2),
    "a line left out": (lambda i, s: torch.zeros(3, 5).scatter(1, i, 1.0), 2),
    "no constant": (lambda i, s: (s * 2).scatter(1, i, 1.0), 2),
    "added": (lambda i, s: torch.zeros_like(s).scatter_add(1, i, s), 2),
}


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("name", CONSTANTS)
def test_scatter_into_a_constant(name, dynamic):
    function, count = CONSTANTS[name]
    index, source = torch.tensor([[4], [0]]), torch.arange(10, dtype=torch.float32).reshape(2, 5)
    check(function, index, source, dynamic=dynamic)
    compiled = Compiled(function, {"hardware": "h200"})
    compiled(index, source)
    assert compiled.graphs[0].launches_after == count


def test_scatter_corner_cases():
    check(lambda x, i: x.scatter(0, i, 2.0), torch.tensor(3.0), torch.tensor(0))
    check(
        lambda x, i, s: x.scatter_add(0, i, s),
        torch.tensor([1.0, 2.0]),
        torch.tensor([0, 1, 0]),
        torch.tensor([1.0, 2.0, 3.0]),
    )
    check(
        lambda x, i, s: x.scatter(0, i, s), torch.ones(3), torch.empty(0, dtype=torch.int64), torch.empty(0)
    )
    check(lambda x, i: x.scatter(0, i, -1), torch.tensor([1, 2, 3]), torch.tensor([1]))
    check(lambda x, i, s: x.scatter(0, i, s), torch.ones(4), torch.tensor([3]), torch.arange(9.0))


@pytest.mark.parametrize("how", ("amax", "amin"))
def test_nan_wins_extremes(how):
    x = torch.tensor([1.0, math.nan, 3.0, -math.inf])
    source = torch.tensor([math.nan, 5.0, -math.nan, 0.0, math.inf])
    check(lambda x, i, s: x.scatter_reduce(0, i, s, how), x, torch.tensor([0, 1, 2, 3, 3]), source)


@pytest.mark.parametrize("how", ("amax", "amin"))
def test_nan_wins_where_atomics_compare_bits(how):
    """Through the whole pipeline: tile code compares the bits of floats as integers."""
    x = torch.tensor([1.0, math.nan, 3.0, -math.inf, -2.0, -0.0, -1.0, 1.0])
    source = torch.tensor([math.nan, 5.0, -math.nan, 0.0, math.inf, -3.0, -1.0, 0.0, 0.0])
    index = torch.tensor([0, 1, 2, 3, 3, 4, 4, 6, 7])

    def function(x, i, s):
        return x.scatter_reduce(0, i, s, how)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=fuse, options={"interpret_level": "planned"})
    torch.testing.assert_close(compiled(x, index, source), function(x, index, source), equal_nan=True)


def test_deterministic_algorithms_fall_back():
    """Where the order of the writes may show; one value has no order."""
    torch.use_deterministic_algorithms(True)
    try:
        for function in (lambda x, i: x.index_put([i], x[0], True), lambda x, i: x.scatter_add(0, i, x)):
            with pytest.raises(UnsupportedOp, match="deterministic"):
                lower(trace(function, [X[0, 0], I]))
        check(lambda x, i: x.scatter(0, i, 1.0), X[0, 0], I)
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("number", (3, -4))
def test_out_of_range(number):
    index = torch.tensor([0, number])
    with pytest.raises(DeviceAssertError, match="index out of bounds for dimension 0 with size 3"):
        run(lambda x, i: x.index_put([i], x[:2]), X[0], index)
    with pytest.raises(DeviceAssertError, match="index out of bounds for dimension 0 with size 3"):
        run(lambda x, i: x.scatter(0, i, 1.0), torch.ones(3), index)
    with pytest.raises(DeviceAssertError):
        run(lambda x, i: x.scatter(0, i, 1.0), torch.ones(3), torch.tensor([-1]))
    with pytest.raises(DeviceAssertError, match="index out of bounds for dimension 1 with size 3"):
        run(lambda i: torch.zeros(2, 3).scatter(1, i, 1.0), torch.tensor([[0], [number]]))


@pytest.mark.parametrize("level", ("graph", "scheduled"))
def test_two_values_for_one_element(level):
    """Torch says that either may stay: what eager runs is no error.  ``lower`` and tests look closer."""

    def function(x, i, v):
        return x.index_put([i], v), x.scatter(1, i.expand(3, 3), v[:, :3])

    given = torch.zeros(3, 4), torch.tensor([0, 2, 0]), torch.arange(12.0).reshape(3, 4) + 1
    put, scattered = Compiled(function, {"interpret_level": level})(*given)
    assert put[0].tolist() in (given[2][0].tolist(), given[2][2].tolist())
    assert torch.equal(put[1:], torch.stack([torch.zeros(4), given[2][1]]))
    assert all(a in (b, c) for a, b, c in zip(scattered[:, 0], given[2][:, 0], given[2][:, 2], strict=True))
    with pytest.raises(RaceError, match="twice, to different values"):
        run(function, *given)


def test_out_of_range_is_a_runtime_error():
    """As an assertion is in eager; code that expects one finds it."""
    with pytest.raises(RuntimeError, match="index out of bounds"):
        Compiled(lambda x, i: x.index_put([i], x[:1]))(torch.ones(3, 2), torch.tensor([5]))


KNOWN = {
    "slice": (lambda x, s: aten.slice_scatter.default(x, s, 1, 1, 3), (2, 2, 4)),
    "whole slice": (lambda x, s: aten.slice_scatter.default(x, s, 1), (2, 3, 4)),
    "slice to the end": (lambda x, s: aten.slice_scatter.default(x, s, 2, -3, 99), (2, 3, 3)),
    "slice from before the start": (lambda x, s: aten.slice_scatter.default(x, s, 2, -100, 3), (2, 3, 3)),
    "slice behind the end": (lambda x, s: aten.slice_scatter.default(x, s, 2, 7, 9), (2, 3, 0)),
    "slice with a step": (lambda x, s: aten.slice_scatter.default(x, s, -1, 1, 4, 2), (2, 3, 2)),
    "slice of one": (lambda x, s: aten.slice_scatter.default(x, s, 0, 1, 2), (1, 3, 4)),
    "empty slice": (lambda x, s: aten.slice_scatter.default(x, s, 1, 2, 2), (2, 0, 4)),
    "select": (lambda x, s: aten.select_scatter.default(x, s, 1, 2), (2, 4)),
    "select from the end": (lambda x, s: aten.select_scatter.default(x, s, 2, -1), (2, 3)),
    "diagonal": (lambda x, s: aten.diagonal_scatter.default(x, s, 0, 1, 2), (2, 3)),
    "upper diagonal": (lambda x, s: aten.diagonal_scatter.default(x, s, 1, 1, 2), (2, 3)),
    "lower diagonal": (lambda x, s: aten.diagonal_scatter.default(x, s, -1, 2, 0), (3, 2)),
}


#: Whether these begin at the front depends on a size of which nothing is known.
CLAMPED = ("slice to the end", "slice from before the start")


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("name", KNOWN)
def test_known_places(name, dynamic):
    """One kernel, without asserts."""
    function, shape = KNOWN[name]
    source = -torch.arange(1, 1 + math.prod(shape), dtype=torch.float32).reshape(shape)
    extern = ["aten.slice_scatter.default"] if dynamic and name in CLAMPED else []
    check(function, X, source, dynamic=dynamic, extern=extern)
    check(function, X.transpose(0, 2).contiguous().transpose(0, 2), source, dynamic=dynamic, extern=extern)
    imported = lower(trace(function, [X, source]))
    assert len(kernels(imported)) == 1 and "device_assert" not in str(imported.module)


def test_places_that_are_sizes():
    """A size, and what is left of one, is no negative index; a number read from a tensor may be."""
    check(lambda x, s: aten.select_scatter.default(x, s, 1, x.shape[1] - 1), X, X[:, 0] - 9, dynamic=True)
    check(lambda x, s: aten.slice_scatter.default(x, s, 2, s.shape[1] - 1), X, X[..., 2:] - 9, dynamic=True)

    def function(x, s, i):
        return aten.select_scatter.default(x, s, 1, i.sum().item())

    with pytest.raises(UnsupportedOp, match="may count from the end"):
        lower(trace(function, [X, X[:, 0], torch.tensor([-1, 0])], dynamic=True))


def last_three(x, s):
    y = x * 2
    y[:, -3:] = s
    return y


def from_before_the_start(x, s):
    y = x * 2
    y[:, -100:] = s
    return y


@pytest.mark.parametrize(("function", "count"), ((last_three, 3), (from_before_the_start, 100)))
def test_slices_from_the_end_of_a_dynamic_dim(function, count, fresh_dynamo):
    """Torch guards on whether a slice begins at the front, so that each size has a generated kernel."""
    compiled = Compiled(function, dynamic=True)
    for size in (6, 2, 5):
        x, s = torch.randn(3, size), torch.randn(3, min(size, count))
        torch.testing.assert_close(compiled(x, s), function(x, s), rtol=0, atol=0)
    assert [graph.fallbacks for graph in compiled.graphs] == [[]] * len(compiled.graphs)


def test_decomposed():
    """index_fill, put and gradients of indexed reads become index_put."""
    cases = (
        (lambda x, i: x.index_add(0, i, x[:2] * 2, alpha=2), X[0], I),
        (lambda x, i: x.index_copy(0, i, x[:2] * 2), X[0], I),
        (lambda x, i: x.index_fill(1, i, 9.0), X[0], I),
        (lambda x, i: torch.put(x, i, x[0, :2]), X[0], torch.tensor([3, 11])),
    )
    for function, *inputs in cases:
        check_training(function, *inputs, table=TABLE, gradients=False)
    for function in (
        lambda x, i: x[:, i],
        lambda x, i: x.gather(1, i[None, :, None].expand(2, 2, 4)),
        lambda x, i: x.index_select(1, i),
        lambda x, i: torch.nn.functional.embedding(i, x[0]),
        lambda x, i: x.select(1, 0) * x[:, 1],
        lambda x, i: torch.diagonal(x, 0, 1, 2),
        lambda x, i: x[:, :, 1:3],
    ):
        check_training(function, X, I, table=TABLE)


def test_what_is_filled_at_an_index_lies_as_a_clone():
    """Torch 2.11's own function copies into a new tensor, which its check of functional graphs refuses."""
    x, at = X[0], torch.tensor([-1, 0, 0])

    def filled(x, number):
        written = x + 0
        written.index_fill_(-1, at, 9.0)
        return written, x.index_fill(0, at[0], number), x.index_fill(-1, at, 2.5), x.index_fill(0, at[:0], 1)

    compiled = Compiled(filled)
    for laid in (x, x.t(), x[:, :1].expand(x.shape), X.flatten()[::2], x.half(), x[0, 0]):
        results = [f(laid, torch.tensor(7.0, dtype=torch.float64)) for f in (compiled, filled)]
        for found, expected in zip(*results, strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
            assert found.stride() == expected.stride()
    assert [graph.fallbacks for graph in compiled.graphs] == [[]] * len(compiled.graphs)


#: Scatters: lowered, decomposed, or why not.
CORE = {
    "aten.index_put.default": "lowered",
    "aten.scatter.src": "lowered",
    "aten.scatter.value": "lowered",
    "aten.scatter.reduce": "lowered",
    "aten.scatter.value_reduce": "lowered",
    "aten.scatter_add.default": "lowered",
    "aten.scatter_reduce.two": "lowered",
    "aten.slice_scatter.default": "lowered",
    "aten.select_scatter.default": "lowered",
    "aten.diagonal_scatter.default": "lowered",
    "aten.index_add.default": "lowered",
    "aten.index_copy.default": "lowered",
    "aten.index_fill.int_Scalar": "decomposed",
    "aten.put.default": "decomposed",
    "aten._unsafe_index_put.default": "decomposed",
    "aten.embedding_dense_backward.default": "decomposed",
    "aten.masked_scatter.default": "what is written where depends on a running count of the mask",
    "aten.index_reduce.default": "lowered",
    "aten.as_strided_scatter.default": "lowered",
}


@pytest.mark.parametrize("overload", CORE)
def test_every_scatter_is_accounted_for(overload):
    check_way(overload, CORE[overload])


@pytest.mark.parametrize(
    ("sizes", "strides", "offset"),
    [
        ((2, 3), (3, 1), 0),
        ((3, 2), (1, 3), 0),
        ((2, 2), (8, 2), 3),
        ((4,), (5,), 1),
        ((2, 1, 3), (7, 99, 2), 4),
    ],
)
def test_as_strided_scatter(sizes, strides, offset):
    """Views of any strides: each element chooses where it is read from."""
    view = torch.randn(sizes)
    check(lambda x, v: torch.as_strided_scatter(x + 1, v, sizes, strides, offset), torch.randn(4, 6), view)


@pytest.mark.parametrize(("sizes", "strides"), [((3, 3), (2, 1)), ((3, 2), (3, 2)), ((2, 2), (0, 1))])
def test_as_strided_scatter_of_overlapping_views(sizes, strides):
    gm = trace(
        lambda x, v: torch.as_strided_scatter(x, v, sizes, strides), [torch.ones(4, 6), torch.ones(sizes)]
    )
    assert [f.target for f in lower(gm, strict=False).fallbacks] == ["aten.as_strided_scatter.default"]


MASKED = {
    "whole": lambda x, m: x.index_put((m,), torch.tensor(2.5)),
    "rows": lambda x, m: x.index_put((m[:, 0],), torch.tensor(2.5)),
    "added": lambda x, m: x.index_put((m,), torch.tensor(2.5), accumulate=True),
}


@pytest.mark.parametrize("name", MASKED)
def test_one_number_where_a_mask_holds(name):
    """Nothing counts the elements, so nothing depends on the data."""
    compiled = check_compiled(MASKED[name], torch.randn(4, 6), torch.randn(4, 6) > 0)
    assert not compiled.graphs[0].fallbacks


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_assigned_where_a_mask_holds(dtype):
    def function(x, mask):
        y = x.clone()
        y[mask] = 3
        y[:, mask[0]] = 0
        return y

    x = torch.randn(4, 6, 2).mul(9).to(dtype)
    compiled = check_compiled(function, x, torch.randn(4, 6) > 0)
    assert not compiled.graphs[0].fallbacks and compiled.graphs[0].launches_after == 1


def test_gradient_where_a_mask_holds():
    def function(x, mask):
        return x.sin().index_put((mask,), torch.tensor(1.0)).exp()

    check_training(function, torch.randn(4, 6), torch.randn(4, 6) > 0, table=decomposition_table())
