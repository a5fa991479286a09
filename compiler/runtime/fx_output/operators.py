"""The ops of ours that nodes of an FX graph call.  They are torch ops, so tracers leave them as they are.

    fuse_mlir::launch        runs a kernel, by its name (``kernels.py``), on a grid
    fuse_mlir::draw          seed and offset of the random numbers of kernels, as a tensor
    fuse_mlir::check_layout  raises where a tensor has other sizes or strides

``draw`` takes a tensor that it does not read: ``torch.fx.symbolic_trace`` calls an op that has no traced
argument while it traces, and keeps what it gave.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.node import has_side_effect

from ..rng import RngState
from .kernels import kernel_named

_library = torch.library.Library("fuse_mlir", "FRAGMENT")


@torch.compiler.disable
def _launch(
    kernel: str, grid: Sequence[int], read: list[Tensor], written: list[Tensor], numbers: Sequence[Any]
) -> None:
    kernel_named(kernel).launch(grid, read, written, numbers)


@torch.compiler.disable
def _draw(like: Tensor | None, device: torch.device, count: int) -> Tensor:
    return torch.tensor(RngState().draw(str(device), count), dtype=torch.int64)


@torch.compiler.disable
def _check_layout(tensor: Tensor, sizes: Sequence[int], strides: Sequence[int], made_by: str) -> None:
    torch._C._dynamo.guards.assert_size_stride(tensor, tuple(sizes), tuple(strides), made_by)


def _define(schema: str, function: Any, fake: Any, *tags: torch.Tag) -> torch._ops.OpOverload:
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag, *tags))
    _library.impl(name, function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"fuse_mlir::{name}", fake, lib=_library)
    overload: torch._ops.OpOverload = getattr(torch.ops.fuse_mlir, name).default
    return overload


LAUNCH = _define(
    "launch(str kernel, SymInt[] grid, Tensor[] read, Tensor(a!)[] written, Scalar[] numbers) -> ()",
    _launch,
    lambda *_: None,
)
DRAW = _define(
    "draw(Tensor? like, Device device, int count) -> Tensor",
    _draw,
    lambda *_: torch.empty((2,), dtype=torch.int64),
    torch.Tag.nondeterministic_seeded,
)
CHECK_LAYOUT = has_side_effect(
    _define(
        "check_layout(Tensor tensor, SymInt[] sizes, SymInt[] strides, str made_by) -> ()",
        _check_layout,
        lambda *_: None,
    )
)
