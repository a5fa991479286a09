"""The commands of docs/debugging.md find the faults of examples/faults, and print what the page shows."""

import logging
import os
import re
import runpy
import shlex
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from pages import fences, first_missing
from repository import ROOT

from fuse_mlir.compiler.driver import compilation
from fuse_mlir.tools import _bisect, _script, fuse_opt, fuse_run

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

Tool = Callable[..., tuple[int, str]]


def recipes() -> list[list[tuple[str, str]]]:
    """For each chapter of the page, its commands, each with what it prints."""
    text = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
    chapters = (fences(chapter) for chapter in text.split("\n## ")[1:])
    return [
        [(one[1].strip(), shown[1]) for one, shown in pairwise(found) if (one[0], shown[0]) == ("sh", "text")]
        for found in chapters
    ]


def printed(said: str) -> str:
    """What a command prints, as the page shows it: lines are broken elsewhere, and a log has no prefix."""
    said = re.sub(r"^[IV]\d{4} \S+ \d+ \S+:\d+\] (\[\S+\] )?", "", said, flags=re.M)
    return " ".join(said.replace(f"{ROOT}/", "").split())


@pytest.fixture
def shown(monkeypatch, capsys, tmp_path) -> Callable[[str], str]:
    """Runs a command of the page in the root of the repository."""
    monkeypatch.chdir(ROOT)

    def run(command: str) -> str:
        words = shlex.split(command)
        logs = words.pop(0).removeprefix("TORCH_LOGS=") if "=" in words[0] else None
        if logs is not None:
            # The first of two that torch hears of is the one that writes: let that be the upper one.
            torch._logging.set_logs(modules={"fuse_mlir": logging.WARNING})
            torch._logging.set_logs(modules={logs: logging.INFO})
        try:
            if words[1] == "-m":
                assert words[2] == "fuse_mlir.bisect"
                assert _bisect.main(["--out", str(tmp_path / "fuse_bisect"), *words[3:]]) == 1
            else:
                monkeypatch.syspath_prepend(str(ROOT / Path(words[1]).parent))
                runpy.run_path(words[1], run_name="__main__")
        finally:
            torch._logging.set_logs()
        said = capsys.readouterr()
        return printed((said.out + said.err).replace(f"{tmp_path}{os.sep}", ""))

    return run


@pytest.mark.parametrize("number", range(3))
def test_each_recipe_prints_what_the_page_shows(number: int, shown: Callable[[str], str]) -> None:
    for command, expected in recipes()[number]:
        assert expected.strip() and first_missing(expected, shown(command)) is None, command


def test_the_broken_pass_is_replayed_by_what_bisect_wrote(shown, tmp_path, monkeypatch) -> None:
    """The pass is registered in the script's folder, which ``replay.sh`` puts on the path."""
    shown(recipes()[2][1][0])
    out = tmp_path / "fuse_bisect"
    text = (out / "replay.sh").read_text(encoding="utf-8")
    assert f"PYTHONPATH={ROOT / 'examples' / 'faults'}" in text
    told = subprocess.run(
        ["sh", str(out / "replay.sh")], env={"PATH": os.defpath}, text=True, capture_output=True
    )
    assert told.returncode == 1 and "not found" not in told.stderr, told.stderr
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "faults"))
    words = [w for n in range(3) for w in ("--input", str(out / f"input-{n}.pt"))]
    before, after, expected = (str(out / name) for name in ("before.mlir", "after.mlir", "expected.pt"))
    assert fuse_run.main([before, *words, "--save", expected]) == 0
    assert fuse_opt.main([before, "--pass-pipeline=builtin.module(scale-early)", "-o", after]) == 0
    assert fuse_run.main([after, *words, "--compare", expected]) == 1


