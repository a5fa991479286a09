"""The GPU path of the backend on a machine without one, with numbers: all that lies between dynamo and the
driver is what a GPU has; a launch interprets its kernel on the memory that it is given addresses of.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

from made_up_gpu import made_up_gpu

from fuse_mlir.compiler.driver import cache_hit, compilation
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.gpu.tuned_launch import Chooser, FormTimer
from fuse_mlir.compiler.runtime.interpreter.launchers import interpreted_launchers
from fuse_mlir.compiler.runtime.plans.plan import Plan

_executable = compilation.executable


@contextlib.contextmanager
def interpreted_gpu(fastest: int = 0) -> Iterator[list[Plan]]:
    """CPU graphs take the way of CUDA graphs inside, the program cache apart; yields their plans.

    fastest: which configuration of a user's kernel is said to be the fastest, after each ran once.
    """
    plans: list[Plan] = []

    def executable(module: ir.Module, *args: Any, **kwargs: Any) -> compilation.Executable:
        kernels = {
            name: SimpleNamespace(
                key=name,
                launch=launch,
                cubin=SimpleNamespace(name=name, timings_ms={}, stack=0, shared=0),
            )
            for name, launch in interpreted_launchers(module).items()
        }
        with mock.patch.object(
            compilation, "start_kernels", lambda *_: lambda names=kernels: {n: kernels[n] for n in names}
        ):
            made = _executable(module, *args, **kwargs)
        assert made.plan is not None
        plans.append(made.plan)
        return made

    def load_kernels(plan: Plan, kernels: dict[str, Any]) -> dict[str, Callable[..., None]]:
        return {kernel.name: kernels[kernel.name].launch for kernel in plan.kernels}

    def timer(samples: Any, seconds: float) -> Chooser:
        measured = FormTimer(lambda: lambda run: run() or 0.0, seconds)

        def choose(runs: Sequence[Any], written: Sequence[Any]) -> int:
            assert measured(runs, written) == 0
            return fastest

        return choose

    with (
        made_up_gpu(),
        mock.patch.object(load, "FormTimer", timer),
        mock.patch.object(load, "cache_folder", lambda options, suffix: CacheFolder(None, suffix)),
        mock.patch.object(compilation, "executable", executable),
        mock.patch.object(load, "load_kernels", load_kernels),
        mock.patch.object(cache_hit, "_key", lambda *_: None),
    ):
        yield plans
