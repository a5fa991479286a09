"""``higher_order.run_inductor_graph(graph, *operands)``: a part of a program that Inductor compiled.

``graph`` is an ``InductorGraph``, an object of this process.  It holds the code that Inductor made, and the
FX graph that the code was made of, which torch runs node by node wherever the code cannot run.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.fx import GraphModule

#: The tensors that compiled code takes; not fake ones, nor those of a subclass.
_PLAIN = (Tensor, torch.nn.Parameter)


class InductorGraph(torch.nn.Module):
    """Takes the operands of a graph, gives the list of its results.

    plain: the graph.  code: what Inductor made of it; it takes a list of operands, which it empties.
    example: a tensor as the first tensor operand was when the code was made: the code is for its dtype and
    its device.  The interpreter may ask for float64 or another device, and a tracer hands over fake tensors;
    they get ``plain``.
    """

    def __init__(self, plain: GraphModule, code: Callable[[list[Any]], Any], example: Tensor) -> None:
        super().__init__()
        self.plain, self._code = plain, code
        self._compiled_for = (example.dtype, example.device)

    def forward(self, *operands: Any) -> list[Any]:
        first = next(x for x in operands if isinstance(x, Tensor))
        if type(first) in _PLAIN and (first.dtype, first.device) == self._compiled_for:
            return list(self._code(list(operands)))
        return list(self.plain(*operands))


class _RunInductorGraph(HigherOrderOperator):
    def __init__(self) -> None:
        super().__init__("run_inductor_graph")

    def __call__(self, graph: InductorGraph, /, *operands: Any) -> list[Any]:
        return graph(*operands)  # type: ignore[no-any-return]


run_inductor_graph = _RunInductorGraph()

__all__ = ["InductorGraph", "run_inductor_graph"]
