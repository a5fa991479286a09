"""Profiles of kernels that run on a GPU: each launch lies inside a range with its name and lines, and Nsight
Compute shows a kernel beside the user's source.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import fuse_mlir

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


def rows(x: torch.Tensor) -> torch.Tensor:
    return x.exp().sum(1)


LINE = f"{__file__}:{rows.__code__.co_firstlineno + 1}"


def test_kernels_run_inside_ranges_with_their_names_and_lines() -> None:
    compiled = torch.compile(rows, backend=fuse_mlir.backend, options={"profiler_range": True})
    x = torch.randn(64, 256, device="cuda")
    compiled(x)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        y = compiled(x)
        torch.cuda.synchronize()
    torch.testing.assert_close(y, x.exp().sum(1))
    (opened,) = (event for event in profiled.events() if event.name.endswith(f" at {LINE}"))
    kernel = opened.name.partition(" ")[0]
    assert any(event.name.startswith(kernel) and event is not opened for event in profiled.events())
    with torch.autograd.profiler.emit_nvtx():
        torch.testing.assert_close(compiled(x), y)


SCRIPT = """
import torch, fuse_mlir
def rows(x):
    y = x.exp()
    return (y * 2).sum(1)
x = torch.randn(64, 4096, device="cuda")
found = torch.compile(rows, backend=fuse_mlir.backend)(x)
torch.testing.assert_close(found, rows(x))
"""
#: What Nsight Compute says where it may not read counters, or finds none.
NO_COUNTERS = ("ERR_NVGPUCTRPERM", "LibraryNotLoaded", "==ERROR== Failed to", "not supported")


def test_ncu_shows_a_kernel_beside_its_source(tmp_path: Path) -> None:
    ncu, script = shutil.which("ncu"), tmp_path / "script.py"
    if ncu is None:
        pytest.skip("Nsight Compute is not installed")
    script.write_text(SCRIPT)
    report, counters = str(tmp_path / "report"), ["--section", "SourceCounters", "--import-source", "yes"]
    kernels = ["--clock-control", "none", "--kernel-name", "regex:^fused_", "--launch-count", "1"]
    words = [ncu, *kernels, *counters, "-o", report, sys.executable, str(script)]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    if any(reason in ran.stdout + ran.stderr for reason in NO_COUNTERS):
        pytest.skip(f"Nsight Compute reads no counters here: {ran.stdout[-300:]}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    words = [ncu, "--import", f"{report}.ncu-rep", "--page", "source", "--print-source", "cuda", "--csv"]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    assert str(script) in shown and "y = x.exp()" in shown and "return (y * 2).sum(1)" in shown, shown
