"""Index algebra: every rewrite of drawn expressions against brute force over all points."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from index_cases import RUNS, SIZES, grid

from fuse_mlir.compiler.index import (
    Facts,
    const,
    parse,
    simplify,
    sym,
)

SYMBOLIC = Facts.of(extents={"d0": "s0", "d1": "s1", "d2": "s2"})


# Random expressions as trees, evaluated without the algebra.
def _leaves():
    names = st.sampled_from(["d0", "d1", "d2", "s0", "s1", "i0"]).map(lambda n: ("sym", n))
    return st.one_of(names, names, st.integers(-9, 9).map(lambda n: ("const", n)))


def _dens():
    numbers = st.sampled_from([1, 2, 3, 4, 6, 8, 12]).map(lambda n: ("const", n))
    sizes = st.sampled_from([("sym", "s0"), ("sym", "s1"), ("*", ("sym", "s0"), ("sym", "s1"))])
    scaled = st.tuples(st.sampled_from([2, 4]), sizes).map(lambda p: ("*", ("const", p[0]), p[1]))
    plus = st.just(("+", ("sym", "s0"), ("const", 1)))
    return st.one_of(numbers, numbers, sizes, scaled, plus)


def _grow(child):
    ring = st.tuples(st.sampled_from("+-*"), child, child)
    scaled = st.tuples(st.just("*"), child, st.integers(-8, 8).map(lambda n: ("const", n)))
    division = st.tuples(st.sampled_from(["floordiv", "mod"]), child, _dens())
    return st.one_of(ring, scaled, division, division)


@st.composite
def _digit_sums(draw):
    """Sums of scaled digits of one or two flattened indices, as views and reshapes make them."""

    def times(left, right):
        return ("*", left, right)

    radix = st.sampled_from(["s0", "s1"]).map(lambda n: ("sym", n)) | st.sampled_from([2, 3, 4, 6, 8]).map(
        lambda n: ("const", n)
    )
    a, b = draw(radix), draw(radix)
    shift = ("const", draw(st.integers(-9, 9)))
    shapes = [
        ("sym", "d0"),
        ("+", times(("sym", "d0"), a), ("sym", "d1")),
        ("+", times(("sym", "d0"), a), ("-", ("-", a, ("const", 1)), ("sym", "d1"))),
        ("+", times(("+", times(("sym", "d0"), a), ("sym", "d1")), b), ("sym", "d2")),
        ("+", ("sym", "i0"), times(("sym", "d1"), b)),
    ]
    flat = draw(st.sampled_from(shapes))
    if draw(st.booleans()):
        flat = ("+", flat, shift)
    scale = ("const", draw(st.sampled_from([1, 1, -2, 3])))
    total = ("const", draw(st.integers(-2, 2)))
    for _ in range(draw(st.integers(1, 3))):
        piece = flat
        for _ in range(draw(st.integers(1, 3))):
            den = draw(st.sampled_from([a, b, times(a, b), draw(_dens())]))
            piece = (draw(st.sampled_from(["floordiv", "mod"])), piece, den)
        if draw(st.booleans()):
            piece = times(piece, draw(st.sampled_from([a, b, times(a, b)])))
        total = (draw(st.sampled_from("++-")), total, times(piece, scale))
    return total


TREES = st.one_of(st.recursive(_leaves(), _grow, max_leaves=9), _digit_sums(), _digit_sums())
_OPS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def value_of(tree, env):
    if tree[0] == "sym":
        return env[tree[1]]
    if tree[0] == "const":
        return tree[1]
    return _OPS[tree[0]](value_of(tree[1], env), value_of(tree[2], env))


def defined(tree, env):
    """At which points no divisor is 0: a size that a program divides by is not."""
    if tree[0] in ("sym", "const"):
        return np.array(True)
    with np.errstate(divide="ignore"):
        divides = value_of(tree[2], env) != 0 if tree[0] in ("floordiv", "mod") else np.array(True)
    return defined(tree[1], env) & defined(tree[2], env) & divides


def values_where_defined(tree, env):
    """A tree's values at the points where no divisor is 0."""
    with np.errstate(divide="ignore"):
        values, points, _ = np.broadcast_arrays(value_of(tree, env), defined(tree, env), env["i0"])
    return values[points]


def same_where_defined(e, tree, env):
    """Whether an expression has a tree's value at each point where no divisor of the tree is 0."""
    with np.errstate(divide="ignore"):
        values, points, _ = np.broadcast_arrays(e.evaluate(env), defined(tree, env), env["i0"])
    return np.array_equal(values[points], values_where_defined(tree, env))


def text_of(tree):
    return (
        str(tree[1]) if tree[0] in ("sym", "const") else f"({text_of(tree[1])} {tree[0]} {text_of(tree[2])})"
    )


def expr_of(tree):
    if tree[0] == "sym":
        return sym(tree[1])
    if tree[0] == "const":
        return const(tree[1])
    left, right = expr_of(tree[1]), expr_of(tree[2])
    return {
        "+": left.__add__,
        "-": left.__sub__,
        "*": left.__mul__,
        "floordiv": left.floordiv,
        "mod": left.mod,
    }[tree[0]](right)


