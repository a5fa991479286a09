"""CUDA graphs over the recorded parts of a launch plan, kept by torch's cudagraph trees.

The trees own the memory, the order in which graphs follow each other, the copies of inputs whose address
changes and the checks before each replay; they are Inductor's, configured by
``torch._inductor.config.triton``.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch

from ..plans.plan import Partition

#: What a graph is to autograd.
Kind = Literal["inference", "forward", "backward"]
Function = Callable[[list[Any]], list[Any]]
_PRIMAL = re.compile(r"primals_(\d+)")


def static_placeholders(gm: torch.fx.GraphModule, kind: str) -> frozenset[int]:
    """Numbers of the placeholders whose address stays: parameters and buffers, as AOTAutograd knows them.

    In a backward graph these are the saved ones among them.  Empty outside a compilation.
    """
    context = torch._guards.TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return frozenset()
    static = frozenset(context.fw_metadata.static_input_indices or ())
    if kind != "backward":
        return static
    names = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
    matches = [(number, _PRIMAL.fullmatch(name)) for number, name in enumerate(names)]
    return frozenset(number for number, match in matches if match and int(match[1]) - 1 in static)


def recorders(
    partitions: Sequence[Partition], device: int, kind: str
) -> dict[str, Callable[[Function], Function]]:
    """What turns each recorded function of a plan, by name, into one that replays a graph."""
    return {p.name: partial(_recorded, partition=p, device=device, kind=kind) for p in partitions}


def _recorded(function: Function, *, partition: Partition, device: int, kind: str) -> Function:
    from torch._inductor.compile_fx import cudagraphify  # slow to import, and only this mode needs it
    from torch._inductor.cudagraph_utils import PlaceholderInfo

    recorded: Function = cudagraphify(
        function,
        partition.static,
        device_index=device,
        stack_traces=[None] * partition.results,
        is_backward=kind == "backward",
        is_inference=kind == "inference",
        placeholders=tuple(PlaceholderInfo(name, None, [], None) for name in partition.inputs),
        mutated_input_idxs=partition.mutated,
    )
    return recorded


def unrecorded_backward(run: Function, device: int) -> Function:
    """A backward pass that nothing is recorded of: tells the trees, which else wait for it."""

    def call(args: list[Any]) -> list[Any]:
        from torch._inductor.cudagraph_trees import get_manager

        manager = get_manager(device, create_if_none_exists=False)
        if manager is not None:
            manager.set_to_running_backward()
        return run(args)

    return call
