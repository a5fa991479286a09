"""Long chains of pointwise kernels at the same points, such as a recurrence over time that is spelled out.

They are grouped as a whole.  A search by pairs would plan a group of hundreds of kernels again for each one
that joins it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

from ..kernel.accesses import Summary
from .form import Limits
from .graph import GroupGraph
from .rules import judge_nodes

_NONE: frozenset[int] = frozenset()


def long_chains(graph: GroupGraph, limits: Limits, least: int) -> Iterator[tuple[int, ...]]:
    """Sets of at least ``least`` nodes, and of two, that may become a group each, in program order.  Chains
    beyond the limits on the size of a kernel are cut in halves of program order.

    The members have the same dims, and read of each other only the element of their own point.  Nothing else
    has to run between them.
    """
    least = max(least, 2)
    for chain in _alike(graph, least):
        waiting = [chain]
        while waiting:
            nodes = waiting.pop()
            if len(nodes) < least:
                continue
            refusal = judge_nodes(graph, nodes, limits)
            if refusal is None and not _left(graph, nodes):
                yield nodes
            elif refusal is not None and refusal.rule == "size":
                half = len(nodes) // 2
                waiting += [nodes[half:], nodes[:half]]


def _alike(graph: GroupGraph, least: int) -> Iterator[tuple[int, ...]]:
    """The kernels that edges within their points connect, where no way from one to another leaves them."""
    pointwise = {node for node, summary in graph.summaries.items() if not summary.crossings}
    if len(pointwise) < least:
        return
    extents = {node: graph.summaries[node].extents for node in pointwise}
    linked = {
        node: {
            other for other in pointwise & graph.partners.get(node, _NONE) if extents[other] == extents[node]
        }
        for node in pointwise
    }
    for nodes in _connected(linked, least):
        near = _near(graph, nodes)
        for chain in _connected(near, least):
            yield from (part for part in _phases(graph, chain, near) if len(part) >= least)


def _connected(near: Mapping[int, Set[int]], least: int) -> list[list[int]]:
    """Connected sets of at least ``least`` nodes, each in program order.  near: what is beside each."""
    found, left = [], set(near)
    while left:
        node = left.pop()
        waiting, reached = [node], [node]
        while waiting:
            beside = left & near[waiting.pop()]
            left -= beside
            waiting += beside
            reached += beside
        if len(reached) >= least:
            found.append(sorted(reached))
    return found


def _near(graph: GroupGraph, nodes: Sequence[int]) -> dict[int, set[int]]:
    """Of those nodes that may join a chain, with which of them each shares a tensor at the same points."""
    plain = [node for node in nodes if _is_plain(graph, node, graph.summaries[node])]
    makers = {v: node for node in plain for v in graph.deps.nodes[node].results}
    near: dict[int, set[int]] = {node: set() for node in plain}
    for node in plain:
        for maker in _made_here(graph, node, makers):
            near[node].add(maker)
            near[maker].add(node)
    return near


def _is_plain(graph: GroupGraph, node: int, summary: Summary) -> bool:
    """A pointwise kernel, alone in its group, that sets an element of fresh tensors at each of its points."""
    dims = {d for d, e in summary.extents if e.constant != 1}
    return (
        summary.is_pointwise
        and not summary.asserts
        and len(graph.members[graph.group_of[node]]) == 1
        and all(
            w.mode == "set" and not w.indirect and not w.guarded and dims <= w.dims for w in summary.writes
        )
        and all(map(graph.is_fresh, graph.deps.nodes[node].destinations))
    )


def _made_here(graph: GroupGraph, node: int, makers: Mapping[int, int]) -> set[int]:
    """The kernels over the same dims of whose results a kernel reads no more than what its point made."""
    made, summary = graph.deps.nodes[node], graph.summaries[node]
    here, elsewhere = set[int](), set[int]()
    for read in summary.reads:
        value = made.operands[read.argument]
        maker = makers.get(value)
        if maker is not None:
            number = graph.deps.nodes[maker].results.index(value)
            writes = [w for w in graph.summaries[maker].writes if w.result == number]
            same = all(w.is_plain and w.coords == read.coords for w in writes) and not read.guarded
            same = same and graph.summaries[maker].extents == summary.extents
            (here if same else elsewhere).add(maker)
    return here - elsewhere


def _phases(graph: GroupGraph, chain: Sequence[int], near: Mapping[int, set[int]]) -> list[tuple[int, ...]]:
    """A chain cut where a way from one member to another leaves it, or reads at another point."""
    members, before = set(chain), graph.deps.predecessors()
    phase: dict[int, int] = {}
    for node in range(chain[0], chain[-1] + 1):
        own, here = node in members, near.get(node, ())
        steps = [phase[p] + (own and p not in here) for p in before[node] if p in phase]
        if own or steps:
            phase[node] = max(steps, default=0)
    found: dict[int, list[int]] = {}
    for node in chain:
        found.setdefault(phase[node], []).append(node)
    return [tuple(nodes) for nodes in found.values()]


def _left(graph: GroupGraph, nodes: Sequence[int]) -> bool:
    """Whether a group outside has to run after one of the nodes and before another."""
    inside = {graph.group_of[node] for node in nodes}
    seen = {g for group in inside for g in graph.order.after(group)} - inside
    waiting = list(seen)
    while waiting:
        for group in graph.order.after(waiting.pop()):
            if group in inside:
                return True
            if group not in seen:
                seen.add(group)
                waiting.append(group)
    return False
