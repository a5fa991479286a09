"""Which point of a producer a consumer reads (`solve`), and which maps reach every point once."""

import functools
import itertools
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_cases import RUNS, SIZES, grid, same

from fuse_mlir.compiler.index import (
    Facts,
    const,
    is_bijection,
    parse,
    simplify,
    solve,
    sym,
)
from fuse_mlir.compiler.index.facts import as_expr


def solved(stored, read, producer, consumer, **facts):
    found = solve([parse(e) for e in stored], [parse(e) for e in read], producer, consumer, Facts.of(**facts))
    return None if found is None else {dim: str(e) for dim, e in found.mapping.items()}


@pytest.mark.parametrize(
    ("stored", "read", "producer", "consumer", "expected"),
    [
        (
            ["d0", "d1"],
            ["d1", "d0 + 1"],
            {"d0": "s1", "d1": "s0"},
            {"d0": "s0", "d1": "s1"},
            {"d0": "d1", "d1": "d0 + 1"},
        ),
        (["d0 - 3"], ["d0"], {"d0": "s0"}, {"d0": "s0"}, {"d0": "d0 + 3"}),
        (["s0 - 1 - d0"], ["d0"], {"d0": "s0"}, {"d0": "s0"}, {"d0": "-d0 + s0 - 1"}),
        (["d0 + u0"], ["i0"], {"d0": "s0"}, {}, {"d0": "i0 - u0"}),
        (["d0*2"], ["d0*4 + 2"], {"d0": "s0"}, {"d0": "s0"}, {"d0": "d0*2 + 1"}),
        (["d0*2 + 1"], ["d0*4 + 2"], {"d0": "s0"}, {"d0": "s0"}, None),
        (["d0*2"], ["d0"], {"d0": "s0"}, {"d0": "s0"}, None),
        (["d0*2"], ["d0"], {"d0": "s0"}, {"d0": "1"}, {"d0": "0"}),
        (["d0*s1"], ["d0*s1*3"], {"d0": "s0"}, {"d0": "s1"}, {"d0": "d0*3"}),
        (["d0", "0"], ["i0", "d1"], {"d0": "s0"}, {"d0": "s0", "d1": 1}, {"d0": "i0"}),
        (["d0", "0"], ["i0", "d1"], {"d0": "s0"}, {"d0": "s0", "d1": 2}, None),
        (
            ["d0*64 + d1"],
            ["d0"],
            {"d0": "s0", "d1": 64},
            {"d0": "s0*64"},
            {"d0": "d0 floordiv 64", "d1": "d0 mod 64"},
        ),
        (
            ["d0*64 + d1"],
            ["d0*64 + d1"],
            {"d0": "s0", "d1": 64},
            {"d0": "s0", "d1": 64},
            {"d0": "d0", "d1": "d1"},
        ),
        (["d0*64 + d1"], ["d0"], {"d0": "s0", "d1": 65}, {"d0": "s0*64"}, None),
        (
            ["d0*s2 + d1"],
            ["d0*s2 + d1"],
            {"d0": "s1", "d1": "s2"},
            {"d0": "s1", "d1": "s2"},
            {"d0": "d0", "d1": "d1"},
        ),
        (
            ["d0*s1*s2 + d1*s2 + d2"],
            ["d0"],
            {"d0": "s0", "d1": "s1", "d2": "s2"},
            {"d0": "s0*s1*s2"},
            {"d0": "d0 floordiv (s1*s2)", "d1": "(d0 floordiv s2) mod s1", "d2": "d0 mod s2"},
        ),
        (
            ["d0*64 + d1*8"],
            ["d0*8"],
            {"d0": "s0", "d1": 8},
            {"d0": "s0*8"},
            {"d0": "d0 floordiv 8", "d1": "d0 mod 8"},
        ),
        (["d0 + d1"], ["d0"], {"d0": "s0", "d1": 1}, {"d0": "s0"}, {"d0": "d0", "d1": "0"}),
        (["d0 + d1"], ["d0"], {"d0": "s0", "d1": "s1"}, {"d0": "s0"}, None),
        (["d0", "d0"], ["d0", "d0"], {"d0": "s0"}, {"d0": "s0"}, {"d0": "d0"}),
        (["d0", "d0"], ["d0", "d1"], {"d0": "s0"}, {"d0": "s0", "d1": "s0"}, None),
        (
            ["d0", "d0 + d1*4"],
            ["d0", "d0 + d1*4"],
            {"d0": 9, "d1": 5},
            {"d0": 9, "d1": 5},
            {"d0": "d0", "d1": "d1"},
        ),
        (
            ["d0 floordiv 16", "d0 mod 16"],
            ["d0", "d1"],
            {"d0": "s0*16"},
            {"d0": "s0", "d1": 16},
            {"d0": "d0*16 + d1"},
        ),
        (["d0 floordiv 16", "d0 mod 16"], ["d0", "i0"], {"d0": "s0*16"}, {"d0": "s0"}, None),
        (["d0 mod 16"], ["d0"], {"d0": 16}, {"d0": 16}, {"d0": "d0"}),
        (["d0 mod 16"], ["d0"], {"d0": 17}, {"d0": 16}, None),
        (
            ["d0 floordiv 64", "(d0 floordiv 4) mod 16", "d0 mod 4"],
            ["d0", "d1", "d2"],
            {"d0": "s0*64"},
            {"d0": "s0", "d1": 16, "d2": 4},
            {"d0": "d0*64 + d1*4 + d2"},
        ),
        (["i0"], ["i0"], {"d0": "s0"}, {"d0": "s0"}, None),  # two operands that share a name
        ([], [], {"d0": "s0"}, {"d0": "s0"}, {}),
    ],
)
def test_solve(stored, read, producer, consumer, expected):
    assert solved(stored, read, producer, consumer) == expected


