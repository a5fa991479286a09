"""An op with effects loses the token that AOTAutograd threads through it: the importer keeps their order.

Before, where tokens are made and collected inside of the graph (``unlift_effect_tokens``)::

    token = prims._make_token()
    both = higher_order.with_effects(token, aten._linalg_check_errors.default, info, "inv", is_matrix=True)
    prims._sink_tokens([both[0]])

After::

    aten._linalg_check_errors.default(info, "inv", is_matrix=True)

The importer gives such an op the attribute ``fuse.effect``, and ops with that attribute keep their order.

It does not fire on effects of higher-order ops, which run as they are.

Why not an MLIR pass: a token is a value of FX that no type of the IR describes.
"""

import operator

import torch
from torch.fx import GraphModule, Node

from ..rewriting import rewrite

_prims = torch.ops.prims


@rewrite("effect-tokens", "an op with effects loses the token that AOTAutograd threads through it")
def drop_tokens(gm: GraphModule) -> int:
    """Rewrites a graph after AOTAutograd in place; how many ops are called without a token."""
    graph, count = gm.graph, 0
    for node in graph.find_nodes(op="call_function", target=torch.ops.higher_order.with_effects):
        token, target, *args = node.args
        if not isinstance(target, torch._ops.OpOverload):
            continue
        with graph.inserting_before(node):
            call = graph.call_function(target, tuple(args), node.kwargs)
        call.meta = dict(node.meta)
        values = tuple(node.meta["val"][1:])
        single = len(target._schema.returns) <= 1
        call.meta["val"] = values[0] if single and values else None if single else values
        for user in list(node.users):
            assert user.target is operator.getitem, "a call with effects gives a token and results"
            place = user.args[1]
            if place == 0:
                user.replace_all_uses_with(token)
            elif single:
                user.replace_all_uses_with(call)
            else:
                user.args = (call, place - 1)
                continue
            graph.erase_node(user)
        graph.erase_node(node)
        count += 1
    if count:
        _drop_ends(gm)
    return count


def _drop_ends(gm: GraphModule) -> None:
    """Takes out tokens that are made and collected, and no more."""
    graph = gm.graph
    for node in graph.find_nodes(op="call_function", target=_prims._sink_tokens.default):
        tokens = node.args[0]
        if all(isinstance(t, Node) and t.target is _prims._make_token.default for t in tokens):
            graph.erase_node(node)
    for node in graph.find_nodes(op="call_function", target=_prims._make_token.default):
        if not node.users:
            graph.erase_node(node)
    gm.recompile()
