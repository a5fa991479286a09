"""A graph that no module can hold: torch runs it, node by node."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from .saved_strides import result_strides


def run_as_torch(gm: GraphModule) -> Callable[[list[Any]], list[Any]]:
    """What AOTAutograd calls: takes and empties the list of arguments, gives the list of results.

    Results lie in memory as their metadata says, which is what AOTAutograd is told of them and compiles the
    backward graph for: a copy where torch gives other strides.
    """
    gm.recompile()
    strides = result_strides(gm)

    def call(args: list[Any]) -> list[Any]:
        given = list(args)
        args.clear()
        return [_laid_out(r, s) for r, s in zip(gm(*given), strides, strict=True)]

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _laid_out(result: Any, strides: tuple[int, ...] | None) -> Any:
    if not isinstance(result, Tensor) or result.layout is not torch.strided or strides is None:
        return result
    pairs = zip(result.shape, result.stride(), strides, strict=True)
    if result.numel() == 0 or all(size == 1 or have == want for size, have, want in pairs):
        return result
    return torch.empty_strided(result.shape, strides, dtype=result.dtype, device=result.device).copy_(result)


__all__ = ["run_as_torch"]
