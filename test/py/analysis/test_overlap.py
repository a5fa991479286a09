"""The model of collectives, and orders of ``@main`` around them."""

import random
from dataclasses import replace

import pytest
from collective_modules import H200, T, module, names, timed

from fuse_mlir.compiler.analysis.program.collective_order import Flights, raised, sunk
from fuse_mlir.compiler.analysis.program.dependences import Dependences, check_order
from fuse_mlir.compiler.analysis.program.overlap import overlap_order
from fuse_mlir.compiler.analysis.program.overlap_walk import AHEAD
from fuse_mlir.compiler.analysis.program.program_order import direct_dependences
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.cost.transfers import BESIDE, Transfer
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.collectives.overlap_collectives import OverlapCollectives
from fuse_mlir.passes.collectives.raise_starts import RaiseStarts
from fuse_mlir.passes.collectives.sink_waits import SinkWaits

GIB = 1 << 30


def drawn(seed: int) -> ir.Module:
    """A random program: sums, writes in place, collectives that are waited for at once or later."""
    draw = random.Random(seed)
    values, body, flying = ["%a", "%b"], list[str](), list[tuple[str, str]]()
    written: set[str] = set()  # of an older version, or in flight

    def land() -> None:
        name, operand = flying.pop(draw.randrange(len(flying)))
        made = f"%z{len(body)}"
        if operand:
            body.append(f"{made} = call @wait({name}, {operand}) : ({T}, {T}) -> {T}")
        else:
            body.append(f"{made} = call @wait_in_place({name}) : ({T}) -> {T}")
        values.append(made)

    for _ in range(draw.randrange(8, 40)):
        kind = draw.randrange(7)
        usable = [v for v in values if v not in written]
        a, b = draw.choice(usable), draw.choice(usable)
        name = f"%v{len(body)}"
        if kind < 3:
            body.append(f"{name} = call @add({a}, {b}) : ({T}, {T}) -> {T}")
            values.append(name)
        elif kind == 3 and a not in ("%a", "%b") and all(a != held for _, held in flying):
            body.append(f"{name} = call @write({a}) : ({T}) -> {T}")
            written.add(a)
            values.append(name)
        elif kind == 4:
            body.append(f"{name} = call @start({a}) : ({T}) -> {T}")
            flying.append((name, a))
        elif kind == 5 and a not in ("%a", "%b") and all(a != held for _, held in flying):
            body.append(f"{name} = call @start_in_place({a}) : ({T}) -> {T}")
            written.add(a)
            flying.append((name, ""))
        elif flying:
            land()
    while flying:
        land()
    return module(body, [v for v in values if v not in written][-3:])


def assert_allowed(deps: Dependences, order: list[int]) -> None:
    """The order has each node once, keeps every dependence but those of windows, and that of starts."""
    place = {n: i for i, n in enumerate(order)}
    assert len(place) == len(order)
    for n, before in enumerate(direct_dependences(deps, without="wait")):
        assert all(place[b] < place[n] for b in before if n in place)
    starts = Flights.of(deps).starts
    assert [n for n in order if n in starts] == list(starts)


@pytest.mark.parametrize("seed", range(25))
def test_orders_keep_dependences_memory_and_the_order_of_starts(seed: int) -> None:
    program = drawn(seed)
    deps = Dependences.of(program)
    assert_allowed(deps, sunk(deps))
    assert_allowed(deps, raised(deps))
    orders = overlap_order(program, deps, H200)
    for percent in (0, 20, 1000):
        best = orders.best(orders.limits(percent))
        assert_allowed(deps, best.order)
        assert best.timeline.seconds <= orders.given.timeline.seconds
        limits = orders.limits(percent)
        assert all(peak <= limit for peak, limit in zip(best.peaks, limits, strict=True))


@pytest.mark.parametrize("seed", range(0, 25, 4))
def test_what_the_passes_write_is_a_program(seed: int) -> None:
    for chosen in (SinkWaits(), RaiseStarts(), OverlapCollectives("h200", memory=50)):
        made = drawn(seed)
        with made.context:
            chosen.run(made, Remarks())
        assert made.operation.verify()
        assert check_order(made) is None


def test_a_wait_belongs_to_what_wrote_the_storage_last() -> None:
    program = module(
        [
            f"%y = call @start(%a) : ({T}) -> {T}",
            f'%v = "fuse.view"(%y) {{map = ["v0", "v1"], syms = []}} : ({T}) -> {T}',
            f"%s = call @start_in_place(%b) : ({T}) -> {T}",
            f"%z = call @wait(%v, %a) : ({T}, {T}) -> {T}",
            f"%w = call @wait_in_place(%s) : ({T}) -> {T}",
            f"%u = call @wait_in_place(%a) : ({T}) -> {T}",
        ],
        ["%z", "%w", "%u"],
    )
    deps = Dependences.of(program)
    flights = Flights.of(deps)
    assert flights.starts == (0, 2)
    assert flights.start_of == {3: 0, 4: 2, 5: None}


