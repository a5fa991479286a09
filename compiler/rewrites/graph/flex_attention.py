"""Inductor compiles ``flex_attention`` and its gradient, each as a graph of one op.

The op takes functions, which change scores and mask them.  Torch's own kernel of it writes all scores to
memory.  Inductor generates a kernel that does not, so the op is a call of Inductor as another op is a call of
cuBLAS.

Before::

    both = higher_order.flex_attention(q, k, v, score, blocks, 0.125, {}, (bias,), ())
    y = both[0]

After, ``graph`` being an object that holds the code of Inductor::

    both = higher_order.run_inductor_graph(graph, q, k, v, bias)
    y = both[0]

It fires on ``higher_order.flex_attention`` and ``higher_order.flex_attention_backward`` whose results are
taken by ``getitem``, gradients of captured tensors out of the tuple that they are.  The code is made for the
sizes and strides of ``meta["val"]``; sizes that are symbols stay symbols.

It does not fire where Inductor cannot be imported or raises an error: torch then runs the op, and the log has
a warning with the reason.

Remarks: the same reason (``missed: stays``).

Why not an MLIR pass: the functions are FX graphs, and FX graphs are what Inductor takes.
"""

import logging
import operator
from typing import Any
from unittest import mock

import torch
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from ...fx.graph_text import held
from ...fx.inductor_graph import InductorGraph, run_inductor_graph
from ...fx.new_node import new_node, tidied
from ..rewriting import Weighed, rewrite

log = logging.getLogger(__name__)

_NAMES = ("flex_attention", "flex_attention_backward")
#: At which place of the results a tensor lies, and at which place of the tuple that lies there.
_Path = tuple[int, ...]


@rewrite("flex-attention", "flex_attention is compiled by Inductor")
def compile_flex_attention(gm: GraphModule) -> int:
    """Rewrites a graph with ``meta["val"]`` in place; how many calls Inductor compiled."""
    count = Weighed()
    for target in (getattr(torch.ops.higher_order, name) for name in _NAMES):
        for node in gm.graph.find_nodes(op="call_function", target=target):
            if node.users:
                reason = _compiled(gm, node)
                count = count.counted(count + 1) if reason is None else count.stays(node, reason)
    tidied(gm, count)
    return count


def _compiled(gm: GraphModule, node: Node) -> str | None:
    """Puts the code of Inductor in the place of a call; why not, where it stays."""
    leaves = _leaves(node)
    if leaves is None:
        return "its results are read as a tuple"
    paths = sorted({path for _, path in leaves})
    operands = [n for n in node.all_input_nodes if n.op != "get_attr"]
    plain = _alone(gm, node, operands, paths)
    values = [operand.meta["val"] for operand in operands]
    try:
        code = _inductor(plain, values)
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        log.warning("%s: torch runs it, as Inductor does not compile it: %s", node.name, reason)
        return f"torch runs it, as Inductor does not compile it: {reason}"
    name = f"{node.name}_graph"
    gm.add_submodule(name, InductorGraph(plain, code, next(v for v in values if isinstance(v, torch.Tensor))))
    with node.graph.inserting_before(node):
        graph = node.graph.get_attr(name)
        made = new_node(
            node.graph, run_inductor_graph, graph, *operands, like=node, name=node.name,
            val=tuple(_value_at(node, path) for path in paths),
        )  # fmt: skip
    for leaf, path in leaves:
        leaf.args = (made, paths.index(path))
    for user in [n for n in node.users if not n.users]:
        node.graph.erase_node(user)
    node.graph.erase_node(node)
    return None


def _leaves(node: Node) -> list[tuple[Node, _Path]] | None:
    """The tensors that are taken of the results of a call, each with the places at which it lies, as the
    gradients of captured tensors are a tuple of their own; None where a tuple is read as a whole.
    """
    found, pending = list[tuple[Node, _Path]](), [(user, _Path()) for user in node.users]
    while pending:
        user, path = pending.pop()
        if user.target is not operator.getitem:
            return None
        path = (*path, int(user.args[1]))  # type: ignore[call-overload]
        if isinstance(_value_at(node, path), tuple | list):
            pending += [(reader, path) for reader in user.users]
        else:
            found.append((user, path))
    return found


def _value_at(node: Node, path: _Path) -> Any:
    value = node.meta["val"]
    for place in path:
        value = value[place]
    return value


def _alone(gm: GraphModule, node: Node, operands: list[Node], paths: list[_Path]) -> GraphModule:
    """A graph of the op alone: its operands are arguments, the results at ``paths`` are a tuple."""
    graph, inside = Graph(), dict[Node, Node]()
    for operand in operands:
        inside[operand] = graph.placeholder(operand.name)
        inside[operand].meta = {"val": operand.meta["val"]}
    attributes = [n for n in node.all_input_nodes if n.op == "get_attr"]
    for attribute in attributes:
        inside[attribute] = graph.get_attr(str(attribute.target))
    call = graph.node_copy(node, inside.__getitem__)
    results = []
    for path in paths:
        result = call
        for place in path:
            result = graph.call_function(operator.getitem, (result, place))
        result.meta = {"val": _value_at(node, path)}
        results.append(result)
    graph.output(tuple(results))
    return GraphModule({str(n.target): held(gm, str(n.target)) for n in attributes}, graph)


def _inductor(gm: GraphModule, values: list[Any]) -> Any:
    """The code of a graph of one op for operands like ``values``, fake tensors and sizes."""
    from torch._inductor.compile_fx import compile_fx_inner
    from torch._inductor.decomposition import select_decomp_table

    fake_mode = detect_fake_mode(values)
    # What Inductor writes down of the graph it compiles is not about the graph around it.  The functions may
    # hold numbers as tensors, which are no fake ones.
    with tracing(TracingContext(fake_mode)), mock.patch.object(fake_mode, "allow_non_fake_inputs", True):
        # Scores and masks are spelled out in ops that Inductor has rules for.
        spelled_out = make_fx(gm, decomposition_table=select_decomp_table())(*values)
        spelled_out.graph.eliminate_dead_code()
        [results] = spelled_out.graph.find_nodes(op="output")
        results.meta["user_visible_output_idxs"] = list(range(len(results.args[0])))  # keeps their strides
        return compile_fx_inner(spelled_out, values, is_inference=True)


__all__ = ["compile_flex_attention"]