def test_solve_says_whether_the_point_is_inside():
    def inside(stored, read, producer, consumer):
        return solve([parse(stored)], [parse(read)], producer, consumer, Facts()).inside

    assert inside("d0", "d0", {"d0": "s0"}, {"d0": "s0"})
    assert inside("s0 - 1 - d0", "d0", {"d0": "s0"}, {"d0": "s0"})
    assert not inside("d0", "d0 + 1", {"d0": "s0"}, {"d0": "s0"})
    assert not inside("d0", "i0", {"d0": "s0"}, {})
    with pytest.raises(ValueError, match="2 coordinates"):
        solve([sym("d0"), sym("d0")], [sym("d0")], {"d0": 2}, {"d0": 2}, Facts())


COORDINATE = st.sampled_from(
    [
        "d0",
        "d1",
        "d2",
        "d0 + 1",
        "3 - d0",
        "d0*4 + d1",
        "d1*4 + d0",
        "d0*s1 + d1",
        "d1*s1 + d2",
        "d0*2",
        "d0*4 + d1*2",
    ]
    + [
        "d0 floordiv 4",
        "d0 mod 4",
        "0",
        "d0*12 + d1*3 + d2",
        "d0 + d1",
        "d2*s0 + d0 + 1",
        "(d0*4 + d1) floordiv 2",
    ]
)
EXTENT = st.sampled_from(["s0", "s1", 1, 2, 3, 4, "s0*4"])
BOX = st.fixed_dictionaries({"d0": EXTENT, "d1": EXTENT, "d2": EXTENT})


@settings(RUNS, max_examples=400)
@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=1, max_size=3), BOX, BOX, SIZES)
def test_solve_finds_the_stored_point(pairs, producer, consumer, sizes):
    stored, read = [parse(s) for s, _ in pairs], [parse(r) for _, r in pairs]
    found = solve(stored, read, producer, consumer, Facts())
    if found is None:
        return
    named = {dim for e in stored for dim in e.symbols() if dim in producer}
    assert set(found.mapping) == named
    stores, reads = (
        {d: parse(str(n)).evaluate(sizes) for d, n in box.items()} for box in (producer, consumer)
    )
    if 0 in (*stores.values(), *reads.values()):
        return  # where nothing is stored a guard keeps the consumer from reading it
    env = grid(sizes, reads)
    point = {**sizes, **{dim: e.evaluate(env) for dim, e in found.mapping.items()}}
    for s, r in zip(stored, read, strict=True):
        assert same(s.evaluate(point), r.evaluate(env)), (pairs, found)
    if found.inside:
        for dim, value in point.items():
            if dim in producer:
                assert (np.asarray(value) >= 0).all()
                assert (np.asarray(value) < stores[dim]).all()


