"""``bisect`` and ``minify``, with a fault planted in a rewrite, a pass, a fusion or a tile."""

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from repository import ROOT

from fuse_mlir.compiler.ir.kernel import is_kernel, string
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.rewrites.captured.idle_dropouts import drop_idle_dropouts
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.graph.duplicate_cheap import DuplicateCheap
from fuse_mlir.passes.tiling import apply_tiling
from fuse_mlir.tools import _bisect, _failing_graph, _minify, fuse_opt, fuse_run
from fuse_mlir.tools._script import replaced

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

#: Two groups of kernels, one with an exponential.
SCRIPT = """
import sys, torch, fuse_mlir
def f(x, w):
    y = (x @ w).tanh() * 2
    z = (y.sum(1, keepdim=True) + 1).cos() @ w[:1]
    return (z * 0.5).exp() + 1
level = sys.argv[1]
options = {"interpret_level": level, "rounding": "eager"}
torch.compile(f, backend=fuse_mlir.backend, options=options)(torch.randn(4, 8), torch.randn(8, 8))
print("the script goes on")
"""

Tool = Callable[..., tuple[int, str]]


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.lstrip())

    def run(main: Callable[[list[str]], int], level: str = "scheduled") -> tuple[int, str]:
        code = main(["--out", str(tmp_path / "out"), str(script), level])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def without_exp(func: ir.Operation) -> None:
    """The fault: an exponential is left out."""
    for op in func.regions[0].blocks[0].operations:
        if op.operation.name == "math.exp":
            op.operation.result.replace_all_uses_with(op.operation.operands[0])


def in_kernels(module: ir.Module, part: str) -> None:
    for op in list(module.body.operations):
        if is_kernel(op) and part in string(op.attributes["sym_name"]):
            without_exp(op.operation)


def plant_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuplicateCheap, "run_with", lambda self, module, *_: in_kernels(module, "exp"))


def plant_fusion(monkeypatch: pytest.MonkeyPatch) -> None:
    real = MaterializeFusion.run_with

    def run(self: MaterializeFusion, module: ir.Module, *rest: object) -> None:
        real(self, module, *rest)
        in_kernels(module, "_exp")

    monkeypatch.setattr(MaterializeFusion, "run_with", run)


def plant_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    real = apply_tiling.apply_tiling

    def apply(func: ir.Operation) -> None:
        if "exp" in string(func.attributes["sym_name"]):
            without_exp(func)
        real(func)

    monkeypatch.setattr(apply_tiling, "apply_tiling", apply)


def plant_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(gm: object) -> int:
        (node,) = (n for n in gm.graph.nodes if n.target == "exp")
        node.replace_all_uses_with(node.args[0])
        return 1

    monkeypatch.setattr(drop_idle_dropouts, "apply", apply)


@pytest.mark.parametrize(
    ("plant", "level", "named"),
    [
        (plant_pass, "scheduled", "the pass duplicate-cheap breaks the answer: NumericMismatch: "),
        (plant_fusion, "scheduled", "the fusion of mul_1 + exp + add_1 at SCRIPT:5 breaks the answer"),
        (plant_tile, "planned", "the tile of kernel @fused_mul_exp_add_0, {axes = "),
    ],
)
def test_bisect_names_the_first_decision_that_breaks_an_answer(
    plant, level, named, tool, tmp_path, monkeypatch
) -> None:
    plant(monkeypatch)
    code, said = tool(_bisect.main, level)
    assert code == 1
    assert named in said.replace(str(tmp_path / "script.py"), "SCRIPT"), said
    out = tmp_path / "out"
    words = [w for n in range(2) for w in ("--input", str(out / f"input-{n}.pt"))]
    assert f"wrote {out / 'replay.sh'}" in said
    pipeline = next(w for w in (out / "replay.sh").read_text().split() if w.startswith("--pass-pipeline="))
    before, after, expected = (str(out / name) for name in ("before.mlir", "after.mlir", "expected.pt"))
    assert fuse_run.main([before, *words, "--save", expected]) == 0
    for fault, verdict in ((True, 1), (False, 0)):
        if not fault:
            monkeypatch.undo()
        assert fuse_opt.main([before, pipeline.replace("'", ""), "-o", after]) == 0
        assert fuse_run.main([after, *words, "--compare", expected]) == verdict


def test_bisect_names_a_rewrite_and_writes_both_graphs(tool, tmp_path, monkeypatch) -> None:
    plant_rewrite(monkeypatch)
    code, said = tool(_bisect.main)
    assert code == 1 and "the rewrite idle-dropouts breaks the answer: the graph then gives result 0" in said
    before, after = ((tmp_path / "out" / f"{name}.py").read_text() for name in ("before", "after"))
    assert ".exp()" in before and "z * 0.5" in before and "1 + exp" not in after


