"""Brings a launch plan to life on the GPU: compiles its kernels in parallel, loads them, binds extern ops."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from ..mlir import ir
from ..options import Options
from .cubin import CompileOptions, CompileRequest, Target
from .extern_source import compile_extern
from .kernel_cache import KernelCache
from .launch_plan import LaunchPlan, Plan
from .launcher import Launcher
from .rng import RngState


class Source(Protocol):
    """A kernel to compile (``codegen.launches.KernelSource``)."""

    @property
    def text(self) -> str: ...

    @property
    def signature(self) -> tuple[str, ...]: ...

    @property
    def num_warps(self) -> int: ...

    @property
    def num_stages(self) -> int: ...


def hardware_name(device: int | None = None) -> str:
    """The name of the hardware model of a CUDA device, by what the driver calls it; "generic" for one that
    has no model.
    """
    name = torch.cuda.get_device_name(device).lower()
    return next((model for model in ("h200", "h100", "a100") if model in name), "generic")


def bind_plan(
    plan: Plan, sources: Mapping[str, Source], module: ir.Module, objects: Mapping[str, Any], options: Options
) -> Callable[[list[Any]], list[Any]]:
    """The executable plan.  Raises ``TritonCompileError`` naming the kernel and the stage that refused it."""
    major, minor = torch.cuda.get_device_capability(plan.device)
    target = Target(arch=major * 10 + minor)
    used = [name for name in sources if name in plan.kernels]
    requests = [
        CompileRequest(
            sources[n].text,
            target,
            CompileOptions(num_warps=sources[n].num_warps, num_stages=sources[n].num_stages),
        )
        for n in used
    ]
    cache = KernelCache(Path(options.cache_dir)) if options.cache_dir is not None else KernelCache()
    cubins = cache.compile_many(requests, options.threads or os.cpu_count() or 1)
    torch.cuda.current_stream(plan.device)  # torch makes the device's context current
    launchers = {}
    for name, cubin in zip(used, cubins, strict=True):
        with torch.cuda.device(plan.device):
            launchers[name] = Launcher(cubin, sources[name].signature).on(plan.device)
    externs = {
        ir.StringAttr(d.attributes["sym_name"]).value: compile_extern(d, objects) for d in plan.externs
    }
    rng = RngState()
    return LaunchPlan.bind(plan, launchers, externs, rng.draw)
