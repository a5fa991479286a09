"""The newest Triton, which `./run` keeps in `build/triton-<version>`, beside the environment, whose torch
decides which Triton is installed there.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

NEWEST = re.findall(r"^newest_triton=(\S+)$", (ROOT / "run").read_text(encoding="utf-8"), re.MULTILINE)[0]
FOLDER = ROOT / "build" / f"triton-{NEWEST}"


def require() -> None:
    """Skips the test where the newest Triton is not in build/, or was built for another Python."""
    tags = [
        line for wheel in FOLDER.glob("triton-*.dist-info/WHEEL") for line in wheel.read_text().splitlines()
    ]
    if not any(line.startswith(f"Tag: cp{sys.version_info[0]}{sys.version_info[1]}-") for line in tags):
        pytest.skip(f"Triton {NEWEST} for this Python is not in build/: `./run setup` fetches it")


def printed(script: str, *arguments: str) -> str:
    """The last line that a script of this folder prints where the newest Triton is found first; skips where
    there is none.
    """
    require()
    found = [str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, ROOT / "test/py/helpers" / script, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(found)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def report(files: Sequence[Path], targets: Sequence[str] = ()) -> dict[str, Any]:
    """What `lit_kernels` prints for arguments where the newest Triton is found first; skips where there is
    none.
    """
    flags = [f"--target={target}" for target in targets]
    found: dict[str, Any] = json.loads(printed("lit_kernels.py", *flags, *map(str, files)))
    return found
