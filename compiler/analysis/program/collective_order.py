"""Where collectives start and are waited for, among the other calls of ``@main``.

A call of a collective only starts it.  It then runs on a stream of its own, after what was launched before it
and after the collectives before it, until a wait.  Starts keep their order, which all processes have to agree
on: what has an effect is ordered (``dependences.py``).

That a call stands between a start and its wait is no dependence here (the reason "wait" of the
dependences): it may run before the start, or after the wait, as well.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...base.dataclass import dataclass
from .dependences import Dependences
from .program_order import FLOATING, direct_dependences


@dataclass(frozen=True)
class Flights:
    """The nodes of ``@main`` that start a collective, in order, and for each wait the node that started
    what it waits for; None where that is not in ``@main``.
    """

    starts: tuple[int, ...]
    start_of: Mapping[int, int | None]

    @staticmethod
    def of(deps: Dependences) -> "Flights":
        starts: list[int] = []
        start_of: dict[int, int | None] = {}
        writer: dict[int, int] = {}  # of each storage, the node that made it or wrote to it in place last
        for node in deps.nodes:
            if node.waits:
                found = writer.get(deps.roots[node.mutated[0]])
                start_of[node.index] = found if found in starts else None
                continue
            if node.starts:
                starts.append(node.index)
            if node.callee is not None:
                writer.update(
                    dict.fromkeys([deps.roots[v] for v in (*node.results, *node.mutated)], node.index)
                )
        return Flights(tuple(starts), start_of)


def sunk(deps: Dependences) -> list[int]:
    """The nodes with a place, each wait right before the first node that has to follow it."""
    waits = Flights.of(deps).start_of
    placed, before = _placed(deps)
    order = [n for n in placed if n not in waits]
    for wait in reversed([n for n in placed if n in waits]):
        place = next((i for i, n in enumerate(order) if wait in before[n]), len(order))
        order.insert(place, wait)
    return order


def raised(deps: Dependences) -> list[int]:
    """The nodes with a place, each start right behind the last node that it has to follow."""
    starts = set(Flights.of(deps).starts)
    placed, before = _placed(deps)
    order = [n for n in placed if n not in starts]
    for start in (n for n in placed if n in starts):
        place = max((i + 1 for i, n in enumerate(order) if n in before[start]), default=0)
        order.insert(place, start)
    return order


def moved(order: Sequence[int], nodes: Iterable[int]) -> list[int]:
    """Those of the nodes that do not stand where they stood among the others, by their numbers."""
    chosen = set(nodes)
    before, after = _neighbours(sorted(order), chosen), _neighbours(order, chosen)
    return [n for n in sorted(chosen) if before[n] != after[n]]


def _neighbours(order: Sequence[int], chosen: set[int]) -> dict[int, int]:
    """For each chosen node how many others stand before it."""
    found: dict[int, int] = {}
    others = 0
    for n in order:
        if n in chosen:
            found[n] = others
        else:
            others += 1
    return found


def _placed(deps: Dependences) -> tuple[list[int], list[frozenset[int]]]:
    """The nodes with a place but the return, in program order; and what each node has to follow."""
    placed = [n.index for n in deps.nodes if n.kind not in FLOATING and n.kind != "func.return"]
    return placed, direct_dependences(deps, without="wait")
