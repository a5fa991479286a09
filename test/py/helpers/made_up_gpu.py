"""The GPU path of the backend on a machine without one: plans are written, kernels compiled for sm_90, stored
and looked up as ever; only launching does nothing but write down which kernel it was.
"""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from unittest import mock

import torch

from fuse_mlir.compiler.driver import request
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.kernels.cubin import Target
from fuse_mlir.compiler.runtime.plans.plan import Plan


@contextlib.contextmanager
def made_up_gpu(name: str = "NVIDIA H200", capability: tuple[int, int] = (9, 0)) -> Iterator[list[str]]:
    """CPU graphs take the way of CUDA graphs inside; yields the launches, in the order in which they ran."""
    launched: list[str] = []

    def load_kernels(plan: Plan, kernels: Mapping[str, load.PlanKernel]) -> dict[str, object]:
        return {kernel: partial(_launch, launched, kernel) for kernel in kernels}

    with (
        mock.patch.object(request, "runs_on_gpu", lambda device, options: True),
        mock.patch.object(load, "load_kernels", load_kernels),
        mock.patch.object(load, "target_of", lambda device: Target(capability[0] * 10 + capability[1])),
        mock.patch.object(torch.cuda, "get_device_name", lambda device=None: name),
        mock.patch.object(torch.cuda, "get_device_capability", lambda device=None: capability),
    ):
        yield launched


def _launch(launched: list[str], kernel: str, *arguments: object) -> None:
    launched.append(kernel)
