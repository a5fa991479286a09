"""Collectives of several processes (``_c10d_functional``): what the schemas of these ops leave out.

The call of a collective only starts it.  Until ``wait_tensor`` is called on its result, the collective reads
its operands and writes its result concurrently with the program.  ``wait_tensor`` returns the tensor that it
was given.  So the importer declares a wait as an op that writes its operand in place, returns it, and keeps
the operands of the collective alive and unchanged until then (``fuse.held``)::

    %y = call @all_gather(%x)                        // fuse.effect: collectives keep their order
    %z = call @wait(%y, %x)        // fuse.mutated = [0], fuse.aliases = {"0" = 0}, fuse.held = [1]

No kernel writes over ``%x`` before the wait, none reads or writes the storage of ``%y`` before it, and that
storage lives as long as ``%z`` does.

``in_flight.py`` finds out which wait belongs to which collective.
"""

import torch
from torch.fx import Graph, Node

from .in_flight import InFlight, is_collective


def reads_until(graph: Graph) -> dict[Node, list[Node]]:
    """For each wait of a graph, or ordered group with one, the tensors that the collectives behind it read
    until then.
    """
    found: dict[Node, list[Node]] = {}
    for flight in InFlight.of_all(graph).flights:
        for wait in flight.waits:
            held = found.setdefault(wait, [])
            held += [n for n in flight.reads if n not in held]
    return found


def waits_by_start(graph: Graph) -> dict[Node, list[Node]]:
    """For each node that starts a collective, or ordered group with one, the nodes that wait for it."""
    found: dict[Node, list[Node]] = {}
    for flight in InFlight.of_all(graph).flights:
        found.setdefault(flight.start, []).extend(flight.waits)
    return found


def ranks_of(node: Node) -> int | None:
    """How many processes take part in the collective that a node starts; None for any other node, and where
    this process does not know the group.
    """
    target = node.target
    if not is_collective(node) or not isinstance(target, torch._ops.OpOverload):
        return None
    names = [argument.name for argument in target._schema.arguments]
    place = names.index("group_name") if "group_name" in names else len(names)
    group = node.args[place] if place < len(node.args) else node.kwargs.get("group_name")
    if not isinstance(group, str):
        return None
    from torch.distributed import distributed_c10d  # some builds of torch have none

    try:
        return distributed_c10d._get_group_size_by_name(group)
    except (KeyError, RuntimeError, ValueError):
        return None