# is_bijection
@pytest.mark.parametrize(
    ("mapping", "producer", "consumer", "expected"),
    [
        ({"d0": "d1", "d1": "d0"}, {"d0": "s0", "d1": "s1"}, {"d0": "s1", "d1": "s0"}, True),
        ({"d0": "d0"}, {"d0": "s0"}, {"d0": "s0", "d1": "s1"}, True),
        ({"d0": "d0"}, {"d0": "s1"}, {"d0": "s0"}, False),
        ({"d0": "d0 + 1"}, {"d0": "s0"}, {"d0": "s0"}, False),
        ({"d0": "s0 - 1 - d0"}, {"d0": "s0"}, {"d0": "s0"}, True),
        ({"d0": "d0*s1 + d1"}, {"d0": "s0*s1"}, {"d0": "s0", "d1": "s1"}, True),
        ({"d0": "d0*s1 + s1 - 1 - d1"}, {"d0": "s0*s1"}, {"d0": "s0", "d1": "s1"}, True),
        ({"d0": "d0*s0 + d1"}, {"d0": "s0*s1"}, {"d0": "s0", "d1": "s1"}, False),
        ({"d0": "d0 floordiv 64", "d1": "d0 mod 64"}, {"d0": "s0", "d1": 64}, {"d0": "s0*64"}, True),
        ({"d0": "d0 floordiv 64", "d1": "d0 mod 64"}, {"d0": "s0", "d1": 64}, {"d0": "s1"}, False),
        ({"d0": "d0 floordiv 64"}, {"d0": "s0"}, {"d0": "s0*64"}, False),
        ({"d0": "d0 mod 64", "d1": "d0 mod 64"}, {"d0": 64, "d1": 64}, {"d0": "s0*64"}, False),
        ({"d0": "d0", "d1": "d0"}, {"d0": "s0", "d1": "s0"}, {"d0": "s0"}, False),
        (
            {"d0": "(d0*4 + d1) floordiv 6", "d1": "(d0*4 + d1) mod 6", "d2": "d1"},
            {"d0": 2, "d1": 6, "d2": 4},
            {"d0": 3, "d1": 4},
            False,
        ),
        ({"d0": "d0 mod 2"}, {"d0": 2}, {"d0": 4}, False),
        (
            {"d0": "(d0*2 + d1) floordiv 4", "d1": "(d0*2 + d1) mod 4"},
            {"d0": 2, "d1": 4},
            {"d0": 3, "d1": 4},
            False,
        ),
        (
            {"d0": "(d0 mod 3 + d1*3) floordiv 4", "d1": "(d0 mod 3 + d1*3) mod 4"},
            {"d0": 3, "d1": 4},
            {"d0": 6, "d1": 4},
            False,
        ),
        ({"d0": "d0", "d1": "0"}, {"d0": "s0", "d1": 1}, {"d0": "s0"}, True),
        ({"d0": "d0"}, {"d0": "s0", "d1": 2}, {"d0": "s0"}, False),
        (
            {"d0": "(d0*64 + d1) floordiv 100", "d1": "(d0*64 + d1) mod 100"},
            {"d0": 16, "d1": 100},
            {"d0": 25, "d1": 64},
            True,
        ),
        (
            {"d0": "(d0*64 + d1) floordiv 16", "d1": "(d0*64 + d1) mod 16"},
            {"d0": 100, "d1": 16},
            {"d0": 25, "d1": 64},
            True,
        ),
        ({"d0": "i0"}, {"d0": "s0"}, {"d0": "s0"}, False),
        ({"d0": "d0 floordiv 4"}, {"d0": 1}, {"d0": 2}, False),
        ({"d0": "d0 floordiv 4"}, {"d0": 1}, {"d0": 1}, True),
        (
            {"d0": "d0 floordiv (s1*s2)", "d1": "(d0 floordiv s2) mod s1", "d2": "d0 mod s2"},
            {"d0": "s0", "d1": "s1", "d2": "s2"},
            {"d0": "s0*s1*s2"},
            True,
        ),
    ],
)
def test_is_bijection(mapping, producer, consumer, expected):
    assert is_bijection({d: parse(e) for d, e in mapping.items()}, producer, consumer, Facts()) is expected


def is_one_to_one(mapping, producer, consumer, sizes):
    """Whether the mapping takes the box of the consumer dims that it names, point by point, onto the
    producer's.
    """
    used = sorted(set().union(*(e.symbols() for e in mapping.values())) & set(consumer))
    box = [range(parse(str(consumer[dim])).evaluate(sizes)) for dim in used]
    images = [
        tuple(e.evaluate({**sizes, **dict(zip(used, point, strict=True))}) for e in mapping.values())
        for point in itertools.product(*box)
    ]
    target = itertools.product(*(range(parse(str(n)).evaluate(sizes)) for n in producer.values()))
    return sorted(images) == sorted(target)


def product(radices):
    return functools.reduce(mul, [as_expr(n) for n in radices], const(1))


@st.composite
def bijections(draw):
    """(mapping, producer, consumer): the digits of one number, neighbours joined to dims in two ways.  Dims
    of the consumer that are not split may be flipped; those of the producer have any order.
    """
    radices = draw(st.lists(st.sampled_from([2, 2, 3, 4, "s0", "s1"]), min_size=2, max_size=4))
    places = st.sets(st.integers(1, len(radices) - 1), max_size=2)
    read, stored = ([*itertools.pairwise([0, *sorted(draw(places)), len(radices)])] for _ in range(2))
    consumer, number = {}, const(0)
    for k, (first, end) in enumerate(read):
        extent = consumer[f"d{k}"] = product(radices[first:end])
        split = any(first < begin < end for begin, _ in stored)
        digit = extent - 1 - sym(f"d{k}") if not split and draw(st.booleans()) else sym(f"d{k}")
        number = number + digit * product(radices[end:])
    mapping, producer, facts = {}, {}, Facts.of(extents=consumer)
    for k, (first, end) in enumerate(draw(st.permutations(stored))):
        extent = producer[f"d{k}"] = product(radices[first:end])
        digit = number.floordiv(product(radices[end:]))
        mapping[f"d{k}"] = simplify(digit.mod(extent) if first else digit, facts)
    return mapping, producer, consumer


