"""Every kernel of the lit modules compiles for sm_90 with the installed Triton and with the newest one."""

from pathlib import Path

import pytest
from lit_kernels import LIT_MODULES, compiled, outcome, refusals
from newest_triton import FOLDER, NEWEST, report
from ttir_kernels import add_kernel

from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest

pytest.importorskip("triton")

#: What a kernel may take of shared memory.
SHARED = 227 << 10

modules = pytest.mark.parametrize("path", LIT_MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")


@modules
def test_installed_version_compiles(path: Path) -> None:
    assert refusals(compiled(path)) == {}


def test_newest_version_compiles() -> None:
    """All modules in one process."""
    newest = report(LIT_MODULES)
    assert newest["version"] == NEWEST and Path(newest["imported"]).is_relative_to(FOLDER)
    refused = {path: refusals(kernels) for path, kernels in newest["kernels"].items()}
    assert refused == {str(path): {} for path in LIT_MODULES}


def test_a_refused_kernel_is_reported() -> None:
    assert outcome(CompileRequest(add_kernel()), 4, SHARED) == "ok"
    assert outcome(CompileRequest(add_kernel()), 9, SHARED) == "9 arguments became 6 parameters"
    refused = outcome(CompileRequest(add_kernel(value="math.powf")), 4, SHARED)
    assert refused.startswith("kernel 'add_kernel' failed to compile in stage 'ttgir'")
    assert refusals({"k": "ok", "l": refused}) == {"l": refused}
