"""The strides of a graph's results: which of them the compiler may choose, and what AOTAutograd is told."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._functorch._aot_autograd.schemas import OutputType
from torch._guards import TracingContext
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from ..base.dataclass import dataclass

#: Strides of each result; None for what is no tensor, or has sizes unknown while compiling.
ResultStrides = tuple[tuple[int, ...] | None, ...]


#: What the caller gets as the graph makes it: no view that AOTAutograd makes again from another tensor.
_HANDED_OUT = (OutputType.non_alias, OutputType.unsafe_view_alias, OutputType.custom_function_view)


#: In the metadata of a placeholder of a backward graph: the graph may write over it.
DONATED = "fuse_donated"


@dataclass(frozen=True)
class KeptStrides:
    """Which results of a graph must have the strides of their metadata.

    seen: how many results, from the first, others than the backward graph read; None is all.  padded: the
    numbers of those among them whose rows may be further apart.
    """

    seen: int | None = None
    padded: tuple[int, ...] = ()

    def after(self, count: int) -> "KeptStrides":
        """The same of a graph that has ``count`` more results, before the others, which others read."""
        seen = None if self.seen is None else self.seen + count
        return KeptStrides(seen, tuple(number + count for number in self.padded))


ALL_KEPT = KeptStrides()


def kept_strides(name: str, *, padded: bool) -> KeptStrides:
    """Those of the graph that AOTAutograd compiles now; ``name``: "inference", "forward" or "backward".

    padded: whether any rows may be further apart.  Everything is kept outside of AOTAutograd.
    """
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    if metadata is None or name == "backward":
        return ALL_KEPT
    seen = metadata.num_forward if name == "forward" else None
    types = [info.output_type for info in metadata.output_info]
    remade = metadata.num_intermediate_bases or OutputType.alias_of_intermediate_base_is_user_output in types
    wrapped = any(type(m).__name__ != "PlainTensorMeta" for m in metadata.subclass_fw_graph_out_meta or ())
    if not padded or remade or wrapped or metadata.tokens or metadata.is_rng_op_functionalized:
        return KeptStrides(seen)
    first = metadata.num_mutated_inp_runtime_indices  # new values of inputs come before the results
    return KeptStrides(seen, tuple(first + i for i, t in enumerate(types) if t in _HANDED_OUT))


def result_strides(gm: GraphModule) -> ResultStrides:
    """As the graph's metadata says."""
    output = next((n for n in reversed(gm.graph.nodes) if n.op == "output"), None)
    if output is None:
        return ()
    results = pytree.tree_leaves(output.args[0], is_leaf=lambda leaf: leaf is None)
    return tuple(_strides(r.meta.get("val") if isinstance(r, Node) else None) for r in results)


def report_strides(strides: ResultStrides) -> None:
    """Tells AOTAutograd what the graph being compiled gives; it does not ask of a backward graph."""
    context = TracingContext.try_get()
    if context is not None and context.output_strides is not None:
        context.output_strides.extend(strides)


def keep_saved_tensors() -> tuple[int, ...]:
    """Tells AOTAutograd that the backward graph being compiled may run more than once (``retain_graph``): it
    writes over nothing that was saved and that is still needed.

    Gives the numbers of its placeholders that hold what the forward graph made and no input, result or
    gradient shares memory with: which it may write over where nothing else owns them (``taken_over.py``).
    """
    context = TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return ()
    donated = tuple(context.fw_metadata.bw_donated_idxs or ())
    context.fw_metadata.bw_donated_idxs = []
    return donated


def mark_donated(gm: GraphModule, numbers: Sequence[int]) -> None:
    """Notes at placeholders what ``keep_saved_tensors`` gave."""
    placeholders = gm.graph.find_nodes(op="placeholder")
    for number in numbers:
        placeholders[number].meta[DONATED] = True


def donated(gm: GraphModule) -> list[str]:
    """The names of the placeholders with such a note."""
    return [node.name for node in gm.graph.find_nodes(op="placeholder") if DONATED in node.meta]


def moved_inputs(gm: GraphModule, example_inputs: Sequence[Any]) -> dict[Node, tuple[Any, ...]]:
    """The placeholders whose examples have other strides than their metadata says, with those strides: a
    forward graph saved them in a layout of its choice.
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


__all__ = [
    "ALL_KEPT",
    "DONATED",
    "KeptStrides",
    "ResultStrides",
    "donated",
    "keep_saved_tensors",
    "kept_strides",
    "mark_donated",
    "moved_inputs",
    "report_strides",
    "result_strides",
]
