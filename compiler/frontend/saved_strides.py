"""Strides of what a forward graph saves: its own choice, which the backward graph is compiled for."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._guards import TracingContext
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

#: Strides of each result; None for what is no tensor, or has sizes unknown while compiling.
ResultStrides = tuple[tuple[int, ...] | None, ...]


def kept_outputs() -> int | None:
    """Of the forward graph being compiled: how many results are seen by more than its backward graph.

    None outside of AOTAutograd: all.
    """
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return metadata.num_forward if metadata is not None else None


def result_strides(gm: GraphModule) -> ResultStrides:
    """As the graph's metadata says."""
    output = next((n for n in reversed(gm.graph.nodes) if n.op == "output"), None)
    if output is None:
        return ()
    results = pytree.tree_leaves(output.args[0], is_leaf=lambda leaf: leaf is None)
    return tuple(_strides(r.meta.get("val") if isinstance(r, Node) else None) for r in results)


def report_strides(strides: ResultStrides) -> None:
    """Tells AOTAutograd what the forward graph being compiled gives."""
    context = TracingContext.try_get()
    if context is not None and context.output_strides is not None:
        context.output_strides.extend(strides)


def moved_inputs(gm: GraphModule, example_inputs: Sequence[Any]) -> dict[Node, tuple[Any, ...]]:
    """The placeholders whose examples lie otherwise in memory than their metadata says, with the strides.

    They were saved by a forward graph in a layout of its choice.
    """
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    moved = {}
    for node, example in zip(placeholders, example_inputs, strict=False):
        value = node.meta.get("val")
        if isinstance(value, Tensor) and isinstance(example, Tensor):
            pairs = zip(value.shape, _key(value), _key(example), strict=True)
            # a symbolic size is not asked whether it is 1: one that depends on data cannot say
            if any(have != want and (type(size) is not int or size != 1) for size, have, want in pairs):
                moved[node] = tuple(example.stride())
    return moved


def _key(value: Tensor) -> tuple[str | int, ...]:
    """Strides that compare without a guard: symbolic ones by what they are called."""
    return tuple(s if type(s) is int else str(s) for s in value.stride())


def _strides(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, Tensor) or value.layout is not torch.strided:
        return None
    strides = tuple(value.stride())
    return strides if all(type(n) is int for n in (*value.shape, *strides)) else None


__all__ = ["ResultStrides", "kept_outputs", "moved_inputs", "report_strides", "result_strides"]