@RUNS
@given(TREES, SIZES)
def test_canonical_form_keeps_values_and_round_trips(tree, sizes):
    e = expr_of(tree)
    env = grid(sizes, {"d0": 5, "d1": 4, "d2": 3})
    assert same_where_defined(e, tree, env), text_of(tree)
    assert parse(text_of(tree)) == e
    assert parse(str(e)) == e
    assert hash(parse(str(e))) == hash(e)


@RUNS
@given(TREES, SIZES)
def test_simplify_under_symbolic_extents(tree, sizes):
    e = expr_of(tree)
    simple = simplify(e, SYMBOLIC)
    env = grid(sizes, {"d0": sizes["s0"], "d1": sizes["s1"], "d2": sizes["s2"]})
    assert same_where_defined(simple, tree, env), (text_of(tree), str(simple))


@RUNS
@given(TREES, st.tuples(*[st.integers(1, 8)] * 3), SIZES)
def test_simplify_under_numeric_extents(tree, extents, sizes):
    extents = dict(zip(["d0", "d1", "d2"], extents, strict=True))
    facts = Facts.of(extents=extents, minimum={"i0": -3, "s0": 1}, maximum={"i0": 5, "s1": 5})
    simple = simplify(expr_of(tree), facts)
    env = grid({**sizes, "s0": max(1, sizes["s0"])}, extents)
    assert same_where_defined(simple, tree, env), (text_of(tree), str(simple))


@RUNS
@given(TREES, st.integers(-3, 3), st.integers(2, 4), st.integers(0, 3))
def test_simplify_where_a_remainder_is_known(tree, shift, step, rest):
    """The value is the same at the points where the remainder is that."""
    extents, shifted = {"d0": 8, "d1": 4, "d2": 3}, sym("d0") + shift
    facts = Facts.of(extents=extents).where([shifted.mod(step) - rest])
    simple = simplify(expr_of(tree) + shifted.floordiv(step) * (2 * step), facts)
    env = grid(dict(s0=3, s1=2, s2=4), extents)
    env["d0"] = env["d0"][(env["d0"] + shift) % step == rest].reshape(-1, 1, 1, 1)
    tree = ("+", tree, ("*", ("const", 2), ("+", ("sym", "d0"), ("const", shift - rest))))
    assert same_where_defined(simple, tree, env), (text_of(tree), str(simple))


def test_a_known_remainder_joins_what_it_was_cut_from():
    facts = Facts.of(extents={"d0": 64, "d1": 32})
    e = parse("((d0 - 1) floordiv 3)*3 + 1")
    assert str(simplify(e, facts.where([parse("(d0 - 1) mod 3")]))) == "d0"
    assert str(simplify(e, facts.where([parse("(d0 - 1) mod 3 - 2")]))) == "d0 - 2"
    others = [parse("d0 mod 2"), parse("d0 mod 3 - d1"), parse("d0 - 4")]
    assert simplify(e, facts.where(others)) == simplify(e, facts)
    assert str(simplify(parse("(d0 floordiv 2)*2"), facts.where([parse("(d0 - 1) mod 2")]))) == "d0 - 1"
    assert str(simplify(parse("(d0 floordiv 4)*8"), facts.where([parse("d0 mod 4")]))) == "d0*2"
    known = facts.where([parse("d1 mod 2 - 1")]).with_extents({"d2": 4})
    assert str(simplify(parse("d1 mod 2 + d2"), known)) == "d2 + 1" and known != facts.with_extents({"d2": 4})


@RUNS
@given(TREES, SIZES)
def test_bounds_and_proofs_are_sound(tree, sizes):
    e = expr_of(tree)
    facts = Facts.of(
        extents={"d0": "s0", "d1": "s1", "d2": "s2"}, minimum={"i0": -3}, maximum={"i0": 5, "s0": 5, "s1": 5}
    )
    env = grid(sizes, {"d0": sizes["s0"], "d1": sizes["s1"], "d2": sizes["s2"]})
    values = values_where_defined(tree, env)
    if not values.size:
        return  # nothing is said where there is no point
    low, high = facts.lower(e), facts.upper(e)
    least, greatest = facts.interval(e)
    if low is not None:
        assert not any(name[0] in "di" for name in low.symbols())
        assert (low.evaluate(sizes) <= values).all(), (text_of(tree), str(low))
    if high is not None:
        assert (high.evaluate(sizes) >= values).all(), (text_of(tree), str(high))
    assert least is None or (least <= values).all()
    assert greatest is None or (greatest >= values).all()
    if facts.nonnegative(e):
        assert (values >= 0).all(), text_of(tree)
    for k in (2, 3, 4):
        if facts.divides(k, e):
            assert (values % k == 0).all(), text_of(tree)


def composed(tree, trees):
    if tree[0] == "sym":
        return trees.get(tree[1], tree)
    return tree if tree[0] == "const" else (tree[0], *(composed(part, trees) for part in tree[1:]))


@RUNS
@given(TREES, TREES, SIZES)
def test_substitution_is_composition(tree, inner, sizes):
    env = grid(sizes, {"d0": 4, "d1": 3, "d2": 3})
    replaced = expr_of(tree).subs({"d0": expr_of(inner), "d1": 2})
    assert same_where_defined(replaced, composed(tree, {"d0": inner, "d1": ("const", 2)}), env)


# Exact forms.
