"""Remarks are plain data: they survive JSON and pickling, and each decision is told once."""

import json
import pickle
import shutil
import subprocess

import pytest
import yaml
from fusion_checks import SCHEDULED, run_passes
from fusion_modules import Graph

from fuse_mlir.compiler.base.remarks import Loss, Remark, Remarks


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


def test_the_worst_come_first() -> None:
    losses = [None, Loss(8, 1.5), Loss(4, 2.25), None, Loss(0, 0.5)]
    remarks = Remarks()
    for number, loss in enumerate(losses):
        remarks.items.append(Remark("p", "missed", f"r{number}", "m", loss=loss))
    assert [r.rule for r in remarks.worst().items] == ["r2", "r1", "r4"]
    assert remarks.worst(1).render("text", costs=True) == "2.25 us, 4 bytes: missed: p: r2: m"
    assert remarks.render("text", costs=True).splitlines()[0] == "missed: p: r0: m"
    again = [Remark("p", "missed", "r2", "m", (f"a{n}", "b"), loss=losses[2]) for n in range(5)]
    text = Remarks([*remarks.items[:2], *again, *remarks.items[2:]]).worst().render("text", costs=True)
    assert text.splitlines() == [
        "6 times 2.25 us, 4 bytes: missed: p: r2: m [a0 + b; a1 + b; a2 + b; a3 + b; and 2 more]",
        "1.50 us, 8 bytes: missed: p: r1: m",
        "0.50 us, 0 bytes: missed: p: r4: m",
    ]
    assert len(Remarks(again).render("text").splitlines()) == len(again)
    missed = [r for r in remarks_of_a_model().items if r.kind == "missed"]
    assert missed and all(r.loss is not None and r.loss.microseconds > 0 for r in missed)


def test_the_text_names_each_line_once_and_no_location_without_one() -> None:
    places = (
        'loc(fused["a"("m.py":3:0), "b"("m.py":4:0)])',
        'loc("c"("m.py":3:0))',
        'loc("copy_")',
        "n.py:7",
        "<string>: eval",
    )
    remarks = Remarks()
    remarks.add("fuse", "passed", "fused", "one kernel", ops=("a", "c"), locations=places)
    remarks.add("fuse", "passed", "fused", "one kernel", ops=("d",), locations=('loc("d")',))
    assert remarks.render("text").splitlines() == [
        "passed: fuse: fused: one kernel [a + c] at m.py:3, m.py:4, n.py:7, <string>: eval",
        "passed: fuse: fused: one kernel [d]",
    ]
    assert [r.nodes for r in remarks.items] == [("a", "b", "c", "copy_"), ("d",)]


LLVM = """--- !Missed
Pass:            fuse-vertical
Name:            reduction-dims
DebugLoc:        { File: 'm.py', Line: 2, Column: 4 }
Function:        'mean'
Args:
  - String:          'mean and sub stay apart: it''s so'
  - String:          ' ['
  - Kernel:          'mean'
    DebugLoc:        { File: 'm.py', Line: 2, Column: 4 }
  - String:          ' + '
  - Kernel:          'sub'
    DebugLoc:        { File: 'n.py', Line: 7, Column: 0 }
  - String:          ']'
  - String:          ', over='
  - over:            '[''d0'', ''d1'']: {x}'
  - String:          ' at '
  - Line:            'm.py:2'
    DebugLoc:        { File: 'm.py', Line: 2, Column: 4 }
  - String:          ', '
  - Line:            'm.py:3'
    DebugLoc:        { File: 'm.py', Line: 3, Column: 0 }
  - String:          ', '
  - Line:            'n.py:7'
    DebugLoc:        { File: 'n.py', Line: 7, Column: 0 }
..."""


def two_remarks() -> Remarks:
    remarks = Remarks()
    remarks.add(
        "fuse-vertical",
        "missed",
        "reduction-dims",
        "mean and sub stay apart: it's so",
        ops=("mean", "sub"),
        locations=('loc(fused["a"("m.py":2:4), "b"("m.py":3:0)])', "n.py:7"),
        over="['d0', 'd1']: {x}",
    )
    remarks.add("choose-tiling", "analysis", "tile", "no place,\nno kernel")
    return remarks


def test_yaml_has_the_keys_of_llvm_and_no_others() -> None:
    remarks = two_remarks()
    first, second = remarks.render("yaml").split("\n--- ")
    assert first == LLVM
    data = yaml.safe_load("--- " + second.replace("!Analysis", "") + "\n")
    assert data == {
        "Pass": "choose-tiling",
        "Name": "tile",
        "Function": "main",
        "Args": [{"String": "no place, no kernel"}],
    }
    data = yaml.safe_load(first.replace("!Missed", ""))
    told = "".join(next(iter(argument.values())) for argument in data["Args"])
    assert told == (
        "mean and sub stay apart: it's so [mean + sub], over=['d0', 'd1']: {x} at m.py:2, m.py:3, n.py:7"
    )


@pytest.mark.skipif(shutil.which("llvm-opt-report") is None, reason="needs LLVM's llvm-opt-report")
def test_llvms_own_tool_reads_the_yaml(tmp_path) -> None:
    """It shows what it knows (inlining is one such), and stops at a remark that it cannot read."""
    (tmp_path / "m.py").write_text("x = 1\ny = x + 2\n", encoding="utf-8")
    ours = "\n".join((two_remarks().render("yaml"), remarks_of_a_model().render("yaml")))
    known = Remarks()
    known.add("inline", "passed", "Inlined", "it is", ops=("f",), locations=('loc("m.py":2:4)',))

    def report(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "remarks.yaml").write_text(text + "\n", encoding="utf-8")
        command = ["llvm-opt-report", "remarks.yaml"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = report(f"{ours}\n{known.render('yaml')}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 I | y = x + 2" in done.stdout
    assert report(ours.replace("Function:", "Kernels:")).returncode == 1


def test_each_place_is_in_the_yaml() -> None:
    remarks = Remarks()
    remarks.add("fuse", "passed", "fused", "one kernel", locations=('loc("c"("m.py":3:0))', 'loc("copy_")'))
    assert remarks.render("yaml").count("m.py") == 3 and "copy_" not in remarks.render("yaml")


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
