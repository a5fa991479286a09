"""What lit cannot say of fuse-opt: passes that crash or lie, diagnostics, costs."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from idle_pass import Nothing

from fuse_mlir.compiler.base.diagnostics import (
    Diagnostic,
    Position,
    collecting,
    position_of,
    position_of_text,
)
from fuse_mlir.compiler.base.errors import CompileError
from fuse_mlir.compiler.base.remarks import Remark, Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes import pipeline_text as pipelines
from fuse_mlir.passes import registry
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pass_base import Pass, PassError
from fuse_mlir.tools import _expectations, _opt
from fuse_mlir.tools._observers import PrintIR, Watcher
from fuse_mlir.tools._session import PrintStyle, Session, remark_diagnostic
from fuse_mlir.tools._source import Source, split

FILL = """
func.func @main(%o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>
  return {fuse.mutates = {"0" = 0 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %v = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
"""
SOURCE = Source("model.mlir", FILL)


def first_op(module: ir.Module, name: str) -> ir.Operation:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == name:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found[0]


@dataclass(frozen=True)
class Crashes(Pass):
    """Has a bug."""

    name: ClassVar[str] = "crashes"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        raise KeyError("d7")


@dataclass(frozen=True)
class Refuses(Pass):
    """Cannot accept a store."""

    name: ClassVar[str] = "refuses"
    kind: str = "pass"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        location = first_op(module, "fuse.store").location
        if self.kind == "pass":
            raise PassError("a store is in the way", location)
        raise CompileError(message="a store is in the way", location=location)


@dataclass(frozen=True)
class Breaks(Pass):
    """Leaves IR that breaks a rule of the dialect."""

    name: ClassVar[str] = "breaks"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        first_op(module, "fuse.store").attributes["mode"] = ir.StringAttr.get("mul")


@dataclass(frozen=True)
class Doubles(Pass):
    """Changes what the module computes, and says that it does not."""

    name: ClassVar[str] = "doubles"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        constant = first_op(module, "fuse.store").operands[1].owner
        constant.attributes["value"] = ir.FloatAttr.get_f32(2.0)


@dataclass(frozen=True)
class Freezes(Pass):
    """Takes the hint of a size for the size."""

    name: ClassVar[str] = "freezes"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for op in module.body.operations:
            if "fuse.dims" in op.attributes:
                op.attributes["fuse.dims"] = ir.DictAttr.get({"d0": ir.StringAttr.get("8")})


PASSES = {cls.name: cls for cls in (Nothing, Crashes, Refuses, Breaks, Doubles, Freezes)}


def run(*passes: Pass, **options: Any) -> Any:
    return Session(list(passes), **options).run(SOURCE)


def lines(outcome: Any) -> list[str]:
    return [line for d in outcome.diagnostics.items for line in d.lines() if d.severity != "remark"]


# --- failing passes -----------------------------------------------------------------------------------------


def test_a_bug_in_a_pass_names_the_pass_and_prints_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(Nothing(), Crashes())
    assert not outcome.ok and outcome.output is None
    assert lines(outcome) == ["model.mlir:2:1: error: pass 'crashes' raised KeyError: 'd7'"]
    assert "Traceback" not in capsys.readouterr().err


def test_debug_prints_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    run(Crashes(), debug=True)
    error = capsys.readouterr().err
    assert "Traceback" in error and 'raise KeyError("d7")' in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--default-pipeline", "--hardware=abacus"], "unknown hardware 'abacus': expected one of a100,"),
        (["--cse", "--hardware=abacus"], "unknown hardware 'abacus'"),
        (["--cse", "--dump-dir={file}"], "cannot write to folder '{file}': File exists"),
        (["--cse", "--dump-dir={folder}"], "cannot write to folder '{folder}': it is not empty"),
        (["--csee"], "unknown pass '--csee'; did you mean '--cse'?"),
    ],
)
def test_a_bad_command_line_is_no_fault_of_the_input(tmp_path, capsys, arguments, said) -> None:
    file = tmp_path / "model.mlir"
    file.write_text(FILL, encoding="utf-8")
    names = {"file": file, "folder": tmp_path}
    assert _opt.run([str(file), *(a.format(**names) for a in arguments)]) == _opt.USAGE
    assert f"fuse-opt: error: {said.format(**names)}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file] and file.read_text(encoding="utf-8") == FILL


@pytest.mark.parametrize("kind", ["pass", "compile"])
def test_a_refusal_is_one_sentence_at_the_op(kind: str) -> None:
    [line] = lines(run(Refuses(kind)))
    assert line.startswith("model.mlir:10:8: error: a store is in the way")


def test_a_broken_rule_names_the_pass_that_broke_it() -> None:
    said = lines(run(Nothing(), Breaks()))
    assert said[0].startswith("model.mlir:10:8: error: 'fuse.store' op expected mode to be one of")
    assert said[1:] == ["note: after pass 'breaks'"]


def test_nothing_is_verified_between_passes_when_that_is_off() -> None:
    outcome = run(Breaks(), verify_each=False)
    assert outcome.ok and 'mode = "mul"' in outcome.output


def test_numeric_verification_names_the_pass_that_changed_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = registry.PassTable({"doubles": None, "nothing": None})
    monkeypatch.setattr(registry.PassTable, "__getitem__", lambda self, name: PASSES[name])
    monkeypatch.setattr(pipelines, "PASSES", table)
    path = tmp_path / "fill.mlir"
    path.write_text(FILL)
    assert _opt.run([str(path), "--nothing", "--doubles", "--nothing"]) == 0
    assert _opt.run([str(path), "--nothing", "--verify-each=numeric"]) == 0
    capsys.readouterr()
    assert _opt.run([str(path), "--nothing", "--doubles", "--nothing", "--verify-each=numeric"]) == 1
    assert "error: pass doubles changed" in capsys.readouterr().err


FILL_ROWS = """
func.func @main(%o: T, %n: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 8 : i64}) -> T {
  %y = call @fill(%o, %n) : (T, index) -> T
  return {fuse.mutates = {"0" = 0 : i64}} %y : T
}
func.func private @fill(%o: T, %n: index {fuse.sym = "s0"}) -> T
    attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %v = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (T, f32, i1) -> T
  return %r : T
}
""".replace("T", 'tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>')


def test_numeric_verification_runs_two_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint is 8: a pass that takes it for the size changes nothing there."""
    table = registry.PassTable({"freezes": None, "nothing": None})
    monkeypatch.setattr(registry.PassTable, "__getitem__", lambda self, name: PASSES[name])
    monkeypatch.setattr(pipelines, "PASSES", table)
    path = tmp_path / "fill.mlir"
    path.write_text(FILL_ROWS)
    assert _opt.run([str(path), "--nothing", "--verify-each=numeric"]) == 0
    capsys.readouterr()
    assert _opt.run([str(path), "--freezes", "--verify-each=numeric"]) == 1
    assert "error: pass freezes changed result 0 with s0 = 9" in capsys.readouterr().err


def test_watchers_hear_of_success_and_failure() -> None:
    heard: list[str] = []

    class Listener(Watcher):
        def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
            heard.append(f"before {number} {p.name}")

        def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
            heard.append(f"after {number} {p.name}")

        def failed(self, p: Pass, module: ir.Module) -> None:
            heard.append(f"failed {p.name}")

        def finished(self) -> None:
            heard.append("finished")

    run(Nothing(), watchers=lambda number: [Listener()])
    assert heard == ["before 0 nothing", "after 0 nothing", "finished"]
    heard.clear()
    run(Nothing(), Breaks(), Nothing(), watchers=lambda number: [Listener()])
    assert heard == ["before 0 nothing", "after 0 nothing", "before 1 breaks", "failed breaks"]


def test_a_failed_pass_is_printed_as_failed() -> None:
    written: list[str] = []
    printing = PrintIR(PrintStyle().text, written.append, after=frozenset({"breaks"}))
    run(Breaks(), watchers=lambda number: [printing])
    [text] = written
    assert text.startswith("// -----// IR Dump After Breaks Failed (breaks) //----- //\nmodule {\n")
    assert 'mode = "mul"' in text


def test_a_manager_without_tool_raises_what_the_pass_raised() -> None:
    module = ir.Module.parse(FILL, make_context())
    manager = PassManager([Nothing(), Crashes(), Nothing()])
    with pytest.raises(KeyError):
        manager.run(module)
    assert [t.name for t in manager.times] == ["nothing"]


# --- diagnostics --------------------------------------------------------------------------------------------


def test_positions_are_found_inside_locations() -> None:
    context = make_context()
    texts = {
        'loc("m.py":3:1)': Position("m.py", 3, 1),
        'loc("add_3"("m.py":4:2))': Position("m.py", 4, 2),
        'loc(fused["add_3", "mul"("m.py":5:0), "n.py":6:1])': Position("m.py", 5, 0),
        'loc(callsite("f"("g.py":1:2) at "h.py":7:7))': Position("g.py", 1, 2),
        "loc(unknown)": None,
        "add_3 at m.py:3": None,
    }
    assert {text: position_of_text(text, context) for text in texts} == texts
    assert position_of(None) is None


def test_collecting_takes_diagnostics_only_inside_the_block() -> None:
    context = make_context()
    with collecting(context) as said, context:
        ir.Location.file("m.py", 1, 2).emit_error("no")
    assert said.items == [Diagnostic("error", "no", Position("m.py", 1, 2))]
    assert list(said.items[0].lines()) == ["m.py:1:2: error: no"]


def test_a_remark_becomes_a_diagnostic_at_its_line() -> None:
    remark = Remark(
        "fuse-vertical",
        "missed",
        "too-big",
        "a and b stay apart",
        ("a", "b"),
        ("x", 'loc("m.py":3:1)'),
        (("n", 4),),
    )
    assert remark_diagnostic(remark, make_context()) == Diagnostic(
        "remark", "missed: fuse-vertical: too-big, n=4: a and b stay apart [a + b]", Position("m.py", 3, 1)
    )


def test_split_parts_keep_their_line_numbers() -> None:
    parts = list(split(Source("f", "a\n// -----\nb\n// -----  and more\nc")))
    assert [p.text for p in parts] == ["a\n", "\n\nb\n", "\n\n\n\nc"]


SAID = [
    Diagnostic(
        "error", "a (b) c", Position("f", 2, 1), (Diagnostic("note", "see here", Position("f", 1, 1)),)
    ),
    Diagnostic("remark", "fused", Position("other", 2, 1)),
]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "// expected-note {{see}}\n// expected-error {{a (b)}}\n// expected-remark@unknown {{f{{u|i}}s}}",
            [],
        ),
        ("// expected-note {{see}} expected-error@+1 {{c}} expected-remark@unknown {{fused}}", []),
        (
            "// expected-note-re {{s..}}\n// expected-error-re {{\\(b\\)}}\n// expected-remark@unknown {{f}}",
            [],
        ),
        (
            "// expected-note {{see}}\n// expected-warning {{a (b)}}\n// expected-remark@unknown {{f}}",
            [
                "f:2:1: error: unexpected error: a (b) c",
                'f:2:1: error: expected warning "a (b)" was not produced',
            ],
        ),
        (
            "//expected-note {{s}} expected-remark@unknown{{f}}\n//expected-error {{a}} expected-error {{a}}",
            ['f:2:1: error: expected error "a" was not produced'],
        ),
        (
            "// expected-error@below {{a.*c}}",
            [
                "f:2:1: error: unexpected error: a (b) c",
                "f:1:1: error: unexpected note: see here",
                "other:2:1: error: unexpected remark: fused",
                'f:1:1: error: expected error "a.*c" was not produced',
            ],
        ),
    ],
    ids=["all", "one line", "regex", "severity", "twice", "none"],
)
def test_expectations(text: str, wrong: list[str]) -> None:
    found = _expectations.unmet(_expectations.expectations(text), SAID, "f")
    assert [line for d in found for line in d.lines()] == wrong


