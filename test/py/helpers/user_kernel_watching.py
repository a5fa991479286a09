"""Which elements users' kernels access on the interpreter, and by their maps.  Shared by tests, no test."""

from collections import defaultdict
from collections.abc import Iterator
from unittest import mock

import torch
from torch import Tensor
from user_kernel_launches import Launch, runnable

from fuse_mlir.compiler.analysis.user_kernel.maps import PointerAccess
from fuse_mlir.compiler.frontend.user_kernels.ttir_of import KernelTtir
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.tile_memory import LoggedStorage, Memory


def function(module: ir.Module) -> ir.Operation:
    return module.body.operations[0].operation


def watched(launch: Launch, ttir: KernelTtir):
    """The elements that each argument is accessed at, by (number, kind), and the arguments' numbers."""
    arguments = launch.arguments()
    given = [arguments[name] for name in ttir.arguments]
    kernel = runnable(ttir, make_context())
    touched: dict[tuple[int, str], set[int]] = defaultdict(set)
    owners: dict[LoggedStorage, int] = {}
    make, touch = Memory.of, LoggedStorage.touch

    def made(tensors, checked):
        memory = make(tensors, checked)
        for number, value in enumerate(given):
            if isinstance(value, Tensor):
                owners[memory._storages[value.untyped_storage().data_ptr()]] = number
        return memory

    def noted(self, kind, where, program, width, op, changed=None):
        assert width == given[owners[self]].element_size()
        touched[owners[self], kind].update(where.tolist())
        return touch(self, kind, where, program, width, op, changed)

    with (
        mock.patch.object(Memory, "of", staticmethod(made)),
        mock.patch.object(LoggedStorage, "touch", noted),
    ):
        kernel.run(given, launch.grid)
    numbers = {f"a{n}": value for n, value in enumerate(given) if isinstance(value, int)}
    return touched, numbers


def elements_of(access: PointerAccess, given: dict[str, int], grid: tuple[int, int, int]) -> Iterator[int]:
    for place in torch.cartesian_prod(*[torch.arange(n) for n in grid]).tolist():
        values = {
            **given,
            **{f"p{n}": p for n, p in enumerate(place)},
            **{f"g{n}": g for n, g in enumerate(grid)},
        }
        for turns in turns_of(access, values, 0):
            yield from access.elements({**values, **turns})


def turns_of(access: PointerAccess, values: dict[str, int], depth: int) -> Iterator[dict[str, int]]:
    if depth == len(access.loops):
        yield {}
        return
    loop = access.loops[depth]
    lower, upper, step = (bound.evaluate(values) for bound in (loop.lower, loop.upper, loop.step))
    for turn, _ in enumerate(range(lower, upper, step)):
        for rest in turns_of(access, {**values, loop.turn: turn}, depth + 1):
            yield {loop.turn: turn, **rest}
