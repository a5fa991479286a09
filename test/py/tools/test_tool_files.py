"""What fuse-opt writes to and deletes: nothing that was there is lost unless it was asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from fuse_mlir.tools import fuse_opt

GOOD = "func.func private @f()\n"
#: plan-memory refuses what is planned.
BAD = """func.func @main() -> tensor<8xf32> {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  return %a : tensor<8xf32>
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with a module that every pass accepts and one that plan-memory refuses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.mlir").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.mlir").write_text(BAD, encoding="utf-8")
    return tmp_path


def held(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", ["good.mlir", "./good.mlir", "link.mlir"])
@pytest.mark.parametrize("passes", [["--cse"], ["--cse", "-o", "out.mlir"]])
def test_a_reproducer_may_not_be_the_input(folder, capsys, name, passes) -> None:
    (folder / "link.mlir").symlink_to("good.mlir")
    before = held(folder)
    assert fuse_opt.main(["good.mlir", *passes, f"--reproducer={name}"]) == 2
    said = capsys.readouterr().err
    assert said == f"fuse-opt: error: cannot write the reproducer to '{name}': it is the input\n"
    assert held(folder) == before


def test_a_reproducer_may_not_be_the_output(folder, capsys) -> None:
    assert fuse_opt.main(["good.mlir", "--cse", "--reproducer=r.mlir", "-o", "./r.mlir"]) == 2
    assert "cannot write the reproducer to 'r.mlir': it is the output" in capsys.readouterr().err
    assert not (folder / "r.mlir").exists()


def test_success_keeps_what_an_earlier_failure_left(folder) -> None:
    (folder / "r.mlir").write_text("of yesterday", encoding="utf-8")
    before = held(folder)
    assert (
        fuse_opt.main(["good.mlir", "--cse", "--canonicalize", "--reproducer=r.mlir", "-o", "/dev/null"]) == 0
    )
    assert held(folder) == before


def test_failure_leaves_one_reproducer_and_nothing_beside_it(folder) -> None:
    (folder / "r.mlir").write_text("of yesterday", encoding="utf-8")
    names = sorted(held(folder))
    assert fuse_opt.main(["bad.mlir", "--cse", "--plan-memory", "--reproducer=r.mlir"]) == 1
    assert sorted(held(folder)) == names
    assert 'pipeline: "builtin.module(plan-memory)"' in (folder / "r.mlir").read_text(encoding="utf-8")


def test_only_the_first_part_that_fails_leaves_a_reproducer(folder) -> None:
    (folder / "parts.mlir").write_text(
        f"{GOOD}// -----\n{BAD}// -----\n{BAD.replace('8x', '9x')}", encoding="utf-8"
    )
    names = sorted(held(folder))
    assert fuse_opt.main(["parts.mlir", "--split-input-file", "--plan-memory", "--reproducer=r.mlir"]) == 1
    assert sorted(held(folder)) == sorted([*names, "r.mlir"])
    assert "tensor<8xf32>" in (folder / "r.mlir").read_text(encoding="utf-8")


def test_a_process_that_dies_leaves_its_own_file_and_no_other_changed(folder) -> None:
    """The pass before which the process died is the first of the pipeline that is kept."""
    (folder / "r.mlir").write_text("of yesterday", encoding="utf-8")
    before = held(folder)
    program = (
        "import os, sys; from fuse_mlir.tools import fuse_opt\n"
        "from fuse_mlir.passes.graph import eliminate_dead\n"
        "eliminate_dead.EliminateDead.run_with = lambda *_: os._exit(9)\n"
        "fuse_opt.main(['good.mlir', '--cse', '--eliminate-dead', '--cse', '--reproducer=r.mlir'])"
    )
    for left in (["r.mlir.running"], ["r.mlir.running", "r.mlir.running-1"]):
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
        after = held(folder)
        assert sorted(after.keys() - before.keys()) == left and before.items() <= after.items()
        assert 'pipeline: "builtin.module(eliminate-dead,cse)"' in after[left[-1]]


@pytest.mark.parametrize("place", ["nowhere/r.mlir", "good.mlir/r.mlir", "."])
def test_a_reproducer_that_cannot_be_written(folder, capsys, place) -> None:
    assert fuse_opt.main(["good.mlir", "--cse", f"--reproducer={place}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"fuse-opt: error: cannot write '{place}") and said.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (BAD, ["--plan-memory"]),
        ("func.fun", []),
        (f"{GOOD}// -----\n{BAD}", ["--split-input-file", "--plan-memory"]),
        (f"{GOOD}// expected-error {{{{x}}}}\n", ["--verify-diagnostics"]),
    ],
    ids=["pass", "parser", "second part", "expectation"],
)
def test_a_run_that_fails_writes_no_output(folder, text, flags) -> None:
    (folder / "m.mlir").write_text(text, encoding="utf-8")
    before = held(folder)
    assert fuse_opt.main(["m.mlir", *flags, "-o", "m.mlir"]) == 1
    assert fuse_opt.main(["m.mlir", *flags, "-o", "new.mlir"]) == 1
    assert held(folder) == before


def test_a_run_that_succeeds_may_write_over_its_input(folder) -> None:
    assert fuse_opt.main(["good.mlir", "-o", "good.mlir"]) == 0
    assert (folder / "good.mlir").read_text(
        encoding="utf-8"
    ) == "module {\n  func.func private @f()\n}\n\n".rstrip("\n") + "\n"
