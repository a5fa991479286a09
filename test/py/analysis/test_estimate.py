"""What a launch is said to move and compute, against counts by hand and torch's own."""

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from fuse_mlir.bench.cases import GRAPHS
from fuse_mlir.compiler.analysis.cost.traffic import Traffic
from fuse_mlir.compiler.cost.clock import seconds
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.cost.work import Work
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

#: Graphs that become kernels without intermediates: they move what they must and nothing else.
EXACT = (
    "gelu_gate_8192x4096", "scale_add_8192x4096", "softmax_8192x4096", "layer_norm_8192x4096",
    "rms_norm_residual_8192x4096", "cumsum_8192x4096", "transpose_add_8192x8192", "rotary_8x32x2048x128",
)  # fmt: skip


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def estimates_of(function, *args, **options) -> list[Work]:
    compiled = Compiled(function, {"hardware": "h200", **options})
    compiled(*args)
    found = [launch.estimate for graph in compiled.graphs for launch in graph.launches]
    assert all(found)
    return found


@pytest.mark.parametrize("name", EXACT)
def test_kernels_move_what_a_count_by_hand_says(name):
    built = GRAPHS[name].new(torch.float32, torch.device("cpu"), small=True)
    (estimate,) = estimates_of(built.fn, *built.args)
    assert estimate.bytes == built.bytes


def test_combined_kernels_move_what_their_parts_do():
    built = GRAPHS["adam_64x1024x1024"].new(torch.float32, torch.device("cpu"), small=True)
    found = estimates_of(built.fn, *built.args, interpret_level="planned")
    corrections = 2 * 2 * 4  # two numbers that one launch writes and the other reads
    assert (len(found), sum(e.bytes for e in found)) == (2, built.bytes + corrections)


def test_loads_at_two_loaded_indices_are_two():
    """Each kernel calls its first loaded index i0, whatever it is."""
    x, i, j = torch.randn(64, 8), torch.arange(4), torch.arange(4) + 7
    (estimate,) = estimates_of(lambda x, i, j: x[i] + x[j], x, i, j)
    assert estimate.bytes == 3 * 4 * 8 * 4 + 2 * 4 * 8


def test_what_is_read_again_and_again_counts_once():
    """Elements 3 to 9, in five windows of three."""
    x = torch.randn(10)
    (estimate,) = estimates_of(lambda x: x[3:].unfold(0, 3, 1).exp(), x)
    assert estimate.bytes == 7 * 4 + 15 * 4


def test_every_level_says_the_same_bytes():
    def function(x, w):
        return F.softmax(F.layer_norm(x @ w, (16,)), -1) + x.sum(0)

    args = torch.randn(8, 16), torch.randn(16, 16)
    levels = [
        estimates_of(function, *args, interpret_level=level) for level in ("scheduled", "tiled", "planned")
    ]
    assert levels[1] == levels[2]
    assert [e.bytes for e in levels[0]] == [e.bytes for e in levels[1]]
    assert len(levels[0]) > 1


def test_a_storage_counts_once_however_often_a_call_reads_it():
    x = torch.randn(64, 32)
    (estimate,) = estimates_of(lambda x: x * 2 + x.flip(0) + x.flip(1), x)
    assert (estimate.read, estimate.written) == (8192, 8192)
    (product,) = estimates_of(lambda x: x @ x, torch.randn(32, 32))
    assert (product.read, product.written) == (4096, 4096)


def test_in_place_reads_and_writes():
    x = torch.randn(64)
    (estimate,) = estimates_of(lambda x: x.mul_(3), x)
    assert (estimate.read, estimate.written) == (256, 256)


@pytest.mark.parametrize(
    "function, shapes",
    [
        (torch.mm, ((3, 5), (5, 7))),
        (torch.bmm, ((2, 3, 5), (2, 5, 7))),
        (torch.addmm, ((7,), (3, 5), (5, 7))),
        (F.conv2d, ((2, 6, 9, 9), (4, 6, 3, 3))),
        (lambda x, w: F.conv2d(x, w, groups=2), ((2, 6, 9, 9), (4, 3, 3, 3))),
    ],
)
def test_products_count_the_operations_that_torch_counts(function, shapes):
    args = [torch.randn(s) for s in shapes]
    counter = FlopCounterMode(display=False)
    with counter:
        function(*args)
    found = estimates_of(function, *args)
    assert sum(e.flops for e in found) == counter.get_total_flops() > 0


def test_time_is_the_longest_of_moving_issuing_and_multiplying():
    h200 = hardware_named("h200")
    peak = h200.rates.streaming.peak
    assert seconds(Work(4_800_000, 0), h200, peak) == pytest.approx(1e-6)
    assert seconds(Work(1, 0, slots=132 * 128 * 1700), h200, peak) == pytest.approx(1e-6)
    assert seconds(Work(1, 0, flops=990_000_000, element="bf16"), h200, peak) == pytest.approx(1e-6)
    assert seconds(Work(1, 0, flops=990_000_000, element="f32"), h200, peak) == pytest.approx(2e-6)


def test_traffic_survives_as_an_attribute():
    with make_context():
        traffic = Traffic((1, 0), (0, 2), 3)
        assert Traffic.of_attribute(traffic.attribute()) == traffic
        with pytest.raises(ValueError, match=r"fuse\.traffic has no 'slots'"):
            Traffic.of_attribute(ir.Attribute.parse("{reads = array<i64>, writes = array<i64>}"))
