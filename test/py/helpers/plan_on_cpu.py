"""Launch plans on the CPU: each launcher interprets its tile code on memory that it is given addresses of.
Shared by tests, no test itself.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from fuse_mlir.compiler.driver.compilation import Executable
from fuse_mlir.compiler.index import const
from fuse_mlir.compiler.ir.kernel import named_sizes, string, strings
from fuse_mlir.compiler.ir.layout import TensorSpec
from fuse_mlir.compiler.ir.nesting import modules_in
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.dtypes import memory_dtype
from fuse_mlir.compiler.runtime.interpreter.graph_values import layout_of
from fuse_mlir.compiler.runtime.interpreter.tile_kernels import InterpretedTileKernel
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan
from fuse_mlir.compiler.runtime.plans.extern_function import bind_externs
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.rng import RngState

#: What a size is taken for that a kernel's code does not need, so that its launch has no number for it:
#: bounds of tensors are only as good as that.
UNKNOWN = 32


def cpu_plan(module: ir.Module, objects: Mapping[str, Any]) -> Executable:
    """What `compilation.executable` gives on the GPU, for a planned module on the CPU."""
    plan = make_plan(module)
    launchers = interpreted_launchers(module)
    assert {kernel.name for kernel in plan.kernels} <= launchers.keys()
    bound = LaunchPlan.bind(plan, launchers, bind_externs(plan, objects), RngState().draw)

    def run(args: list[Any]) -> list[Any]:
        with torch.no_grad():
            return bound.run([a.detach() if isinstance(a, torch.Tensor) else a for a in args])

    return Executable(run, plan)


def interpreted_launchers(module: ir.Module) -> dict[str, Callable[..., None]]:
    """What launches each kernel of a planned module, its sub-graphs' too, by name."""
    return dict(_launchers(module, ""))


def _launchers(module: ir.Module, prefix: str) -> Iterator[tuple[str, Callable[..., None]]]:
    functions = {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if "sym_name" in op.attributes
    }
    for name, op in functions.items():
        if "fuse.launch" in op.attributes:
            yield prefix + name, _launcher(op, functions)
    for name, nested in modules_in(module).items():
        yield from _launchers(nested, f"{prefix}{name}.")


def _launcher(launch: ir.Operation, functions: Mapping[str, ir.Operation]) -> Callable[..., None]:
    kernel = InterpretedTileKernel(launch, functions)
    types = ir.FunctionType(ir.TypeAttr(launch.attributes["function_type"]).value).inputs
    passed = [int(p.split(":")[0]) for p in strings(launch.attributes["fuse.params"])]
    symbols = named_sizes(launch)

    def run(stream: int, gx: int, gy: int, gz: int, *arguments: Any) -> None:
        given = dict(zip(passed, arguments, strict=True))
        sizes = {name: given.get(number, UNKNOWN) for name, number in symbols.items()}
        tensors = [
            _at(given[i], TensorSpec.of(t), sizes)
            if i in given and isinstance(t, ir.RankedTensorType)
            else given.get(i, 1)
            for i, t in enumerate(types)
        ]
        kernel._grid = [const(gx), const(gy), const(gz)]  # as launched, not as its sizes would have it
        kernel(tensors)

    return run


def _at(address: int, spec: TensorSpec, sizes: Mapping[str, int]) -> torch.Tensor:
    """The tensor whose first element is at an address."""
    shape, strides, _ = layout_of(spec, sizes)
    dtype = memory_dtype(spec.element)
    count = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if not count:
        return torch.empty(shape, dtype=dtype)
    buffer = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return torch.frombuffer(buffer, dtype=torch.uint8).view(dtype).as_strided(shape, strides)
