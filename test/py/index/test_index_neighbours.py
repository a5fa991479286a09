"""Offsets written so that neighbours show: equal at every point, in forms whose steps Triton sees."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_cases import RUNS, same

from fuse_mlir.compiler.index import const, neighbours, parse, step_by_one, sym
from fuse_mlir.compiler.index.neighbours import in_runs, lone_remainder

#: A lane, a block number and a size at 600 points, none of which the algebra knows bounds of.
POINTS = dict(zip(("r0", "b0", "s0"), np.random.default_rng(0).integers(-3000, 3000, (3, 600)), strict=True))

LANES = frozenset(["r0"])
NUMBERS = st.integers(-6, 6)


def equal(left, right):
    return same(left.evaluate(POINTS), right.evaluate(POINTS))


def step(e, points):
    """How far e moves from one lane to the next where both are in a run."""
    return e.evaluate({**points, "r0": points["r0"] + 1}) - e.evaluate(points)


@RUNS
@given(a=NUMBERS, n=st.integers(1, 12), f=st.tuples(NUMBERS, NUMBERS, NUMBERS), rest=NUMBERS)
def test_lone_remainder_is_an_identity(a, n, f, rest):
    f = sym("r0") * f[0] + sym("b0") * f[1] + f[2]
    e = f * a + f.mod(n) * (1 - a) + sym("b0") * rest
    found = lone_remainder(e, LANES)
    assert found is None or equal(found, e)


@RUNS
@given(
    a=NUMBERS,
    n=st.integers(1, 6),
    digits=st.lists(st.tuples(NUMBERS, st.integers(1, 4), NUMBERS), max_size=3),
    rest=NUMBERS,
)
def test_in_runs_is_an_identity_in_which_one_term_moves(a, n, digits, rest):
    """Of `a*x` and remainders by multiples of n, the factor of the last of which makes the sum one."""
    x, b = sym("r0"), sym("b0")
    e = x * a + b * rest
    for c, times, h in digits:
        e = e + (x + b * (n * h)).mod(n * times) * c
    e = e + x.mod(n) * (1 - a - sum(c for c, _, _ in digits))
    found = in_runs(e, "r0")
    if found is not None:
        assert equal(found, e)
        assert found.by_monomial[(x.mod(min(_periods(e))).atoms()[0],)] == 1
        inside = {**POINTS, "r0": POINTS["r0"] * n}  # the first lane of a run
        assert n == 1 or (step(found, inside) == 1).all()


def _periods(e):
    return [a.den.constant for a in e.atoms() if not isinstance(a, str)]


@RUNS
@given(st.lists(st.tuples(NUMBERS, st.sampled_from(["r0", "b0", "s0", "b0*s0"])), max_size=4), st.data())
def test_step_by_one_changes_no_value(terms, data):
    """Whatever the expression: most have no such terms."""
    e = const(0)
    for c, name in terms:
        e = e + parse(name) * c
    for _ in range(data.draw(st.integers(0, 3))):
        n = data.draw(st.sampled_from([2, 4, 8, 12]))
        e = e + (sym("r0") * data.draw(NUMBERS) + sym("b0") * data.draw(NUMBERS)).mod(n) * data.draw(NUMBERS)
    assert equal(step_by_one(e, ["r0"]), e)


FORMS = {
    "of blocks of 1024, 44 modulo 196": (
        "50176*b0 + 49*r0 - 48*((44*b0 + r0) mod 196)",
        "b0*48020 + ((b0*44 + r0) floordiv 196)*9604 + (b0*44 + r0) mod 196",
    ),
    "by a size": ("49*r0 - 48*(r0 mod s0)", "r0 mod s0 + (r0 floordiv s0)*s0*49"),
    "runs of 8 in two digits": (
        "5*r0 - 8*((r0 + 16*b0) mod 32) + 4*(r0 mod 8)",
        "-((b0*2 + r0 floordiv 8) mod 4)*64 + (r0 floordiv 8)*40 + r0 mod 8",
    ),
}


@pytest.mark.parametrize(("before", "after"), FORMS.values(), ids=FORMS)
def test_step_by_one_finds(before, after):
    assert step_by_one(parse(before), ["r0"]) == parse(after)
    assert step_by_one(parse(after), ["r0"]) == parse(after)


KEPT = {
    "one already": "b0*196 + r0 mod 4",
    "along no lane": "3*b0 - 2*(b0 mod 4)",
    "factors that are not one": "3*r0 - 3*(r0 mod 4)",
    "a remainder of other terms": "49*r0 + 7*b0 - 48*((r0 + 8*b0) mod 12)",
    "of other terms, by a size": "49*r0 + 49*b0 - 48*((r0 + 2*b0) mod s0)",
    "a sum that is not divided": "50*r0 + 3*b0 - 49*((r0 + b0) mod 12)",
    "runs that divide no period": "5*r0 - 8*(r0 mod 12) + 4*(r0 mod 8)",
    "runs that begin elsewhere": "5*r0 - 8*((r0 + 3*b0) mod 32) + 4*(r0 mod 8)",
    "periods that are sizes": "5*r0 - 8*(r0 mod s0) + 4*(r0 mod 8)",
    "a lane with a factor": "r0 - 3*((9*r0 + 8*b0) mod 32) + 3*(r0 mod 8)",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_step_by_one_keeps(text):
    e = parse(text)
    assert step_by_one(e, ["r0"]) is e


def test_each_lane_is_tried():
    e = parse("5*r1 - 8*((r1 + 16*b0) mod 32) + 4*(r1 mod 8)")
    assert step_by_one(e, ["r0", "r1"]) == in_runs(e, "r1")


def test_examples_of_the_docstrings():
    result = doctest.testmod(neighbours, extraglobs={"parse": parse})
    assert (result.attempted, result.failed) == (2, 0)
