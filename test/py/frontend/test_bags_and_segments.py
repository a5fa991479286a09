"""``embedding_bag``, ``embedding(max_norm=)``, ``segment_reduce``, ``histc``: with and without an order."""

import math
from unittest import mock

import pytest
import torch
from compiling import Compiled
from compiling import check as check_compiled
from lowering import check, check_training
from made_up_gpu import made_up_gpu
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd import histograms, segments
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.runtime.errors import DeviceAssertError

TABLE = decomposition_table()
#: Twice in one bag, in two bags, and the padding alone in a bag.
INDICES = torch.tensor([1, 4, 4, 9, 0, 2, 9])
BEGINS, BOUNDS = torch.tensor([0, 3, 3, 4]), torch.tensor([0, 3, 3, 4, 6])


def given(*sizes):
    torch.manual_seed(0)
    return torch.randn(sizes)


def few(way):
    return mock.patch.object(segments, "FEW", segments.FEW if way == "looked for" else 0)


@pytest.mark.parametrize(("mode", "way"), [
    ("sum", "looked for"), ("sum", "added"), ("mean", "looked for"), ("max", "added"),
])  # fmt: skip
def test_bags(mode, way):
    """Bags that are empty, end early, or hold nothing but padding; rows of two columns that are equal."""
    weight = given(10, 3)
    weight[4, 1] = weight[1, 1]

    def function(weight, indices, begins, bounds, *factors):
        results = [
            F.embedding_bag(indices, weight, bounds, mode=mode, include_last_offset=True, padding_idx=9),
            F.embedding_bag(indices[:6].view(2, 3), weight, mode=mode),
        ]
        if mode == "mean":
            results.append(F.embedding_bag(indices, weight, begins, scale_grad_by_freq=True))
        for each in factors:
            results.append(
                F.embedding_bag(indices, weight, begins, mode="sum", per_sample_weights=each, padding_idx=4)
            )
        return results

    factors = (given(7),) if mode == "sum" else ()
    with few(way):
        graphs = check_training(function, weight, INDICES, BEGINS, BOUNDS, *factors, table=TABLE)
    assert len(graphs) == 2


def test_bags_of_other_types_and_sizes():
    def function(weight, indices, begins):
        return F.embedding_bag(indices, weight, begins, mode="mean")

    def largest(weight, indices, begins):
        return F.embedding_bag(indices, weight, begins, mode="max")

    check_training(function, given(10, 3).bfloat16(), INDICES.int(), BEGINS.int(), table=TABLE)
    check_training(function, given(10, 3), INDICES[:0], torch.tensor([0, 0]), table=TABLE)
    check_training(largest, given(3, 10).double().t(), INDICES, BEGINS, table=TABLE, dynamic=True)


@pytest.mark.parametrize("way", ("looked for", "added"))
def test_a_missing_number_wins_where_it_comes_first(way):
    weight = given(10, 3)
    weight[1, 0], weight[4, 1], weight[0], weight[2] = math.nan, math.nan, -math.inf, math.nan
    with few(way):
        compiled = Compiled(lambda w, i, b: F.embedding_bag(i, w, b, mode="max"))
        leaves = [weight.clone().requires_grad_() for _ in range(2)]
        found, want = (
            compiled(leaves[0], INDICES, BEGINS),
            F.embedding_bag(INDICES, leaves[1], BEGINS, mode="max"),
        )
        for result in (found, want):
            result.backward(torch.arange(12.0).view(4, 3) + 1)
    torch.testing.assert_close(found, want, equal_nan=True)
    assert torch.equal(leaves[0].grad, leaves[1].grad)


def test_bags_that_eager_refuses_and_sparse_ones():
    def function(weight, indices, begins):
        return F.embedding_bag(indices, weight, begins, mode="sum")

    for begins, told in ((torch.tensor([1, 3]), "has to be 0"), (torch.tensor([0, 8]), "can not be greater")):
        with pytest.raises(DeviceAssertError, match=told):
            Compiled(function)(given(10, 3), INDICES, begins)
    with pytest.raises(IndexError, match="out of range"):
        Compiled(function)(given(9, 3), INDICES, BEGINS)
    compiled = Compiled(lambda w, i, b: F.embedding_bag(i, w, b, sparse=True))
    compiled(given(10, 3), INDICES, BEGINS)
    assert [f.target for f in compiled.graphs[0].fallbacks] == ["aten._embedding_bag_forward_only.default"]


@pytest.mark.parametrize("norm_type", (1.0, 2.0, math.inf))
def test_long_rows_are_made_shorter(norm_type):
    """In the weight itself; short rows, and rows that are not named, keep their bits."""
    weight = given(10, 4)
    weight[3] *= 0.01

    def function(weight, indices):
        return F.embedding(indices, weight, max_norm=1.0, norm_type=norm_type) * 2

    for dtype in (torch.float32, torch.bfloat16) if norm_type == 1.0 else (torch.float32,):
        compiled = check_compiled(function, weight.to(dtype), torch.tensor([[1, 3, 3], [9, 0, 9]]))
        assert not compiled.graphs[0].fallbacks


def test_an_embedding_with_a_largest_norm_learns():
    def function(weight, indices):
        return F.embedding(indices, weight * 1, max_norm=1.0)

    check_training(function, given(10, 4), torch.tensor([1, 3, 3]), table=TABLE)