#: Ways to write a number below 12 in dims: points of one box are counted and laid out in another.
TWELVE = [(12,), (2, 6), (3, 4), (4, 3), (6, 2), (2, 3, 2), (3, 2, 2), (2, 2, 3)]


@st.composite
def recounted(draw):
    """(mapping, producer, consumer): the dims of the one divide those of the other or lie across them."""
    read, stored = draw(st.sampled_from(TWELVE)), draw(st.sampled_from(TWELVE))
    consumer = {f"d{k}": const(n) for k, n in enumerate(read)}
    number = sum([sym(f"d{k}") * product(read[k + 1 :]) for k in range(len(read))], const(0))
    mapping, producer, facts = {}, {}, Facts.of(extents=consumer)
    for k, place in enumerate(draw(st.permutations(range(len(stored))))):
        producer[f"d{k}"] = extent = const(stored[place])
        digit = number.floordiv(product(stored[place + 1 :]))
        mapping[f"d{k}"] = simplify(digit.mod(extent) if place else digit, facts)
    return mapping, producer, consumer


@settings(RUNS, max_examples=250)
@given(bijections(), SIZES)
def test_is_bijection_finds_what_is_split_joined_flipped_and_reordered(case, sizes):
    mapping, producer, consumer = case
    assert is_one_to_one(mapping, producer, consumer, sizes)
    assert is_bijection(mapping, producer, consumer, Facts())


@st.composite
def nearly_bijections(draw):
    """What ``bijections`` and ``recounted`` draw, most with one change, after which few are one."""
    mapping, producer, consumer = draw(st.one_of(bijections(), recounted()))
    how, dims = (
        draw(st.sampled_from(["no", "extent", "shift", "entry", "dim", "less", "more", "number"])),
        sorted(mapping),
    )
    one, other = draw(st.sampled_from(dims)), draw(st.sampled_from(dims))
    read = sym(draw(st.sampled_from(sorted(consumer))))
    if how == "extent":
        producer[one] = producer[one] + draw(st.sampled_from([-1, 1])) if one == other else producer[other]
    elif how == "shift":
        mapping[one] = mapping[one] + 1
    elif how == "entry":
        mapping[one] = mapping[other] if one != other else read
        producer[one] = producer[other] if one != other else consumer[read.atoms()[0]]
    elif how == "dim":
        mapping[one] = mapping[one].subs({draw(st.sampled_from(sorted(consumer))): read})
    elif how == "more":
        mapping["d9"], producer["d9"] = read, consumer[read.atoms()[0]]
    elif how == "less" and len(mapping) > 1:
        del mapping[one], producer[one]
    elif how == "number":
        mapping[one] = mapping[one] * 2
    return mapping, producer, consumer


@settings(RUNS, max_examples=400)
@given(nearly_bijections(), SIZES)
def test_is_bijection_of_what_nearly_is_one(case, sizes):
    mapping, producer, consumer = case
    if is_bijection(mapping, producer, consumer, Facts()):
        assert is_one_to_one(mapping, producer, consumer, sizes)


DIGITS = st.sampled_from(
    [
        "d0",
        "d1",
        "d2",
        "d0*4 + d1",
        "d1*4 + d0",
        "d0*s1 + d1",
        "d0 floordiv 4",
        "d0 mod 4",
        "d0 floordiv 2",
        "d0 mod 2",
    ]
    + [
        "(d0 floordiv 2) mod 2",
        "s0 - 1 - d0",
        "(d0*3 + d1) floordiv 4",
        "(d0*3 + d1) mod 4",
        "d0*2 + d1*4",
        "0",
    ]
    + ["(d0 mod 2)*4 + d1", "d1*2 + d0 mod 2", "(d0 mod 2)*2 + d0 floordiv 2", "d0 + d1*3", "d0 + 1"]
)


@settings(RUNS, max_examples=500)
@given(st.lists(st.tuples(DIGITS, EXTENT), min_size=1, max_size=3), BOX, SIZES)
def test_is_bijection_is_sound(entries, consumer, sizes):
    mapping = {f"d{k}": parse(text) for k, (text, _) in enumerate(entries)}
    producer = {f"d{k}": extent for k, (_, extent) in enumerate(entries)}
    if not is_bijection(mapping, producer, consumer, Facts()):
        return
    assert is_one_to_one(mapping, producer, consumer, sizes)
