"""``minify`` and ``bisect`` over scripts on a GPU: a wrong answer, an error, a device that is lost."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fuse_mlir.compiler.ir.kernel import is_kernel
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.graph.duplicate_cheap import DuplicateCheap
from fuse_mlir.tools import _bisect, _minify

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

SCRIPT = """
import torch, fuse_mlir
def f(x, w):
    y = (x @ w).tanh() * 2
    z = (y.sum(1, keepdim=True) + 1).cos() @ w[:1]
    return (z * 0.5).exp() + 1
x, w = (torch.randn(n, 8, device="cuda") for n in (4, 8))
torch.compile(f, backend=fuse_mlir.backend, options={"rounding": "eager"})(x, w)
"""
#: A user's kernel reads far behind its tensor.
ILLEGAL = """
import torch, triton, triton.language as tl, fuse_mlir
@triton.jit
def wild(x, o, far, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(o + i, tl.load(x + i + far))
def f(x):
    y = x.sin() * 2
    o = torch.empty_like(y)
    wild[(1,)](y, o, 1 << 36, n=64)
    return o.cos()
torch.compile(f, backend=fuse_mlir.backend)(torch.randn(64, device="cuda"))
"""


@pytest.fixture
def minified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[Path, str]]:
    """``minify`` over SCRIPT: gives its folder, and what it says."""
    (tmp_path / "script.py").write_text(SCRIPT)

    def run() -> tuple[Path, str]:
        assert _minify.main(["--out", str(tmp_path / "out"), str(tmp_path / "script.py")]) == 1
        return tmp_path / "out", capsys.readouterr().out

    return run


def test_the_op_that_gives_a_wrong_answer_is_left(minified, monkeypatch) -> None:
    def leave_out(self: object, module: ir.Module, *_: object) -> None:
        for kernel in filter(is_kernel, module.body.operations):
            for op in kernel.regions[0].blocks[0].operations:
                if op.operation.name == "math.exp":
                    op.operation.result.replace_all_uses_with(op.operation.operands[0])

    monkeypatch.setattr(DuplicateCheap, "run_with", leave_out)
    out, said = minified()
    assert "gives result 0 otherwise than eager" in said, said
    text = (out / "minified.py").read_text()
    assert text.count("torch.ops.") == 1 and "aten.exp" in text and "\"rounding\": 'eager'" in text


def test_the_op_that_a_pass_fails_on_is_left(minified, monkeypatch) -> None:
    def fail(self: object, module: object, *_: object) -> None:
        if "math.exp" in str(module):
            raise KeyError("d7")

    monkeypatch.setattr(DuplicateCheap, "run_with", fail)
    out, said = minified()
    assert "of exp it still raises KeyError: 'd7'" in said and (out / "minified.py").is_file(), said


def test_bisect_names_the_pass_that_gives_a_wrong_answer(tmp_path, capsys, monkeypatch) -> None:
    def leave_out(self: object, module: ir.Module, *_: object) -> None:
        for kernel in filter(is_kernel, module.body.operations):
            for op in kernel.regions[0].blocks[0].operations:
                if op.operation.name == "math.exp":
                    op.operation.result.replace_all_uses_with(op.operation.operands[0])

    monkeypatch.setattr(DuplicateCheap, "run_with", leave_out)
    (tmp_path / "script.py").write_text(SCRIPT)
    assert _bisect.main(["--out", str(tmp_path / "out"), str(tmp_path / "script.py")]) == 1
    said = capsys.readouterr().out
    assert "the pass duplicate-cheap breaks the answer: NumericMismatch: " in said, said


def test_a_device_that_is_lost_is_said(tmp_path) -> None:
    """In a process of its own, whose device it is."""
    (tmp_path / "script.py").write_text(ILLEGAL)
    words = [sys.executable, "-m", "fuse_mlir.minify", "--out", "out", "script.py"]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    said = found.stdout + found.stderr
    assert found.returncode == 1 and "illegal memory access" in said, said
    assert "the device takes no more work from this process" in said and not (tmp_path / "out").exists()
