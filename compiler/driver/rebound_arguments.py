"""``x.data = y``: an argument that a graph gives other memory.

AOTAutograd puts such an assignment at the end of its graph, as ``aten.set_`` of an argument, or from torch
2.15 on as ``aten.shallow_copy_data_``.  It changes an object of the caller's and no memory.  So it is no part
of a program: the new value becomes one more result, and after each call the op is called with the caller's
argument and that result.  A result owns its memory, so nothing is written over it later.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..base.dataclass import dataclass

#: Ops that give their first operand the memory, sizes and strides of the second one.
_REBINDING = frozenset({"aten.set_.source_Tensor", "aten.shallow_copy_data_.default"})


@dataclass(frozen=True)
class Rebound:
    """An argument, by number, that ``op`` gives the memory of a result."""

    argument: int
    op: Any


def take_out_rebound(gm: GraphModule) -> tuple[Rebound, ...]:
    """Removes what gives arguments other memory from a graph of AOTAutograd, in place.  The graph has one
    more result for each, before its own.
    """
    placeholders = {node: i for i, node in enumerate(n for n in gm.graph.nodes if n.op == "placeholder")}
    found = [node for node in gm.graph.nodes if _rebinds(node, placeholders)]
    if not found:
        return ()
    [output] = gm.graph.find_nodes(op="output")
    rebound = tuple(Rebound(placeholders[node.args[0]], node.target) for node in found)
    output.args = ((*(node.args[1] for node in found), *output.args[0]),)
    for node in found:
        gm.graph.erase_node(node)
    gm.recompile()
    return rebound


def _rebinds(node: Node, placeholders: dict[Node, int]) -> bool:
    if node.op != "call_function" or str(node.target) not in _REBINDING or node.users:
        return False
    argument, source = node.args
    return argument in placeholders and isinstance(source, Node)


def rebinding(
    run: Callable[[list[Any]], list[Any]], rebound: tuple[Rebound, ...]
) -> Callable[[list[Any]], list[Any]]:
    """``run``, which takes and empties a list of arguments, with its first results handed to ``rebound``."""
    count = len(rebound)

    def call(args: list[Any]) -> list[Any]:
        arguments = [args[r.argument] for r in rebound]
        results = run(args)
        # Two arguments may be swapped: a result that is an argument is read before any of them changes.
        values = [value.detach() for value in results[:count]]
        with torch.no_grad():
            for one, argument, value in zip(rebound, arguments, values, strict=True):
                one.op(argument, value)
        return results[count:]

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


__all__ = ["Rebound", "rebinding", "take_out_rebound"]
