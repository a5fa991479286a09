"""The command line of fuse-run: what is wrong is said in one line, with its place and an exit code."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from repository import ROOT

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.tools import _run, fuse_opt, fuse_run

SOFTMAX = ROOT / "examples" / "softmax.mlir"


def run(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path, tool: ModuleType = fuse_run
) -> tuple[int, str]:
    """The exit code and what was written to stderr."""
    try:
        code = tool.main([str(a) for a in arguments])
    except SystemExit as stopped:  # argparse
        code = stopped.code
    return code, capsys.readouterr().err


def test_it_runs_saves_and_compares(capsys, tmp_path):
    assert run(capsys, SOFTMAX, "--save", tmp_path / "y.pt") == (0, "")
    assert run(capsys, SOFTMAX, "--compare", tmp_path / "y.pt") == (0, "")
    assert run(capsys, SOFTMAX, "--seed", "1", "--compare", tmp_path / "y.pt") == (1, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "gpu"], "expected cpu, cuda or cuda:N, got 'gpu'"),
        (["--size", "s0"], "--size takes NAME=N, got 's0'"),
        (["--input", "x.txt"], "--input takes a .pt or .npy file or a number, got 'x.txt'"),
        (["--input", "1", "--input", "2"], "@main takes 1 arguments, 2 are given"),
        (["--save", "nowhere/at/all.pt"], "cannot write 'nowhere/at/all.pt'"),
    ],
)
def test_a_bad_command_line(capsys, monkeypatch, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, error = run(capsys, SOFTMAX, *arguments)
    assert code == 2 and said in error


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"a": 1}, "holds a dict, not the list"),
        ([1, 2], "1 results, but"),
        (None, "not a file that torch.save"),
    ],
)
def test_a_file_to_compare_with_that_holds_something_else(capsys, tmp_path, held, said):
    path = tmp_path / "y.pt"
    if held is None:
        path.write_text("not a pickle", encoding="utf-8")
    else:
        torch.save(held, path)
    code, error = run(capsys, SOFTMAX, "--compare", path)
    assert code == 2 and said in error


def test_a_number_is_no_tensor(capsys, tmp_path):
    torch.save([3], tmp_path / "y.pt")
    assert run(capsys, SOFTMAX, "--compare", tmp_path / "y.pt") == (1, "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("func.func @main", "func.fun @main", "{file}:5:1: error: custom op 'func.fun' is unknown"),
        ('"fuse.reduce"', '"fuse.reduc"', "{file}:27:10: error: unregistered operation 'fuse.reduc'"),
        (
            'over = ["d1"]',
            'over = ["d7"]',
            "{file}:27:10: error: 'fuse.reduce' op expected over to name",
        ),
    ],
)
def test_a_module_that_breaks_a_rule(capsys, tmp_path, old, new, said):
    """Its own line is named, whoever finds it: the parser, MLIR or the verifier of the dialect."""
    file = tmp_path / "bad.mlir"
    file.write_text(SOFTMAX.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    code, error = run(capsys, file)
    assert code == 1 and said.format(file=file) in error


def test_inputs_that_do_not_fit(capsys):
    code, error = run(capsys, SOFTMAX, "--size", "s7=2")
    assert code == 1 and "no argument of @main has a size symbol s7" in error
    code, error = run(capsys, SOFTMAX, "--input", "3")
    assert code == 1 and "argument 0 of @main is a tensor, got int" in error
    code, error = run(capsys, "nowhere.mlir")
    assert code == 1 and "cannot read 'nowhere.mlir'" in error


@pytest.mark.parametrize(("argument", "made"), [(2**40, 8), (8, 2**40)], ids=["argument", "value"])
def test_what_no_memory_holds_is_refused_before_it_is_made(capsys, tmp_path, argument, made):
    text = """func.func @main(%x: tensor<ARGUMENTxf32>, %y: tensor<ARGUMENTxf64>) -> tensor<MADExf32> {
  %o = "fuse.empty"() {syms = []} : () -> tensor<MADExf32>
  return %o : tensor<MADExf32>
}"""
    file = tmp_path / "large.mlir"
    file.write_text(text.replace("ARGUMENT", str(argument)).replace("MADE", str(made)), encoding="utf-8")
    code, error = run(capsys, file)
    gib = "1.23e+04" if argument > 8 else "4.1e+03"
    assert code == 1 and error.startswith(f"fuse-run: error: {gib} GiB are needed, but the machine has ")


def test_an_op_of_an_unknown_place_is_found_in_the_file(capsys, tmp_path):
    file = tmp_path / "bad.mlir"
    text = SOFTMAX.read_text(encoding="utf-8")
    wrong = text.replace(
        '{kind = "max", over = ["d1"]} : (f32) -> f32',
        '{kind = "max", over = ["d7"]} : (f32) -> f32 loc(unknown)',
    )
    file.write_text(wrong, encoding="utf-8")
    before, _, line = wrong[: wrong.index('over = ["d7"]')].rpartition("\n")
    row, column = before.count("\n") + 2, line.index('"fuse.reduce') + 1
    for tool in (fuse_run, fuse_opt):
        code, error = run(capsys, file, tool=tool)
        assert code == 1, error
        assert error.startswith(f"{file}:{row}:{column}: error: 'fuse.reduce' op expected over to name"), (
            error
        )
        assert "loc(" not in error


def test_help_and_a_missing_file_do_not_wait_for_torch():
    program = (
        "import sys; from fuse_mlir.tools import fuse_run\n"
        "code = fuse_run.main(['nowhere.mlir'])\n"
        "print(code, 'torch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["1", "False"], ran.stderr


def test_a_gpu_computes_with_the_roundings_of_the_file():
    """As the interpreter does: what is not lowered yet is lowered, and no rounding is left out."""
    module = ir.Module.parse(SOFTMAX.read_text(encoding="utf-8"), make_context())
    names = [p.name for p in _run._missing_passes(module, "h200")]
    assert names[-1] == "lower-to-tt" and "fuse-vertical" in names and "keep-float32" not in names


#: What it prints is written at the end, with nothing left to print.
LITTLE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
"""


@pytest.mark.parametrize("text", [SOFTMAX.read_text(encoding="utf-8"), LITTLE], ids=["much", "little"])
def test_who_reads_a_part_of_the_output_hears_of_no_error(text, tmp_path):
    (tmp_path / "read.mlir").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "fuse_mlir.tools.fuse_run", str(tmp_path / "read.mlir")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (0, b"")


def test_a_module_that_is_not_planned_has_no_plan(capsys):
    for tool, option in ((fuse_opt, "--fuse-print-plan"), (fuse_run, "--plan")):
        code, error = run(capsys, SOFTMAX, option, tool=tool)
        assert (
            code == 1 and "no launch plan for the op fuse.empty in @main" in error and " raised " not in error
        )
