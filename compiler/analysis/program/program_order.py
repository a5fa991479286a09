"""What the passes that reorder the operations of ``@main`` share.

Operations that do nothing at run time (views, sizes, ``fuse.empty``, ``fuse.after``) have no place of their
own: they *float*, and stand right before the first operation that needs them.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...ir.layout import TensorSpec
from ...ir.sizes import estimate
from ...mlir import ir
from .dependences import Dependences, Reason

#: Kinds of nodes without a place of their own.
FLOATING = frozenset({"fuse.empty", "fuse.view", "fuse.after", "fuse.size", "fuse.sym", "arith.constant"})


def direct_dependences(
    deps: Dependences,
    effects: Iterable[int] = (),
    without: Reason | None = None,
    free: frozenset[int] = frozenset(),
) -> list[frozenset[int]]:
    """For each node the nodes with a place that it must follow, directly or through floating ones.

    effects: nodes that are ordered among themselves besides what the dependences say.  without: a reason
    whose dependences do not count.  free: nodes with effects that keep their order with other effects, and
    none among themselves.
    """
    edges: list[set[int]] = [set() for _ in deps.nodes]
    for edge in deps.edges:
        if edge.reason != without and edge.reason != "effect":
            edges[edge.after].add(edge.before)
    ordered = sorted({*effects, *(n.index for n in deps.nodes if n.effect)})
    last: list[int] = []  # what the next node with an effect has to follow
    since: list[int] = []  # the free nodes behind it
    for n in ordered:
        if n in free:
            edges[n].update(last)
            since.append(n)
        else:
            edges[n].update(since or last)
            last, since = [n], []
    found: list[frozenset[int]] = []
    for node in deps.nodes:
        near: set[int] = set()
        for before in edges[node.index]:
            near |= found[before] if deps.nodes[before].kind in FLOATING else {before}
        found.append(frozenset(near))
    return found


def root_bytes(deps: Dependences, hints: Mapping[str, int]) -> dict[int, int]:
    """Bytes of every storage by its root."""
    found: dict[int, int] = {}
    for root in sorted(set(deps.roots)):
        type_ = deps.values[root].type
        if isinstance(type_, ir.RankedTensorType):
            spec = TensorSpec.of(type_)
            found[root] = estimate(spec.storage_elements, dict(hints)) * spec.element_bytes
    return found


def sequence(deps: Dependences, placed: Sequence[int]) -> list[int]:
    """All nodes, those with a place as ``placed`` has them: a floating one right before the first that needs
    it, and the return last.
    """
    order: list[int] = []
    done: set[int] = set()
    made = {r: node.index for node in deps.nodes for r in node.results}

    def emit(node: int) -> None:
        stack = [(node, False)]
        while stack:
            current, ready = stack.pop()
            if ready:
                order.append(current)
                continue
            if current in done:
                continue
            done.add(current)
            stack.append((current, True))
            operands = deps.nodes[current].operands
            needed = sorted({made[v] for v in operands if v in made} - done, reverse=True)
            stack += [(n, False) for n in needed if deps.nodes[n].kind in FLOATING]

    for node in placed:
        emit(node)
    left = [n for n in range(len(deps.nodes)) if n not in done]
    end = order.pop() if order and deps.nodes[order[-1]].kind == "func.return" else None
    for node in left:
        emit(node)
    return order if end is None else [*order, end]
