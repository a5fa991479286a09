"""Graphs that torch runs, node by node: those that no module can hold, and FX output."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from .deterministic import deterministic_algorithms
from .nested_results import laid_out


def function_of(gm: GraphModule) -> Callable[..., Any]:
    """The function of a captured graph, which is written now: Dynamo may take the nodes away later."""
    gm.recompile()
    _ = gm.code
    return gm.forward


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


def run_fx(gm: GraphModule, deterministic: bool) -> Callable[[list[Any]], list[Any]]:
    """What AOTAutograd calls of FX output: takes and empties the list of arguments, gives the list of
    results.  No result is a view to autograd, which would forbid to write to it; one that is an argument is
    the caller's own object.
    """

    def call(args: list[Any]) -> list[Any]:
        with torch.no_grad(), deterministic_algorithms() if deterministic else nullcontext():
            given = [a.detach() if isinstance(a, Tensor) else a for a in args]
            own = {id(g): a for g, a in zip(given, args, strict=True)}
            args.clear()
            return [own[id(r)] if id(r) in own else without_view(r) for r in gm(*given)]

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def without_view(value: Any) -> Any:
    """The same memory as a tensor of its own; a conjugate stays as it is."""
    if not isinstance(value, Tensor) or not value._is_view() or value.is_conj() or value.is_neg():
        return value
    return torch._C._dynamo.guards._reinterpret_tensor(value, tuple(value.shape), value.stride(), 0)
