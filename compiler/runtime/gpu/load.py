"""Makes a launch plan executable on the GPU: compiles its kernels in parallel, loads them, binds extern ops.

Nothing here needs MLIR: a program that comes from the cache is loaded without it.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from ...base.dataclass import dataclass
from ...base.launch import Launch
from ...base.options import Options
from ..cache.places import cache_folder
from ..checks.launch_watch import LaunchWatch
from ..checks.memory_check import MemoryCalls, MemoryCheck
from ..checks.range_lines import range_lines
from ..cuda_graphs.trees import recorders, unrecorded_backward
from ..deterministic import deterministic_extern
from ..kernels.cubin import CompiledCubin, CompileRequest, CompileSource
from ..kernels.kernel_cache import KernelCache
from ..plans.bound_plan import LaunchPlan
from ..plans.extern_function import bind_externs
from ..plans.plan import Plan
from ..plans.python_source import Around
from ..plans.steps import LaunchTuned
from ..rng import RngState
from .cuda_driver import CudaError
from .device_model import target_of
from .launcher import Launcher
from .samples import ColdSamples
from .tuned_launch import FormTimer, tuned_kernels

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlanKernel:
    """A compiled kernel of a plan.  ``key``: its name in the kernel cache."""

    key: str
    signature: tuple[str, ...]
    cubin: CompiledCubin


def kernel_cache(options: Options) -> KernelCache:
    """The cache of kernels that the options name."""
    return KernelCache(cache_folder(options, ".kernel"))


def start_kernels(
    plan: Plan, sources: Mapping[str, CompileSource], options: Options
) -> Callable[..., dict[str, PlanKernel]]:
    """Starts compiling the kernels of the plan in other threads; returns a function that waits for those with
    the given names, for all of them without an argument.

    That function raises ``TritonCompileError`` naming the kernel and the stage that rejected it.
    """
    target = target_of(plan.device_index)
    launched = {kernel.name for kernel in plan.kernels}
    used = [name for name in sources if name in launched]
    requests = [CompileRequest.of(sources[n], target, options.fp_fusion) for n in used]
    cache = kernel_cache(options)
    finish = cache.start(requests, options.threads or len(os.sched_getaffinity(0)))

    def wait(names: Collection[str] | None = None) -> dict[str, PlanKernel]:
        numbers = [n for n, name in enumerate(used) if names is None or name in names]
        return {
            used[n]: PlanKernel(cache.key(requests[n]), tuple(sources[used[n]].signature), cubin)
            for n, cubin in zip(numbers, finish(numbers), strict=True)
        }

    return wait


def load_plan(
    plan: Plan,
    kernels: Mapping[str, PlanKernel],
    objects: Mapping[str, Any],
    options: Options,
    kind: str,
    launches: Sequence[Launch],
) -> Callable[[list[Any]], list[Any]]:
    """The executable plan: a function from the list of ``@main``'s arguments, which it empties, to the list
    of results.  ``kind``: the role of the graph in autograd ("inference", "forward", "backward").
    ``launches``: their descriptions, for messages.
    """
    launchers = load_kernels(plan, kernels)
    externs = bind_externs(plan, objects)
    if options.deterministic:
        externs = {e.name: deterministic_extern(e.op, externs[e.name]) for e in plan.externs}
    wraps = recorders(plan.partitions, plan.device_index, kind)
    watch = LaunchWatch(launches, options.check_values, options.synchronous) if options.watched else None
    memory = MemoryCheck(plan.peak) if options.check_memory else None
    around: Around | None = MemoryCalls() if options.check_memory else None
    nested = range_lines(plan) if options.profiler_range else None
    if options.profiler_range:
        around = range_lines(plan, around)
    keys = {name: kernel.key for name, kernel in kernels.items()}
    budget = options.compile_budget
    seconds = options.autotune_seconds if budget is None else min(options.autotune_seconds, budget.left())
    timer = FormTimer(partial(ColdSamples, plan.device_index), seconds)
    tuned = tuned_kernels(plan, launchers, keys, cache_folder(options, ".tile"), timer)
    draw = RngState().draw
    run = LaunchPlan.bind(plan, launchers, externs, draw, wraps, watch, memory, around, nested, tuned)
    waited_for = options.cudagraphs and kind == "backward" and not plan.partitions
    return unrecorded_backward(run, plan.device_index) if waited_for else run


def load_kernels(plan: Plan, kernels: Mapping[str, PlanKernel]) -> dict[str, Callable[..., None]]:
    """For each kernel, the function that launches it on the plan's device.

    A form of a kernel with several that the device does not take, for want of shared memory for example, is
    left out, unless it takes none.
    """
    torch.cuda.init()
    # A backward plan is first called in a thread of autograd's, where no context may be current yet.  A call
    # of CUDA's runtime that needs a context makes that of the device current.
    device = plan.device_index
    torch.cuda.mem_get_info(device)
    groups = [[each.kernel for each in s.launches] for s in plan.steps() if isinstance(s, LaunchTuned)]
    forms = {name for group in groups for name in group}
    found: dict[str, Callable[..., None]] = {}
    refused: dict[str, CudaError] = {}
    with torch.cuda.device(device):
        for name, kernel in kernels.items():
            try:
                found[name] = Launcher(kernel.cubin, kernel.signature).on(device)
            except CudaError as error:
                if name not in forms:
                    raise
                log.info("a configuration cannot be loaded: %s", error)
                refused[name] = error
    for group in groups:
        if not any(name in found for name in group):
            raise refused[group[0]]
    return found