def test_bisect_names_a_pass_that_raises(tool, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("d7")

    monkeypatch.setattr(DuplicateCheap, "run_with", fail)
    code, said = tool(_bisect.main)
    assert code == 1 and "the pass duplicate-cheap raises: KeyError: 'd7'" in said


def test_minify_keeps_the_op_that_fails_and_the_options(tool, tmp_path, monkeypatch) -> None:
    plant_pass(monkeypatch)
    code, said = tool(_minify.main)
    assert code == 1 and "of exp it still gives result 0 otherwise than eager" in said, said
    script = tmp_path / "out" / "minified.py"
    text = script.read_text()
    assert text.count("torch.ops.") == 1 and "\"rounding\": 'eager'" in text
    with pytest.raises(AssertionError, match="not close"):
        runpy.run_path(str(script), run_name="__main__")
    monkeypatch.undo()
    runpy.run_path(str(script), run_name="__main__")


def test_minify_keeps_the_op_that_a_pass_fails_on(tool, tmp_path, monkeypatch) -> None:
    def fail(self: object, module: ir.Module, *_: object) -> None:
        if "@exp" in str(module):
            raise KeyError("d7")

    monkeypatch.setattr(DuplicateCheap, "run_with", fail)
    code, said = tool(_minify.main)
    assert code == 1 and "of exp it still raises KeyError: 'd7'" in said, said
    assert (tmp_path / "out" / "minified.py").read_text().count("torch.ops.") == 1


def test_nothing_fails_and_nothing_is_written(tool, tmp_path) -> None:
    for main in (_bisect.main, _minify.main):
        code, said = tool(main)
        assert code == 0 and "every graph of the script compiles" in said and "goes on" in said
    assert not (tmp_path / "out").exists()


def test_what_is_wrong_with_a_script_is_one_sentence(tmp_path, capsys) -> None:
    script = tmp_path / "s.py"
    for text, said in (
        ("def f():\n    1 / 0\nf()", f"{script}:2 raised ZeroDivisionError: division by zero"),
        ("1 +", f"{script} raised SyntaxError: invalid syntax (s.py, line 1)"),
        ("import sys; sys.exit(3)", "exit code 3"),
    ):
        script.write_text(text)
        assert _minify.main(["--out", str(tmp_path / "out"), str(script)]) == 1
        assert said in capsys.readouterr().err
    assert _minify.main(["--out", str(tmp_path / "out"), str(tmp_path / "none.py")]) == 1
    assert f"there is no file '{tmp_path / 'none.py'}'" in capsys.readouterr().err
    assert _bisect.main(["--out", str(tmp_path), str(script)]) == 2
    assert "which exists: name a new folder" in capsys.readouterr().err


def test_the_doors_start_and_hide_no_module_of_python() -> None:
    """The root of the repository may be on Python's path."""
    code = "import bisect, sys; sys.exit(not hasattr(bisect, 'bisect_left'))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


WRITES = """
import torch, fuse_mlir
weight = torch.nn.Parameter(torch.randn(4, 8))
def update(w):
    with torch.no_grad():
        w.sub_(w.exp())
torch.compile(update, backend=fuse_mlir.backend)(weight)
"""


def test_what_is_left_in_arguments_is_compared(tmp_path, monkeypatch, capsys) -> None:
    """Here in a parameter, of which torch keeps the gradient."""
    plant_pass(monkeypatch)
    script = tmp_path / "writes.py"
    script.write_text(WRITES)
    assert _minify.main(["--out", str(tmp_path / "out"), str(script)]) == 1
    said = capsys.readouterr().out
    assert "gives argument 0 otherwise than eager" in said and "of exp it still gives result 0" in said


def test_minified_finds_passes_of_the_scripts_folder(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    assert _minify.main(["--out", str(out), str(ROOT / "examples/faults/wrong_pass.py")]) == 1
    assert "it still gives result 0 otherwise than eager" in capsys.readouterr().out
    with replaced(sys, "path", [*sys.path]), pytest.raises(AssertionError, match="not close"):
        runpy.run_path(str(out / "minified.py"))


@pytest.mark.parametrize("main", [_minify.main, _bisect.main])
def test_a_device_that_is_lost_is_said_and_nothing_is_tried(main, tool, tmp_path, monkeypatch) -> None:
    """As after an illegal access, of which the next wait tells."""

    def wait() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(_failing_graph, "_wait", wait)
    code, said = tool(main)
    assert (
        code == 1 and "inference graph of " in said and "raises RuntimeError: CUDA error: an illegal" in said
    )
    assert "the device takes no more work from this process" in said and not (tmp_path / "out").exists()
