"""A graph that no module can hold: torch runs it, node by node."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from .nested_results import laid_out


def run_as_torch(
    gm: GraphModule, strides: Sequence[tuple[int, ...] | None]
) -> Callable[[list[Any]], list[Any]]:
    """What AOTAutograd calls: takes and empties the list of arguments, gives the list of results.

    strides: of each result, as its metadata says, which is what AOTAutograd is told of them and compiles the
    backward graph for: a copy where torch gives others.  None for what has none.
    """
    gm.recompile()

    def call(args: list[Any]) -> list[Any]:
        given = list(args)
        args.clear()
        return [_laid_out(r, s) for r, s in zip(gm(*given), strides, strict=True)]

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _laid_out(result: Any, strides: tuple[int, ...] | None) -> Any:
    if not isinstance(result, Tensor) or result.layout is not torch.strided or strides is None:
        return result
    return laid_out(result, tuple(result.shape), strides)
