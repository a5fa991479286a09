"""Which merges are measured (``near_limit``), and the table of what was found (``measured``)."""

import json

import pytest
from fusion_modules import Graph, Tensor

from fuse_mlir.compiler.analysis.fusion.graph import GroupGraph
from fuse_mlir.compiler.analysis.fusion.measured import (
    WHY,
    Measurement,
    escaping_values,
    measurements_text,
    read_measurements,
)
from fuse_mlir.compiler.analysis.fusion.near_limit import may_measure, saved_part
from fuse_mlir.compiler.analysis.fusion.score import Gain
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

H200 = hardware_named("h200")
BYTES = 4 * 4096 * 1024


def part(g: Graph, outputs: tuple[Tensor, ...], gain: Gain) -> float | None:
    """``saved_part`` of the first two kernels."""
    with make_context():
        module = ir.Module.parse(g.text(*outputs))
        graph = GroupGraph.of(module)
        first, second = sorted(graph.summaries)[:2]
        return saved_part(graph, (first,), (second,), gain, H200)


def two(rows: int = 4096) -> tuple[Graph, tuple[Tensor, ...]]:
    g = Graph()
    x = g.input(rows, 1024)
    first = g.pointwise("mul", x, x)
    return g, (first, g.pointwise("add", first, x))


def test_the_part_is_of_what_both_groups_move_and_two_launches():
    """One reads x and writes; the other reads both and writes: five tensors."""
    apart = 5 * BYTES / (H200.bandwidth * 1e3) + 2 * H200.launch
    gain = Gain(BYTES, 1)
    assert part(*two(), gain) == pytest.approx(gain.microseconds(H200) / apart)


def test_what_saves_most_of_the_time_is_not_measured():
    apart = 5 * BYTES / (H200.bandwidth * 1e3) + 2 * H200.launch
    most = int(H200.rates.margins.near * apart * H200.bandwidth * 1e3)
    assert part(*two(), Gain(most - 4096)) is not None
    assert part(*two(), Gain(most + 4096)) is None
    assert part(*two(), Gain(most + 4096, slots=1)) is not None, "points are computed again"


def test_kernels_that_take_half_a_launch_are_not_measured():
    rows = int(0.5 * H200.launch * H200.bandwidth * 1e3) // (5 * 4 * 1024)
    assert part(*two(rows), Gain(1)) is None
    assert part(*two(rows + 1), Gain(1)) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('mode = "set"', 'mode = "add"'),
        ("%out =", '"cf.assert"(%true) {msg = "no"} : (i1) -> ()\n    %out ='),
    ],
)
def test_atomics_and_asserts_are_not_measured(old, new):
    g, outputs = two()
    for text, may in ((g.text(*outputs), True), (g.text(*outputs).replace(old, new, 1), False)):
        with make_context():
            module = ir.Module.parse(text)
            graph = GroupGraph.of(module)
            assert may_measure(graph, sorted(graph.summaries)) == may


def test_what_others_use_escapes():
    g = Graph()
    x = g.input(4, 4)
    a = g.pointwise("mul", x, x)
    b = g.pointwise("add", a, x)
    update = g.pointwise("neg", b, into=x)
    with make_context():
        module = ir.Module.parse(g.text(update, a, mutates={0: 0}))
        graph = GroupGraph.of(module)
        nodes = sorted(graph.summaries)
        names = [graph.deps.nodes[n].results[0] for n in nodes]
        assert escaping_values(graph, frozenset(nodes[:1])) == names[:1]
        assert escaping_values(graph, frozenset(nodes[:2])) == names[:2]
        assert escaping_values(graph, frozenset(nodes[1:])) == names[2:], "it lies in an argument"


def test_a_table_is_read_as_it_was_written():
    found = {f"key {n}": Measurement(why, (("us_together", 2.5),)) for n, why in enumerate(WHY)}
    assert read_measurements(json.loads(measurements_text(found))) == found
    refused = {m.why for m in found.values() if m.refusal is not None}
    assert refused == {"slower", "first spills", "second spills", "fused spills", "not compiled"}
    texts = [m.refusal.message for m in found.values() if m.refusal is not None]
    assert len(set(texts)) == len(texts), "each case says something else"


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({}, "'a' has no \"why\" that is one of 'faster', "),
        ({"why": "luck"}, "'a' has no \"why\" that is one of "),
        ("slower", "'a' has no \"why\""),
        (
            {"why": "slower", "us_together": "long"},
            "'a' has \"us_together\": expected numbers spilled_bytes, ",
        ),
        ({"why": "slower", "us_together": True}, "'a' has \"us_together\": expected numbers"),
        ({"why": "slower", "days": 1}, "'a' has \"days\": expected numbers"),
    ],
    ids=["nothing", "unknown", "text", "number", "bool", "name"],
)
def test_a_bad_entry_is_named(entry, match):
    with pytest.raises(ValueError, match=match):
        read_measurements({"a": entry})
