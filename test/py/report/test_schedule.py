"""The schedule as data, and its picture: every launch once, every buffer from its first touch to its last."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import torch
from compiling import Compiled

from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.report.schedule import schedule_of
from fuse_mlir.compiler.report.schedule_svg import SIGNS, amount, draw_schedule, duration


def two_products(x, w, v):
    y = (x @ w).relu()
    z = y.sum(1)
    return (y @ v).sin(), z


def graph_of(function, *shapes, **options):
    compiled = Compiled(function, {"interpret_level": "planned", **options})
    compiled(*(torch.randn(shape) for shape in shapes))
    [graph] = compiled.graphs
    return graph


def test_rows_and_buffers():
    graph = graph_of(two_products, (8, 4), (4, 6), (6, 2))
    schedule = schedule_of(graph.module)
    assert [row.launch for row in schedule.rows] == list(graph.launches)
    assert [row.launch.name for row in schedule.rows if row.launch.kind == "torch"] == ["aten.mm.default"] * 2
    kinds = {kind: [b for b in schedule.buffers if b.kind == kind] for kind in ("argument", "result")}
    assert [b.name for b in kinds["argument"]] == ["argument 0", "argument 1", "argument 2"]
    assert [b.bytes for b in kinds["argument"]] == [8 * 4 * 4, 4 * 6 * 4, 6 * 2 * 4]
    assert sorted(b.bytes for b in kinds["result"]) == [8 * 4, 8 * 2 * 4]
    assert {b.last for b in kinds["result"]} == {len(schedule.rows) - 1}
    for number, row in enumerate(schedule.rows):
        assert row.writes
        assert all(b.first <= number <= b.last for b in (*row.reads, *row.writes))


def test_what_is_held():
    """Product, activation and sum, second product, sine: 192 bytes of y beside what follows it."""
    schedule = schedule_of(graph_of(two_products, (8, 4), (4, 6), (6, 2)).module)
    y, z, product = 8 * 6 * 4, 8 * 4, 8 * 2 * 4
    held = [schedule.held(row) for row in range(len(schedule.rows))]
    assert held[0] == y
    assert held[-1] <= z + 2 * product
    assert max(held) <= 2 * y + z + product


def test_sizes_are_taken_at_their_hints():
    compiled = Compiled(lambda x: x + 1, {"interpret_level": "planned"}, dynamic=True)
    compiled(torch.randn(6, 10))
    [graph] = compiled.graphs
    assert {b.bytes for b in schedule_of(graph.module).buffers} == {6 * 10 * 4}


def test_the_picture_has_every_launch_and_buffer():
    graph = graph_of(two_products, (8, 4), (4, 6), (6, 2))
    schedule = schedule_of(graph.module)
    text = graph.schedule_svg("h200")
    assert text == draw_schedule(schedule, hardware_named("h200"), graph.name)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    rows = [g for g in root.iter(f"{space}g") if g.get("class") == "row"]
    assert [g.get("id") for g in rows] == [f"launch{n}" for n in range(len(schedule.rows))]
    assert len(re.findall('class="buffer"', text)) == len(schedule.buffers)
    dots = sum(len({*row.reads, *row.writes}) for row in schedule.rows)
    assert sum(len(list(g.iter(f"{space}circle"))) for g in rows) == dots
    moved = sum(row.launch.estimate.bytes for row in schedule.rows)
    assert f"{len(rows)} launches, {amount(moved)} moved" in text
    assert "test_schedule.py" in text, "pointing at a launch names the user's lines"


def test_what_is_drawn_has_a_name():
    """A bar of memory has the number of its buffer, a list says what that is, the legend has all signs."""
    graph = graph_of(two_products, (8, 4), (4, 6), (6, 2))
    buffers = schedule_of(graph.module).buffers
    text = graph.schedule_svg("h200")
    said = [t.text or "" for t in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    for number, buffer in enumerate(buffers):
        assert any(t.startswith(f"m{number}<") for t in re.findall('class="mark">(.*)', text))
        [line] = [t for t in said if t.startswith(f"m{number}: ")]
        assert line.startswith(f"m{number}: {buffer.name}, ") and amount(buffer.bytes) in line
    assert {b.name for b in buffers if b.kind == "result"} == {"sum_1", "sin"}
    assert {meaning for _, meaning in SIGNS} <= set(said)


def test_the_head_of_a_column_ends_where_the_next_begins():
    text = graph_of(two_products, (8, 4), (4, 6), (6, 2)).schedule_svg("h200")
    heads = re.findall(r'<text x="([\d.]+)" y="70" class="small">([^<]+)<', text)
    assert len(heads) == 4
    for (x, head), (following, _) in pairwise(heads):
        assert float(x) + 6.7 * len(head) < float(following)


def test_no_time_is_rounded_to_nothing():
    assert [duration(t) for t in (0.0, 3.14159e-11, 9.996e-7, 2.5e-6, 1.25e-2, 1500.0)] == [
        "0 ns",
        "0.0314 ns",
        "1 us",
        "2.5 us",
        "12.5 ms",
        "1.5e+03 s",
    ]


def test_buffers_that_live_at_once_have_columns_of_their_own():
    schedule = schedule_of(graph_of(two_products, (8, 4), (4, 6), (6, 2)).module)
    text = draw_schedule(schedule, hardware_named("generic"))
    columns = re.findall(r'class="buffer" x="([\d.]+)"', text)
    pairs = list(zip(schedule.buffers, columns, strict=True))
    for number, (one, x) in enumerate(pairs):
        for other, y in pairs[:number]:
            assert x != y or one.first > other.last or other.first > one.last


def test_an_empty_schedule_is_drawn():
    graph = graph_of(lambda x: x.t(), (3, 4))
    assert "0 launches, 0 B moved" in graph.schedule_svg()


def test_unknown_hardware():
    with pytest.raises(ValueError, match="unknown hardware 'abacus'"):
        graph_of(two_products, (8, 4), (4, 6), (6, 2)).schedule_svg("abacus")


def test_launches_of_a_sub_graph_touch_its_own_storages():
    def branched(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() @ x, lambda x: x.cos(), (x,))

    schedule = schedule_of(graph_of(branched, (8, 8)).module)
    rows = {row.launch.name: row for row in schedule.rows}
    sine = rows["true_graph_0.sin"]
    assert [b.kind for b in (*sine.reads, *sine.writes)] == ["argument", "temporary"]
    assert sine.writes[0] in rows["aten.mm.default"].reads
    assert {b.bytes for b in sine.writes} == {8 * 8 * 4}
