"""Inference graphs that need none of AOTAutograd's wrappers: the compiled graph is what dynamo calls.

The wrappers take about 3 us a call.  They switch grad mode and autocast off, recreate results that are views
of inputs or intermediates, unpack tensor subclasses, thread tokens and remove duplicate inputs.  They also
increment the version counter of each mutated input, which is all that a step of an optimiser needs of them.
Dynamo guards on everything that decides which of this is needed, so it is known when the graph is compiled.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

#: How an input may be mutated: not at all, or by the graph itself.
_BY_THE_GRAPH = ("NOT_MUTATED", "MUTATED_IN_GRAPH")


def plain_inputs(example_inputs: Sequence[Any]) -> int | None:
    """How many inputs a captured graph has; None where one is a container or a tensor subclass."""
    if any(isinstance(x, (list, tuple, dict)) or is_traceable_wrapper_subclass(x) for x in example_inputs):
        return None
    return len(example_inputs)


def has_subclasses(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether AOTAutograd unwraps tensor subclasses: inputs or results of a captured graph."""
    (output,) = gm.graph.find_nodes(op="output")
    results = (node.meta.get("example_value") for node in output.all_input_nodes)
    return any(map(is_traceable_wrapper_subclass, (*example_inputs, *results)))


def share_storage(example_inputs: Sequence[Any]) -> bool:
    """Whether two inputs of a captured graph lie in one storage, or may: a tensor subclass does not say."""
    tensors = [x for x in example_inputs if isinstance(x, torch.Tensor)]
    if any(x.layout is not torch.strided or is_traceable_wrapper_subclass(x) for x in tensors):
        return True
    return len({x.untyped_storage()._cdata for x in tensors}) < len(tensors)


def needs_gradients(example_inputs: Sequence[Any]) -> bool:
    """Whether autograd records a captured graph with these inputs, as far as they say."""
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in example_inputs)


def written_inputs(
    gm: torch.fx.GraphModule, inputs: int | None, *, sized: bool = False
) -> tuple[int, ...] | None:
    """Which inputs ``gm``, what AOTAutograd made of the captured graph, writes to, where it can be called
    with inputs as they are and gives the graph's results as they are; None where it cannot.  ``inputs``: of
    ``plain_inputs``.  ``sized``: results may have sizes that AOTAutograd marks for Dynamo.  Ask while
    AOTAutograd compiles ``gm``, and only where autocast was off before.
    """
    metadata = _plain_metadata(gm, inputs, sized)
    (output,) = gm.graph.find_nodes(op="output")
    results = output.args[0]
    if metadata is None or not isinstance(results, (tuple, list)) or len(results) != metadata.num_outputs:
        return None
    return tuple(metadata.mutated_graph_handled_indices_seen_by_autograd)


def mutated_inputs(inputs: int | None) -> tuple[int, ...] | None:
    """The inputs that the captured graph writes to.  None where AOTAutograd merged inputs that share memory
    with such a one.  Ask while it compiles the graph.  ``inputs``: of ``plain_inputs``.
    """
    context = torch._guards.TracingContext.try_get()
    if context is None or context.fw_metadata is None or inputs is None:
        return ()
    infos = context.fw_metadata.input_info
    return tuple(i for i, info in enumerate(infos) if info.mutates_data) if len(infos) == inputs else None


def differentiable_results(gm: torch.fx.GraphModule, inputs: int | None) -> list[bool] | None:
    """For each result of a captured graph whether it has a gradient.  None where AOTAutograd, which compiles
    its forward graph, ``gm``, does more than to hand inputs and results on.  ``inputs``: as above.
    """
    metadata = _plain_metadata(gm, inputs)
    if metadata is None or any(info.mutates_data for info in metadata.input_info):
        return None
    return [info.requires_grad for info in metadata.output_info]


def _plain_metadata(gm: torch.fx.GraphModule, inputs: int | None, sized: bool = False) -> Any:
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    plain = (
        metadata is not None
        and len(gm.graph.find_nodes(op="placeholder")) == inputs
        and all(type(m).__name__ == "PlainTensorMeta" for m in metadata.subclass_fw_graph_out_meta or ())
        and all(i.mutation_type.name in _BY_THE_GRAPH for i in metadata.input_info)
        and not any(i.mutates_metadata for i in metadata.input_info)
        and not metadata.num_outputs_aliased
        and not metadata.num_intermediate_bases
        and not metadata.tokens
        and (sized or not metadata.dynamic_outputs)
        and not metadata.is_rng_op_functionalized
        and metadata.grad_enabled_mutation is None
    )
    return metadata if plain else None


def direct_call(call: Callable[[list[Any]], list[Any]], written: tuple[int, ...] = ()) -> Callable[..., Any]:
    """What dynamo calls: takes the graph's inputs and gives the list of its results.  ``written``: the inputs
    whose versions count the call.
    """

    def direct(*args: Any) -> list[Any]:
        return call(list(args))

    def counted(*args: Any) -> list[Any]:
        torch.autograd.graph.increment_version([args[i] for i in written])
        return call(list(args))

    return counted if written else direct
