"""``higher_order.run_inductor_graph(graph, *operands)``: a part of a program that Inductor compiled.

``graph`` is an ``InductorGraph``, an object of this process.  It holds the code that Inductor made, and the
FX graph that the code was made of, which torch runs node by node wherever the code cannot run.  The gradient
of ``flex_attention`` is ``flex_attention_backward`` there, as wherever torch runs it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.fx import GraphModule

#: The tensors that compiled code takes; not fake ones, nor those of a subclass.
_PLAIN = (Tensor, torch.nn.Parameter)
#: The places of the gradient of the score function and of its captured tensors among the arguments.
_JOINT, _CAPTURED = 8, 12


class InductorGraph(torch.nn.Module):
    """Takes the operands of a graph, gives the list of its results.

    plain: the graph.  code: what Inductor made of it; it takes a list of operands, which it empties.
    example: a tensor as the first tensor operand was when the code was made: the code is for its dtype and
    its device.  The interpreter may ask for float64 or another device, and a tracer hands over fake tensors;
    they get ``plain``.
    """

    def __init__(self, plain: GraphModule, code: Callable[[list[Any]], Any], example: Tensor) -> None:
        super().__init__()
        self.plain, self._code = _as_torch_runs_it(plain), code
        self._compiled_for = (example.dtype, example.device)

    def forward(self, *operands: Any) -> list[Any]:
        first = next(x for x in operands if isinstance(x, Tensor))
        if type(first) in _PLAIN and (first.dtype, first.device) == self._compiled_for:
            return list(self._code(list(operands)))
        return list(self.plain(*operands))


def _as_torch_runs_it(plain: GraphModule) -> GraphModule:
    for node in plain.graph.find_nodes(
        op="call_function", target=torch.ops.higher_order.flex_attention_backward
    ):
        node.target = flex_attention_backward
    plain.recompile()
    return plain


class _RunInductorGraph(HigherOrderOperator):
    def __init__(self) -> None:
        super().__init__("run_inductor_graph")

    def __call__(self, graph: InductorGraph, /, *operands: Any) -> list[Any]:
        return graph(*operands)  # type: ignore[no-any-return]


run_inductor_graph = _RunInductorGraph()


def flex_attention_backward(*args: Any) -> tuple[Tensor, Tensor, Tensor, tuple[Any, ...]]:
    """Gradients of q, k, v and each captured tensor.  torch computes those of captured tensors that require
    gradients, as none does in a graph, and declares a tensor for each; here one that has none is 0.
    """
    captured = args[_CAPTURED]
    [results] = args[_JOINT].graph.find_nodes(op="output")
    wanted = [node is not None for node in results.args[0][-len(captured) :]] if captured else []
    given = tuple(
        t.detach().requires_grad_() if asked and isinstance(t, Tensor) and t.is_floating_point() else t
        for t, asked in zip(captured, wanted, strict=True)
    )
    with torch.no_grad():
        *made, found = torch.ops.higher_order.flex_attention_backward(
            *args[:_CAPTURED], given, *args[_CAPTURED + 1 :]
        )
    return (*made, _filled(found, captured))


def _filled(found: Sequence[Tensor | None], captured: Sequence[Any]) -> tuple[Any, ...]:
    """Gradients of captured tensors, 0 where there is none."""
    return tuple(
        torch.zeros_like(t, memory_format=torch.contiguous_format)
        if gradient is None and isinstance(t, Tensor)
        else gradient
        for gradient, t in zip(found, captured, strict=True)
    )


__all__ = ["InductorGraph", "flex_attention_backward", "run_inductor_graph"]
