"""``detach`` in graphs of AOTAutograd, where it means nothing any more."""

import torch
from torch.fx import GraphModule


def drop_detached(joint: GraphModule) -> None:
    """Lets readers of a ``detach`` read its operand, in place.

    Gradients are part of a joint graph, so ``detach`` says nothing there.  torch's partitioner takes it for
    an op that reads memory, and would save its operand.
    """
    for node in joint.graph.find_nodes(op="call_function", target=torch.ops.aten.detach.default):
        node.replace_all_uses_with(node.args[0])
        joint.graph.erase_node(node)


__all__ = ["drop_detached"]
