"""The graphs of the benchmark: names, bytes, sizes, and that wrong answers are found."""

import pytest
import torch
from bench_runs import ALL, DROPOUT, small

from fuse_mlir.bench.cases import GRAPHS
from fuse_mlir.bench.graph import Graph, graph_table
from fuse_mlir.bench.graph_check import GraphChecker, check_dropout
from fuse_mlir.bench.models import named_tensors


def test_graph_names_are_unique():
    with pytest.raises(AssertionError, match="two graphs are named 'a'"):
        graph_table([Graph("a", None, (), ()), Graph("a", None, (), ())])


def unneeded_bytes(name, args, outputs):
    """Bytes of arguments that the graph need not read, or reads more often than it must, counted apart."""
    if name.startswith("embedding"):
        return (args[1].shape[0] - args[0].unique().numel()) * args[1][0].nbytes
    if name.startswith("concat"):
        return args[0].nbytes  # of two operands, one's worth survives the slice
    if name.startswith("layer_norm_backward"):
        return args[5].nbytes  # the bias itself is in no gradient
    if name.startswith("top1_gather"):
        return args[1].nbytes - outputs.nbytes  # one value of each row
    return 0


@pytest.mark.parametrize("name", ALL)
def test_bytes_are_those_of_needed_arguments_and_outputs(name):
    for dtype in ALL[name].dtypes:
        graph, built = small(name, dtype)
        tensors = named_tensors(built.args)
        read = sum(tensor.nbytes for tensor in tensors.values())
        with torch.no_grad():
            outputs = built.fn(*built.args)
        written = sum(tensor.nbytes for tensor in named_tensors(outputs).values())
        if graph.mutates:  # all arguments but the gradients
            written += sum(tensor.nbytes for key, tensor in tensors.items() if not key.startswith("1."))
        assert built.bytes == read + written - unneeded_bytes(name, built.args, outputs)


# Counting the distinct tokens of an embedding needs their values.
@pytest.mark.parametrize("name", [name for name in GRAPHS if not name.startswith("embedding")])
def test_benchmark_sizes_build_and_exceed_an_l2_cache(name):
    """On the meta device, in the graph's smallest dtype."""
    graph = GRAPHS[name]

    class Meta:
        device, dtype, size = torch.device("meta"), graph.dtypes[-1], graph.dtypes[-1].itemsize

        def normal(self, *shape, dtype=None):
            return torch.empty(shape, dtype=dtype or self.dtype, device="meta")

        def uniform(self, low, high, *shape):
            return self.normal(*shape)

        def integers(self, high, *shape):
            return torch.empty(shape, dtype=torch.int64, device="meta")

    assert graph.build(Meta(), *graph.sizes).bytes > 100e6


@pytest.mark.parametrize("name", ALL)
def test_eager_passes_its_own_check(name):
    for dtype in ALL[name].dtypes:
        graph, built = small(name, dtype)
        found = GraphChecker(graph, built).check(built.fn)
        assert found.passed and found.repeatable, found.note


@pytest.mark.parametrize("name", [name for name in ALL if name not in DROPOUT])
def test_a_scaled_answer_fails(name):
    graph, built = small(name)

    def scaled(*args):
        outputs = built.fn(*args)
        target = args[0][0] if graph.mutates else outputs[0] if isinstance(outputs, tuple) else outputs
        target.mul_(1.01) if target.is_floating_point() else target.add_(1)
        return outputs

    assert not GraphChecker(graph, built).check(scaled).passed


def test_a_missing_mutation_fails():
    graph, built = small("adam_64x1024x1024")
    found = GraphChecker(graph, built).check(lambda *args: None)
    assert not found.passed and found.note.startswith("input:")


def test_a_bit_that_varies_is_reported_and_nan_fails():
    graph, built = small("scale_add_8192x4096")
    calls = []

    def varying(x, y):
        calls.append(1)
        return torch.nextafter(built.fn(x, y), x + len(calls))

    checker = GraphChecker(graph, built)
    found = checker.check(varying)
    assert found.passed and not found.repeatable
    wrong = checker.check(lambda x, y: x * float("nan"))
    assert not wrong.passed and "NaN" in wrong.note


def test_the_tolerance_follows_the_result_and_slack_is_small():
    """A float32 mean of bfloat16 numbers is held to float32."""
    graph, built = small("mean_square_2p27", torch.bfloat16)
    checker = GraphChecker(graph, built)
    assert checker.check(lambda x: built.fn(x) * (1 + 2**-22)).passed
    assert not checker.check(lambda x: built.fn(x) * (1 + 1e-5)).passed


def constant_mask(x, residual):
    mask = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) > 0.1
    return x * mask / 0.9 + residual


def unseeded():
    """Dropout from a generator of its own, which no seed resets."""
    generator = torch.Generator().manual_seed(1)

    def call(x, residual):
        return x * (torch.rand(x.shape, generator=generator) > 0.1) / 0.9 + residual

    return call


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (constant_mask, "another seed"),
        (lambda x, r: torch.dropout(x, 0.3, True) + r, "independent draws"),
        (lambda x, r: torch.dropout(x, 0.1, True) + r * 1.001, "residual"),
        (lambda x, r: torch.dropout(x + r, 0.1, True), "residual"),
        (lambda x, r: x * torch.dropout(torch.ones(x.shape[0], 1), 0.1, True) + r, "independent draws"),
        (unseeded(), "same seed"),
    ],
    ids=["constant", "probability", "residual", "order", "row-mask", "unseeded"],
)
def test_dropout_check_rejects(wrong, reason):
    _, built = small(DROPOUT[0])
    found = check_dropout(wrong, *built.args, p=0.1)
    assert not found.passed and reason in found.note
