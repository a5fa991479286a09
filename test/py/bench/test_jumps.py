"""Numbers at a jump are told from wrong ones: a rectified sum that rounding puts on the other side of 0."""

import pytest
import torch
from bench_runs import CPU

from fuse_mlir.bench.graph import Built, Graph
from fuse_mlir.bench.graph_check import GraphChecker
from fuse_mlir.bench.jumps import RARE, at_jumps

COUNT, ROWS = 4 * RARE, 100


def gates(source, count):
    """A weight where a sum is above 0, as in the gradient of a ReLU, and sums of these; four are above it by
    a unit in the last place of what they add.
    """
    x, y, z, w = (*(source.normal(count) for _ in range(3)), source.uniform(1, 2, count))
    z[:4] = torch.nextafter(-(x[:4] * y[:4]), torch.tensor(torch.inf))

    def gated(x, y, z, w):
        gate = torch.where(x * y + z > 0, w, 0.0)
        return gate, gate.view(ROWS, -1).sum(1)

    return Built(gated, (x, y, z, w), 0)


@pytest.fixture(scope="module")
def gated():
    graph = Graph("gates", gates, (COUNT,), (COUNT,), (torch.float32,))
    built = graph.new(torch.float32, CPU)
    x, y, z, _ = (a.double() for a in built.args)
    nearest = (x * y + z).abs().argsort()
    assert set(nearest[:4].tolist()) == set(range(4))
    return built, GraphChecker(graph, built), nearest


def other_side(built, places, value=None):
    """The function, with other numbers at some places."""

    def call(*args):
        (found, _), (*_, w) = built.fn(*args), args
        found[places] = torch.where(found[places] == 0, w[places], 0.0) if value is None else value
        return found, found.view(ROWS, -1).sum(1)

    return call


def test_what_rounding_decides_is_right(gated):
    """The number, and the sum that it is in."""
    built, checker, nearest = gated
    verdict = checker.check(other_side(built, nearest[:1]))
    assert verdict.passed and verdict.note.endswith("without 2 at a jump"), verdict
    assert "jump" not in checker.check(built.fn).note


def test_what_rounding_does_not_decide_is_wrong(gated):
    """Also where it lies beside such numbers: 0.001 from the jump."""
    built, checker, nearest = gated
    assert not checker.check(other_side(built, nearest[300:301])).passed
    assert not checker.check(other_side(built, nearest[[0, 300]])).passed


@pytest.mark.parametrize("value", [-1.0, 0.5, 5.0, float("nan")])
def test_a_number_that_is_neither_answer_is_wrong(gated, value):
    built, checker, nearest = gated
    assert not checker.check(other_side(built, nearest[:1], value)).passed


def test_a_sum_without_its_number_is_wrong(gated):
    built, checker, _ = gated

    def call(*args):
        gate, sums = built.fn(*args)
        sums[ROWS // 2] += 1.5
        return gate, sums

    assert not checker.check(call).passed


def test_many_such_numbers_are_wrong():
    """Of a million numbers ten may lie at a jump."""
    signs = torch.ones(10 * RARE)
    for count, right in ((10, 10), (11, 0)):
        signs[:count] = -1
        found = {"o": torch.where(signs > 0, 1.0, 0.0)}
        draws = []

        def exact(args, count=count, draws=draws):
            draws.append(args)
            here = torch.ones(10 * RARE, dtype=torch.float64)
            here[: count if draws else 0] = 0
            return {"o": here}

        reference = {"o": torch.ones(10 * RARE)}
        masks = at_jumps(exact, (), reference, found, {"o": 1e-6})
        assert int(masks["o"].sum()) == right


@pytest.mark.parametrize("steepness", [1.0, 2000.0, 1e5])
def test_a_slope_is_no_jump(steepness):
    """What the exact function has of an argument that was moved is no answer of a slope."""
    x, made = torch.randn(2 * RARE, generator=torch.Generator().manual_seed(0)), []

    def exact(args):
        made.append(torch.sin(args[0] * steepness))
        return {"o": made[-1]}

    def numbers_at_jumps(found):
        reference = {"o": torch.sin(x.double() * steepness)}
        masks = at_jumps(exact, (x,), reference, {"o": found}, {"o": 1e-9 * steepness})
        return int(masks["o"].sum())

    found = torch.sin(x.double() * steepness)
    found[7] += 1e-7 * steepness
    assert numbers_at_jumps(found) == 0 and len(made) > 2
    for moved in made[:4]:
        found[7] = moved[7]
        assert numbers_at_jumps(found) == 0