def test_the_time_of_a_collective_is_that_of_the_ring() -> None:
    link = H200.link
    gathered = Transfer("all-gather", GIB, 8)
    assert gathered.sent == GIB * 7 // 8
    assert gathered.seconds(link) == pytest.approx(GIB * 7 / 8 / 256e9 + (8.4 + 7 * 3.4) * 1e-6)
    reduced = Transfer("all-reduce", GIB, 8)
    assert reduced.seconds(link) == pytest.approx(2 * GIB * 7 / 8 / 256e9 + (8.4 + 14 * 3.4) * 1e-6)
    assert Transfer("broadcast", GIB, 8).sent == GIB
    assert Transfer("all-reduce", 8, 8).seconds(link) == pytest.approx(6.6e-6 + 14 * 0.6e-6, rel=1e-3)  # LL
    assert Transfer("all-to-all", GIB, 1).sent == Transfer("broadcast", GIB, 1).sent == 0
    slow = replace(link, network=10.0)  # ten times eight cards
    two_hosts = Transfer("all-gather", GIB, 16)
    assert two_hosts.seconds(slow) == pytest.approx(GIB * 15 / 16 / 80e9 + (8.4 + 14 * 3.4 + 14.0) * 1e-6)
    assert two_hosts.seconds(link) > gathered.seconds(link)


def test_a_collective_runs_after_what_was_launched_before_it_and_after_the_one_before() -> None:
    body = [
        f"%p = call @add(%a, %a) : ({T}, {T}) -> {T}",
        f"%y = call @start(%a) : ({T}) -> {T}",
        f"%x = call @start(%b) : ({T}) -> {T}",
        f"%q = call @add(%a, %b) : ({T}, {T}) -> {T}",
        f"%z = call @wait(%y, %a) : ({T}, {T}) -> {T}",
        f"%w = call @wait(%x, %b) : ({T}, {T}) -> {T}",
    ]
    program = module(body, ["%p", "%q", "%z", "%w"])
    deps = Dependences.of(program)
    given = timed(deps, {0: 1.0, 1: 10.0, 2: 20.0, 3: 4.0}).given.timeline
    beside = 4.0 / BESIDE  # what is done of the first while a call runs
    assert given.exposed == pytest.approx(10.0 - beside + 20.0)
    assert given.seconds == pytest.approx(1.0 + 4.0 + given.exposed)


def test_spans_say_when_both_streams_run() -> None:
    """Of two collectives, the second runs beside nothing, and the first beside one call and then alone."""
    body = [
        f"%y = call @start(%a) : ({T}) -> {T}",
        f"%q = call @add(%a, %b) : ({T}, {T}) -> {T}",
        f"%x = call @start(%b) : ({T}) -> {T}",
        f"%z = call @wait(%y, %a) : ({T}, {T}) -> {T}",
        f"%w = call @wait(%x, %b) : ({T}, {T}) -> {T}",
    ]
    program = module(body, ["%q", "%z", "%w"])
    deps = Dependences.of(program)
    orders = timed(deps, {0: 10.0, 1: 1.7, 2: 20.0})
    names = {node.index: f"{node.name} {node.index}" for node in deps.nodes}
    spans = orders.spans(orders.given.order, names)
    assert [(s.stream, s.name) for s in spans] == [
        ("calls", "add 1"),
        ("wait", "wait 3"),
        ("collectives", "start 0"),
        ("wait", "wait 4"),
        ("collectives", "start 2"),
    ]
    times = [(s.begin, s.end) for s in spans]
    alone = 1.7 + 10.0 - 1.7 / BESIDE
    expected = [(0.0, 1.7), (1.7, alone), (0.0, alone), (alone, alone + 20.0), (alone, alone + 20.0)]
    assert times == [pytest.approx(span) for span in expected]


def test_a_collective_that_takes_no_time_has_a_span() -> None:
    program = module(
        [f"%y = call @start(%a) : ({T}) -> {T}", f"%z = call @wait(%y, %a) : ({T}, {T}) -> {T}"], ["%z"]
    )
    orders = timed(Dependences.of(program), {})
    assert orders.spans([0, 1], {0: "start", 1: "wait"}) == [("collectives", "start", 0.0, 0.0)]


def test_a_call_that_needs_no_wait_runs_first_and_one_far_behind_does_not() -> None:
    body = [f"%y = call @start(%a) : ({T}) -> {T}", f"%z = call @wait(%y, %a) : ({T}, {T}) -> {T}"]
    before = "%z"
    for i in range(AHEAD + 1):  # each needs the wait
        body.append(f"%c{i} = call @add({before}, %b) : ({T}, {T}) -> {T}")
        before = f"%c{i}"
    body.append(f"%f = call @add(%b, %b) : ({T}, {T}) -> {T}")
    long, short = module(body, [before, "%f"]), module([*body[:3], body[-1]], ["%c0", "%f"])
    deps = Dependences.of(long)
    orders = timed(deps, {n.index: 1.0 for n in deps.nodes})
    assert orders.best(orders.limits(100)) is orders.given
    near = Dependences.of(short)
    orders = timed(near, {n.index: 1.0 for n in near.nodes})
    assert names(near, orders.best(orders.limits(100)).order) == ["start", "add", "wait", "add"]