@pytest.fixture
def checked(tmp_path, capsys) -> Tool:
    """``bisect --check-values`` over a script that defines ``f`` and has ``arguments`` for it."""

    def run(text: str, values: str = "nan") -> tuple[int, str]:
        script = tmp_path / "script.py"
        calls = "torch.compile(f, backend=fuse_mlir.backend)(*arguments)\n"
        script.write_text(f"import torch, fuse_mlir\n{text}{calls}")
        code = _bisect.main(["--out", str(tmp_path / "out"), "--check-values", values, str(script)])
        said = capsys.readouterr()
        return code, (said.out + said.err).replace(str(script), "SCRIPT")

    return run


def test_a_launch_that_hands_a_nan_on_is_not_blamed(checked: Tool) -> None:
    """Nor is one that writes over it; the second graph makes one of its own."""
    code, said = checked(
        "def f(x, y):\n"
        "    y.add_(1)\n"
        "    z = x * 2\n"
        "    torch._dynamo.graph_break()\n"
        "    return (z.nan_to_num() - 9).sqrt() + 1\n"
        "nan = float('nan')\n"
        "arguments = torch.tensor([1.0, nan]), torch.tensor([nan, 2.0])\n"
    )
    assert code == 1 and "the inference graph: launch 0 wrote nan (result 0, 2 of 2" in said, said
    assert "in it, sqrt of SCRIPT:6 makes the first NaN" in said


def test_an_argument_that_has_a_nan_is_told(checked: Tool) -> None:
    code, said = checked("def f(x):\n    return x.exp() + 1\narguments = [torch.full((3,), float('nan'))]\n")
    assert (
        code == 1 and "no launch made a NaN: what is in front of the graph did; the inference graph" in said
    )
    assert "was given one: launch 0 wrote nan" in said and "its inputs [0] had such values already" in said


def test_the_backward_graph_is_asked_and_infinities_only_where_they_are(checked: Tool) -> None:
    norm = (
        "def f(x):\n"
        "    (x.square().sum().sqrt() * 2).backward()\n"
        "    return x.grad\n"
        "def g(x):\n"
        "    return x.square().sum().sqrt() * 2\n"
        "f = lambda x: torch.compile(g, backend=fuse_mlir.backend)(x).backward()\n"
        "f = torch._dynamo.disable(f)\n"
        "arguments = [torch.zeros(4, requires_grad=True)]\n"
    )
    code, said = checked(norm)
    assert code == 1 and "the backward graph: launch 0 wrote nan" in said and "SCRIPT:6" in said, said
    infinite = "def f(x):\n    return x.log() + 1\narguments = [torch.zeros(3)]\n"
    assert checked(infinite) == (0, "no launch of the script wrote a NaN\n")
    code, said = checked(infinite, "finite")
    assert code == 1 and "in it, log of SCRIPT:3 makes the first infinity" in said


def test_a_script_imports_from_its_folder(tmp_path, capsys) -> None:
    (tmp_path / "beside_the_script.py").write_text("told = 'imported'\n")
    (tmp_path / "script.py").write_text("import beside_the_script\nprint(beside_the_script.told)\n")
    assert _bisect.main(["--out", str(tmp_path / "out"), str(tmp_path / "script.py")]) == 0
    assert "imported" in capsys.readouterr().out


def test_an_error_outside_of_the_passes_is_told(tmp_path, capsys, monkeypatch) -> None:
    def fail(request: object) -> None:
        raise KeyError("n7")

    monkeypatch.setattr(compilation, "_import", fail)
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, fuse_mlir\ntorch.compile(torch.exp, backend=fuse_mlir.backend)(torch.ones(3))\n"
    )
    assert _bisect.main(["--out", str(tmp_path / "out"), str(script)]) == 1
    assert "compiling it raises where no pass runs: KeyError: 'n7'" in capsys.readouterr().err


def test_without_out_a_free_folder_is_made_and_one_that_is_named_must_be_new(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = [_script.make_folder("bisect", None).name for _ in range(3)]
    assert made == ["fuse_bisect", "fuse_bisect.1", "fuse_bisect.2"]
    assert _script.taken_folder(None) is None and _script.taken_folder("new") is None
    assert "which exists" in (_script.taken_folder("fuse_bisect") or "")
