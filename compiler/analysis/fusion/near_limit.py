"""Which merges of groups are worth measuring: those of which the estimate says that little is saved."""

from collections.abc import Iterable

from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import LAUNCH, Work
from ...ir.contractions import PRODUCTS
from .graph import GroupGraph
from .measured import escaping_values
from .score import Gain

#: Groups that both take less than this part of a launch are not measured.
_SMALL = 0.5


def may_measure(graph: GroupGraph, nodes: Iterable[int]) -> bool:
    """Whether kernels may run alone on made-up data.

    Atomic updates may not: how long they take depends on how often indices meet.  Nor may what asserts, which
    made-up data may not satisfy.
    """
    summaries = [graph.summaries[n] for n in nodes]
    return not any(s.asserts or any(w.mode != "set" for w in s.writes) for s in summaries)


def saved_part(
    graph: GroupGraph, first: tuple[int, ...], second: tuple[int, ...], gain: Gain, hardware: Hardware
) -> float | None:
    """The part of the time of two groups of nodes that their merge is estimated to save, negative where it
    costs time; None where the pair is not worth measuring.

    A pair is where the estimate is near its limit (``margins.near`` of the GPU's rates), where points are
    computed again, and where a group multiplies tiles.  Kernels that take much less than a launch are not:
    ``combine-launches`` puts such kernels, those of a foreach op among them, into one launch.
    """
    apart = sum(_microseconds(graph, nodes, hardware) for nodes in (first, second))
    launch = microseconds(LAUNCH, hardware, hardware.rates.streaming.rows)
    if apart < _SMALL * launch:
        return None
    part = gain.microseconds(hardware) / (apart + 2 * launch)
    multiplies = any(c.op in PRODUCTS for n in (*first, *second) for c in graph.summaries[n].crossings)
    return part if part <= hardware.rates.margins.near or gain.slots or multiplies else None


def _microseconds(graph: GroupGraph, nodes: tuple[int, ...], hardware: Hardware) -> float:
    """What moving the bytes of a group takes."""
    deps = graph.deps
    made = {r for n in nodes for r in deps.nodes[n].results}
    read = {v for n in nodes for v in deps.nodes[n].reads} - made
    moved = sum(map(graph.bytes_of, [*read, *escaping_values(graph, frozenset(nodes))]))
    return microseconds(Work(moved), hardware, hardware.rates.streaming.rows)