@pytest.mark.parametrize(("kind", "way"), [
    ("sum", "added"), ("mean", "looked for"), ("max", "added"), ("min", "looked for"), ("prod", "looked for"),
])  # fmt: skip
def test_segments(kind, way):
    """Empty ones, zeros, equal extremes; lengths for each row of a batch; what starts from a number."""
    data = given(6, 3)
    data[2], data[0], data[4, 1] = 0.0, data[1], 0.0

    def function(data, lengths, offsets, batch, rows):
        return [
            torch.segment_reduce(data, kind, lengths=lengths, initial=2.0),
            torch.segment_reduce(data, kind, offsets=offsets, initial=None if kind == "sum" else 1.5),
            torch.segment_reduce(batch, kind, lengths=rows, axis=1, initial=0.25),
        ]

    rows = torch.tensor([[2, 0, 3], [1, 4, 0]])
    inputs = data, torch.tensor([2, 0, 4]), torch.tensor([0, 2, 2, 6]), given(2, 5, 2), rows
    with few(way):
        check_training(function, *inputs, table=TABLE)


def test_gradients_of_extremes_and_products_are_eagers():
    """Equal extremes share a gradient above 0 alone; others' zeros and missing numbers decide a product's."""
    data = torch.tensor([0.0, 0, 3, 0, 5, math.nan, 2, 0, math.nan, math.nan, 7, 7, 7])
    lengths = torch.tensor([2, 3, 2, 2, 1, 3])

    def function(data, lengths):
        return [torch.segment_reduce(data, kind, lengths=lengths) for kind in ("max", "prod")]

    compiled = Compiled(function)
    for sign in (1.0, -1.0):
        leaves = [data.clone().requires_grad_() for _ in range(2)]
        for call, leaf in zip((compiled, function), leaves, strict=True):
            torch.autograd.backward(call(leaf, lengths), [torch.full((6,), sign)] * 2)
        torch.testing.assert_close(leaves[0].grad, leaves[1].grad, equal_nan=True)


def test_empty_and_wrong_segments():
    def function(data, lengths):
        return torch.stack([torch.segment_reduce(data, k, lengths=lengths) for k in ("mean", "max")])

    check(function, given(4), torch.tensor([4, 0]), table=TABLE)
    check(function, given(0), torch.tensor([0, 0]), table=TABLE, dynamic=False)
    check(
        lambda d, n: torch.segment_reduce(d, "sum", lengths=n, unsafe=True),
        given(6),
        torch.tensor([1, 2]),
        table=TABLE,
    )
    for lengths, told in (([1, 2], "sum to data.size"), ([5, -1], "negative")):
        with pytest.raises(DeviceAssertError, match=told):
            Compiled(function)(given(4), torch.tensor(lengths))


@pytest.mark.parametrize("way", ("looked for", "added"))
def test_histograms(way):
    """Numbers on edges, outside, missing; limits that are given, found, or equal."""
    x = torch.cat([torch.arange(-1, 101) / 100, given(20)])

    def function(x):
        outside = torch.cat([x, x.new_tensor([math.nan, math.inf])])
        return (
            torch.histc(outside, 10, 0, 1), torch.histc(outside, 30, -0.5, 0.75), torch.histc(x, 7),
            torch.histc(x, 3, 2, 2), torch.histc(x[:1], 4), torch.histc(x[:0], 4), torch.histc(x[5], 2, 0, 1),
        )  # fmt: skip

    with mock.patch.object(histograms, "FEW", histograms.FEW if way == "looked for" else 0):
        compiled = Compiled(function, dynamic=way == "added")
        for found, want in zip(compiled(x), function(x), strict=True):
            assert torch.equal(found, want)
        assert not compiled.graphs[0].fallbacks
        with pytest.raises(DeviceAssertError, match="not finite"):
            Compiled(lambda x: torch.histc(x, 4))(torch.tensor([1.0, math.nan]))


def test_histograms_of_a_cpu_are_calls_of_torch():
    x, w = torch.linspace(-1, 1, 12), torch.arange(12.0)

    def f(x, w):
        return (
            *torch.histogram(x * 2, 4, range=(-1.0, 1.0), weight=w),
            *torch.histogram(x, torch.tensor([-1.0, 0.0, 2.0]), density=True),
            *torch.histogramdd(x.view(6, 2), [2, 3], range=[-1.0, 1.0, -1.0, 1.0])[:1],
        )

    compiled = Compiled(f)
    for found, expected in zip(compiled(x, w), f(x, w), strict=True):
        assert torch.equal(found, expected)
    assert not compiled.graphs[0].fallbacks


def test_kernels_compile_for_a_gpu():
    pytest.importorskip("triton")

    def function(weight, indices, begins, data, lengths):
        return (
            F.embedding_bag(indices, weight, begins, mode="max").sum()
            + torch.segment_reduce(data, "mean", lengths=lengths).sum()
            + torch.histc(data.detach(), 4, 0, 1).sum()
        )

    with made_up_gpu() as launched:
        weight = given(10, 3).requires_grad_()
        Compiled(function)(weight, INDICES, BEGINS, given(6, 3), torch.tensor([2, 0, 4])).backward()
    assert len(launched) >= 4
