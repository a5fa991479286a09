"""Collectives of several processes (``_c10d_functional``): what the schemas of these ops leave out.

A collective starts and returns.  Until ``wait_tensor`` is called on its result, the result is not there and
the operands are still being read, both beside the program.  ``wait_tensor`` returns the tensor that it was
given.  So the importer declares a wait as an op that writes its operand in place, gives it back, and holds
what the collective reads::

    %y = call @all_gather(%x)                        // fuse.effect: collectives keep their order
    %z = call @wait(%y, %x)        // fuse.mutated = [0], fuse.aliases = {"0" = 0}, fuse.held = [1]

No kernel writes over ``%x`` before the wait, none reads or writes the storage of ``%y`` before it, and that
storage lives as long as ``%z`` does.

Which wait is for which collective says ``in_flight.py``.
"""

import operator
from collections.abc import Iterator

import torch
from torch.fx import Graph, GraphModule, Node

from .in_flight import Flight, InFlight
from .new_node import new_node
from .ordered_groups import ordered_graph


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


def wait_for_all(gm: GraphModule) -> int:
    """Lets each graph with ``meta["val"]``, those that it runs included, wait at once for the results of a
    collective for which it does not wait: nothing would say how long the operands have to stay as they are.
    Rewrites in place; how many waits were added.
    """
    graphs = [m for m in gm.modules() if isinstance(m, GraphModule)]
    groups = {id(g) for m in graphs for n in m.graph.nodes if (g := ordered_graph(n)) is not None}
    return sum(_wait_in(m) for m in graphs if id(m.graph) not in groups)


def _wait_in(gm: GraphModule) -> int:
    known = InFlight.of_all(gm.graph)
    count = 0
    for flight in known.flights:
        if flight.waits:
            continue
        for result in list(_results(flight, known)):
            with gm.graph.inserting_after(result):
                wait = new_node(
                    gm.graph,
                    torch.ops._c10d_functional.wait_tensor.default,
                    result,
                    like=result,
                    val=result.meta["val"],
                )
            result.replace_all_uses_with(wait, delete_user_cb=lambda user, wait=wait: user is not wait)
            count += 1
    if count:
        gm.recompile()
    return count


def _results(flight: Flight, known: InFlight) -> Iterator[Node]:
    """The tensors that a collective makes, as far as the graph takes them; the first where it takes none."""
    start = flight.start
    value = start.meta.get("val")
    if not isinstance(value, list | tuple):
        yield from [start] if isinstance(value, torch.Tensor) else []
        return
    taken = [u for u in start.users if u.target is operator.getitem and flight in known.behind(u)]
    yield from taken
    if not taken:
        number = next(i for i in range(len(value)) if flight in known.behind(start, i))
        with start.graph.inserting_after(start):
            yield new_node(start.graph, operator.getitem, start, number, like=start, val=value[number])
