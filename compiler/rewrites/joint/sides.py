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


def before_results(joint: Graph) -> set[Node]:
    """All that the results of the forward graph are computed from."""
    backward = after_tangents(joint)
    waiting = [n for n in joint.output_node().all_input_nodes if n not in backward]
    found = set(waiting)
    while waiting:
        new = set(waiting.pop().all_input_nodes) - found
        found |= new
        waiting += new
    return found


__all__ = ["after_tangents", "before_results"]
