"""How kernels enter the corpus of users' kernels, each with a launch: shared by tests, no test itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from fuse_mlir.compiler.frontend.ops.user_kernels.early_returns import make_one_block
from fuse_mlir.compiler.frontend.user_kernels.argument_kinds import described
from fuse_mlir.compiler.frontend.user_kernels.ttir_of import KernelTtir, ttir_of
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.tile_kernels import InterpretedTileKernel

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@dataclass(frozen=True)
class Launch:
    """A kernel, what it is given, and its grid.  does: for each pointer "r", "w", "rw" or "a" (atomic)."""

    kernel: Any
    arguments: Callable[[], dict[str, Any]]
    grid: tuple[int, int, int]
    does: str

    @property
    def name(self) -> str:
        return self.kernel.__name__

    def expected(self) -> dict[str, str]:
        return dict(item.split(":") for item in self.does.split())


def parsed(launch: Launch) -> tuple[KernelTtir, ir.Module]:
    """The kernel's TTIR, and as a module of one function."""
    given = {name: described(value) for name, value in launch.arguments().items()}
    ttir = ttir_of(launch.kernel, given)
    context = make_context()
    context.allow_unregistered_dialects = True
    return ttir, ir.Module.parse(ttir.text, context)


def runnable(ttir: KernelTtir, context: ir.Context) -> InterpretedTileKernel:
    """A kernel's TTIR on the interpreter."""
    module = ir.Module.parse(ttir.text, context)
    function = module.body.operations[0].operation
    make_one_block(function)
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    given = ", ".join("tensor<1xf32>" if str(t).startswith("!tt.ptr") else str(t) for t in types)
    text = f"""func.func private @launch({given}) attributes {{
        fuse.launch = @{ttir.name}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64>}}"""
    declared = ir.Module.parse(text, context)
    kernel = InterpretedTileKernel(declared.body.operations[0].operation, {ttir.name: function})
    kernel.owners = module, declared  # errors ask ops for their location
    return kernel


def interpreted(kernel: Any, grid: tuple[int, ...], **arguments: Any) -> None:
    """Runs a kernel on the interpreter."""
    ttir = ttir_of(kernel, {name: described(value) for name, value in arguments.items()})
    context = make_context()
    context.allow_unregistered_dialects = True
    x, y, z = [*grid, 1, 1][:3]
    runnable(ttir, context).run([arguments[name] for name in ttir.arguments], (x, y, z))


#: All kernels of the corpus, once its files are imported.
LAUNCHES: list[Launch] = []


def launch(does: str, grid: tuple[int, ...] = (4,), **arguments: Any) -> Callable[[Any], Any]:
    """Enters a kernel into the corpus.  An argument that can be called is called for each launch."""

    def enter(kernel: Any) -> Any:
        def made() -> dict[str, Any]:
            return {name: value() if callable(value) else value for name, value in arguments.items()}

        x, y, z = [*grid, 1, 1][:3]
        LAUNCHES.append(Launch(kernel, made, (x, y, z), does))
        return kernel

    return enter


def floats(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.linspace(-1, 1, max(1, torch.Size(shape).numel())).reshape(shape)


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Callable[[], Tensor]:
    return lambda: torch.zeros(shape, dtype=dtype)


def numbers(n: int, below: int, dtype: torch.dtype = torch.int32) -> Callable[[], Tensor]:
    return lambda: (torch.arange(n) * 7 % below).to(dtype)
