"""What launches a kernel on the CPU, where its tile code is interpreted: on tensors or, for a launch plan, on
the memory that it has addresses of.
"""

import ctypes
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ...base.strides import span
from ...index import Expr, parse
from ...ir.kernel import argument_attributes, named_sizes, string, strings
from ...ir.layout import TensorSpec
from ...ir.nesting import modules_in
from ...mlir import ir
from ..errors import RunError
from .graph_values import layout_of
from .scalar.dtypes import memory_dtype
from .tile_kernels import InterpretedTileKernel

#: What a size is taken for that neither a kernel's code needs, so that its launch has no number for it, nor
#: its grid: bounds of tensors are only as good as that.
UNKNOWN = 32
#: More than any size.
_TOO_LARGE = 1 << 31


def interpreted_launchers(module: ir.Module) -> dict[str, Callable[..., None]]:
    """What launches each kernel of a planned module, its sub-graphs' too, by name: functions of the stream,
    which means nothing, the grid, and the kernel's arguments, tensors as addresses on the CPU.
    """
    return {name: _launcher(module, op, functions) for name, op, functions in _launches(module, "")}


def interpreted_kernels(module: ir.Module) -> dict[str, Callable[..., None]]:
    """The same, as functions of the three extents of the grid and of the arguments, tensors as themselves."""
    return {name: _kernel(module, op, functions) for name, op, functions in _launches(module, "")}


def _launches(
    module: ir.Module, prefix: str
) -> Iterator[tuple[str, ir.Operation, Mapping[str, ir.Operation]]]:
    """The declarations of launches, their names, and the functions beside them."""
    functions = {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if "sym_name" in op.attributes
    }
    for name, op in functions.items():
        if "fuse.launch" in op.attributes:
            yield prefix + name, op, functions
    for name, nested in modules_in(module).items():
        yield from _launches(nested, f"{prefix}{name}.")


def _kernel(
    module: ir.Module, launch: ir.Operation, functions: Mapping[str, ir.Operation]
) -> Callable[..., None]:
    kernel = InterpretedTileKernel(launch, functions)
    passed = [int(p.split(":")[0]) for p in strings(launch.attributes["fuse.params"])]
    count = len(ir.FunctionType(ir.TypeAttr(launch.attributes["function_type"]).value).inputs)
    owner = module  # errors ask ops for their location, and an op does not keep its module alive

    def run(grid: Sequence[int], arguments: Sequence[Any]) -> None:
        assert owner is not None
        given: list[Any] = [1] * count
        for number, argument in zip(passed, arguments, strict=True):
            given[number] = argument
        x, y, z = grid
        kernel.run(given, (x, y, z))

    return run


def _launcher(
    module: ir.Module, launch: ir.Operation, functions: Mapping[str, ir.Operation]
) -> Callable[..., None]:
    kernel = InterpretedTileKernel(launch, functions)
    types = ir.FunctionType(ir.TypeAttr(launch.attributes["function_type"]).value).inputs
    passed = [int(p.split(":")[0]) for p in strings(launch.attributes["fuse.params"])]
    symbols, promised = named_sizes(launch), _promised(launch, functions)
    grid = [parse(e) for e in strings(launch.attributes["fuse.grid"])]
    owner = module  # as above

    def run(stream: int, gx: int, gy: int, gz: int, *arguments: Any) -> None:
        assert owner is not None
        for argument, divisor in zip(arguments, promised, strict=False):
            if divisor > 1 and argument % divisor:
                name = string(launch.attributes["sym_name"])
                raise RunError(f"@{name} was promised multiples of {divisor}, got the address {argument:#x}")
        given = dict(zip(passed, arguments, strict=True))
        sizes = {name: given[number] for name, number in symbols.items() if number in given}
        sizes |= {name: _of_grid(name, grid, (gx, gy, gz), sizes) for name in symbols if name not in sizes}
        tensors = [
            _at(given[i], TensorSpec.of(t), sizes)
            if i in given and isinstance(t, ir.RankedTensorType)
            else given.get(i, 1)
            for i, t in enumerate(types)
        ]
        kernel.run(tensors, (gx, gy, gz))

    return run


def _of_grid(name: str, grid: Sequence[Expr], extents: Sequence[int], known: Mapping[str, int]) -> int:
    """The largest size with which the grid has at most these extents."""
    alone = [(e, n) for e, n in zip(grid, extents, strict=False) if name in e.symbols() <= {name, *known}]
    if not alone:
        return UNKNOWN

    def too_large(size: int) -> bool:
        return any(e.evaluate({**known, name: size}) > extent for e, extent in alone)

    return bisect_left(range(_TOO_LARGE), True, key=too_large) - 1


def _promised(launch: ir.Operation, functions: Mapping[str, ir.Operation]) -> list[int]:
    """Of each argument of a kernel's code, what Triton is told that it is a multiple of."""
    code = functions[ir.FlatSymbolRefAttr(launch.attributes["fuse.launch"]).value]
    name = "tt.divisibility"
    return [ir.IntegerAttr(a[name]).value if name in a else 1 for a in argument_attributes(code)]


def _at(address: int, spec: TensorSpec, sizes: Mapping[str, int]) -> torch.Tensor:
    """The tensor whose first element is at an address."""
    shape, strides, _ = layout_of(spec, sizes)
    dtype = memory_dtype(spec.element)
    count = span(shape, strides)
    if not count:
        return torch.empty(shape, dtype=dtype)
    buffer = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return torch.frombuffer(buffer, dtype=torch.uint8).view(dtype).as_strided(shape, strides)
