"""The row that `./run reach` prints, and what `./run reach` refuses."""

import re
import subprocess
from pathlib import Path

import pytest
from repository import ROOT

from fuse_mlir.tools.reach_row import main, row

PY = "..F\n3 failed, 9388 passed, 410 skipped, 2 warnings in 912.33s (0:15:12)\n"
GOOD = {
    "py": "9391 passed, 410 skipped in 912.33s\n",
    "lit": "  Passed: 210\n",
    "demo": "PASS: 3 of 3 tensors\n",
}


def logs(folder: Path, **texts: str) -> Path:
    for stage, text in texts.items():
        (folder / f"{stage}.log").write_text(text)
    return folder


def test_a_good_run(tmp_path: Path) -> None:
    text, good = row(logs(tmp_path, **GOOD))
    assert good and re.search(
        r"\| 9,391 passed, 410 skipped \| 210 passed \| passed \| \d{4}-\d\d-\d\d \|$", text
    )


@pytest.mark.parametrize(
    "stage, text, said",
    [
        ("py", PY, "3 failed, 9,388 passed, 410 skipped"),
        ("py", "1 passed, 2 errors in 1.0s\n", "1 passed, 2 errors"),
        ("py", "ImportError\n", "did not run"),
        ("py", "5 skipped in 1.0s\n", "5 skipped"),
        ("lit", "  Passed: 9\n  Failed: 1\n", "9 passed, 1 failed"),
        ("lit", "", "did not run"),
        ("demo", "PASS: a\nFAIL: b\n", "failed"),
        ("demo", "Traceback", "did not run"),
    ],
)
def test_a_stage_that_failed(tmp_path: Path, stage: str, text: str, said: str) -> None:
    logs(tmp_path, **(GOOD | {stage: text}))
    assert f"| {said} |" in row(tmp_path)[0] and not row(tmp_path)[1] and main([str(tmp_path)]) == 1


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((), "reach needs a version of torch"),
        (("newest",), "reach needs a version of torch (2.15.0), not 'newest'"),
        (("2.15.0", "--fast"), "not '--fast'"),
        (("2.15.0", "--python"), "--python needs a version"),
        (("2.15.0", "--python", "3.2"), "no Python 3.2 is on PATH, nor among pyenv's and uv's"),
    ],
)
def test_what_reach_refuses(arguments: tuple[str, ...], said: str) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    done = subprocess.run(
        ["bash", ROOT / "run", "reach", *arguments], capture_output=True, text=True, env=environment
    )
    assert done.returncode != 0 and said in done.stderr