@pytest.mark.parametrize(
    "text",
    [
        "// expected-error {no}",
        "// expected-error@1 {{no}}",
        "// expected-error {{no}",
        "// expected-error-re {{(}}",
    ],
)
def test_a_misspelled_expectation_is_an_error(text: str) -> None:
    with pytest.raises(_expectations.ExpectationError):
        _expectations.expectations(text)


# --- the process --------------------------------------------------------------------------------------------


def test_nothing_slow_is_imported() -> None:
    """torch takes seconds to import, sympy half of one; passes are loaded by need."""
    program = (
        "import sys; from fuse_mlir.tools._opt import run; code = run(sys.argv[1:]);"
        "slow = [m for m in ('torch', 'sympy', 'triton', 'transformers') if m in sys.modules];"
        "passes = [m for m in ('fuse_vertical', 'pipeline') if 'fuse_mlir.passes.' + m in sys.modules];"
        "print(code, slow, passes, 'fuse_mlir.passes.memory.plan_memory' in sys.modules)"
    )
    command = [sys.executable, "-c", program, "-", "--plan-memory", "-o", "/dev/null"]
    done = subprocess.run(command, input=FILL, capture_output=True, text=True, check=True)
    assert done.stdout == "0 [] [] True\n"


def test_output_does_not_differ_between_processes() -> None:
    command = [
        sys.executable,
        "-m",
        "fuse_mlir.tools.fuse_opt",
        "--default-pipeline",
        "--mlir-print-debuginfo",
    ]
    outputs = {
        subprocess.run(
            command,
            input=FILL,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_an_op_whose_location_is_a_name_has_its_line(monkeypatch, capsys) -> None:
    text = (
        "func.func @main(%x: tensor<64xf32>, %t: i1, %z: f32) {\n"
        '  %v = "fuse.load"(%x, %t, %z) {} : (tensor<64xf32>, i1, f32) -> f32 loc("m)ul")\n'
        "  return loc(#loc)\n}\n"
        '#loc = loc("a"("b.py":1:2))\n'
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert _opt.run([]) == 1
    assert "<stdin>:2:8: error: 'fuse.load' op attribute" in capsys.readouterr().err
