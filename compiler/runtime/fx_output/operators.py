"""The ops of ours that nodes of an FX graph call.  They are torch ops, so tracers leave them as they are.

    fuse_mlir::launch        runs a kernel, by its name (``kernels.py``), on a grid
    fuse_mlir::draw          seed and offset of the random numbers of kernels, as a tensor
    fuse_mlir::fit_layout    a tensor of a torch op, copied where its strides are others than the op promised

``draw`` takes a tensor that it does not read: ``torch.fx.symbolic_trace`` calls an op that has no traced
argument while it traces, and keeps what it gave.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.node import has_side_effect

from ..nested_results import fitted
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
def _fit_layout(
    tensor: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    dtype: torch.dtype,
    made_by: str,
    where: str,
    shares: bool,
) -> Tensor:
    try:
        torch._C._dynamo.guards.assert_size_stride(tensor, tuple(sizes), tuple(strides))
    except AssertionError:
        return fitted(tensor, sizes, strides, dtype, made_by, where, shares)
    return tensor if tensor.dtype == dtype else fitted(tensor, sizes, strides, dtype, made_by, where)


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
FIT_LAYOUT = has_side_effect(
    _define(
        "fit_layout(Tensor(a) tensor, SymInt[] sizes, SymInt[] strides, ScalarType dtype, str made_by, "
        "str where, bool shares) -> Tensor(a)",
        _fit_layout,
        lambda tensor, *_: tensor,
    )
)
