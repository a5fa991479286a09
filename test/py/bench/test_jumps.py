"""Numbers at a jump are told from wrong ones: a rectified sum that rounding puts on the other side of 0."""

import pytest
import torch
from bench_runs import CPU

from fuse_mlir.bench.graph import Built, Graph
from fuse_mlir.bench.graph_check import GraphChecker
from fuse_mlir.bench.jumps import RARE, Jumps

COUNT = 4 * RARE


def gates(source, count):
    """A weight where a sum is above 0, as in the gradient of a ReLU; four sums are above it by a unit in the
    last place of what they add.
    """
    x, y, z, w = (*(source.normal(count) for _ in range(3)), source.uniform(1, 2, count))
    z[:4] = torch.nextafter(-(x[:4] * y[:4]), torch.tensor(torch.inf))
    return Built(lambda x, y, z, w: torch.where(x * y + z > 0, w, 0.0), (x, y, z, w), 0)


def slopes(source, count):
    """Smooth, and as steep as a number is: a step of 1 in 2000 of the argument changes all of it."""
    return Built(lambda x: torch.sin(x * 2000), (source.normal(count),), 0)


@pytest.fixture(scope="module")
def gated():
    graph = Graph("gates", gates, (COUNT,), (COUNT,), (torch.float32,))
    built = graph.new(torch.float32, CPU)
    x, y, z, _ = (a.double() for a in built.args)
    nearest = (x * y + z).abs().argsort()
    assert set(nearest[:4].tolist()) == set(range(4))
    return built, GraphChecker(graph, built), nearest


def other_side(built, places):
    def call(*args):
        found, (*_, w) = built.fn(*args), args
        found[places] = torch.where(found[places] == 0, w[places], 0.0)
        return found

    return call


def test_what_rounding_decides_is_right(gated):
    built, checker, nearest = gated
    verdict = checker.check(other_side(built, nearest[:1]))
    assert verdict.passed and verdict.note.endswith("without 1 at a jump"), verdict
    assert "jump" not in checker.check(built.fn).note


def test_what_rounding_does_not_decide_is_wrong(gated):
    """Also where it lies beside such numbers: 0.001 from the jump."""
    built, checker, nearest = gated
    assert not checker.check(other_side(built, nearest[300:301])).passed
    assert not checker.check(other_side(built, nearest[[0, 300]])).passed


def test_many_such_numbers_are_wrong(gated):
    built, _, nearest = gated
    moved = Jumps.of(lambda args: {"o": built.fn(*args)}, built.args)
    reference = built.fn(*(a.double() for a in built.args))
    for few in (1, 4):
        found = other_side(built, nearest[:few])(*built.args)
        assert moved.settled("o", reference, found, 1e-6)[1] == few
    *_, w = built.args
    half = reference[: COUNT // 8], w.double()[: COUNT // 8]
    everywhere = {"o": (torch.zeros_like(half[1]), half[1])}
    assert Jumps(everywhere, everywhere).settled("o", half[0], half[1] - half[0], 1e-6)[1] == 0


@pytest.mark.parametrize("value", [-1.0, 5.0, float("nan")])
def test_a_number_beyond_both_answers_is_wrong(gated, value):
    built, checker, nearest = gated

    def call(*args):
        found = built.fn(*args)
        found[nearest[0]] = value
        return found

    assert not checker.check(call).passed


def test_a_steep_slope_is_no_jump():
    """The exact function moves by a thousandth where its arguments do by rounding; half as much for half."""
    graph = Graph("slopes", slopes, (COUNT,), (COUNT,), (torch.float32,))
    built = graph.new(torch.float32, CPU)
    reference = built.fn(*(a.double() for a in built.args))
    moved = Jumps.of(lambda args: {"o": built.fn(*args)}, built.args)
    low, high = moved.large["o"]
    found = reference.clone()
    steepest = int((high - low).argmax())
    found[steepest] = high[steepest]
    assert float(high[steepest] - low[steepest]) > 1e-4
    assert moved.settled("o", reference, found, 1e-6)[1] == 0
