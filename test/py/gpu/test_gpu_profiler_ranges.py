"""Profiles of kernels that run on a GPU: each launch lies inside a range with its name and lines."""

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
