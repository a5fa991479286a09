"""Inference graphs that need none of AOTAutograd's wrappers: the compiled graph is what dynamo calls.

The wrappers, about 3 us a call, switch grad mode and autocast off, count versions of mutated inputs, make
views of inputs and intermediates again, unpack tensor subclasses, thread tokens and take out duplicate
inputs.  Dynamo guards on all that decides which of it is needed, so it is known when the graph is compiled.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


def plain_inputs(example_inputs: Sequence[Any]) -> int | None:
    """How many inputs a captured graph has; None where one is a container or a tensor subclass."""
    if any(isinstance(x, (list, tuple, dict)) or is_traceable_wrapper_subclass(x) for x in example_inputs):
        return None
    return len(example_inputs)


def needs_gradients(example_inputs: Sequence[Any]) -> bool:
    """Whether autograd records a captured graph with these inputs, as far as they say."""
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in example_inputs)


def needs_no_wrapper(gm: torch.fx.GraphModule, inputs: int | None) -> bool:
    """Whether what AOTAutograd made of the captured graph, ``gm``, can be called with its inputs as they are
    and gives the graph's results as they are.  ``inputs``: of ``plain_inputs``.  Ask while AOTAutograd
    compiles ``gm``, and only where autocast was off before.
    """
    metadata = _plain_metadata(gm, inputs)
    (output,) = gm.graph.find_nodes(op="output")
    results = output.args[0]
    return (
        metadata is not None and isinstance(results, (tuple, list)) and len(results) == metadata.num_outputs
    )


def differentiable_results(gm: torch.fx.GraphModule, inputs: int | None) -> list[bool] | None:
    """For each result of a captured graph whether it has a gradient.  None where AOTAutograd, which compiles
    its forward graph, ``gm``, does more than to hand inputs and results on.  ``inputs``: as above.
    """
    metadata = _plain_metadata(gm, inputs)
    return None if metadata is None else [info.requires_grad for info in metadata.output_info]


def _plain_metadata(gm: torch.fx.GraphModule, inputs: int | None) -> Any:
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    plain = (
        metadata is not None
        and len(gm.graph.find_nodes(op="placeholder")) == inputs
        and all(type(m).__name__ == "PlainTensorMeta" for m in metadata.subclass_fw_graph_out_meta or ())
        and not any(i.mutates_data or i.mutates_metadata for i in metadata.input_info)
        and not metadata.num_outputs_aliased
        and not metadata.num_intermediate_bases
        and not metadata.tokens
        and not metadata.dynamic_outputs
        and not metadata.is_rng_op_functionalized
        and metadata.grad_enabled_mutation is None
    )
    return metadata if plain else None


def direct_call(call: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    """What dynamo calls: takes the graph's inputs and gives the list of its results."""

    def direct(*args: Any) -> list[Any]:
        return call(list(args))

    return direct
