"""Kernels compile for GPUs other than Hopper, and take no more shared memory than these have.

Only compiled: which of these targets Triton's ptxas knows depends on its version.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from lit_kernels import compiled, refusals
from made_up_gpu import CARDS, card, made_up_gpu
from newest_triton import NEWEST, report
from repository import LIT

import fuse_mlir
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.gpu.device_model import hardware_name
from fuse_mlir.compiler.runtime.plans.plan import Plan

pytest.importorskip("triton")

#: A card for each capability.
TARGETS = {
    80: "NVIDIA A100-SXM4-80GB",
    86: "NVIDIA A10G",
    89: "NVIDIA L4",
    100: "NVIDIA B200",
    103: "NVIDIA B200",
    110: "NVIDIA GeForce RTX 5090",
    120: "NVIDIA GeForce RTX 5090",
    121: "NVIDIA GeForce RTX 5090",
}
#: Modules with each kind of code: products, libdevice, atomics, PTX, scans, users' kernels.
MODULES = [
    LIT / "codegen" / "products.mlir",
    LIT / "codegen" / "product-streams.mlir",
    LIT / "codegen" / "libdevice.mlir",
    LIT / "codegen" / "atomic.mlir",
    LIT / "codegen" / "scan-logsumexp.mlir",
    LIT / "pipeline" / "rounding.mlir",
    LIT / "pipeline" / "user-kernels.mlir",
]
#: Those that are compiled with the newest Triton: the ptxas of 3.6, of CUDA 12.9, does not know the first.
NEWER = (110, 103, 121)
#: Kernels of 8-bit floats.  One kind is not imported for GPUs before 8.9.  Of the other, Triton 3.6 keeps the
#: conversions of the first target that a process compiles for, and ptxas refuses those of a newer one.
E4M3_KERNEL, E5M2_KERNEL, FP8_ARCH = "9: fast", "10: bytes", 89


def model(arch: int, monkeypatch: pytest.MonkeyPatch) -> str:
    properties = card(TARGETS[arch], divmod(arch, 10))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device=None: properties)
    return hardware_name(0)


def without(arch: int, path: Path) -> set[str]:
    return {E4M3_KERNEL, E5M2_KERNEL} if arch < FP8_ARCH and path.stem == "products" else set()


#: One for each generation; 86 lies between 80 and 89.
OLDER = [pytest.param(a, marks=pytest.mark.slow) if a == 86 else a for a in sorted({*TARGETS} - {*NEWER})]


@pytest.mark.parametrize("arch", OLDER)
def test_installed_version_compiles(arch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hardware = model(arch, monkeypatch)
    for path in MODULES:
        assert refusals(compiled(path, hardware, arch, without(arch, path))) == {}


def test_newest_version_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    found = report(MODULES, [f"{arch}:{model(arch, monkeypatch)}" for arch in NEWER])
    assert found["version"] == NEWEST
    assert {path for path, kernels in found["kernels"].items() if refusals(kernels)} == set()
    assert len(found["kernels"]) == len(NEWER) * len(MODULES)


@pytest.mark.parametrize(
    ("name", "arch", "shapes"),
    [
        (TARGETS[86], 86, ((16, 4096), (4096, 16384))),
        ("NVIDIA H200", 90, ((4096, 1024), (1024, 256))),
    ],
)
def test_no_product_takes_more_shared_memory_than_there_is(
    name: str, arch: int, shapes: Sequence[Sequence[int]], tmp_path: Path
) -> None:
    """Products whose best tiles take more than 99 KiB where there is more."""
    limit = CARDS[name][1] << 10
    taken: dict[str, int] = {}

    def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w).relu()

    x, w = (torch.ones(shape, dtype=torch.bfloat16) for shape in shapes)
    torch._dynamo.reset()
    with made_up_gpu(name, divmod(arch, 10)):
        launching = load.load_kernels

        def watched(plan: Plan, kernels: Mapping[str, load.PlanKernel]) -> Any:
            taken.update({name: kernel.cubin.shared for name, kernel in kernels.items()})
            return launching(plan, kernels)

        options = {"products": "generated", "cache_dir": str(tmp_path / "cache")}
        with mock.patch.object(load, "load_kernels", watched):  # undone before the card is
            torch.compile(layer, backend=fuse_mlir.backend, options=options)(x, w)
    assert taken and max(taken.values()) <= limit
    assert max(taken.values()) > (99 << 10) or limit == 99 << 10, "an H200 takes the larger tile"
