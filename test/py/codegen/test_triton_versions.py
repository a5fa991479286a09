"""Every kernel of the lit modules compiles for sm_90 with the installed Triton and with the newest one."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lit_kernels import LIT_MODULES, compiled, outcome, refusals
from newest_triton import FOLDER, NEWEST, report
from ttir_kernels import add_kernel

from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest

pytest.importorskip("triton")

#: What a kernel may take of shared memory.
SHARED = 227 << 10

modules = pytest.mark.parametrize("path", LIT_MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")


@cache
def newest() -> dict[str, Any]:
    """What becomes of the modules with the newest Triton."""
    return report(LIT_MODULES)


@modules
def test_installed_version_compiles(path: Path) -> None:
    assert refusals(compiled(path)) == {}


@modules
def test_newest_version_compiles(path: Path) -> None:
    assert refusals(newest()["kernels"][str(path)]) == {}


def test_newest_version_is_the_one_that_compiled() -> None:
    assert newest()["version"] == NEWEST
    assert Path(newest()["imported"]).is_relative_to(FOLDER)


def test_a_refused_kernel_is_reported() -> None:
    assert outcome(CompileRequest(add_kernel()), 4, SHARED) == "ok"
    assert outcome(CompileRequest(add_kernel()), 9, SHARED) == "9 arguments became 6 parameters"
    refused = outcome(CompileRequest(add_kernel(value="math.powf")), 4, SHARED)
    assert refused.startswith("kernel 'add_kernel' failed to compile in stage 'ttgir'")
    assert refusals({"k": "ok", "l": refused}) == {"l": refused}
