"""A collective of several processes for which a graph does not wait gets a wait at once.

Before::

    y = _c10d_functional.all_reduce(x, "sum", group)             # no wait_tensor(y) follows
    z = aten.add(y, 1)

After::

    y = _c10d_functional.all_reduce(x, "sum", group)
    w = _c10d_functional.wait_tensor(y)
    z = aten.add(w, 1)

A collective returns before it has read its operands.  The wait for it says until when their memory must stay
as it is (``fx/collectives.py``); without one nothing would.

It does not fire where a ``wait_tensor`` follows, in the graph or in an ordered group of it.

Why not an MLIR pass: the importer writes what a wait holds as attributes of its call, so the call must exist.
"""

import operator
from collections.abc import Iterator

import torch
from torch.fx import GraphModule, Node

from ...fx.in_flight import Flight, InFlight
from ...fx.new_node import new_node
from ...fx.ordered_groups import ordered_graph
from ..rewriting import rewrite


@rewrite("collective-waits", "a collective for which the graph does not wait gets a wait at once")
def wait_for_all(gm: GraphModule) -> int:
    """Rewrites a graph with ``meta["val"]``, and the graphs that it runs, in place; how many waits."""
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


__all__ = ["wait_for_all"]
