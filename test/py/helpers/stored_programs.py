"""Programs in a cache folder: compiling one, its entries, keys of kernels, what the key holds."""

from pathlib import Path
from typing import Any

import torch
from made_up_gpu import made_up_gpu
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.runtime.kernels.cubin import CompileRequest, Target

#: Options that are no part of the key, and why.
NOT_IN_THE_KEY = {
    "fx_pass": "the key is of the graph that it leaves",
    "on_compiled": "it is told of hits, too",
    "output": "FX output is made from the plan that is stored",
    "progress": "it is about a line on a terminal",
    "remarks": "they are stored, and written after a hit, too",
    "report": "the page tells of hits, too",
    "cache_dir": "it says where to look",
    "shared_cache_dir": "it says where to look, too",
    "threads": "how many compile changes no kernel",
    "profiler_range": "it is about the code that Dynamo writes around the graph",
    "check_schedules": "it compares schedules when a graph is called",
    "autotune_seconds": "a program whose tuning was cut short is not stored",
    "compile_budget": "nor is one whose tuning a budget cut short, and a graph that torch runs is no program",
}
#: Options that pass the cache by when they have another value than their default.
NOT_CACHED = {"cache": False, "program_cache": False, "dump": "/tmp/x", "pipeline": "builtin.module()"}
#: Other values for options of other types than bool, numbers and Literal.
OTHER = {"hardware": "h100", "verify": "off"}


def normed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (24,), w).relu()


def compiled(folder: Path, function: Any = normed, **options: Any) -> CompiledGraph:
    """The graph of ``function``, as the backend reports it."""
    torch._dynamo.reset()
    graphs: list[CompiledGraph] = []
    given = {"cache_dir": str(folder), "on_compiled": graphs.append, "hardware": "h200", **options}
    with made_up_gpu():
        torch.compile(function, backend=fuse_mlir.backend, options=given, dynamic=False)(
            torch.ones(6, 24), torch.ones(24)
        )
    [graph] = graphs
    return graph


def entries(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.rglob(f"*{suffix}"))


def keys(graph: CompiledGraph) -> list[str]:
    """One line for each kernel of a planned graph: the launch, the function, its signature, its cache key."""
    lines = []
    for launch, kernel in kernel_sources(graph.module).items():
        key = CompileRequest.of(kernel, Target(90)).key("toolchain")
        lines.append(f"{graph.name} {launch} {kernel.name} {kernel.signature} {key}")
    return lines


def other_value(name: str) -> Any:
    default = getattr(Options(), name)
    if name in OTHER:
        return OTHER[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int | float):
        return default + 1
    choices = Options.__annotations__[name].__args__
    return next(choice for choice in choices if choice != default)
