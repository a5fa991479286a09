"""Packages on a GPU: what a new process runs, without MLIR and Triton, and on which architectures."""

from pathlib import Path

import pytest
import torch
from new_process import python
from torch.export import Dim, export

import fuse_mlir
from fuse_mlir.compiler.base.errors import PackageMismatch

pytestmark = pytest.mark.gpu


class Block(torch.nn.Module):
    """A norm, a gate and products, with a buffer that counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(64)
        self.up = torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.calls.add_(1)
        y = x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
        return y, y.softmax(-1).amax(0)


def test_a_new_process_runs_a_package(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Block().cuda()
    x = torch.randn(33, 64, device="cuda")
    program = export(model, (x,), dynamic_shapes={"x": {0: Dim("rows", min=2, max=4096)}})
    path = fuse_mlir.package(program, tmp_path / "block.pt2", targets=[_here(), "sm_80"])
    torch.save((x, *model(x)), tmp_path / "expected.pt")
    code = f"""
import sys, torch, fuse_mlir
loaded = fuse_mlir.load({str(path)!r})
x, *expected = torch.load({str(tmp_path / "expected.pt")!r})
for ours, theirs in zip(loaded(x), expected, strict=True):
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-4, atol=1e-5)
loaded(torch.cat([x, x]))
print(int(loaded.weights["calls"]), sum(launch.kind == "kernel" for launch in loaded.launches) > 0)
print(sorted({{"mlir", "torch_mlir"}} & {{name.partition(".")[0] for name in sys.modules}}))
print("triton.compiler" in sys.modules)
"""
    assert python(code).split() == ["2", "True", "[]", "False"]


def test_a_package_for_another_architecture_is_refused(tmp_path: Path) -> None:
    other = "sm_80" if _here() != "sm_80" else "sm_90"
    program = export(torch.nn.LayerNorm(64).cuda(), (torch.randn(8, 64, device="cuda"),))
    path = fuse_mlir.package(program, tmp_path / "p.pt2", targets=[other])
    with pytest.raises(PackageMismatch, match=rf"made for the targets {other}, and this is {_here()} \("):
        fuse_mlir.load(path)


def _here() -> str:
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"
