"""Remarks are plain data: they survive JSON and pickling, and each decision is told once."""

import json
import pickle

from fusion_checks import SCHEDULED, run_passes
from fusion_modules import Graph

from fuse_mlir.compiler.analysis.remarks import Remarks


def remarks_of_a_model() -> Remarks:
    g = Graph()
    x = g.input(60, 4)
    row = g.pointwise("exp", g.input(4))
    y = g.pointwise("mul", x, row)
    s = g.reduce("sum", g.reduce("max", y, (1,)), (0,))
    return run_passes(g.text(y, s, g.pointwise("neg", x)), SCHEDULED)[1]


def test_remarks_survive_json_and_pickle() -> None:
    remarks = remarks_of_a_model()
    assert {r.kind for r in remarks.items} == {"missed", "passed"}
    again = Remarks.from_list(json.loads(json.dumps(remarks.to_list())))
    assert again == remarks == pickle.loads(pickle.dumps(remarks))
    assert again.render("yaml") == remarks.render("yaml")


def test_the_text_names_each_line_once_and_no_location_without_one() -> None:
    places = (
        'loc(fused["a"("m.py":3:0), "b"("m.py":4:0)])',
        'loc("c"("m.py":3:0))',
        'loc("copy_")',
        "n.py:7",
    )
    remarks = Remarks()
    remarks.add("fuse", "passed", "fused", "one kernel", ops=("a", "c"), locations=places)
    remarks.add("fuse", "passed", "fused", "one kernel", ops=("d",), locations=('loc("d")',))
    assert remarks.render("text").splitlines() == [
        "passed: fuse: fused: one kernel [a + c] at m.py:3, m.py:4, n.py:7",
        "passed: fuse: fused: one kernel [d]",
    ]
    assert all(place.replace("'", "''") in remarks.render("yaml") for place in places)


def test_no_decision_is_told_twice() -> None:
    told = [(r.kind, r.rule, r.ops) for r in remarks_of_a_model().items]
    assert len(told) == len(set(told))


def test_every_missed_pair_names_its_rule_its_kernels_and_both_lines() -> None:
    missed = [r for r in remarks_of_a_model().items if r.kind == "missed"]
    assert missed
    for remark in missed:
        assert len(remark.ops) == 2 and len(remark.locations) == 2 and remark.numbers


def test_a_group_says_what_it_saved() -> None:
    fused = [r for r in remarks_of_a_model().items if r.rule == "fused"]
    assert fused
    for remark in fused:
        numbers = dict(remark.numbers)
        assert numbers["saved_bytes"] > 0 and numbers["saved_launches"] >= 1 and numbers["saved_us"] > 0
