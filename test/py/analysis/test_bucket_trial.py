"""Which buckets the schedule is better with (``bucket_trial.py``), and what a walk keeps alive
(``overlap_walk.py``).
"""

from dataclasses import replace
from itertools import pairwise

import pytest
from collective_modules import H200, T, module, names, timed

from fuse_mlir.compiler.analysis.program.bucket_trial import BucketTrial
from fuse_mlir.compiler.analysis.program.buckets import Buckets
from fuse_mlir.compiler.analysis.program.dependences import Dependences
from fuse_mlir.compiler.analysis.program.overlap_walk import OverlapWalk
from fuse_mlir.compiler.analysis.program.peak_order import Peaks
from fuse_mlir.compiler.mlir import ir

#: A host that starts a collective in a fifth of its time on the link.
FAST_HOST = replace(H200, start=5.0)


def start(name: str, of: str) -> str:
    return f"%{name} = call @start(%{of}) : ({T}) -> {T}"


def wait(name: str, of: str, reads: str) -> str:
    return f"%{name} = call @wait(%{of}, %{reads}) : ({T}, {T}) -> {T}"


def sums(name: str, of: str, count: int = 20) -> list[str]:
    """Calls one after the other, the last of which is ``name``."""
    chain = [of, *(f"{name}{i}" for i in range(count - 1)), name]
    return [f"%{b} = call @add(%{a}, %{of}) : ({T}, {T}) -> {T}" for a, b in pairwise(chain)]


def tried(program: ir.Module, percent: int, numbers: list[int]) -> tuple[list[list[int]], dict[str, int]]:
    """The buckets that a trial accepts of one of the starts, by their numbers, and what it refuses."""
    buckets = Buckets(program, Dependences.of(program), FAST_HOST)
    starts = buckets.flights.starts
    trial = BucketTrial(buckets, [], percent)
    trial.add([starts[n] for n in numbers])
    return [[starts.index(n) for n in bucket] for bucket in trial.accepted], trial.refused


def late(*, parts: int) -> ir.Module:
    """So many collectives run beside sums, what these give is reduced in so many, beside sums again."""
    of = ("a", "b")[:parts]
    body = [start(f"s{n}", n) for n in of]
    body += sums("p", "a") + [f"%q = call @add(%p, %a) : ({T}, {T}) -> {T}"]
    body += [start(f"t{n}", n) for n in ("p", "q")[:parts]]
    body += [wait(f"w{n}", f"s{n}", n) for n in of]
    body += sums("c", "wa", 40)
    body += [wait(f"x{n}", f"t{n}", n) for n in ("p", "q")[:parts]]
    return module(body, ["%c", *(f"%w{n}" for n in of[1:]), *(f"%x{n}" for n in ("p", "q")[:parts])])


def test_a_bucket_is_kept_where_its_starts_cost_more_than_the_wait() -> None:
    program = module(
        [start("s", "a"), start("t", "b"), wait("w", "s", "a"), wait("x", "t", "b")], ["%w", "%x"]
    )
    assert tried(program, 0, [0, 1]) == ([[0, 1]], {})


def test_a_bucket_for_which_calls_wait_longer_is_refused() -> None:
    assert tried(late(parts=1), 100, [0, 1]) == ([], {"slower": 2})


def test_the_halves_of_a_bucket_that_is_refused_are_tried() -> None:
    assert tried(late(parts=2), 100, [0, 1, 2, 3]) == ([[0, 1], [2, 3]], {})
    # nothing but the return needs the second, so it may start as late as the third
    assert tried(late(parts=2), 100, [0, 1, 2]) == ([[1, 2]], {"slower": 1})


def test_a_bucket_that_would_start_before_what_it_follows_is_refused() -> None:
    program = module([start("s", "a"), wait("w", "s", "a"), start("t", "w"), wait("x", "t", "w")], ["%x"])
    assert tried(program, 100, [0, 1]) == ([], {"slower": 2})


@pytest.mark.parametrize(("percent", "accepted"), [(0, []), (33, []), (34, [[0, 1]])])
def test_a_bucket_stays_within_the_memory(percent: int, accepted: list[list[int]]) -> None:
    """One by one, three tensors are alive at a time; as one, both results and what is made of the first."""
    body = [start("s", "a"), wait("w", "s", "a"), *sums("p", "w", 2)]
    body += [start("t", "b"), wait("x", "t", "b"), f"%r = call @add(%p, %x) : ({T}, {T}) -> {T}"]
    found, refused = tried(module(body, ["%r"]), percent, [0, 1])
    assert found == accepted
    assert refused == ({} if accepted else {"memory": 2})


def test_a_wait_that_gives_memory_back_runs_once_it_is_surely_over() -> None:
    """As long after its collective is done as that took.  Another runs where it is needed."""
    body = [
        *sums("g", "a", 1),
        start("s", "g"),
        start("t", "b"),
        *sums("p", "b", 8),
        wait("w", "s", "g"),
        wait("x", "t", "b"),
    ]
    program = module(body, ["%p", "%w", "%x"])
    deps = Dependences.of(program)
    seconds = {n.index: 1.0 for n in deps.nodes if n.name == "add"} | {1: 1.0, 2: 0.5}
    orders = timed(deps, seconds)
    walk = OverlapWalk(orders.memory, orders.flights, seconds, orders.limits(100), looks_ahead=False)
    # the first collective starts at 1, is done 1.7 later, and took 1
    expected = ["add", "start", "start", *["add"] * 3, "wait", *["add"] * 5, "wait"]
    assert names(deps, walk.order()) == expected


def test_a_call_that_needs_memory_waits_for_what_gives_it_back() -> None:
    """The collective holds two tensors, each sum makes one and reads another."""
    body = [*sums("g", "a", 1), start("s", "g"), *sums("p", "b", 3), wait("w", "s", "g")]
    program = module(body, ["%p", "%w"])
    deps = Dependences.of(program)
    orders = timed(deps, {node.index: 1.0 for node in deps.nodes})
    for count in (2, 3, 4):
        limits = Peaks(count << 20, 1 << 30)
        walk = OverlapWalk(orders.memory, orders.flights, orders.seconds, limits, looks_ahead=False)
        expected = ["add"] * 3
        expected.insert(count - 2 if count < 4 else 3, "wait")
        assert names(deps, walk.order())[2:] == expected
