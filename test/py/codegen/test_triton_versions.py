"""Every kernel of the lit modules compiles for sm_90 with the installed Triton and with the newest one.

`./run` keeps the newest one in `build/triton-<version>`, beside the environment, whose torch decides which
Triton is installed there.
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lit_kernels import LIT_MODULES, compiled, outcome
from repository import ROOT
from ttir_kernels import add_kernel

from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest

pytest.importorskip("triton")

NEWEST = re.findall(r"^newest_triton=(\S+)$", (ROOT / "run").read_text(encoding="utf-8"), re.MULTILINE)[0]
FOLDER = ROOT / "build" / f"triton-{NEWEST}"

modules = pytest.mark.parametrize("path", LIT_MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")


@cache
def report() -> dict[str, Any]:
    """What `lit_kernels` prints where the newest Triton is found first; skips where there is none."""
    if not (FOLDER / "triton").is_dir():
        pytest.skip(f"Triton {NEWEST} is not in build/: `./run setup` fetches it")
    found = [str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, ROOT / "test/py/helpers/lit_kernels.py", *map(str, LIT_MODULES)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(found)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def refusals(outcomes: dict[str, str]) -> dict[str, str]:
    """The kernels that did not compile; asserts that there was one to compile."""
    assert outcomes, "the module has no kernel"
    return {name: outcome for name, outcome in outcomes.items() if outcome != "ok"}


@modules
def test_installed_version_compiles(path: Path) -> None:
    assert refusals(compiled(path)) == {}


@modules
def test_newest_version_compiles(path: Path) -> None:
    assert refusals(report()["kernels"][str(path)]) == {}


def test_newest_version_is_the_one_that_compiled() -> None:
    assert report()["version"] == NEWEST
    assert Path(report()["imported"]).is_relative_to(FOLDER)


def test_a_refused_kernel_is_reported() -> None:
    assert outcome(CompileRequest(add_kernel()), parameters=4) == "ok"
    assert outcome(CompileRequest(add_kernel()), parameters=9) == "9 arguments became 6 parameters"
    refused = outcome(CompileRequest(add_kernel(value="math.powf")), parameters=4)
    assert refused.startswith("kernel 'add_kernel' failed to compile in stage 'ttgir'")
    assert refusals({"k": "ok", "l": refused}) == {"l": refused}
