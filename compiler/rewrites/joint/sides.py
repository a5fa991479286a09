"""What rewrites of a joint graph, forward and backward in one, ask of it."""

from torch.fx import Graph, Node


def after_tangents(joint: Graph) -> set[Node]:
    """All that depends on a gradient of a result: the backward pass."""
    found: set[Node] = set()
    for node in joint.nodes:
        tangent = node.op == "placeholder" and "tangents" in str(node.target)
        if tangent or any(n in found for n in node.all_input_nodes):
            found.add(node)
    return found


__all__ = ["after_tangents"]
